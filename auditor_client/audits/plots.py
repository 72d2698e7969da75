"""Findings as matplotlib figures, for notebooks; the pages of `report` draw their own pictures."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import ScaledTranslation

from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.results import GroupEstimate, ParityEstimate
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.report.figures import threshold_rate
from auditor_client.report.formats import group_words
from auditor_client.report.metric_names import METRIC_WORDS, rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.report.prose import level_of
from auditor_client.report.rehearsal import marked
from auditor_client.text import no_such

_INK = "#1f4e79"
_BAR = "#a9c4de"
_THRESHOLD = "#b3261e"


def rates_figure(finding: Finding, metric: str | None = None, ax: Axes | Sequence[Axes] | None = None) -> Figure:
    """The groups' rates, highest first, with the interval of the people in the data and of the population.

    Args:
        finding: An audit.
        metric: One of its metrics; by default the first.
        ax: The axes to draw on, one for each rate of the metric; by default those of a new figure.

    Returns:
        The figure of the axes, with one panel for each rate; nothing is shown or kept by matplotlib.

    Raises:
        QuestionRefused: The audit was not asked for that metric, or it has another number of rates than axes.
    """
    metric = metric or finding.metrics[0]
    if metric not in finding.metrics:
        raise QuestionRefused(no_such("metric of this audit", metric, finding.metrics))
    estimate, rates = finding.estimates[metric], RATES[metric]
    if ax is None:
        axes = _new_axes(len(rates), len(parity_of(estimate, rates[0]).groups))
    else:
        axes = [ax] if isinstance(ax, Axes) else list(ax)
    if len(axes) != len(rates):
        raise QuestionRefused(f"{METRIC_WORDS[metric].title} has {len(rates)} rates: give `ax` as many axes.")
    for axis, rate in zip(axes, rates, strict=True):
        _draw(axis, finding, parity_of(estimate, rate), rate_words(rate, outcome_of(finding)).name)
    _explain(axes[-1])
    title, interval = METRIC_WORDS[metric].title, estimate.ratio
    verdict = "" if estimate.verdict is Verdict.NONE else f" – {estimate.verdict.value}"
    axes[0].set_title(finding_title(finding, f"{title}: ratio {interval}{verdict}"), loc="left", fontsize="medium")
    figure = axes[0].get_figure(root=True)
    if figure is None:
        raise QuestionRefused("The `ax` were taken out of their figure: give others.")
    return figure


def finding_title(finding: Finding, title: str) -> str:
    """The title of a figure; marked, if the people are invented."""
    return marked(finding.question.dataset.rehearsal, title)


def _new_axes(rates: int, groups: int) -> list[Axes]:
    figure = Figure(figsize=(7, 0.5 + rates * (1.2 + 0.38 * groups)), layout="constrained")
    return list(figure.subplots(rates, squeeze=False)[:, 0])


def _draw(axis: Axes, finding: Finding, parity: ParityEstimate, name: str) -> None:
    """The rates of one comparison, and where the threshold of a verdict lies."""
    rated = sorted(
        (group for group in parity.groups if group.rate.defined),
        key=lambda group: group.rate.value,
    )
    axis.set_yticks(range(len(rated)), [", ".join(group_words(finding.question, group.group)) for group in rated])
    axis.set_xlim(left=0, right=_right(rated))
    axis.set_xlabel(name)
    axis.xaxis.set_major_formatter(PercentFormatter(1.0))
    axis.grid(axis="x", alpha=0.3)
    level = f"{level_of(finding)} interval"
    for row, group in enumerate(rated):
        _interval(axis, row, group.population_rate, 1.2, f"{level}, the population")
        _interval(axis, row, group.rate, 4.5, f"{level}, the people in the data")
        if group.rate.known:
            axis.barh(row, group.rate.value, height=0.6, color=_BAR, zorder=0, label="" if row else "estimate")
        right = max(_ends(group))
        words = f"{group.rate.value:.1%}" if group.rate.known else "unknown"
        axis.annotate(words, (right, row), (4, 0), textcoords="offset points", va="center")
    limit = threshold_rate(parity)
    if limit is not None:
        axis.axvline(limit, color=_THRESHOLD, linestyle="--", label=f"{parity.threshold:g} of the highest rate")


def _explain(axis: Axes) -> None:
    """Say what the marks are, below the axis: beside the bars there may be no room."""
    figure = axis.get_figure(root=True)
    if figure is not None:
        below = axis.transAxes + ScaledTranslation(0, -0.5, figure.dpi_scale_trans)
        axis.legend(
            loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, ncols=2, fontsize="small", frameon=False
        )


def _interval(axis: Axes, row: int, estimate: Estimate | None, width: float, label: str) -> None:
    if estimate is not None and math.isfinite(estimate.low):
        ends = [estimate.low, estimate.high]
        axis.plot(ends, [row, row], color=_INK, linewidth=width, alpha=0.6, label="" if row else label)


def _ends(group: GroupEstimate) -> list[float]:
    """A group's rate, and the upper ends of its intervals."""
    ends = [group.rate.value, group.rate.high, *([] if group.population_rate is None else [group.population_rate.high])]
    return [end for end in ends if math.isfinite(end)]


def _right(groups: Sequence[GroupEstimate]) -> float:
    ends = [end for group in groups for end in _ends(group)]
    return min(1.1, 1.2 * max(ends, default=1.0))
