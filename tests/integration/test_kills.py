"""A holder killed at steps of 2-privacy §5 and at random times: nothing left uncharged, nothing charged is lost.

`python -m checks.kills` does the same two hundred times.
"""

import random
from pathlib import Path

import pytest

from checks.asked_kinds import HUNTED, KINDS
from checks.kills import STEPS, hunted


@pytest.mark.slow
def test_killed_at_some_steps_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    require_faultless(tmp_path, database_url, "plans")


@pytest.mark.parametrize("asked", sorted(KINDS.keys() - {"plans"}))
@pytest.mark.slow
def test_killed_at_some_steps_nothing_else_was_released_uncharged(tmp_path: Path, asked: str) -> None:
    """On SQLite: the transaction that charges is that of plans, which are killed on both databases."""
    require_faultless(tmp_path, "", asked)


def require_faultless(home: Path, database_url: str, asked: str) -> None:
    """Kill a holder at four steps and once at any time."""
    found = hunted(home, database_url, [*random.sample(STEPS[asked], 4), None], kind=KINDS[asked])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"


@pytest.mark.slow
def test_killed_while_an_answer_is_refined_it_is_refined_once(tmp_path: Path) -> None:
    steps = [step for step in STEPS["refinements"] if step.name in ("found refinable under lock", "committed")]

    found = hunted(tmp_path, "", [*steps, None], kind=HUNTED["refinements"])

    assert found.faultless, found
    assert found.answered, "nothing left that a kill could have lost"


@pytest.mark.slow
def test_killed_around_an_approval_it_is_neither_lost_nor_used_twice(tmp_path: Path) -> None:
    """The request, its decision and its charge are each entered once, and no charge is without a decision."""
    steps = [
        step for step in STEPS["approved"] if step.name in ("request written", "decision written", "approval used")
    ]

    found = hunted(tmp_path, "", [*steps, None], kind=HUNTED["approved"])

    assert len(steps) == 3
    assert found.faultless, found
    assert found.answered, "nothing left that a kill could have lost"


@pytest.mark.parametrize("asked", HUNTED)
@pytest.mark.statistical
def test_killed_at_every_step_nothing_was_released_uncharged(tmp_path: Path, database_url: str, asked: str) -> None:
    found = hunted(tmp_path, database_url, [*STEPS[asked], *[None] * 20], kind=HUNTED[asked])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"
    assert found.charged_unanswered >= sum(step.charged is True for step in STEPS[asked])
