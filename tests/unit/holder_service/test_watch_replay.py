"""Which statements of watches follow from what was paid, and which are found by a replay."""

from dataclasses import replace
from typing import Any

import pytest

from holder_service.domain.ledger import GENESIS, BrokenLedger, Entry, Event
from holder_service.domain.watch_replay import WatchReplay
from shared.privacy.amounts import Loss

WATCH = "sha256:" + "1" * 64


def entry(asked: str, loss: Loss | None = None, *, watch: str = WATCH) -> Entry:
    event = Event("charge", "ADR", detail={"asked": asked, "watch": watch})
    return Entry.chained(
        sequence=1, at="2026-01-01T00:00:00+00:00", event=event if loss is None else replace(event, loss=loss),
        nonce="0" * 32, previous=GENESIS,
    )  # fmt: skip


def release(version: int, *, auditor: str = "ADR", charge: str = "0", **said: Any) -> dict[str, Any]:
    head = {"id": WATCH, "version": version, "auditor": auditor, "dataset": "register"}
    return {**head, "charge": {"epsilon": charge, "delta": "0"}, **said}


def answer(version: int, *, changed: bool = False, watch: str = WATCH, **head: Any) -> dict[str, Any]:
    return release(version, watch_answer={"watch": watch, "changed": changed}, **head)


def skip(first: int, last: int, version: int | None = None) -> dict[str, Any]:
    return release(version or last, watch_skip={"watch": WATCH, "first": first, "last": last, "reason": "replaced"})


def replayed(*statements: tuple[Entry, dict[str, Any]]) -> None:
    """Set a watch at version 3, and take what it says."""
    found = WatchReplay()
    found.apply(entry("watch"), release(3))
    for one, signed in statements:
        found.apply(one, signed)


ANSWERED = (entry("watch_answer"), answer(3))


def test_answers_and_skips_in_order_follow() -> None:
    replayed(
        ANSWERED, (entry("watch_skip"), skip(4, 6)), (entry("watch_answer"), answer(7, changed=True)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([(entry("watch_answer"), answer(3, changed=True)), (entry("watch_answer"), answer(4))], "had said"),
        ([(entry("watch_answer"), answer(3, changed=True)), (entry("watch_skip"), skip(4, 4))], "had said"),
        ([ANSWERED, ANSWERED], "a version of which"),
        ([ANSWERED, (entry("watch_skip"), skip(3, 4))], "a version of which"),
        ([(entry("watch_answer"), answer(2))], "a version of which"),
        ([(entry("watch_skip"), skip(4, 3))], "a version of which"),
        ([(entry("watch_skip"), skip(3, 4, version=5))], "other versions"),
        ([(entry("watch_answer", Loss(1)), answer(3))], "charges an answer"),
        ([(entry("watch_answer"), answer(3, charge="0.1"))], "charges an answer"),
        ([(entry("watch_answer"), answer(3, watch="sha256:" + "2" * 64))], "was not set"),
        ([(entry("watch_answer"), answer(3, auditor="other"))], "was not set"),
        ([(entry("watch_answer", watch="sha256:" + "2" * 64), answer(3))], "filed with another"),
    ],
)
def test_a_statement_without_a_charge_is_found(statements: list[tuple[Entry, dict[str, Any]]], reason: str) -> None:
    with pytest.raises(BrokenLedger, match=reason):
        replayed(*statements)
