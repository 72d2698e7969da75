"""A holder killed at steps of 2-privacy §5 and at random times: nothing left uncharged, nothing charged is lost.

`python -m checks.kills` does the same two hundred times.
"""

import random
from pathlib import Path

import pytest

from checks.kills import STEPS, hunted


@pytest.mark.slow
def test_killed_at_some_steps_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    found = hunted(tmp_path, database_url, [*random.sample(STEPS, 4), None])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"


@pytest.mark.statistical
def test_killed_at_every_step_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    found = hunted(tmp_path, database_url, [*STEPS, *[None] * 20])

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"
    assert found.charged_unanswered >= sum(step.charged is True for step in STEPS)
