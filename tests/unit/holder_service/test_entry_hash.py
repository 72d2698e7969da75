"""An entry's hash is over all that it says: whichever field differs, the hash does (2-privacy §6)."""

from dataclasses import fields, replace
from typing import Any

import pytest

from holder_service.domain.ledger import GENESIS, Balance, Entry, Event
from shared.privacy.amounts import Loss

EVENT = Event(
    "charge", actor="a", population="p", dataset="d", auditor="a", subject="s", answer="x", loss=Loss(1, 1),
    cap=Balance(Loss(9, 9), Loss(1, 1)), account=Balance(Loss(5, 5), Loss(1, 1)), detail={"note": 1},
)  # fmt: skip
OTHER: dict[str, Any] = {
    "kind": "records", "actor": "b", "population": "q", "dataset": "e", "auditor": "b", "subject": "t", "answer": "y",
    "loss": Loss(2, 1), "cap": Balance(Loss(9, 9), Loss(2, 1)), "account": Balance(Loss(5, 5), Loss(1, 2)),
    "detail": {"note": 2},
}  # fmt: skip


def hash_of(event: Event = EVENT, **change: Any) -> str:
    return Entry.chained(
        **{"sequence": 7, "at": "2026-01-01T00:00:00+00:00", "nonce": "0" * 32, "previous": GENESIS, **change},
        event=event,
    ).hash


@pytest.mark.parametrize("field", [field.name for field in fields(Event)])
def test_every_field_of_an_event_is_in_the_hash(field: str) -> None:
    assert hash_of(replace(EVENT, **{field: OTHER[field]})) != hash_of()


@pytest.mark.parametrize(
    "change", [{"sequence": 8}, {"at": "2026-01-02T00:00:00+00:00"}, {"nonce": "1" * 32}, {"previous": "sha256:1"}]
)
def test_an_entrys_position_is_in_the_hash(change: dict[str, Any]) -> None:
    assert hash_of(**change) != hash_of()
