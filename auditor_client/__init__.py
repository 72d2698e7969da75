"""The auditor's side: from a decision tree to a fairness figure with an interval and a receipt.

    from auditor_client import Auditor

    with Auditor() as auditor:  # AUDITOR_HOLDER_URL, AUDITOR_API_KEY
        result = auditor.audit(model, "adult", "sex", 0.5)

The names in `__all__` are the public surface; everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from auditor_client.asking.assumption import Assumption
    from auditor_client.asking.request import AuditRequest
    from auditor_client.asking.training import FollowingAudit, TrainingRequest
    from auditor_client.auditor import Auditor
    from auditor_client.audits.comparing import ModelComparison
    from auditor_client.audits.history import History
    from auditor_client.audits.mending import Mending
    from auditor_client.audits.planned import PlannedAudit
    from auditor_client.audits.planned_training import PlannedTraining
    from auditor_client.audits.result import AuditResult
    from auditor_client.audits.training import TrainingResult
    from auditor_client.audits.watching import WatchedVerdict
    from auditor_client.errors import ApprovalAwaited, AuditorError
    from auditor_client.estimation.estimates import Estimate, Verdict
    from auditor_client.estimation.results import Attribution, Comparison, GroupEstimate, OddsEstimate, ParityEstimate
    from auditor_client.exchange.receipts import ReceiptsReport
    from auditor_client.findings.reading import Reading
    from auditor_client.models.tree import Branch, DecisionRule, Leaf, Split, Tree
    from shared.contract.rules import Predicate

__all__ = [
    "ApprovalAwaited",
    "Assumption",
    "Attribution",
    "AuditRequest",
    "AuditResult",
    "Auditor",
    "AuditorError",
    "Branch",
    "Comparison",
    "DecisionRule",
    "Estimate",
    "FollowingAudit",
    "GroupEstimate",
    "History",
    "Leaf",
    "Mending",
    "ModelComparison",
    "OddsEstimate",
    "ParityEstimate",
    "PlannedAudit",
    "PlannedTraining",
    "Predicate",
    "Reading",
    "ReceiptsReport",
    "Split",
    "TrainingRequest",
    "TrainingResult",
    "Tree",
    "Verdict",
    "WatchedVerdict",
]

_MODULES: Final = {
    "ApprovalAwaited": "auditor_client.errors",
    "Assumption": "auditor_client.asking.assumption",
    "Attribution": "auditor_client.estimation.results",
    "AuditRequest": "auditor_client.asking.request",
    "AuditResult": "auditor_client.audits.result",
    "Auditor": "auditor_client.auditor",
    "AuditorError": "auditor_client.errors",
    "Branch": "auditor_client.models.tree",
    "Comparison": "auditor_client.estimation.results",
    "DecisionRule": "auditor_client.models.tree",
    "Estimate": "auditor_client.estimation.estimates",
    "FollowingAudit": "auditor_client.asking.training",
    "GroupEstimate": "auditor_client.estimation.results",
    "History": "auditor_client.audits.history",
    "Leaf": "auditor_client.models.tree",
    "Mending": "auditor_client.audits.mending",
    "ModelComparison": "auditor_client.audits.comparing",
    "OddsEstimate": "auditor_client.estimation.results",
    "ParityEstimate": "auditor_client.estimation.results",
    "PlannedAudit": "auditor_client.audits.planned",
    "PlannedTraining": "auditor_client.audits.planned_training",
    "Predicate": "shared.contract.rules",
    "Reading": "auditor_client.findings.reading",
    "ReceiptsReport": "auditor_client.exchange.receipts",
    "Split": "auditor_client.models.tree",
    "TrainingRequest": "auditor_client.asking.training",
    "TrainingResult": "auditor_client.audits.training",
    "Tree": "auditor_client.models.tree",
    "Verdict": "auditor_client.estimation.estimates",
    "WatchedVerdict": "auditor_client.audits.watching",
}
"""Where each name is. Its module is imported when it is first used, so that help and small commands start at once."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
