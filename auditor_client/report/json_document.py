"""Findings as JSON documents, for machines and archives: the same facts, exact and unrounded."""

import math
from collections.abc import Sequence
from typing import Any, Final

from auditor_client.asking.question import Question
from auditor_client.errors import AuditorError
from auditor_client.estimation.results import Attribution, Comparison, Estimate, OddsEstimate, ParityEstimate
from auditor_client.findings import insight
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.report import prose
from shared.datasets import Budget
from shared.plans import Quote

FORMAT: Final = "pafer-audit/2"


def audit_document(finding: Finding) -> dict[str, Any]:
    """An audit as JSON values.

    `release` is the holder's answer as it came, so its signature can be checked from this document
    alone. A figure or an end of an interval that does not exist is null.
    """
    release, question = finding.release, finding.question
    attribution, refused = _attribution(finding)
    return {
        "format": FORMAT,
        "verdict": finding.verdict.value,
        "finding": prose.headline(finding),
        "explanation": prose.explanation(finding.first),
        "threshold": finding.threshold,
        "metrics": {metric: estimate_document(estimate) for metric, estimate in finding.estimates.items()},
        "attribution": attribution,
        "attribution_refused": refused,
        "dataset": release.dataset,
        "version": release.version,
        "sensitive": list(finding.plan.sensitive),
        "scope": [predicate.model_dump(mode="json", exclude_none=True) for predicate in question.scope],
        "reference": None if question.reference is None else list(question.reference),
        "strategy": finding.strategy,
        "estimator": finding.estimator,
        "rules": [
            {
                "rule": rule.rule.model_dump(mode="json", exclude_none=True),
                "decision": rule.leaf.decision,
                "favourable": rule.favourable,
            }
            for rule in finding.rules
        ],
        "model": {"rules_digest": finding.model.rules, "file_digest": finding.model.file},
        "reused": finding.reused,
        "charge": release.charge.document(),
        "budget": None if finding.budget is None else finding.budget.model_dump(mode="json"),
        "relation": release.relation,
        "meaning": {paragraph.term: paragraph.text for paragraph in prose.paragraphs(finding)},
        "holder": finding.holder_url,
        "key": finding.key.model_dump(mode="json"),
        "receipt": str(finding.receipt),
        "release": dict(finding.answer),
        "versions": dict(finding.versions),
    }


def estimate_document(estimate: MetricEstimate) -> dict[str, Any]:
    """The figures of one metric as JSON values."""
    document = {
        "verdict": estimate.verdict.value,
        "ratio": _estimate(estimate.ratio),
        "difference": _estimate(estimate.difference),
        "population_ratio": _estimate(estimate.population_ratio),
        "population_difference": _estimate(estimate.population_difference),
        "warnings": list(estimate.warnings),
    }
    if isinstance(estimate, OddsEstimate):
        return {
            **document,
            "true_positive": estimate_document(estimate.true_positive),
            "false_positive": estimate_document(estimate.false_positive),
        }
    return {**document, **_groups(estimate)}


def comparison_document(first: Finding, second: Finding, metric: str, change: Comparison) -> dict[str, Any]:
    """A comparison as JSON values, with both audits whole."""
    return {
        "metric": metric,
        "change": change.change.value,
        "ratio": _estimate(change.ratio),
        "difference": _estimate(change.difference),
        "population_ratio": _estimate(change.population_ratio),
        "population_difference": _estimate(change.population_difference),
        "notes": list(change.notes),
        "first": audit_document(first),
        "second": audit_document(second),
    }


def plan_document(
    question: Question, quote: Quote, forecast: Forecast, budget: Budget, target_width: float | None
) -> dict[str, Any]:
    """A planned audit as JSON values."""
    rules, model = question.rules, question.model
    return {
        "plan": question.plan.document(),
        "quote": quote.model_dump(mode="json"),
        "rules": len(rules),
        "favourable_rules": sum(rule.favourable for rule in rules),
        "model": {"rules_digest": model.rules, "file_digest": model.file},
        "metrics": list(question.metrics),
        "strategy": question.strategy,
        "target_width": target_width,
        "expectation": _expected(forecast.chosen),
        "strategies": [_expected(expected) for expected in forecast.strategies],
        "curve": [_expected(expected) for expected in forecast.curve],
        "assumption": {**forecast.assumption.model_dump(), "from_supports": forecast.from_supports},
        "budget": budget.model_dump(mode="json"),
    }


def history_document(findings: Sequence[Finding], unreadable: int) -> dict[str, Any]:
    """Audits over time as JSON values."""
    return {
        "audits": [
            {
                "created": finding.release.created.isoformat(),
                "release": finding.release.id,
                "dataset": finding.release.dataset,
                "version": finding.release.version,
                "sensitive": list(finding.plan.sensitive),
                "model": finding.model.rules,
                "strategy": finding.strategy,
                "reused": finding.reused,
                "charge": finding.release.charge.document(),
                "metrics": {name: estimate_document(estimate) for name, estimate in finding.estimates.items()},
            }
            for finding in findings
        ],
        "unreadable": unreadable,
    }


def _groups(estimate: ParityEstimate) -> dict[str, Any]:
    return {
        "overall": _estimate(estimate.overall),
        "groups": [
            {
                "group": list(group.group),
                "rate": _estimate(group.rate),
                "population_rate": _estimate(group.population_rate),
                "size": _estimate(group.size),
                "accepted": _estimate(group.accepted),
            }
            for group in estimate.groups
        ],
        "comparisons": [
            {"group": list(row.group), "ratio": _estimate(row.ratio), "difference": _estimate(row.difference)}
            for row in estimate.comparisons
        ],
    }


def _attribution(finding: Finding) -> tuple[dict[str, Any] | None, str | None]:
    """The rules' shares; where an answer rule by rule allows none, why."""
    if not insight.has_rules(finding):
        return None, None
    try:
        return _shares(finding, insight.attribution(finding)), None
    except AuditorError as refusal:
        return None, str(refusal)


def _shares(finding: Finding, shares: Attribution) -> dict[str, Any]:
    names = next(iter(finding.counts.values())).favourable
    return {
        "first": list(shares.first),
        "second": list(shares.second),
        "difference": _estimate(shares.difference),
        "ratio": _estimate(shares.ratio),
        "shares": [
            {
                "rule": names[share.rule],
                "percentage_points": _estimate(share.share),
                "ratio_share": _estimate(share.ratio_share),
            }
            for share in shares.ranking
        ],
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "value": _number(estimate.value),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "level": estimate.level,
        "method": estimate.method,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _expected(expectation: Expectation) -> dict[str, Any]:
    return {
        "strategy": expectation.strategy,
        "epsilon": expectation.epsilon,
        "width": expectation.width,
        "error": expectation.error,
        "undecided": expectation.undecided,
    }
