"""What an audit found, with everything that somebody else needs to check it (3-estimation §6)."""

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.results import ParityEstimate
from auditor_client.models.tree import DecisionRule
from auditor_client.question import ModelDigest
from auditor_client.report.document import audit_document
from auditor_client.report.render import audit_frame, audit_page, audit_summary
from auditor_client.report.sentences import noise_words
from auditor_client.report.words import loss
from auditor_client.text import readable
from shared.datasets import Budget
from shared.plans import Plan, Quote
from shared.releases import Release, SigningKey

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.planning import Expectation

_PROGRAMS: Final = ("pafer", "numpy", "scipy", "scikit-learn", "skops", "pydantic", "cryptography")


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
        measurement: What was answered, as the estimator saw it.
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
    measurement: Measurement
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAudit:
    """An audit before it is asked: its price, and what could be expected of it.

    Attributes:
        plan: What would be asked, pinned to a version of the records.
        quote: What the holder would charge, and its noise.
        rules: The tree's rules after merging siblings that decide alike.
        model: Which model.
        strategy: How the question would be put.
        expectation: How wide the interval of the ratio would be, on what assumption about the people.
        budget: The auditor's account.
    """

    plan: Plan
    quote: Quote
    rules: tuple[DecisionRule, ...]
    model: ModelDigest
    strategy: str
    expectation: "Expectation"
    budget: Budget

    def summary(self) -> str:
        """The price as plain text, for a terminal."""
        charge, left = self.quote.charge, self.budget.remaining
        enough = charge.epsilon <= left.epsilon and charge.delta <= left.delta
        favourable = sum(rule.favourable for rule in self.rules)
        lines = [
            f"The audit would cost {loss(charge)}; {loss(left)} is left{'' if enough else ', which does not suffice'}.",
            f"The tree has {len(self.rules)} rules, {favourable} of them favourable.",
            *(
                f"Batch {batch.name}: noise on each count is {noise_words(batch.noise.scale)}."
                for batch in self.quote.batches
            ),
        ]
        return "\n".join(map(readable, [*lines, str(self.expectation), "Nothing was spent."]))

    def to_document(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "plan": self.plan.document(),
            "quote": self.quote.model_dump(mode="json"),
            "rules": len(self.rules),
            "favourable_rules": sum(rule.favourable for rule in self.rules),
            "model": {"rules_digest": self.model.rules, "file_digest": self.model.file},
            "strategy": self.strategy,
            "expectation": asdict(self.expectation),
            "budget": self.budget.model_dump(mode="json"),
        }


def program_versions() -> dict[str, str]:
    """The versions of what computes the figures, by name; what is not installed is left out."""
    versions = {"Python": platform.python_version()}
    for name in _PROGRAMS:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
