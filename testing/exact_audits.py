"""Audits of invented people whose counts are answered exactly: what is found can be compared with the people."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import finding
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.reading import Reading
from auditor_client.models.tree import Tree
from shared.kinds.releases import SigningKey
from testing.invented.audits import signing_key
from testing.invented.people import PEOPLE
from testing.invented.questions import FOUR_LEAVES, Person, exact_release, question

KEY: Final[SigningKey] = signing_key()


def audited(
    model: Tree = FOUR_LEAVES, *, reading: Reading | None = None, people: Sequence[Person] = PEOPLE, **asked: Any
) -> AuditResult:
    """An audit of invented people whose counts are answered exactly."""
    put = question(model, **{"epsilon": "10", "strategy": "rules", **asked})
    release = exact_release(put.plan, people)
    stored = StoredAnswer(release, {}, Path("receipts/one.json"), KEY)
    return finding(put, stored, reading or Reading(), holder_url="https://holder.example")
