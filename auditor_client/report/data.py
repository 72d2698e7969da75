"""The report as data: what it says, in the order in which it says it, before anything is drawn.

Texts and positions only; the page adds no fact of its own. Texts that came from outside (names of
columns, categories, datasets) stay as they are here: escaping belongs to the page.
"""

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Final

from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate
from auditor_client.report import sentences
from auditor_client.report.sentences import Paragraph
from auditor_client.report.words import (
    group_words,
    listed,
    loss,
    percent,
    points,
    ratio,
    rule_words,
    threshold_percent,
    whole,
)

if TYPE_CHECKING:  # the result shows itself through this package
    from auditor_client.result import AuditResult

_AXES: Final = {0.05: 5, 0.1: 5, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5, 0.6: 6, 0.8: 4, 1.0: 5}
"""The ends that the axis of the rates may have, and into how many equal parts each is divided."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis, in per cent of its length, and what it says."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate on an axis, in per cent of its length; None where there is no value, or no interval."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group; `note` says whether its rate is the lowest or the highest."""

    values: tuple[str, ...]
    rate: str
    interval: str
    accepted: str
    size: str
    mark: Mark
    note: str


@dataclass(frozen=True, slots=True)
class RateTable:
    """Acceptance rates, highest first; `reference` is where the threshold times the highest rate lies."""

    columns: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    ticks: tuple[Tick, ...]
    reference: float | None
    reference_text: str


@dataclass(frozen=True, slots=True)
class RatioPicture:
    """The ratio on an axis from 0 to 1, and the threshold there."""

    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float
    threshold_text: str
    alternative: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure over all groups; `equal` is what it would be if all groups were accepted alike."""

    name: str
    definition: str
    value: str
    interval: str
    equal: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule: its decision, and (column, condition) pairs; none of them means everybody."""

    decision: str
    conditions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A term and what it is; an `exact` text (digest, key) is there to be copied."""

    term: str
    text: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ReportData:
    """The whole report."""

    verdict: str
    headline: str
    explanation: str
    question: tuple[Fact, ...]
    level: str
    rates: RateTable
    ratio: RatioPicture
    figures: tuple[FigureRow, ...]
    favourable: tuple[RuleRow, ...]
    unfavourable: tuple[RuleRow, ...]
    cost: tuple[Fact, ...]
    meaning: tuple[Paragraph, ...]
    warnings: tuple[str, ...]
    receipt: tuple[Fact, ...]
    command: str
    versions: tuple[Fact, ...]


def report_data(result: "AuditResult") -> ReportData:
    """Everything that the report of an audit says."""
    parity = result.parity
    return ReportData(
        verdict=parity.verdict.value if parity.ratio.defined else "undefined",
        headline=sentences.headline(result),
        explanation=sentences.explanation(parity),
        question=_question(result),
        level=sentences.level_words(parity.ratio),
        rates=_rates(result),
        ratio=_ratio_picture(parity),
        figures=_figures(parity),
        favourable=_rules(result, favourable=True),
        unfavourable=_rules(result, favourable=False),
        cost=_cost(result),
        meaning=sentences.paragraphs(result),
        warnings=parity.warnings,
        receipt=_receipt(result),
        command=f"auditor verify {shlex.quote(str(result.receipt.parent))}",
        versions=tuple(Fact(name, version) for name, version in result.versions.items()),
    )


def _question(result: "AuditResult") -> tuple[Fact, ...]:
    release = result.release
    created = release.created.astimezone(UTC)
    return (
        Fact("Dataset", f"{release.dataset}, version {release.version}"),
        Fact("Compared by", listed(result.plan.sensitive)),
        Fact("Groups", str(len(result.parity.groups))),
        Fact("Privacy loss", loss(release.charge)),
        Fact("Strategy", result.strategy),
        Fact("Estimator", result.estimator),
        Fact("Asked by", release.auditor),
        Fact("Answered", f"{created.day} {created:%B %Y, %H:%M} UTC"),
    )


def _rates(result: "AuditResult") -> RateTable:
    parity = result.parity
    ends = [end for group in parity.groups for end in (group.rate.value, group.rate.high) if math.isfinite(end)]
    upper = next((end for end in _AXES if max(ends, default=1.0) <= end), 1.0)
    parts = _AXES[upper]
    ticks = (Tick(100 * part / parts, f"{100 * upper * part / parts:.3g}") for part in range(parts + 1))
    lowest, highest = sentences.extremes(parity) or (None, None)
    rows = []
    for group in sorted(parity.groups, key=lambda group: -group.rate.value if group.rate.defined else math.inf):
        notes = [word for word, extreme in (("lowest", lowest), ("highest", highest)) if group is extreme]
        rows.append(_group_row(group, upper, " and ".join(notes)))
    return RateTable(
        columns=result.plan.sensitive,
        rows=tuple(rows),
        ticks=tuple(ticks),
        reference=None
        if highest is None or not parity.ratio.defined
        else _position(parity.threshold * highest.rate.value, upper),
        reference_text=f"{threshold_percent(parity.threshold)} of the highest rate",
    )


def _group_row(group: GroupEstimate, upper: float, note: str) -> GroupRow:
    return GroupRow(
        values=group_words(group.group),
        rate=percent(group.rate.value),
        interval=_interval(group.rate, percent),
        accepted=whole(group.accepted.value),
        size=whole(group.size.value),
        mark=_mark(group.rate, upper),
        note=note,
    )


def _ratio_picture(parity: ParityEstimate) -> RatioPicture:
    shown = ratio(parity.ratio.value, apart_from=parity.threshold)
    interval = sentences.interval_words(parity)
    return RatioPicture(
        mark=_mark(parity.ratio, 1.0),
        ticks=tuple(Tick(20.0 * part, f"{0.2 * part:.1g}") for part in range(6)),
        threshold=100 * parity.threshold,
        threshold_text=f"{parity.threshold:g}",
        alternative=(
            f"The ratio on a line from 0 to 1: {shown}{f', {interval}' if interval else ''}. "
            f"The threshold is at {parity.threshold:g}."
        ),
    )


def _figures(parity: ParityEstimate) -> tuple[FigureRow, ...]:
    def ratio_words(number: float) -> str:
        return ratio(number, apart_from=parity.threshold)

    return (
        FigureRow(
            "Statistical parity ratio",
            "lowest rate divided by highest",
            ratio_words(parity.ratio.value),
            _interval(parity.ratio, ratio_words),
            "1",
        ),
        FigureRow(
            "Statistical parity difference",
            "highest rate less lowest, in percentage points",
            points(parity.difference.value),
            _interval(parity.difference, points),
            "0",
        ),
    )


def _rules(result: "AuditResult", *, favourable: bool) -> tuple[RuleRow, ...]:
    return tuple(
        RuleRow(rule.leaf.decision, rule_words(rule.rule)) for rule in result.rules if rule.favourable == favourable
    )


def _cost(result: "AuditResult") -> tuple[Fact, ...]:
    release, budget = result.release, result.budget
    if budget is None:
        left = f"{loss(release.remaining)} when the answer was made"
    else:
        left = f"{loss(budget.remaining)} of {loss(budget.limit)}, for the population {budget.population}"
    facts = [Fact("This audit cost", loss(release.charge)), Fact("Left of the budget", left)]
    facts.append(
        Fact("Protected", f"what would differ if {sentences.relation_words(release.relation)} ({release.relation})")
    )
    scales = dict.fromkeys(batch.noise.scale for batch in release.batches)
    facts += [Fact("Noise on each count", sentences.noise_words(scale)) for scale in scales]
    return tuple(facts)


def _receipt(result: "AuditResult") -> tuple[Fact, ...]:
    release = result.release
    return (
        Fact("Holder", result.holder_url, exact=True),
        Fact("Release", release.id, exact=True),
        Fact("Ledger entry", f"{release.ledger.sequence}, {release.ledger.hash}", exact=True),
        Fact("Signing key", f"{release.key} (Ed25519) {result.key.public_key}", exact=True),
        Fact("Signature", release.signature, exact=True),
        Fact("Receipt file", result.receipt.name, exact=True),
        Fact("Rules of the tree", result.model.rules, exact=True),
        *([Fact("Model file", result.model.file, exact=True)] if result.model.file is not None else []),
    )


def _interval(estimate: Estimate, words: Callable[[float], str]) -> str:
    return "" if math.isnan(estimate.low) else f"{words(estimate.low)} to {words(estimate.high)}"


def _mark(estimate: Estimate, upper: float) -> Mark:
    low, high = _position(estimate.low, upper), _position(estimate.high, upper)
    return Mark(_position(estimate.value, upper), low, high)


def _position(value: float, upper: float) -> float | None:
    return round(min(max(100 * value / upper, 0.0), 100.0), 3) if math.isfinite(value) else None
