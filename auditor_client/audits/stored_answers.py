"""Kept answers: the finding that a receipt supports, and receipts that already answer a new question.

Released counts are public to whoever asked them, so reading them again costs nothing. A kept answer
is used for a new question only if it is at least as exact as the answer that the question would get.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from auditor_client.asking.bands import chosen_edge
from auditor_client.asking.choice import count_variance
from auditor_client.asking.question import Question
from auditor_client.audits.result import AuditResult, program_versions
from auditor_client.errors import AuditorError, EstimationRefused, QuestionRefused
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import signed_release
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.answers import (
    RATES,
    AskedCells,
    BatchCells,
    CountSupport,
    Location,
    merged_rows,
    read,
    read_bands,
)
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.insight import rule_counts
from auditor_client.findings.reading import Reading
from shared.datasets import Budget
from shared.plans import Plan, identity
from shared.rules import Cell

if TYPE_CHECKING:
    from auditor_client.asking.own_data import OwnData


def stored_answers(receipts: Receipts) -> Iterator[StoredAnswer]:
    """The receipts of a directory whose signature holds, in the order of their names; `verify` reports the others."""
    if not receipts.directory.is_dir():
        return
    keys = receipts.pinned()
    for file in receipts.files():
        try:
            answer = parsed(file.read_bytes(), file.name)
            release = signed_release(answer, keys)
        except (OSError, AuditorError):
            continue
        yield StoredAnswer(release, answer, file, next(key for key in keys.keys if key.id == release.key))


def reusable_answer(
    receipts: Receipts,
    question: Question,
    auditor: str,
    supports: CountSupport | None,
    *,
    second: Question | None = None,
) -> StoredAnswer | None:
    """The most exact kept answer that has what a question needs, at least as exactly as a new one; None if none has.

    With a `second` question, that the same answer is to be read for, it has what that needs too.

    Never for a second draw, which is asked for its independence, nor for randomised response, which is free; and
    not where the very question was asked before: then the holder's own answer is free too.
    """
    plan = question.plan
    if plan.draw != 1 or question.request.mechanism == "randomised_response":
        return None
    if asked_before(receipts, question, auditor):
        return None
    questions = (question,) if second is None else (question, second)
    bought = [_noise(plan, one) for one in questions]
    found: tuple[float, StoredAnswer] | None = None
    for stored in stored_answers(receipts):
        release = stored.release
        if (release.auditor, release.dataset, release.version) != (auditor, question.dataset.name, plan.version):
            continue
        if release.relation != question.dataset.relation:
            continue
        noises = [_stored_noise(stored, one, supports) for one in questions]
        exact = all(noise <= most * (1 + 1e-9) for noise, most in zip(noises, bought, strict=True))
        if exact and (found is None or sum(noises) < found[0]):
            found = sum(noises), stored
    return None if found is None else replace(found[1], reused=True)


def asked_before(receipts: Receipts, question: Question, auditor: str) -> bool:
    """Whether the very question has a receipt, so that asking it again is free."""
    name = identity(auditor=auditor, dataset=question.dataset.name, plan=question.plan)
    return (receipts.directory / f"{name.removeprefix('sha256:')}.json").exists()


def shares_cells(first: Question, second: Question) -> bool:
    """Whether the answer to the first question has every cell of the second."""
    return AskedCells(first.plan).has_each(second.plan, second)


def finding(
    question: Question,
    stored: StoredAnswer,
    reading: Reading,
    *,
    holder_url: str = "",
    budget: Budget | None = None,
    about: About = NOTHING,
) -> AuditResult:
    """The figures that a kept answer gives for a question: the one way from a release to figures.

    Who answered, the auditor's account and what the auditor wrote are only shown.

    Raises:
        EstimationRefused: The answer does not count what the question needs.
    """
    supports = None if stored.supports is None else _lookup(stored.supports)
    counts = read(stored.release, question, supports=supports)
    bands = _bands(question, stored, reading)
    chosen = None if bands is None else chosen_edge(question)
    of_each = reading.of_each(
        counts, question.reference, rules=rule_counts(question, counts, reading), bands=bands, chosen=chosen
    )
    strata, parts = question.strata, question.parts if question.strata else ()
    of_parts = [read(stored.release, part, supports=supports) for part in parts]
    return AuditResult(
        question=question,
        stored=stored,
        reading=reading,
        counts=counts,
        estimates={metric: of_each.estimate(metric, counts, question.reference) for metric in question.metrics},
        holder_url=holder_url,
        budget=budget,
        versions=program_versions(),
        scores=None if bands is None else of_each.scores(bands, chosen, question.reference),
        by_stratum={
            metric: reading.conditional(metric, strata, of_parts, question.reference)
            for metric in question.metrics
            if strata
        },
        about=about,
    )


def _bands(question: Question, stored: StoredAnswer, reading: Reading) -> BandCounts | None:
    """The bands of a score, if the question has edges and the reading makes intervals."""
    edges = question.request.edges
    return None if edges is None or not reading.has_intervals else read_bands(stored.release, question, edges)


def cell_supports(question: Question, given: Mapping[str, int] | None, data: "OwnData | None") -> dict[str, int] | None:
    """How many people each cell of a question applies to, by its id; None if not known.

    Raises:
        QuestionRefused: They are needed and not known, or are not of these cells; nothing is spent.
    """
    cells = [cell for batch in question.plan.batches for cell in batch.cells]
    if data is not None:
        return {cell.id: data.count(cell) for cell in cells} if question.supportable else None
    if given is not None:
        missing = [cell.id for cell in cells if cell.id not in given]
        if missing:
            raise QuestionRefused(f"The supports leave out cell {missing[0]!r}: give one number for each cell.")
        return dict(given)
    if question.counts_first_group_alone:
        raise QuestionRefused(
            "Under this dataset's relation the holder counts one of two groups, and the other follows from how many "
            "people each rule applies to: give your own data about the same people (supports). Nothing was spent."
        )
    return None


def stored_supports(stored: StoredAnswer, question: Question, data: "OwnData") -> dict[str, int] | None:
    """How many people each cell of a kept answer applies to; None if that cannot be known without sensitive values."""
    batches = stored.release.plan.batches
    if any(batch.names_sensitive(question.schema) for batch in batches):
        return None
    return {cell.id: data.count(cell) for batch in batches for cell in batch.cells}


def _lookup(supports: Mapping[str, int]) -> Callable[[Cell], int]:
    def support(cell: Cell) -> int:
        if cell.id in supports:
            return supports[cell.id]
        raise EstimationRefused(f"There is no support for cell {cell.id!r}.")

    return support


def _stored_noise(stored: StoredAnswer, question: Question, supports: CountSupport | None) -> float:
    """The noise with which a kept answer has what a question needs; infinite if it does not have it."""
    plan = stored.release.plan
    try:
        # What changed between two models is read from the cells that say what both decide.
        each = question.strategy != "verdict" or question.against
        if each and not AskedCells(plan).has_each(question.plan, question):
            return math.inf
        if plan.sensitive != question.plan.sensitive and supports is not None:
            return math.inf  # the counts of merged groups have no supports of their own
        return _noise(plan, question)
    except EstimationRefused:
        return math.inf


def _noise(plan: Plan, question: Question) -> float:
    """The variances of accepted and refused people that a plan's answers give, added up over the figures.

    Raises:
        EstimationRefused: The plan does not ask for what the question needs.
    """
    schema = question.schema
    merged = merged_rows(plan.sensitive, question.plan.sensitive, schema)
    groups = schema.group_count(plan.sensitive)
    cells = AskedCells(plan)

    def variance(location: Location) -> float:
        def of(asked: BatchCells) -> float:
            batch = plan.batches[asked.batch]
            counts = len(asked.cells) * (len(merged) if merged else 1)
            changed = question.dataset.neighbouring.counts_that_change(groups, moved=batch.names_sensitive(schema))
            return counts * count_variance(batch.mechanism.name, batch.loss, changed)

        everybody = location.complement_is == "everybody"
        return (2 if everybody else 1) * of(location.favourable) + of(location.complement)

    wanted = (question, *question.parts) if question.strata else (question,)
    locations = [cells.locate(one, rate) for one in wanted for metric in question.metrics for rate in RATES[metric]]
    known = [location for location in locations if location is not None]
    if len(known) < len(locations):
        raise EstimationRefused("The plan does not ask for what the question needs.")
    return sum(map(variance, known))
