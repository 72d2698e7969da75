"""One holder's half of a register, with all that an auditor got, against the bound (`checks.two_halves` at length).

Each statement that is asserted fails by chance once in a million runs at most, and finds the fault that is planted.
"""

import pytest

from checks.two_halves import attacks, laws


@pytest.mark.slow
def test_a_half_with_the_transcript_says_no_more_than_the_other_holders_noise() -> None:
    found = list(attacks(trials=1500))

    assert sum(one.planted for one in found) == 4
    for one in found:
        assert one.as_it_should_be, one
    best = [one for one in found if one.name.endswith("disk and transcript")]
    assert all(one.accuracy > 0.57 for one in best), "the attack uses what it has"


@pytest.mark.slow
def test_joined_answers_have_the_law_of_summed_noise() -> None:
    found = list(laws(draws=100_000))

    assert sum(one.planted for one in found) == 3
    for one in found:
        assert one.as_it_should_be, one
