"""A trained model as a JSON document, for machines and archives."""

from collections.abc import Mapping
from typing import Any, Final

from auditor_client.findings.finding import Finding
from auditor_client.findings.training import Trained, audited_accuracy
from auditor_client.report.json_document import audit_document, figures_document
from auditor_client.report.training_data import spent_now

FORMAT: Final = "pafer-training/1"
_FIGURES: Final = (
    "met", "estimated", "ratio_learned", "ratio", "accuracy_learned", "accuracy", "accuracy_of_none", "left_out",
    "epsilon_needed",
)  # fmt: skip


def training_document(trained: Trained, audit: Finding | None, versions: Mapping[str, str]) -> dict[str, Any]:
    """A trained model as JSON values; `answer` is the holder's answer as it came, so its signature can be checked."""
    release, tree = trained.release, trained.tree
    return {
        "format": FORMAT,
        "wanted": trained.wanted,
        "level": trained.reading.level,
        "release": release.id,
        "receipt": trained.kept.receipt.name,
        "dataset": release.dataset,
        "version": release.version,
        "training": release.training.document(),
        "steps": [step.model_dump(mode="json") for step in release.steps],
        "charge": release.charge.document(),
        "remaining": release.remaining.document(),
        "reused": trained.reused,
        "spent": spent_now(trained, audit).document(),
        "groups": [list(group) for group in trained.groups],
        **({"met": False} if tree is None else figures_document(tree, *_FIGURES)),
        "leaves": [
            {
                "rules": [rule.model_dump(mode="json", exclude_none=True) for rule in leaf.rules],
                **figures_document(leaf, "learned", "favourable", "people", "everybody", "cost"),
            }
            for leaf in (tree.leaves if tree else ())
        ]
        or [
            {
                "rules": [rule.model_dump(mode="json", exclude_none=True) for rule in leaf.rules],
                "learned": leaf.favourable,
                "favourable": leaf.favourable,
            }
            for leaf in trained.learned
        ],
        "promises_ratio": tree is not None,
        "audit": None if audit is None else {"accuracy": _accuracy(audit), **audit_document(audit)},
        "versions": dict(versions),
        "answer": dict(trained.kept.document),
    }


def _accuracy(audit: Finding) -> dict[str, Any] | None:
    accuracy = audited_accuracy(audit)
    return None if accuracy is None else figures_document(accuracy, "value", "low", "high", "level")
