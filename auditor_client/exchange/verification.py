"""Is a release what was asked for? Decided from the answer as it came, before any number in it is used.

The holder is trusted with the records, not with the auditor's figures: a changed count, another plan's
answer, a wrong group order or noise of another size than its epsilon says would give a wrong figure with
a confident interval. Everything that follows from public facts is computed here again and compared.
Whether the counts are true cannot be checked from outside.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from auditor_client.errors import HolderLied
from auditor_client.exchange.expected_noise import expected_noise, expected_rho_nano, is_expected
from auditor_client.text import first_fault, loss_words, readable
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Schema
from shared.kinds.plans import Batch, BatchQuote, Plan, Quote
from shared.kinds.quotes import QuoteBase
from shared.kinds.refining import charged_before
from shared.kinds.registry import kind_of
from shared.kinds.releases import (
    AnswerToRequest,
    BadSignature,
    Release,
    ReleasedBatch,
    Signed,
    SigningKeys,
    verify_signature,
)
from shared.privacy.amounts import NO_LOSS, Loss, parse_nano
from shared.privacy.charges import AccountTerms

ReleaseT = TypeVar("ReleaseT", bound=Signed)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


def verified_release(
    document: Mapping[str, Any],
    *,
    keys: SigningKeys,
    plan: Plan,
    quote: Quote,
    dataset: DatasetDescription,
    auditor: str,
    schema: Schema,
    refined: Release | None = None,
) -> Release:
    """Check a release against everything that is known before it.

    Args:
        document: The answer, parsed, with every field as it came.
        keys: The holder's published keys, pinned.
        plan: What was asked, pinned to a version.
        quote: The price that the holder quoted.
        dataset: The declaration that the plan was made for.
        auditor: Who asked, by the holder's own name for it.
        schema: The columns that rules may name: those of the declaration, and derived ones that the plan names.
        refined: The release that the plan refines; verified, when it came.

    Raises:
        HolderLied: Naming the fault. Else every count belongs to the group and the cell that the plan says.
    """
    release = signed_as(Release, document, keys)
    require(release.plan.document() == plan.document(), "it answers another plan than was asked")
    require_as_quoted(release, dataset=dataset, auditor=auditor, quote=quote)
    _check_batches(release, quote, dataset, schema, refined)
    return release


def require_as_quoted(release: AnswerToRequest, *, dataset: DatasetDescription, auditor: str, quote: QuoteBase) -> None:
    """Check that a release of any kind is about the dataset that was asked about, for who asked, at the quoted price.

    Raises:
        HolderLied: Naming the fault.
    """
    require(release.dataset == dataset.name, "it is about another dataset")
    require(release.auditor == auditor, "it was made for another auditor")
    require(release.relation == dataset.relation, "it names another neighbouring relation than the dataset declares")
    require(
        release.charge == quote.charge,
        f"it was charged {loss_words(release.charge)}, and the quote said {loss_words(quote.charge)}",
    )
    require_marked(release, dataset)
    require(release.rehearsal == quote.rehearsal, "it would cost something else than the quote said")


def require_marked(answer: QuoteBase | AnswerToRequest, dataset: DatasetDescription) -> None:
    """Check that an answer about invented people says so and was not charged, and that no other says so.

    Raises:
        HolderLied: Naming the fault.
    """
    declared, said = dataset.rehearsal, answer.rehearsal
    if declared is None:
        require(said is None, "it is of a rehearsal, and real people were asked about")
        return
    require(said is not None and said.of == declared.of, f"it does not say that it is of a rehearsal of {declared.of}")
    require(answer.charge.is_nothing, "it is of a rehearsal, and was charged")


def signed(document: Mapping[str, Any], keys: SigningKeys) -> Signed:
    """Check what a release of any kind says about itself: its signature, form, entry, key and identity.

    Raises:
        HolderLied: Naming the fault.
    """
    return signed_as(kind_of(document).release, document, keys)


def signed_as(kind: type[ReleaseT], document: Mapping[str, Any], keys: SigningKeys) -> ReleaseT:
    """Check the same of a release of one kind.

    Raises:
        HolderLied: Naming the fault.
    """
    try:
        verify_signature(document, keys)
        release = kind.model_validate(document, extra="ignore")
    except BadSignature as error:
        raise HolderLied(f"{error} Do not use it, and report it to the holder's administrator.") from error
    except ValidationError as error:
        path, why = map(readable, first_fault(error))
        raise _lie(f"it does not fit the contract at {path}: {why}") from error
    except RecursionError as error:
        raise _lie("it is nested more deeply than the contract allows") from error
    require(
        release.ledger.sequence >= 1 and _DIGEST.fullmatch(release.ledger.hash) is not None,
        "it names no entry of a ledger",
    )
    key = next(key for key in keys.keys if key.id == release.key)
    require(key.valid_to is None or release.created <= key.valid_to, "its key was no longer valid when it was made")
    if release.fault is not None:
        raise _lie(release.fault)
    identified = release.id == release.expected_id
    require(identified, f"its id is not the identity of its auditor, dataset, version and {release.kind}")
    return release


def check_quote(
    quote: Quote, *, plan: Plan, dataset: DatasetDescription, schema: Schema, refined: Release | None = None
) -> None:
    """Check that a quote prices the plan that was sent, by its own classes; the rest is as of `verified_release`.

    Raises:
        HolderLied: Naming the fault.
    """
    require(quote.dataset == dataset.name and quote.relation == dataset.relation, "the quote is for another dataset")
    require(quote.version == plan.version, "the quote is for another version of the records")
    require_marked(quote, dataset)
    names = [batch.name for batch in plan.batches]
    require([batch.name for batch in quote.batches] == names, "the quote is for other batches")
    charge = NO_LOSS
    for asked, before, priced in zip(plan.batches, _charged_before(plan, refined), quote.batches, strict=True):
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
    require(
        quote.price == (charge if dataset.terms.kind == "sum" else charge + dataset.terms.of(0)),
        f"the quote charges {loss_words(quote.price)}, and its batches come to {loss_words(charge)}",
    )


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


def _check_batches(
    release: Release, quote: Quote, dataset: DatasetDescription, schema: Schema, refined: Release | None
) -> None:
    plan = release.plan
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
            require(answered.cells == kept, f"{where}it was to keep the answer of the release that was refined")


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
        require(len(cell.counts) == width, f"{where}cell {cell.id!r} has {len(cell.counts)} counts for {width} groups")


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


def require(condition: bool, what: str) -> None:
    """Refuse an answer of which something does not hold.

    Raises:
        HolderLied: With what is wrong, a part of a sentence.
    """
    if not condition:
        raise _lie(what)


def _lie(what: str) -> HolderLied:
    return HolderLied(
        f"The holder's answer cannot be trusted: {what}. Do not use it; report it to the holder's administrator."
    )
