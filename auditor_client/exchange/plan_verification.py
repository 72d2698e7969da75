"""What plans have in addition to the checks of every kind: batches, their noise, price and counts."""

from auditor_client.exchange.block_verification import check_price
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.expected_noise import expected_noise, expected_rho_nano, is_expected
from auditor_client.exchange.verification import require
from auditor_client.text import loss_words
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Schema
from shared.kinds.plans import Batch, BatchQuote, Plan, Quote
from shared.kinds.refining import charged_before
from shared.kinds.releases import Release, ReleasedBatch
from shared.privacy.amounts import NO_LOSS, Loss, parse_nano
from shared.privacy.charges import AccountTerms


def check_plan_quote(quote: Quote, plan: Plan, context: RequestContext) -> None:
    """Check that a quote prices the batches of the plan that was sent, by its own classes.

    Raises:
        HolderLied: Naming the fault.
    """
    dataset, schema = context.dataset, context.schema
    require(quote.shares == dataset.shares, "the quote is of another half of the register than the dataset")
    names = [batch.name for batch in plan.batches]
    require([batch.name for batch in quote.batches] == names, "the quote is for other batches")
    charge = NO_LOSS
    for asked, before, priced in zip(plan.batches, _charged_before(plan, context.refined), quote.batches, strict=True):
        classes = priced.composition.get("classes", 0)
        require(1 <= classes <= len(asked.cells), "the quote counts more classes than cells, or none")
        where = f"batch {asked.name!r} of the quote: "
        _check_groups_and_noise(priced, asked, plan, dataset, schema, where=where)
        changed = dataset.neighbouring.counts_that_change(
            schema.group_count(plan.sensitive), moved=asked.names_sensitive(schema)
        )
        if dataset.terms.kind == "sum":
            require(priced.rho is None, f"{where}it costs a rho, and the account adds up epsilon and delta")
            charge += (asked.loss - before) * classes
        else:
            charge += _price(asked, priced, changed, dataset.terms, where=where)
    whole = charge if dataset.terms.kind == "sum" else charge + dataset.terms.of(0)
    check_price(quote.price, whole, quote.blocks, dataset)


def _charged_before(plan: Plan, refined: Release | None) -> tuple[Loss, ...]:
    """What each class of each batch was charged before, by the release that the plan names.

    Raises:
        ValueError: That release is not at hand.
    """
    if plan.refines != (None if refined is None else refined.id):
        raise ValueError("A plan that refines a release is priced and verified with that release.")
    return charged_before(plan, None if refined is None else refined.plan)


def _price(asked: Batch, priced: BatchQuote, changed: int, terms: AccountTerms, *, where: str) -> Loss:
    """What a batch adds to a charge in ρ, given noise that was checked; `changed` counts between neighbours."""
    classes = priced.composition["classes"]
    rho_nano = _nano(priced.rho)
    expected = expected_rho_nano(asked, priced.noise, changed)
    require(
        rho_nano is not None and rho_nano % classes == 0 and rho_nano // classes in expected,
        f"{where}its rho ({priced.rho}) is not that of its noise",
    )
    return terms.of(rho_nano or 0)


def check_plan_release(release: Release, plan: Plan, quote: Quote, context: RequestContext) -> None:
    """Check that every count belongs to the group and the cell that the plan says, with the noise of its price.

    Raises:
        HolderLied: Naming the fault.
    """
    dataset, schema, refined = context.dataset, context.schema, context.refined
    require(release.shares == dataset.shares, "it is of another half of the register than the dataset")
    require(release.blocks == quote.blocks, "it was charged to other blocks of people than the quote said")
    names = [batch.name for batch in plan.batches]
    require([batch.name for batch in release.batches] == names, "its batches are not the plan's, in the plan's order")
    charged = _charged_before(plan, refined)
    for asked, before, priced, answered in zip(plan.batches, charged, quote.batches, release.batches, strict=True):
        where = f"batch {asked.name!r}: "
        classes = priced.composition["classes"]
        if asked.rho is None:
            require(
                _loss(answered) == (asked.loss - before) * classes, f"{where}its epsilon or delta is not the plan's"
            )
        require(answered.rho == priced.rho, f"{where}its rho is not the quoted one")
        require(answered.composition == priced.composition, f"{where}its composition is not the quoted one")
        _check_groups_and_noise(answered, asked, plan, dataset, schema, where=where)
        _check_counts(answered, asked, where)
        if refined is not None and asked.loss == before:
            kept = refined.batch(asked.name).cells
            require(answered.cells == kept, f"{where}it does not keep the answer of the release that was refined")


def _check_groups_and_noise(
    answered: BatchQuote, asked: Batch, plan: Plan, dataset: DatasetDescription, schema: Schema, *, where: str
) -> None:
    declared = schema.groups(plan.sensitive)
    require(answered.groups == declared, f"{where}its groups are not those of the dataset's declaration, in its order")
    require(
        answered.counted_groups == dataset.neighbouring.counted_groups(declared, moved=asked.names_sensitive(schema)),
        f"{where}it counts other groups than the relation {dataset.relation} allows",
    )
    require(
        is_expected(answered.noise, expected_noise(asked, dataset.neighbouring, schema, plan.sensitive)),
        f"{where}its noise ({answered.noise}) is not the one of {asked.mechanism.name!r} at {loss_words(asked.loss)}",
    )


def _check_counts(answered: ReleasedBatch, asked: Batch, where: str) -> None:
    ids = [cell.id for cell in asked.cells]
    require([cell.id for cell in answered.cells] == ids, f"{where}its cells are not the plan's, in the plan's order")
    width = len(answered.groups if answered.counted_groups is None else answered.counted_groups)
    for cell in answered.cells:
        counts = len(cell.counts if cell.shares is None else cell.shares)
        require(counts == width, f"{where}cell {cell.id!r} has {counts} counts for {width} groups")


def _nano(text: str | None) -> int | None:
    """An amount; None if the text is none."""
    try:
        return parse_nano(text)
    except ValueError:
        return None


def _loss(answered: BatchQuote) -> Loss | None:
    """What a batch says that it costs; None if its texts are no amounts."""
    try:
        return Loss(parse_nano(answered.epsilon), parse_nano(answered.delta))
    except ValueError:
        return None
