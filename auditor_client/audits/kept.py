"""Kept answers: the finding that a receipt supports, and receipts that already answer a new question.

Released counts are public to whoever asked them, so reading them again costs nobody anything. A kept
answer is used for a new question only if it is at least as exact as what the question would buy.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor_client.asking.choice import count_variance
from auditor_client.asking.mechanisms import Spending
from auditor_client.asking.question import Question
from auditor_client.audits.result import AuditResult, program_versions
from auditor_client.errors import AuditorError, EstimationRefused, QuestionRefused
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import counts_that_change, signed_release
from auditor_client.findings.answers import FIGURES, AskedCells, CountSupport, Location, merged_rows, read
from auditor_client.findings.notes import Note
from shared.datasets import Budget
from shared.plans import Plan, identity
from shared.releases import Release, SigningKey
from shared.rules import Cell

if TYPE_CHECKING:
    from auditor_client.asking.own_data import OwnData


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A verified release with its receipt.

    Attributes:
        release: The answer.
        answer: The same as it came.
        receipt: The file that keeps it.
        key: The public key that signed it.
        reused: Whether it was made for another question.
    """

    release: Release
    answer: Mapping[str, Any] = field(repr=False)
    receipt: Path
    key: SigningKey
    reused: bool


def kept_answers(receipts: Receipts) -> Iterator[KeptAnswer]:
    """The receipts of a directory whose signature holds, in the order of their names; the others are left to verify."""
    if not receipts.directory.is_dir():
        return
    keys = receipts.pinned()
    for file in receipts.files():
        try:
            answer = parsed(file.read_bytes(), file.name)
            release = signed_release(answer, keys)
        except (OSError, AuditorError):
            continue
        yield KeptAnswer(release, answer, file, next(key for key in keys.keys if key.id == release.key), reused=False)


def reusable_answer(
    receipts: Receipts, question: Question, auditor: str, supports: CountSupport | None
) -> KeptAnswer | None:
    """A kept answer that has what a question needs, at least as exactly as it would be bought; the most exact one.

    Never for a second draw, which is asked for its independence, nor for randomised response, which is free; and
    not where the very question was asked before: then the holder's own answer is free too.
    """
    plan = question.plan
    asked_before = identity(auditor=auditor, dataset=question.dataset.name, plan=plan)
    if plan.draw != 1 or question.spending.mechanism == "randomised_response":
        return None
    if (receipts.directory / f"{asked_before.removeprefix('sha256:')}.json").exists():
        return None
    bought = _noise(plan, question, plan.sensitive)
    found: tuple[float, KeptAnswer] | None = None
    for kept in kept_answers(receipts):
        release = kept.release
        if (release.auditor, release.dataset, release.version) != (auditor, question.dataset.name, plan.version):
            continue
        if release.relation != question.dataset.relation:
            continue
        noise = _kept_noise(kept, question, supports)
        if noise is not None and noise <= bought * (1 + 1e-9) and (found is None or noise < found[0]):
            found = noise, kept
    if found is None:
        return None
    kept = found[1]
    return KeptAnswer(kept.release, kept.answer, kept.receipt, kept.key, reused=True)


def finding(note: Note, kept: KeptAnswer, *, holder_url: str, budget: Budget | None) -> AuditResult:
    """What a kept answer says to a question: the one way from a release to figures.

    Raises:
        EstimationRefused: The answer does not count what the question needs.
    """
    question, estimator = note.question(), note.chosen_estimator()
    supports = None if note.supports is None else _lookup(note.supports)
    readings = read(
        kept.release,
        question.subject,
        sensitive=question.plan.sensitive,
        schema=question.dataset.table,
        supports=supports,
    )
    return AuditResult(
        note=note,
        question=question,
        release=kept.release,
        answer=kept.answer,
        receipt=kept.receipt,
        key=kept.key,
        holder_url=holder_url,
        estimator=str(estimator),
        threshold=estimator.threshold,
        readings=readings,
        estimates={
            metric: estimator.estimate(metric, readings, question.reference) for metric in question.subject.metrics
        },
        budget=budget,
        versions=program_versions(),
        reused=note.reused,
    )


def cell_supports(question: Question, given: Mapping[str, int] | None, data: "OwnData | None") -> dict[str, int] | None:
    """How many people each cell of a question applies to, by its id; None if nobody said.

    Raises:
        QuestionRefused: They are needed and not known, or are not of these cells; nothing is spent.
    """
    cells = [cell for batch in question.plan.batches for cell in batch.cells]
    if data is not None:
        return {cell.id: data.count(cell) for cell in cells}
    if given is not None:
        missing = [cell.id for cell in cells if cell.id not in given]
        if missing:
            raise QuestionRefused(f"The supports leave out cell {missing[0]!r}: give one number for each cell.")
        return dict(given)
    if question.dataset.relation == "sensitive_attribute" and len(
        question.dataset.table.groups(question.plan.sensitive)
    ) == 2:  # fmt: skip
        raise QuestionRefused(
            "Under this dataset's relation the holder counts one of two groups, and the other follows from how many "
            "people each rule applies to: give your own data about the same people (supports). Nothing was spent."
        )
    return None


def kept_supports(kept: KeptAnswer, data: "OwnData") -> dict[str, int]:
    """How many people each cell of a kept answer applies to."""
    return {cell.id: data.count(cell) for batch in kept.release.plan.batches for cell in batch.cells}


def _lookup(supports: Mapping[str, int]) -> Callable[[Cell], int]:
    def support(cell: Cell) -> int:
        if cell.id in supports:
            return supports[cell.id]
        raise EstimationRefused(f"There is no support for cell {cell.id!r}.")

    return support


def _kept_noise(kept: KeptAnswer, question: Question, supports: CountSupport | None) -> float | None:
    """The noise with which a kept answer has what a question needs; None if it does not have it."""
    plan = kept.release.plan
    try:
        if question.strategy != "verdict" and not AskedCells(plan).has_each(question.plan, question.subject):
            return None
        if plan.sensitive != question.plan.sensitive and supports is not None:
            return None  # the counts of merged groups have no supports of their own
        return _noise(plan, question, plan.sensitive)
    except EstimationRefused:
        return None


def _noise(plan: Plan, question: Question, sensitive: tuple[str, ...]) -> float:
    """The variances of accepted and refused people that a plan's answers give, added up over the figures.

    Raises:
        EstimationRefused: The plan does not ask for what the question needs.
    """
    schema = question.dataset.table
    merged = merged_rows(sensitive, question.plan.sensitive, schema)
    changed = counts_that_change(question.dataset.relation, len(schema.groups(sensitive)))
    cells = AskedCells(plan)

    def variance(location: Location) -> float:
        accepted, complement = (
            len(place.cells) * (len(merged) if merged else 1)
            * count_variance(Spending.of_plan(Plan(sensitive=sensitive, batches=(plan.batches[place.batch],))), changed)
            for place in (location.favourable, location.complement)
        )  # fmt: skip
        return accepted + complement + (accepted if location.complement_is == "everybody" else 0.0)

    locations = [
        cells.locate(question.subject, figure) for metric in question.subject.metrics for figure in FIGURES[metric]
    ]
    known = [location for location in locations if location is not None]
    if len(known) < len(locations):
        raise EstimationRefused("The plan does not ask for what the question needs.")
    return sum(map(variance, known))
