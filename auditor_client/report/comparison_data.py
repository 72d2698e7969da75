"""Two audits side by side, as data."""

from collections.abc import Callable
from dataclasses import dataclass

from auditor_client.estimation.results import Change, Comparison
from auditor_client.findings.finding import Finding
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.formats import points, ratio
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.prose import level_words
from auditor_client.text import loss_words


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One figure of both audits, and what changed."""

    name: str
    first: str
    second: str
    change: str
    interval: str
    population: str


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """Everything that is shown of a comparison."""

    headline: str
    change: str
    level: str
    first: str
    second: str
    change_mark: Mark
    change_ticks: tuple[Tick, ...]
    figures: tuple[ChangeRow, ...]
    notes: tuple[str, ...]
    cost: str


_WORDS = {
    Change.CLOSER: "The second model is closer to parity",
    Change.FARTHER: "The second model is farther from parity",
    Change.UNDECIDED: "Which model is closer to parity is undecided",
}


def comparison_data(first: Finding, second: Finding, metric: str, change: Comparison) -> ComparisonData:
    """Everything that is to be shown of a comparison."""
    title = METRIC_WORDS[metric].title
    axis = LinearAxis.around_zero([change.ratio.low, change.ratio.high])
    interval = interval_text(change.ratio, _signed(ratio))
    level = level_words(change.ratio)
    in_brackets = f" ({level} interval {interval})" if interval else ""
    return ComparisonData(
        headline=f"{_WORDS[change.change]}: its {title.lower()} ratio is {ratio(change.second.ratio.value)} instead of "
        f"{ratio(change.first.ratio.value)}, a change of {_signed(ratio)(change.ratio.value)}{in_brackets}.",
        change=change.change.value.replace(" ", "-"),
        level=level,
        first=_name(first),
        second=_name(second),
        change_mark=axis.mark(change.ratio, change.population_ratio),
        change_ticks=axis.ticks,
        figures=(
            _row(f"{title} ratio", "ratio", change, ratio),
            _row(f"{title} difference, in percentage points", "difference", change, points),
        ),
        notes=change.notes,
        cost=_cost(first, second),
    )


def _name(finding: Finding) -> str:
    digest = (finding.model.file or finding.model.rules).removeprefix("sha256:")
    provenance = finding.question.source.provenance
    described = "" if provenance is None else f"{provenance.description}, "
    return f"{described}model {digest[:12]}, {len(finding.rules)} rules"


def _cost(first: Finding, second: Finding) -> str:
    spent = [finding for finding in (first, second) if not finding.reused]
    if not spent:
        return "Nothing was spent: kept answers had every count."
    if len(spent) == 1:
        return f"Spent: {loss_words(spent[0].release.charge)}. The other audit was answered from the same counts."
    if first.release.id == second.release.id:
        return f"Spent: {loss_words(first.release.charge)}, once."
    return f"Spent: {loss_words(first.release.charge)} and {loss_words(second.release.charge)}."


def _row(name: str, figure: str, change: Comparison, words: Callable[[float], str]) -> ChangeRow:
    signed = _signed(words)
    moved, population = getattr(change, figure), getattr(change, f"population_{figure}")
    return ChangeRow(
        name,
        words(getattr(change.first, figure).value),
        words(getattr(change.second, figure).value),
        signed(moved.value),
        interval_text(moved, signed),
        interval_text(population, signed),
    )


def _signed(words: Callable[[float], str]) -> Callable[[float], str]:
    return lambda number: words(number) if not number > 0 else f"+{words(number)}"
