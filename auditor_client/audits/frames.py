"""Findings as pandas DataFrames: the shape that users of Fairlearn's MetricFrame know."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pandas as pd

from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of

if TYPE_CHECKING:
    from auditor_client.estimation.chain_figures import ChainFigures

_ENDS: Final = {"": "value", "_low": "low", "_high": "high"}


def frame(finding: Finding) -> pd.DataFrame:
    """Every rate of every group of an audit.

    Returns:
        Indexed by metric, rate ("acceptance", "positive", …) and the sensitive columns; one row for each group, with
        columns rate, low, high (of the people in the data), known (whether the answers tell the rate), population_low,
        population_high, accepted, size.
    """
    sensitive = list(finding.plan.sensitive)
    rows = [
        {
            "metric": metric,
            "figure": rate.value,
            **dict(zip(sensitive, group.group, strict=True)),
            **_ends(group.rate, group.population_rate),
            "accepted": group.accepted.value,
            "size": group.size.value,
        }
        for metric in finding.metrics
        for rate in RATES[metric]
        for group in parity_of(finding.estimates[metric], rate).groups
    ]
    return pd.DataFrame(rows).set_index(["metric", "figure", *sensitive])


def chain_table(figures: "ChainFigures", sensitive: Sequence[str]) -> pd.DataFrame:
    """Every stage of a chain for every group.

    Returns:
        Indexed by stage and the sensitive columns, with columns people, rate (of those who reached the stage before)
        and reached (of everybody), ratio and chain_ratio (of step and chain, to the reference group; missing there) and
        contribution, each with its ends `_low` and `_high`.
    """
    compared = {one.group: one.steps for one in figures.comparisons}
    rows = []
    for number, step in enumerate(figures.steps):
        for index, group in enumerate(figures.groups):
            found = {"people": step.people[index], "rate": step.rates[index], "reached": step.reached[index]}
            if group in compared:
                one = compared[group][number]
                found |= {"ratio": one.ratio, "chain_ratio": one.chain, "contribution": one.contribution}
            ends = {f"{name}{end}": getattr(one, field) for name, one in found.items() for end, field in _ENDS.items()}
            rows.append({"stage": step.stage, **dict(zip(sensitive, group, strict=True)), **ends})
    return pd.DataFrame(rows).set_index(["stage", *sensitive])


def group_table(finding: Finding) -> pd.DataFrame:
    """The rates of the first metric's groups, as Fairlearn's `MetricFrame.by_group` has them.

    Returns:
        Indexed by the sensitive columns; of equalized odds, which are two rates, by those before.
    """
    table = frame(finding).loc[[finding.metrics[0]]].droplevel("metric")
    return table if len(RATES[finding.metrics[0]]) > 1 else table.droplevel("figure")


def history_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row for each audit, table by fewer sensitive columns, and metric, the earliest first.

    `verdict` is of the metric's ratio by itself; `audit_verdict` is that of the whole audit, which may depend on the
    kind of decision.
    """
    rows = [
        {
            "created": finding.release.created,
            "dataset": finding.release.dataset,
            "version": finding.release.version,
            "sensitive": ", ".join(finding.plan.sensitive),
            "model": finding.model.rules,
            "metric": metric,
            "ratio": estimate.ratio.value,
            "known": estimate.ratio.known,
            "low": estimate.ratio.low,
            "high": estimate.ratio.high,
            "difference": estimate.difference.value,
            "verdict": estimate.verdict.value,
            "audit_verdict": finding.verdict.value,
            "reused": finding.reused,
            "release": finding.release.id,
        }
        for audit in findings
        for finding in audit.every_table
        for metric, estimate in finding.estimates.items()
    ]
    return pd.DataFrame(rows)


def joined(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Frames one below the other, with a further level "audit" on the index that says which is which."""
    return pd.concat(dict(frames), names=["audit"])


def _ends(rate: Estimate, population: Estimate | None) -> dict[str, float | bool]:
    ends = {"rate": rate.value, "low": rate.low, "high": rate.high, "known": rate.known}
    if population is None:
        return ends
    return {**ends, "population_low": population.low, "population_high": population.high}
