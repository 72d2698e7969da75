"""Approvals as both sides read them."""

import pytest
from pydantic import ValidationError

from shared.contract.approvals import Approval, ApprovalDecision, ApprovalSetting

WAITING = {
    "id": "sha256:" + "a" * 64, "kind": "plan", "dataset": "register", "version": 2, "auditor": "ADR",
    "charge": {"epsilon": "0.1", "delta": "0"}, "state": "waiting",
    "requested": "2026-11-23T10:00:00+01:00", "expires": "2026-12-07T09:00:00+00:00",
}  # fmt: skip


def test_what_nobody_said_is_left_out() -> None:
    shown = Approval.model_validate({**WAITING, "future": 1}).model_dump(mode="json")

    assert shown == {**WAITING, "requested": "2026-11-23T09:00:00Z", "expires": "2026-12-07T09:00:00Z"}


@pytest.mark.parametrize("days", [0, 91, 1.5, "14", True])
def test_requests_stand_from_a_day_to_ninety(days: object) -> None:
    with pytest.raises(ValidationError, match="days"):
        ApprovalSetting.model_validate({"required": True, "days": days})


def test_requests_stand_for_two_weeks_unless_said_otherwise() -> None:
    assert ApprovalSetting.model_validate({"required": True}).days == 14


@pytest.mark.parametrize("reason", [{}, {"reason": None}, {"reason": "  "}])
def test_who_declines_says_why(reason: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="reason"):
        ApprovalDecision.model_validate({"approved": False, "entry": 7, **reason})
    assert ApprovalDecision(approved=True, entry=7).reason is None


@pytest.mark.parametrize("entry", [{}, {"entry": None}, {"entry": 0}, {"entry": "7"}])
def test_who_decides_says_what_was_seen(entry: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="entry"):
        ApprovalDecision.model_validate({"approved": True, **entry})
