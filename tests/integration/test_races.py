"""Many who spend one budget at once, over several processes: never a nano-epsilon over (2-privacy §9).

`python -m checks.races` does the same twenty times for each store.
"""

from pathlib import Path

import pytest

from checks.asked_kinds import PLANS, TRAININGS, AskedKind
from checks.races import LIMITS, raced


@pytest.mark.slow
def test_of_many_racing_plans_exactly_those_that_fit_are_released(tmp_path: Path, database_url: str) -> None:
    assert_exact(tmp_path, database_url, plans=160, fit=33)


@pytest.mark.slow
def test_of_many_racing_trainings_exactly_those_that_fit_are_released(tmp_path: Path) -> None:
    """They are charged by the same transaction as plans, which race on both databases."""
    assert_exact(tmp_path, "", plans=80, fit=17, kind=TRAININGS)


@pytest.mark.statistical
def test_of_1600_racing_plans_exactly_the_333_that_fit_are_released(tmp_path: Path, database_url: str) -> None:
    assert_exact(tmp_path, database_url, plans=1600, fit=333)


def assert_exact(home: Path, database_url: str, *, plans: int, fit: int, kind: AskedKind = PLANS) -> None:
    """Race on a new holder of two processes: into an auditor's budget, then under the population's cap."""
    outcomes, intact = raced(home, database_url, LIMITS, processes=2, plans=plans, fit=fit, kind=kind)

    assert all(outcome.exact for outcome in outcomes), outcomes
    assert intact
