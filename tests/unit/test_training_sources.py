"""What the page says of the published learners is what search finds; a wrong bound is seen."""

from dataclasses import replace
from fractions import Fraction

import pytest

from checks.training_sources import broken, covariances, kinds_of_people, largest_change, lines


@pytest.mark.slow
def test_every_figure_is_what_is_said_of_it() -> None:
    found = list(lines(people=3, seed=0))

    assert [line.of for line in found if broken(line)] == []
    assert len(found) > 40


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_a_bound_below_what_a_register_shows_is_seen(relation: str) -> None:
    """Of the covariance of one coordinate, ¾ among registers of four people: a bound of .74 is broken, .75 is not."""
    largest = largest_change(covariances, kinds_of_people(1), 4, relation)
    line = replace(next(lines(people=2, seed=0)), found=float(largest), holds=True)

    assert largest == Fraction(3, 4)
    assert broken(replace(line, bound=0.74))
    assert not broken(replace(line, bound=0.75))
