"""The report as data: what it says, in the order in which it says it, before anything is drawn.

Everything here is text and positions; `render` and the template add no fact of their own. Texts that
came from outside (names of columns, categories, datasets) are kept as they are: escaping belongs to
the page.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate, Verdict
from auditor_client.report import meaning
from auditor_client.report.words import group_words, listed, percent, points, ratio, rule_words, whole

if TYPE_CHECKING:  # the result shows itself through this module
    from auditor_client.result import AuditResult

_AXES: Final = {0.05: 5, 0.1: 5, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5, 0.6: 6, 0.8: 4, 1.0: 5}
"""The upper ends that the axis of the rates may have, and into how many equal parts each is divided."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis; `position` in per cent of its length."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate on an axis, positions in per cent of its length; None where there is none."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group: its values, its figures as texts, its place on the axis, and whether it is an extreme."""

    values: tuple[str, ...]
    rate: str
    interval: str
    accepted: str
    size: str
    mark: Mark
    note: str


@dataclass(frozen=True, slots=True)
class RateTable:
    """The acceptance rates, highest first; `reference` is where the threshold times the highest rate lies."""

    columns: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    ticks: tuple[Tick, ...]
    reference: float | None
    reference_text: str
    level: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure over all groups, as texts."""

    name: str
    value: str
    interval: str
    equal: str


@dataclass(frozen=True, slots=True)
class RatioPicture:
    """The ratio's interval on an axis from 0 to 1, and the threshold there; `alternative` says it in words."""

    mark: Mark
    threshold: float
    threshold_text: str
    alternative: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule: its id, its decision, and (column, condition) pairs; none of them means everybody."""

    id: str
    decision: str
    conditions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A term and what it is; `exact` texts (digests, keys) are set as they are, to be copied."""

    term: str
    text: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ReportData:
    """The whole report."""

    verdict: Verdict
    verdict_word: str
    headline: str
    explanation: str
    question: tuple[Fact, ...]
    rates: RateTable
    ratio: RatioPicture
    figures: tuple[FigureRow, ...]
    favourable: tuple[RuleRow, ...]
    unfavourable: tuple[RuleRow, ...]
    cost: tuple[Fact, ...]
    meaning: tuple[meaning.Paragraph, ...]
    warnings: tuple[str, ...]
    receipt: tuple[Fact, ...]
    command: str
    versions: tuple[Fact, ...]


def report_data(result: "AuditResult") -> ReportData:
    """Everything that the report of an audit says."""
    parity = result.parity
    return ReportData(
        verdict=parity.verdict,
        verdict_word=parity.verdict.value if parity.ratio.defined else "undefined",
        headline=_headline(result),
        explanation=_explanation(parity),
        question=_question(result),
        rates=_rate_table(result),
        ratio=_ratio_picture(parity),
        figures=_figures(parity),
        favourable=_rules(result, favourable=True),
        unfavourable=_rules(result, favourable=False),
        cost=_cost(result),
        meaning=meaning.paragraphs(result),
        warnings=parity.warnings,
        receipt=_receipt(result),
        command=f"auditor verify {result.receipt.parent}",
        versions=tuple(Fact(name, version) for name, version in result.versions.items()),
    )


def threshold_name(threshold: float) -> str:
    """What a threshold of the ratio is called."""
    return "the four-fifths rule" if threshold == 0.8 else f"a threshold of {percent(threshold)}"


def _headline(result: "AuditResult") -> str:
    """The verdict in one sentence."""
    parity = result.parity
    by = listed(result.plan.sensitive)
    start = f"At ε = {_epsilon(result)}, "
    lowest, highest = _extremes(parity)
    if not parity.ratio.defined or lowest is None or highest is None:
        return f"{start}the tree has no statistical parity ratio for {by}, so nothing can be said of it."
    rule = threshold_name(parity.threshold)
    compared = (
        f"people of the group {_name(lowest)} are accepted at "
        f"{percent(parity.ratio.value, apart_from=parity.threshold)} of the rate of the group {_name(highest)}"
    )
    interval = _interval(parity.ratio, apart_from=parity.threshold)
    if parity.verdict is not Verdict.UNDECIDED:
        verb = "meets" if parity.verdict is Verdict.MEETS else "fails"
        return f"{start}the tree {verb} {rule} for {by}: {compared} ({interval})."
    return f"{start}it is undecided whether the tree meets {rule} for {by}: {compared} ({interval})."


def _explanation(parity: ParityEstimate) -> str:
    bar = percent(parity.threshold)
    if not parity.ratio.defined:
        return "Either no group has anybody who is accepted, or a group has nobody in it: there is nothing to divide."
    if math.isnan(parity.ratio.low):
        return "This estimator gives no interval, so it cannot tell an answer from the noise; no verdict rests on it."
    if parity.verdict is Verdict.MEETS:
        return f"The whole interval lies at or above {bar}."
    if parity.verdict is Verdict.FAILS:
        return f"The whole interval lies below {bar}."
    return f"The interval reaches across {bar}: the noise is too large to tell. A larger ε would narrow it."


def _question(result: "AuditResult") -> tuple[Fact, ...]:
    release = result.release
    return (
        Fact("Dataset", f"{release.dataset}, version {release.version} of its records"),
        Fact("Compared by", listed(result.plan.sensitive)),
        Fact("Groups", str(len(result.parity.groups))),
        Fact("Measured", "statistical parity of acceptance"),
        Fact("Threshold", f"{percent(result.parity.threshold)} ({threshold_name(result.parity.threshold)})"),
        Fact("Estimator", result.estimator),
        Fact("Asked by", release.auditor),
        Fact("Answered", release.created.strftime("%-d %B %Y, %H:%M %Z").strip()),
    )


def _rate_table(result: "AuditResult") -> RateTable:
    parity = result.parity
    lowest, highest = _extremes(parity)
    ends = [end for group in parity.groups for end in (group.rate.value, group.rate.high) if math.isfinite(end)]
    upper = next((axis for axis in _AXES if axis >= max(ends, default=1.0)), 1.0)
    parts = _AXES[upper]
    ticks = tuple(Tick(100 * part / parts, f"{100 * upper * part / parts:.3g}") for part in range(parts + 1))
    ordered = sorted(parity.groups, key=lambda group: -group.rate.value if group.rate.defined else math.inf)
    return RateTable(
        columns=result.plan.sensitive,
        rows=tuple(_group_row(group, upper, lowest, highest) for group in ordered),
        ticks=ticks,
        reference=None if highest is None else 100 * parity.threshold * highest.rate.value / upper,
        reference_text=f"{percent(parity.threshold)} of the highest rate",
        level=f"{100 * parity.ratio.level:.3g}",
    )


def _group_row(group: GroupEstimate, upper: float, lowest: GroupEstimate | None, highest: GroupEstimate | None) -> GroupRow:
    notes = [word for word, extreme in (("lowest", lowest), ("highest", highest)) if group is extreme]
    return GroupRow(
        values=group_words(group.group),
        rate=percent(group.rate.value),
        interval="" if math.isnan(group.rate.low) else f"{percent(group.rate.low)} to {percent(group.rate.high)}",
        accepted=whole(group.accepted.value),
        size=whole(group.size.value),
        mark=_mark(group.rate, upper),
        note=" and ".join(notes),
    )


def _ratio_picture(parity: ParityEstimate) -> RatioPicture:
    shown = f"{ratio(parity.ratio.value, apart_from=parity.threshold)}"
    return RatioPicture(
        mark=_mark(parity.ratio, 1.0),
        threshold=100 * parity.threshold,
        threshold_text=percent(parity.threshold),
        alternative=(
            f"The ratio on a line from 0 to 1: {shown}, {_interval(parity.ratio, apart_from=parity.threshold)}; "
            f"the threshold is at {parity.threshold:g}."
        ),
    )


def _figures(parity: ParityEstimate) -> tuple[FigureRow, ...]:
    def shown(estimate: Estimate, write: "object") -> str:
        raise NotImplementedError

    bar = parity.threshold
    ratio_interval = _ends(ratio(parity.ratio.low, apart_from=bar), ratio(parity.ratio.high, apart_from=bar))
    return (
        FigureRow(
            "Statistical parity ratio: the lowest rate divided by the highest",
            ratio(parity.ratio.value, apart_from=bar),
            ratio_interval,
            "1",
        ),
        FigureRow(
            "Statistical parity difference: the highest rate less the lowest",
            points(parity.difference.value),
            _ends(percent(parity.difference.low), percent(parity.difference.high)),
            "0",
        ),
    )
