"""The check that a dataset with blocks of people needs beyond those of every kind: prices by block."""

from auditor_client.exchange.verification import require
from auditor_client.text import loss_words
from shared.contract.blocks import ChargedBlocks
from shared.contract.datasets import DatasetDescription
from shared.privacy.amounts import Loss


def check_price(price: Loss, batches: Loss, charged: ChargedBlocks | None, dataset: DatasetDescription) -> None:
    """Check a price against what its batches come to, and against what it says by block.

    Args:
        price: As the quote states it.
        batches: What all batches cost together, whomever they are about.
        charged: What the quote says by block.
        dataset: What is asked about; a quote about invented people does not list blocks.

    Raises:
        HolderLied: Naming the fault.
    """
    blocks = dataset.blocks
    come_to = f"the quote charges {loss_words(price)}, and its batches come to {loss_words(batches)}"
    if blocks is None:
        require(charged is None, "the quote charges blocks of people, and the dataset declares none")
        require(price == batches, come_to)
        return
    require(price.fits_in(batches), come_to)
    require((charged is None) == (dataset.rehearsal is not None), "the quote does not say what each block is charged")
    if charged is None:
        return
    require(
        (charged.column, charged.per_person_max) == (blocks.column, blocks.per_person_max),
        "the quote charges other blocks of people than the dataset declares",
    )
    largest = price * 0
    for block_range in charged.charged:
        largest = largest.larger(block_range.loss)
    require(largest == price, "the quote charges a block of people something else than it says")
