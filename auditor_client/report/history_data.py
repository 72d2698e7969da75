"""Audits over time, as data: one row for each audit, table by fewer sensitive columns, and metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial

from auditor_client.asking.training import PROMISING
from auditor_client.dataset_words import DatasetWords
from auditor_client.estimation.estimates import Verdict
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.report.axes import LinearAxis, Mark, RatioAxis, Tick, interval_text, ratio_threshold
from auditor_client.report.facts import Fact, model_digest
from auditor_client.report.formats import known, ratio, sensitive_words
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.outcome import outcome_of
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.subject import subject
from auditor_client.report.watch_data import watch_fact
from auditor_client.report.watch_gaps import KeptWatch
from auditor_client.text import losses_words
from shared.contract.metadata import DatasetMetadata
from shared.kinds.releases import Release
from shared.kinds.trainings import TrainingRelease
from shared.wire.wording import joined, plain, said

_RATIOS = LinearAxis(0.0, 1.0, 2)
_ADVERSE = RatioAxis((1.0, 2.0, math.inf))


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One metric of one audit; a model and the receipt by the beginnings of their digests."""

    when: str
    dataset: str
    version: str
    by: str
    audited: str
    outcome: str
    receipt: str
    metric: str
    ratio: str
    interval: str
    verdict: str
    cost: str
    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float | None


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """A trained model; its file and the receipt by the beginnings of their digests."""

    when: str
    dataset: str
    version: str
    algorithm: str
    predicts: str
    by: str
    wanted: str
    model: str
    audits: str
    receipt: str
    cost: str


@dataclass(frozen=True, slots=True)
class HistoryData:
    """Audits over time: what all of them are about, and a row for each audit and metric; and one for each training."""

    facts: tuple[Fact, ...]
    rows: tuple[HistoryRow, ...]
    trainings: tuple[TrainingRow, ...] = ()


Kept = Sequence[tuple[TrainingNote, KeptAnswer[TrainingRelease]]]
"""Trainings as they were decided, with their answers."""


def history_data(findings: Sequence[Finding], trainings: Kept = (), watches: Sequence[KeptWatch] = ()) -> HistoryData:
    """Audits in their order; what an answer cost stands once, where it is read first. And what watches said last."""
    releases: dict[str, Release | TrainingRelease] = {finding.release.id: finding.release for finding in findings}
    releases |= {answer.release.id: answer.release for _, answer in trainings}
    used_keys = (*(finding.key for finding in findings), *(answer.key for _, answer in trainings))
    keys = {key.id: key.public_key for key in used_keys}
    rows: list[HistoryRow] = []
    listed_already: set[str] = set()
    for finding in findings:
        for table in finding.every_table:
            for metric, estimate in table.estimates.items():
                again = finding.release.id in listed_already
                cost = said("the same answer") if again else _cost(finding.release)
                rows.append(_row(table, metric, estimate, cost))
                listed_already.add(finding.release.id)
    trained = []
    for note, answer in trainings:
        again = answer.release.id in listed_already
        audits = dict.fromkeys(finding.receipt.stem[:12] for finding in findings if finding.model.file == note.model)
        cost = said("the same answer") if again else charge_words(answer.release)
        trained.append(_training_row(note, answer, tuple(audits), cost))
        listed_already.add(answer.release.id)
    watched = tuple(watch_fact(watch) for watch in watches)
    if not releases:
        return HistoryData(watched, ())
    spent = losses_words(release.charge for release in releases.values())
    return HistoryData(
        (
            Fact(said("Answers"), str(len(releases))),
            Fact(said("Spent on them"), spent),
            *watched,
            *(
                Fact(said("Signed by the holder’s key {name}", name=name), key, exact=True)
                for name, key in keys.items()
            ),
        ),
        tuple(rows),
        tuple(trained),
    )


def _words(note: TrainingNote) -> DatasetWords:
    return DatasetWords(note.dataset.name, note.dataset.table, note.dataset.metadata or DatasetMetadata())


def _training_row(
    note: TrainingNote, answer: KeptAnswer[TrainingRelease], audits: tuple[str, ...], cost: str
) -> TrainingRow:
    release, words = answer.release, _words(note)
    training = release.training
    return TrainingRow(
        when=f"{release.created.astimezone(UTC):%Y-%m-%d %H:%M}",
        dataset=words.title,
        version=str(release.version),
        algorithm=training.algorithm.name,
        predicts=words.column(training.label),
        by=" × ".join(words.columns(training.sensitive)),
        wanted=plain(note.ratio) if training.algorithm.name in PROMISING else said("none promised"),
        model=note.model.removeprefix("sha256:")[:12],
        audits=", ".join(audits),
        receipt=answer.receipt.stem[:12],
        cost=cost,
    )


def _row(finding: Finding, metric: str, estimate: MetricEstimate, cost: str) -> HistoryRow:
    axis, threshold = _ADVERSE if estimate.ratio_kind.adverse else _RATIOS, estimate.threshold
    bar = None if threshold is None else ratio_threshold(estimate.ratio_kind, threshold)
    outcome = outcome_of(finding)
    return HistoryRow(
        when=f"{finding.release.created.astimezone(UTC):%Y-%m-%d %H:%M}",
        dataset=finding.question.words.title,
        version=str(finding.release.version),
        by=" × ".join(sensitive_words(finding.question)),
        audited=_audited(finding),
        outcome=outcome.adverse if estimate.ratio_kind.adverse else outcome.name,
        receipt=finding.receipt.stem[:12],
        metric=_metric(finding, metric, estimate),
        ratio=known(estimate.ratio, partial(ratio, apart_from=bar)),
        interval=interval_text(estimate.ratio, ratio),
        verdict=_verdict(finding, metric, estimate).value,
        cost=cost,
        mark=axis.mark(estimate.ratio),
        ticks=axis.ticks,
        threshold=None if bar is None else axis.position(bar),
    )


def _verdict(finding: Finding, metric: str, estimate: MetricEstimate) -> Verdict:
    """A figure's verdict; DEPENDS in place of both outcomes' own where the audit's depends on the kind of decision."""
    of_both = finding.verdict is Verdict.DEPENDS and metric in dict(finding.both_outcomes)
    return finding.verdict if of_both else estimate.verdict


def _cost(release: Release) -> str:
    """Return what an answer cost, and which it refines, by the beginning of the digest that names its receipt."""
    charge = charge_words(release)
    if release.plan.refines is None:
        return charge
    return said("{loss}, to refine {receipt}", loss=charge, receipt=release.plan.refines.removeprefix("sha256:")[:12])


def _audited(finding: Finding) -> str:
    """The column of decisions, or the digest that `history` takes; and before it the name, if the auditor gave one."""
    audited = subject(finding.question)
    exact = audited.name if audited.made_already else model_digest(finding.model)
    return joined([name for name in (finding.about.model_name, exact) if name], ", ")


def _metric(finding: Finding, metric: str, estimate: MetricEstimate) -> str:
    """A metric; of how many answers if of several, and how many groups its figures are about if not all of them."""
    title, number, answers = METRIC_WORDS[metric].title, len(finding.question.groups), len(finding.stored.answers)
    if finding.reading.looks is not None:
        maximum = len(finding.reading.looks.amounts)
        title = said(
            "{metric}, interim look {number} of at most {most}", metric=title, number=finding.look, most=maximum
        )
    elif answers > 1:
        title = said("{metric}, from {answers} answers", metric=title, answers=answers)
    unknown = () if estimate.unknown is None else estimate.unknown.groups
    if unknown:
        title = said("{metric}, verdict over all that the unknown may be", metric=title)
    if estimate.as_recorded is not None:
        title = said("{metric}, corrected for wrongly recorded groups", metric=title)
    number, judged = number - len(unknown), number - len({*estimate.left_out, *unknown})
    if judged == number:
        return title
    return said("{metric}, {judged} of {number} groups", metric=title, judged=judged, number=number)
