"""The auditor's side: from a decision tree to a fairness figure with an interval and a receipt.

    from auditor_client import Auditor

    with Auditor() as auditor:  # AUDITOR_HOLDER_URL, AUDITOR_API_KEY
        result = auditor.audit(model, "adult", "sex", 0.5)

The names in `__all__` are the public surface; everything else may change.
"""

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
from auditor_client.estimation.results import (
    Attribution,
    Comparison,
    Estimate,
    GroupEstimate,
    OddsEstimate,
    ParityEstimate,
    Verdict,
)
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
