"""What every refusal of a holder has to look like, whatever was sent to it."""

from typing import Any, Final

import httpx

from holder_service.web.edge.problems import STATUS_BY_CODE
from shared.wire.problems import PROBLEM_MEDIA_TYPE, TITLES
from testing.holders import TestedHolder

ANSWER_BYTES_MAX: Final = 16_384
ANSWER_S_MAX: Final = 60.0
"""What takes longer hangs. The aim is a second, which `checks.fuzz` measures; a busy machine gets more here."""


def refused(answer: httpx.Response, code: str, *, holder: TestedHolder) -> dict[str, Any]:
    """Check a refusal, and give its document: a problem of that code, bounded, that names no key and no inside."""
    assert answer.headers["content-type"] == PROBLEM_MEDIA_TYPE, answer.text
    document: dict[str, Any] = answer.json()
    assert document["type"] == f"/problems/{code}", document
    assert document["title"] == TITLES[code]
    assert document["status"] == answer.status_code == STATUS_BY_CODE[code]
    assert len(document["detail"]) >= 20, "it says what to do"
    assert len(answer.content) <= ANSWER_BYTES_MAX
    assert answer.elapsed.total_seconds() <= ANSWER_S_MAX
    for secret in (holder.admin_key, holder.auditor_key, "Traceback", "sqlalchemy", "psycopg", "pydantic"):
        assert not secret or secret not in answer.text
    return document
