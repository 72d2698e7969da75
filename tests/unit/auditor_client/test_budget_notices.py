"""An auditor reads that most of its own budget is spent, or that it ends soon, and nothing about anybody else's."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from auditor_client.tables import budget_notices, budget_table
from shared.contract.datasets import Budget
from shared.privacy.amounts import NO_LOSS, Loss

NOW: Final = datetime(2026, 11, 23, tzinfo=UTC)
TENTH: Final = 100_000_000


def account(limit: Loss, spent: Loss, *, left: Loss | None = None, days: int | None = None) -> Budget:
    remaining = limit.left_after(spent)
    expires = None if days is None else NOW + timedelta(days=days)
    return Budget(
        auditor="ADR", population="register", limit=limit, spent=spent, remaining=remaining, expires=expires,
        spendable=remaining if left is None else left,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "spent", "said"),
    [
        (
            Loss(10 * TENTH),
            Loss(8 * TENTH),
            "80 % of the ε granted to you about the people of register is spent; ε = 0.2",
        ),
        (Loss(10 * TENTH), Loss(8 * TENTH - 1), None),
        (Loss(10 * TENTH, 10), Loss(TENTH, 9), "90 % of the δ"),
        (Loss.of_rho(10), Loss.of_rho(9), "90 % of the ρ"),
        (Loss(10 * TENTH), Loss(11 * TENTH), "All of the ε"),
        (NO_LOSS, NO_LOSS, None),
    ],
)
def test_most_of_the_own_budget_is_spent(limit: Loss, spent: Loss, said: str | None) -> None:
    notices = budget_notices(account(limit, spent), NOW)

    assert len(notices) == (said is not None)
    assert all(notice.startswith(str(said)) for notice in notices)


def test_what_others_spent_of_the_cap_makes_no_notice() -> None:
    """The planted fault is a notice of what can be spent, which the spending of others lowers."""
    alone, beside_others = (account(Loss(10 * TENTH), Loss(TENTH), left=left) for left in (None, Loss(1)))

    assert budget_notices(alone, NOW) == budget_notices(beside_others, NOW) == ()


@pytest.mark.parametrize(("days", "noticed"), [(15, False), (14, True), (1, True), (0, False), (-3, False)])
def test_an_end_is_said_from_two_weeks_before_until_it_comes(days: int, noticed: bool) -> None:
    notices = budget_notices(account(Loss(10 * TENTH), NO_LOSS, days=days), NOW)

    assert len(notices) == noticed
    assert all(f"ends on {NOW + timedelta(days=days):%Y-%m-%d}" in notice for notice in notices)


def test_a_budget_that_ended_and_a_rehearsal_have_none() -> None:
    rehearsed = account(Loss(TENTH), Loss(TENTH), days=3).model_copy(update={"rehearsal_of": "register"})

    assert budget_notices(rehearsed, NOW) == budget_notices(account(Loss(TENTH), Loss(TENTH), days=-1), NOW) == ()


def test_notices_stand_before_the_table() -> None:
    assert len(budget_table([account(Loss(TENTH), Loss(TENTH)), account(Loss(TENTH), NO_LOSS)]).sentences) == 1
