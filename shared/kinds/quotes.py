"""The part of a quote that does not depend on what is priced."""

from collections.abc import Mapping

from pydantic import Field

from shared.contract.blocks import ChargedBlocks
from shared.contract.rehearsals import Rehearsed
from shared.kinds.summaries import SummaryFact
from shared.privacy.amounts import Loss
from shared.wire.request_model import ContractModel


class QuoteBase(ContractModel):
    """The price of a request of any kind. It does not depend on the records and charges nothing."""

    dataset: str
    """The dataset that was asked about."""
    version: int | None
    """The version of the records that is meant; null where none are loaded."""
    relation: str
    """The population's neighbouring relation: what ε is about."""
    charge: Loss
    """What an answer would charge, unless the same was answered before; for a refinement, the difference."""
    rehearsal: Rehearsed | None = Field(default=None, exclude_if=lambda rehearsal: rehearsal is None)
    """That it is about invented people, and what the same would cost about real ones; left out of all else."""

    blocks: ChargedBlocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """What each block of people is charged, where cap and budgets hold by block; `charge` is then the largest of it."""

    @property
    def price(self) -> Loss:
        """The cost about real people: the charge, except for a rehearsal, which is charged nothing."""
        return self.charge if self.rehearsal is None else self.rehearsal.would_cost

    @property
    def part_facts(self) -> Mapping[str, tuple[SummaryFact, ...]]:
        """What people are told of the parts of the request, by their titles in its summary."""
        return {}
