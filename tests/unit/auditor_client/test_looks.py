"""Looks: they double from the first, end at the most exactly, and share the error."""

import json
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from auditor_client.errors import QuestionRefused
from auditor_client.findings.looks import Looks
from auditor_client.findings.reading import LEVEL_MAX, Reading
from shared.privacy.amounts import EPSILON_NANO_MAX, NO_LOSS, Loss

TENTH = 10**8


@given(
    most=some.integers(4 * 10**6, EPSILON_NANO_MAX), part=some.fractions(Fraction(1, 5000), Fraction(2, 3)),
    in_rho=some.booleans(), level=some.floats(0.5, LEVEL_MAX),
)  # fmt: skip
def test_looks_double_and_never_pass_the_most(most: int, part: Fraction, level: float, *, in_rho: bool) -> None:
    first = max(int(most * part), 1)

    looks = Looks.of(first, Loss.of_rho(most) if in_rho else Loss(most), level)

    assert (looks.amounts[0], looks.amounts[-1]) == (first, most)
    *steps, last = [Fraction(after, before) for before, after in pairwise(looks.amounts)]
    assert set(steps) <= {2}
    assert Fraction(3, 2) <= last < 3
    assert sum(looks.steps, NO_LOSS) == looks.losses[-1]
    assert [looks.number(loss) for loss in looks.losses] == list(range(1, len(looks.amounts) + 1))
    assert Looks.model_validate(json.loads(looks.model_dump_json())) == looks


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_errors_of_all_looks_add_up_to_that_of_the_level(level: float) -> None:
    looks = Looks.of(None, Loss(TENTH), level)

    assert len(looks.amounts) == 6
    assert len(looks.amounts) * (1 - looks.each) == pytest.approx(1 - level)
    assert Reading(level=level).of_look(looks).level == looks.each


def test_a_first_look_near_the_most_is_refused() -> None:
    with pytest.raises(QuestionRefused, match=r"two thirds of the most, which is ε = 0\.1; not 0\.07"):
        Looks.of(7 * 10**7, Loss(TENTH), 0.95)
    with pytest.raises(QuestionRefused, match=r"not 0\.002"):
        Looks.of(None, Loss(2 * 10**6), 0.95)


def test_more_looks_than_an_estimator_can_read_are_refused() -> None:
    looks = Looks.of(10**6, Loss(EPSILON_NANO_MAX), 0.99)

    with pytest.raises(QuestionRefused, match="14 looks"):
        Reading(level=0.99).of_look(looks)


def test_a_reading_at_another_level_than_its_looks_is_refused() -> None:
    looks = Looks.of(None, Loss(TENTH), 0.95)

    with pytest.raises(QuestionRefused, match="each look's"):
        Reading(looks=looks)
    with pytest.raises(QuestionRefused, match="None of the looks"):
        looks.number(Loss(3 * TENTH))
