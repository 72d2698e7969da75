"""Findings as matplotlib figures, for notebooks; the pages of `report` draw their own pictures."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from auditor_client.errors import QuestionRefused
from auditor_client.estimation.results import Estimate, GroupEstimate, Verdict
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.report.formats import group_words
from auditor_client.report.metric_names import METRIC_WORDS, RATE_WORDS

_INK = "#1f4e79"


def rates_figure(finding: Finding, metric: str | None = None) -> Figure:
    """The groups' rates, highest first, with the interval of the people in the data and of the population.

    Args:
        finding: An audit.
        metric: One of its metrics; by default the first.

    Returns:
        A figure of its own, with one panel for each rate; nothing is shown or kept by matplotlib.

    Raises:
        QuestionRefused: The audit was not asked for that metric.
    """
    metric = metric or finding.metrics[0]
    if metric not in finding.metrics:
        raise QuestionRefused(f"The audit was not asked for {metric!r}, only {', '.join(finding.metrics)}.")
    estimate, rates = finding.estimates[metric], RATES[metric]
    groups = len(parity_of(estimate, rates[0]).groups)
    figure = Figure(figsize=(7, len(rates) * (1.1 + 0.38 * groups)), layout="constrained")
    axes = figure.subplots(len(rates), squeeze=False)
    for axis, rate in zip(axes[:, 0], rates, strict=True):
        rated = sorted(
            (group for group in parity_of(estimate, rate).groups if group.rate.defined),
            key=lambda group: group.rate.value,
        )
        axis.set_title(RATE_WORDS[rate].name, loc="left", fontsize="medium")
        axis.set_yticks(range(len(rated)), [", ".join(group_words(group.group)) for group in rated])
        axis.set_xlim(left=0, right=_right(rated))
        axis.grid(axis="x", alpha=0.3)
        for row, group in enumerate(rated):
            _interval(axis, row, group.population_rate, 1.2)
            _interval(axis, row, group.rate, 4.5)
            axis.plot([group.rate.value], [row], "o", color=_INK)
    title, interval = METRIC_WORDS[metric].title, estimate.ratio
    verdict = "" if estimate.verdict is Verdict.NONE else f" – {estimate.verdict.value}"
    figure.suptitle(f"{title}: ratio {interval}{verdict}", x=0.01, ha="left")
    return figure


def _interval(axis: object, row: int, estimate: Estimate | None, width: float) -> None:
    if estimate is not None and math.isfinite(estimate.low):
        axis.plot([estimate.low, estimate.high], [row, row], color=_INK, linewidth=width, alpha=0.6)  # type: ignore[attr-defined]  # matplotlib's Axes is not exported with a type


def _right(groups: Sequence[GroupEstimate]) -> float:
    ends = [end for group in groups for end in (group.rate.value, group.rate.high) if math.isfinite(end)]
    return min(1.0, 1.15 * max(ends, default=1.0))
