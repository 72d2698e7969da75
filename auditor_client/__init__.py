"""The auditor's side: from a decision tree to a fairness figure that its reader can trust.

    from auditor_client import Auditor

    with Auditor() as auditor:  # AUDITOR_HOLDER_URL, AUDITOR_API_KEY
        result = auditor.audit(model, "adult", ["sex"], "0.5")

What stands in `__all__` is the public surface; everything else may change.
"""

from auditor_client.auditor import Auditor
from auditor_client.errors import AuditorError
from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate, Verdict
from auditor_client.models.tree import Branch, DecisionRule, Leaf, Split, Tree
from auditor_client.receipts import ReceiptsReport
from auditor_client.result import AuditResult, PlannedAudit

__all__ = [
    "AuditResult",
    "Auditor",
    "AuditorError",
    "Branch",
    "DecisionRule",
    "Estimate",
    "GroupEstimate",
    "Leaf",
    "ParityEstimate",
    "PlannedAudit",
    "ReceiptsReport",
    "Split",
    "Tree",
    "Verdict",
]
