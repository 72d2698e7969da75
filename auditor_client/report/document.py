"""The report as a JSON document, for machines and archives: the same facts, exact and unrounded."""

import math
from typing import TYPE_CHECKING, Any, Final

from auditor_client.estimation.results import Estimate
from auditor_client.report import sentences

if TYPE_CHECKING:  # the result shows itself through this package
    from auditor_client.result import AuditResult

FORMAT: Final = "pafer-audit/1"


def audit_document(result: "AuditResult") -> dict[str, Any]:
    """An audit as JSON values.

    `release` is the holder's answer as it came, so its signature can be checked from this document
    alone. A figure or an end of an interval that does not exist is null.
    """
    parity = result.parity
    release = result.release
    return {
        "format": FORMAT,
        "verdict": parity.verdict.value,
        "finding": sentences.headline(result),
        "explanation": sentences.explanation(parity),
        "threshold": parity.threshold,
        "statistical_parity_ratio": _estimate(parity.ratio),
        "statistical_parity_difference": _estimate(parity.difference),
        "groups": [
            {
                "group": list(group.group),
                "acceptance_rate": _estimate(group.rate),
                "size": _estimate(group.size),
                "accepted": _estimate(group.accepted),
            }
            for group in parity.groups
        ],
        "warnings": list(parity.warnings),
        "dataset": release.dataset,
        "version": release.version,
        "sensitive": list(result.plan.sensitive),
        "strategy": result.strategy,
        "estimator": result.estimator,
        "rules": [
            {
                "rule": rule.rule.model_dump(mode="json", exclude_none=True),
                "decision": rule.leaf.decision,
                "favourable": rule.favourable,
            }
            for rule in result.rules
        ],
        "model": {"rules_digest": result.model.rules, "file_digest": result.model.file},
        "charge": release.charge.model_dump(mode="json"),
        "budget": None if result.budget is None else result.budget.model_dump(mode="json"),
        "relation": release.relation,
        "meaning": {paragraph.term: paragraph.text for paragraph in sentences.paragraphs(result)},
        "holder": result.holder_url,
        "key": result.key.model_dump(mode="json"),
        "receipt": str(result.receipt),
        "release": dict(result.answer),
        "versions": dict(result.versions),
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": _number(estimate.value),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "level": estimate.level,
        "method": estimate.method,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
