"""A holder killed at steps of 2-privacy §5 and at random moments: nothing left uncharged, nothing charged is lost.

`python -m checks.kills` does the same two hundred times.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from checks.kills import STEPS, Findings, Step, Victim
from testing.holders import running_holder


def killed(home: Path, database_url: str, steps: Sequence[Step], random_kills: int) -> Findings:
    """Kill a new holder at some steps, and some times more at random moments."""
    with running_holder(home, database_url, epsilon="90") as holder:
        victim = Victim(holder)
    for step in steps:
        victim.kill_at(step)
    for _ in range(random_kills):
        victim.kill_after(random.uniform(0.0, 0.1))
    return victim.examine()


@pytest.mark.slow
def test_killed_at_some_steps_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    found = killed(tmp_path, database_url, random.sample(STEPS, 4), random_kills=1)

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"


@pytest.mark.statistical
def test_killed_at_every_step_nothing_was_released_uncharged(tmp_path: Path, database_url: str) -> None:
    found = killed(tmp_path, database_url, STEPS, random_kills=20)

    assert found.faultless, found
    assert found.answered >= found.kills, "too few answers left before the kills to show anything"
    assert found.charged_unanswered >= sum(step.charged is True for step in STEPS)
