"""What a caller sees in addition to the counts, compared between two holders whose records differ.

Both get the same requests: good plans and bad ones, quotes, budgets, ledger positions, the budget's end. Everything
that is not drawn by chance or follows from the time has to be the same: statuses, headers, documents, and lengths once
noise, digests and times are written alike.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import httpx

from testing.holders import TestedHolder
from testing.registers import plan

_BY_CHANCE: Final = {
    r'"counts":\[[-0-9,]*\]': '"counts":[…]',
    r"sha256:[0-9a-f]{64}": "sha256:…",
    r"ed25519:[A-Za-z0-9+/=]+": "ed25519:…",
    r"\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|\+00:00)": "time",
    r'"key":"[^"]*"': '"key":"…"',
    r'"nonce":"[0-9a-f]{32}"': '"nonce":"…"',
}
_HEADERS_BY_CHANCE: Final = ("date", "content-length", "x-request-id", "server-timing")

Seen = tuple[int, tuple[tuple[str, str], ...], str]
"""Status, headers and body of an answer, but for what is drawn by chance."""


def requests() -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Method, path and body of every request."""
    releases, quotes = "/datasets/register/releases", "/datasets/register/quotes"
    only_one = [{"id": "one", "all_of": [{"column": "hours", "op": "gt", "value": 59.99}]}]
    nobody = [{"id": "none", "all_of": [{"column": "age", "op": "gt", "value": 500}]}]
    for cells in (None, only_one, nobody):
        body = plan(epsilon="1", cells=cells)
        for path in (quotes, releases, releases):
            yield "POST", path, body
        yield "GET", "/datasets/register/budget", None
        yield "GET", "/ledger/head", None
    bad: list[dict[str, Any]] = [
        plan(epsilon="1e400"), plan(epsilon="0"), plan(version=7), plan(draw=0), {**plan(), "sensitive": ["age"]},
        {**plan(), "batches": []}, {**plan(), "unknown": 1},
    ]  # fmt: skip
    for body in bad:
        yield "POST", releases, body
    for path in ("/datasets", "/datasets/register", "/datasets/nothing", "/ledger/entries/1", "/ledger/entries/999"):
        yield "GET", path, None
    for draw in range(2, 10):
        yield "POST", releases, plan(epsilon="1.5", draw=draw)
    yield "GET", "/datasets/register/budget", None
    yield "GET", "/datasets/register/releases", None


def seen(holder: TestedHolder) -> list[Seen]:
    """What a holder answers to all requests."""
    return [_without_chance(holder.auditor(method, path, json=body)) for method, path, body in requests()]


def _without_chance(answer: httpx.Response) -> Seen:
    text = answer.text
    for pattern, alike in _BY_CHANCE.items():
        text = re.sub(pattern, alike, text)
    headers = tuple(sorted((k, v) for k, v in answer.headers.items() if k.lower() not in _HEADERS_BY_CHANCE))
    return answer.status_code, headers, text
