"""An audited tree mended, as a result that shows itself and writes the mended model (7-training §2, `relabel`)."""

import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor_client.audits.history import kept_audit
from auditor_client.audits.result import AuditResult
from auditor_client.errors import A_DATA_FRAME, needs
from auditor_client.findings.mending import Mended, mended
from auditor_client.findings.rehearsals import rehearsal_member
from auditor_client.models.readers.own.own_json import rules_document
from auditor_client.report.json_document import mending_document
from auditor_client.report.mending_data import MendingData, mending_data, model_description
from auditor_client.report.terminal import mending_lines
from auditor_client.report.view import Shown, View

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Mending(Shown):
    """The changes of an audited tree's leaves that meet a wanted ratio, as far as the kept answer shows it."""

    mended: Mended

    @property
    def met(self) -> bool:
        """Whether the mended tree is shown to meet the ratio."""
        return self.mended.met

    @cached_property
    def view(self) -> View[MendingData]:
        """The changes, and the figures before and after."""
        data, document = partial(mending_data, self.mended), partial(mending_document, self.mended)
        return View(
            (self.mended.finding.question.dataset,),
            "A mended tree",
            "36rem",
            "mending.html.j2",
            data,
            mending_lines,
            document,
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row for each change, as a pandas DataFrame, with the estimated people of each group."""
        with needs(A_DATA_FRAME):
            import pandas as pd  # noqa: PLC0415 - takes a second to import

        groups = self.mended.finding.question.groups
        return pd.DataFrame(
            [
                {
                    "rule": " or ".join(" and ".join(map(str, self._words(rule))) for rule in change.rules),
                    "before": change.before,
                    "after": change.after,
                    **{", ".join(map(str, group)): one.value for group, one in zip(groups, change.people, strict=True)},
                    "cost": change.cost,
                }
                for change in self.mended.changes
            ]
        )

    def to_model(self) -> dict[str, Any]:
        """The mended tree in our own format, which `Auditor.audit` reads; it says what it was mended from."""
        found = self.mended
        read = found.finding.question.source.provenance
        rehearsed = {} if read is None or read.rehearsal_of is None else {"rehearsal_of": read.rehearsal_of}
        return rules_document(
            found.rules,
            model_description(found),
            {
                "mended": {
                    "from": found.finding.model.rules,
                    "release": found.finding.release.id,
                    **rehearsed,
                    **rehearsal_member(found.finding.release),
                    "ratio": found.wanted,
                    "met": found.met,
                    "level": found.level,
                    "changes": [
                        {"leaf": change.leaf, "before": change.before, "after": change.after}
                        for change in found.changes
                    ],
                }
            },
        )

    def write_model(self, path: Path | str) -> Path:
        """Write that document into a file and return its path.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        target.write_text(json.dumps(self.to_model(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return target

    def _words(self, rule: Any) -> tuple[Any, ...]:
        return self.mended.finding.question.words.rule(rule)


def mend(audit: AuditResult | Path | str, ratio: float = 0.8) -> Mending:
    """Find the cheapest changes of an audited tree's leaves that are shown to meet a ratio; spends nothing.

    Args:
        audit: An audit with strategy "rules" of statistical parity and equal opportunity, or of equalized odds, whose
            answer so counts every leaf by the label; or the file of its receipt or of its note.
        ratio: The wanted ratio of statistical parity, within (0, 1].

    Raises:
        QuestionRefused: The audit is of no tree, or its answer does not count every leaf by the label.
        ReceiptsDamaged: The file is no receipt of one audit, and no note.
    """
    return Mending(mended(audit if isinstance(audit, AuditResult) else kept_audit(Path(audit)), ratio))
