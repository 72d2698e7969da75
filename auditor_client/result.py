"""What an audit found, with everything that somebody else needs to check it (3-estimation §6)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditor_client.estimation.results import ParityEstimate
from auditor_client.models.tree import DecisionRule
from auditor_client.report.document import audit_document
from auditor_client.report.render import audit_frame, audit_page, audit_summary
from shared.datasets import Budget
from shared.plans import Plan
from shared.releases import Release, SigningKey


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Which model was audited.

    Attributes:
        rules: SHA-256 of the canonical rules with their decisions, as "sha256:<hex>".
        file: SHA-256 of the model's file, likewise; None if the model came from memory.
    """

    rules: str
    file: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """One audit: what was asked, what was answered, what it means.

    Attributes:
        plan: What was asked, pinned to a version of the records.
        release: The holder's verified answer.
        answer: The same as it came, which is what the signature is over.
        receipt: The file that keeps it.
        key: The public key that signed it.
        holder_url: Whom it came from.
        strategy: How the question was put: "verdict", "pafer".
        estimator: How the figures were made: "posterior", or "plug-in (uniform, uniform)".
        parity: The figures, each with its interval.
        rules: The tree's rules after merging siblings that decide alike.
        model: Which model.
        budget: The auditor's account after the audit; None if the holder did not tell it again.
        versions: Names and versions of the programs that computed the figures.
    """

    plan: Plan
    release: Release
    answer: Mapping[str, Any]
    receipt: Path
    key: SigningKey
    holder_url: str
    strategy: str
    estimator: str
    parity: ParityEstimate
    rules: tuple[DecisionRule, ...]
    model: ModelDigest
    budget: Budget | None
    versions: Mapping[str, str]

    def summary(self) -> str:
        """The finding as plain text, for a terminal."""
        return audit_summary(self)

    def to_document(self) -> dict[str, Any]:
        """The finding as a JSON document; figures that are undefined are null."""
        return audit_document(self)

    def to_json(self) -> str:
        """The document as a text."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """The report: one page that needs nothing else."""
        return audit_page(self)

    def write_report(self, path: Path | str) -> Path:
        """Write the report into a file and say where it is.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        target.write_text(self.to_html(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        return audit_frame(self)
