"""Kept answers: the finding that a receipt supports, and receipts that already answer a new question.

Released counts are public to whoever asked them, so reading them again costs nothing. A kept answer
is used for a new question only if it is at least as exact as the answer that the question would get.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from auditor_client.asking.bands import chosen_edge
from auditor_client.asking.choice import count_variance
from auditor_client.asking.question import Question
from auditor_client.audits.chains import chain_of
from auditor_client.audits.result import AuditResult, program_versions
from auditor_client.errors import EstimationRefused, HolderLied, QuestionRefused
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.exchange.receipts import KeptAnswer, Receipts
from auditor_client.exchange.two_holders import other_half, second_receipts
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.answers import (
    RATES,
    AskedCells,
    BatchCells,
    Location,
    Rate,
    RateCounts,
    merged_rows,
    read_bands,
    read_chain,
    with_outcomes,
)
from auditor_client.findings.coarser import coarser_tables
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.insight import rule_counts
from auditor_client.findings.joined import read_answers, require_added_noise, same_cells
from auditor_client.findings.reading import Reading
from auditor_client.findings.rehearsals import require_marked_alike
from auditor_client.findings.verdicts import metrics_estimated
from shared.contract.datasets import Budget
from shared.kinds.plans import Plan
from shared.kinds.releases import Release

if TYPE_CHECKING:
    from auditor_client.asking.own_data import OwnData


def stored_answers(receipts: Receipts) -> Iterator[StoredAnswer]:
    """The receipts of a directory whose signature holds, in the order of their names; `verify` reports the others."""
    seconds: list[KeptAnswer[Release]] | None = None
    for answer in receipts.answers(Release):
        if answer.release.shares is None:
            yield StoredAnswer.of(answer)
            continue
        seconds = list(second_receipts(receipts).answers(Release)) if seconds is None else seconds
        if (second := other_half(answer.release, seconds)) is not None:
            with suppress(HolderLied):
                yield StoredAnswer.of(answer, second)


def reusable_answer(
    receipts: Receipts,
    question: Question,
    auditor: str,
    data: "OwnData | None",
    *,
    second: Question | None = None,
    join: bool = False,
) -> StoredAnswer | None:
    """The most exact kept answer that has what a question needs, at least as exactly as a new one; None if none has.

    With a `second` question, that the same answer is to be read for, it has what that needs too.

    Never for a second draw, which is asked for its independence, nor for a finer answer, nor for randomised response,
    which is free; and
    not where the very question was asked before: then the holder's own answer is free too. With `join` all
    kept answers that can be joined are to be as exact together.
    """
    plan = question.plan
    if plan.draw != 1 or plan.refines is not None or question.request.mechanism == "randomised_response":
        return None
    if asked_before(receipts, question, auditor):
        return None
    questions = (question,) if second is None else (question, second)
    bought = [_noise(plan, one) for one in questions]
    found: list[tuple[list[float], StoredAnswer]] = []
    for stored in _about_the_same(receipts, question, auditor):
        noises = [_stored_noise(stored, one, supported=data is not None) for one in questions]
        found += [(noises, stored)] if all(map(math.isfinite, noises)) else []
    if join and found:
        best = min(found, key=_noise_of_all)[1]
        found = [
            (
                _together(receipts, questions, replace(best, supports=supports_of(best, question, data, None)), data),
                best,
            )
        ]
    exact = [
        one for one in found if all(noise <= most * (1 + 1e-9) for noise, most in zip(one[0], bought, strict=True))
    ]
    return replace(min(exact, key=_noise_of_all)[1], reused=True) if exact else None


def _noise_of_all(found: tuple[list[float], StoredAnswer]) -> float:
    return sum(found[0])


def _together(
    receipts: Receipts, questions: Sequence[Question], best: StoredAnswer, data: "OwnData | None"
) -> list[float]:
    """The noise with which a kept answer, and all that it can be joined with, have what each question needs, at most.

    Of several figures the precisions of joined answers add up to that of their variances' sum, or to more.
    """
    plans = [best.release.plan, *(other.release.plan for other in joinable(receipts, questions[0], best, data, None))]
    return [1 / sum(1 / _noise(plan, question) for plan in plans) for question in questions]


def joinable(
    receipts: Receipts,
    question: Question,
    first: StoredAnswer,
    data: "OwnData | None",
    given: Mapping[str, int] | None,
) -> tuple[StoredAnswer, ...]:
    """The other kept answers that a first one can be joined with for a question, the earliest first.

    Not those that it refines or that refine it: their noise is not independent of its own.

    `given` are the auditor's own counts of the first answer's cells, if there are no own data.
    """
    found = []
    about_the_same = list(_about_the_same(receipts, question, first.release.auditor))
    chain = chain_of(first, stored_answers(receipts))
    for other in about_the_same:
        if other.release.id in chain:
            continue
        alike = same_cells(first.release.plan, other.release.plan)
        with suppress(EstimationRefused, QuestionRefused):
            one = replace(other, supports=supports_of(other, question, data, given if alike else None))
            for counts in read_answers(replace(first, others=(one,)), question).values():
                require_added_noise(counts.measurement)
            found.append(one)
    return tuple(sorted(found, key=lambda stored: (stored.release.created, stored.release.id)))


def kept_plans(receipts: Receipts, question: Question, auditor: str) -> tuple[Plan, ...]:
    """The plans of all kept answers to an auditor about a question's version of the records."""
    return tuple(stored.release.plan for stored in _about_the_same(receipts, question, auditor))


def _about_the_same(receipts: Receipts, question: Question, auditor: str) -> Iterator[StoredAnswer]:
    """The kept answers to an auditor about a question's version of the records, under its relation.

    Of a chain of finer answers the last alone: it has all that the others say, and its noise is in theirs.
    """
    wanted = auditor, question.dataset.name, question.plan.version, question.dataset.relation
    every = list(stored_answers(receipts))
    refined = {stored.release.plan.refines for stored in every}
    for stored in every:
        release = stored.release
        named = release.auditor, release.dataset, release.version, release.relation
        if named == wanted and release.id not in refined:
            yield stored


def asked_before(receipts: Receipts, question: Question, auditor: str) -> bool:
    """Whether the very question has a receipt, so that asking it again is free."""
    name = question.plan.identity(auditor=auditor, dataset=question.dataset.name)
    if question.dataset.shares is None:
        return receipts.path(name).exists()
    return any(stored.receipt == receipts.path(name) for stored in stored_answers(receipts))


def shares_cells(first: Question, second: Question) -> bool:
    """Whether the answer to the first question has every cell of the second."""
    return AskedCells(first.plan, second.schema).has_each(second.plan, second)


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
        QuestionRefused: Question or answer alone is of a rehearsal.
    """
    require_marked_alike(question.dataset, [one.release for one in stored.answers])
    metrics = metrics_estimated(question, reading)
    counts, *of_parts = (
        with_outcomes(read_answers(stored, part), metrics)
        for part in (question, *(question.parts if question.strata else ()))
    )
    context = {"holder_url": holder_url, "budget": budget, "about": about}
    tables = {
        table.question.request.sensitive: _figures(
            table.question,
            stored,
            reading,
            table.counts(counts),
            of_parts=table.counts_of_parts(of_parts),
            context=context,
        )
        for table in (coarser_tables(question) if reading.has_intervals else ())
    }
    return replace(_figures(question, stored, reading, counts, of_parts=of_parts, context=context), tables=tables)


def _figures(
    question: Question,
    stored: StoredAnswer,
    reading: Reading,
    counts: Mapping[Rate, RateCounts],
    *,
    of_parts: Sequence[Mapping[Rate, RateCounts]],
    context: Mapping[str, Any],
) -> AuditResult:
    """The figures that counts give for a question; `of_parts` are the counts of each stratum."""
    metrics = metrics_estimated(question, reading)
    bands = _bands(question, stored, reading)
    chosen = None if bands is None else chosen_edge(question)
    of_each = reading.of_each(
        counts, question.reference, rules=rule_counts(question, counts, reading), bands=bands, chosen=chosen
    )
    strata = question.strata
    return AuditResult(
        question=question,
        stored=stored,
        reading=reading,
        counts=counts,
        estimates={metric: of_each.estimate(metric, counts, question.reference) for metric in metrics},
        versions=program_versions(),
        scores=None if bands is None else of_each.scores(bands, chosen, question.reference),
        chain=None
        if question.request.chain is None
        else reading.chain(read_chain(stored.release, question), question.reference),
        by_stratum={
            metric: reading.conditional(metric, strata, of_parts, question.reference) for metric in metrics if strata
        },
        **context,
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


def supports_of(
    stored: StoredAnswer, question: Question, data: "OwnData | None", given: Mapping[str, int] | None
) -> Mapping[str, int] | None:
    """How many people each cell of a kept answer applies to, as it was given or by own data.

    None if it is not known, or cannot be known without sensitive values, or of other derived columns.
    """
    if data is None:
        return given
    columns = stored.release.plan.columns or {}
    if columns.items() - question.column_ids.items():
        return None
    batches = stored.release.plan.batches
    if any(batch.names_sensitive(question.schema) for batch in batches):
        return None
    return {cell.id: data.count(cell) for batch in batches for cell in batch.cells}


def _stored_noise(stored: StoredAnswer, question: Question, *, supported: bool) -> float:
    """The noise with which a kept answer has what a question needs; infinite if it does not have it."""
    plan = stored.release.plan
    try:
        # What changed between two models is read from the cells that say what both decide.
        each = question.strategy != "verdict" or question.against
        if each and not AskedCells(plan, question.schema).has_each(question.plan, question):
            return math.inf
        if plan.sensitive != question.plan.sensitive and supported:
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
    cells = AskedCells(plan, schema)

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
