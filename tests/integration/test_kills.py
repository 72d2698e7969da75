"""A holder killed at steps of 2-privacy §5 and at random times: nothing left uncharged, nothing charged is lost.

`python -m checks.kills` does the same two hundred times.
"""

import random
from pathlib import Path

import pytest

from checks.asked_kinds import HUNTED, KINDS
from checks.kills import STEPS, hunted

every_kind = pytest.mark.parametrize("asked", KINDS)


@every_kind
@pytest.mark.slow
def test_killed_at_some_steps_nothing_was_released_uncharged(tmp_path: Path, database_url: str, asked: str) -> None:
    found = hunted(tmp_path, database_url, [*random.sample(STEPS[asked], 4), None], kind=KINDS[asked])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"


@pytest.mark.slow
def test_killed_while_an_answer_is_refined_it_is_refined_once(tmp_path: Path) -> None:
    steps = [step for step in STEPS["refinements"] if step.name in ("found refinable under lock", "committed")]

    found = hunted(tmp_path, "", [*steps, None], kind=HUNTED["refinements"])

    assert found.faultless, found
    assert found.answered, "nothing left that a kill could have lost"


@pytest.mark.parametrize("asked", HUNTED)
@pytest.mark.statistical
def test_killed_at_every_step_nothing_was_released_uncharged(tmp_path: Path, database_url: str, asked: str) -> None:
    found = hunted(tmp_path, database_url, [*STEPS[asked], *[None] * 20], kind=HUNTED[asked])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"
    assert found.charged_unanswered >= sum(step.charged is True for step in STEPS[asked])
