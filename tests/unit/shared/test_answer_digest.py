"""Cutting an answer out of a release's bytes says the same as serialising it again."""

import json
from typing import Any

import pytest

from shared.kinds.releases import answer_digest, has_answer_digest
from shared.wire.canonical import canonical_bytes

ENTERED: dict[str, Any] = {
    "created": "2026-11-28T12:00:00+00:00", "remaining": {"delta": "0", "epsilon": "1"},
    "ledger": {"sequence": 7, "hash": "sha256:00"}, "key": "0123", "signature": "ed25519:AA==",
}  # fmt: skip
ANSWER: dict[str, Any] = {"auditor": "ADR", "charge": {"delta": "0", "epsilon": "0.1"}, "plan": {"a": 1, "z": "é"}}
DIGEST = answer_digest(ANSWER)


def release(**changes: Any) -> dict[str, Any]:
    return {**ANSWER, **ENTERED, **changes}


@pytest.mark.parametrize("write", [canonical_bytes, lambda document: json.dumps(document, indent=1).encode()])
def test_a_release_has_the_digest_of_its_answer_however_it_is_written(write: Any) -> None:
    body = write(release())

    assert has_answer_digest(json.loads(body), DIGEST, body=body)


@pytest.mark.parametrize(
    "document",
    [
        release(auditor="ADS"),
        release(plan={"a": 1, "key": "0123", "z": "é"}),
        release(plan={"a": 1, "ledger": ENTERED["ledger"], "z": "é"}),
        release(plan={"a": 1, "z": 'é,"key":"0123"'}),
        release(more=1),
        {name: value for name, value in release(plan={"a": 1, "key": "0123", "z": "é"}).items() if name != "key"},
        {name: value for name, value in release().items() if name not in ("charge", "key")},
    ],
)
def test_another_answer_does_not_have_it(document: dict[str, Any]) -> None:
    body = canonical_bytes(document)

    assert not has_answer_digest(document, DIGEST, body=body)
    assert has_answer_digest(document, answer_digest(document), body=body)


def test_a_release_that_lacks_what_is_entered_is_compared_as_a_whole() -> None:
    assert has_answer_digest(ANSWER, DIGEST, body=canonical_bytes(ANSWER))
