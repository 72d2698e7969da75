"""A tree that is said to be mended is so on the true counts; taken for enough by noisy counts alone it is not.

Three invented trees in 20 releases each by the holder's own mechanism. The statement fails at most as often as 5 % by
more than chance (p < 10⁻⁶, binomial; 2·10⁻⁷ for each of the trees, whose releases are whole numbers); in 900 releases
it never failed. It is made in all releases of the one tree and in a quarter of another's, so in fewer
than 15 of 60 less than once in 10⁸ times. The planted fault must be seen: it is right in 39, 16 and 66 of 100, so in
24 of 60, and is missed in more than 45, less than once in 10⁹ times.
"""

import pytest

from checks.mending import faults, kept

pytestmark = pytest.mark.statistical
SEEDS = (4, 5, 8)


def test_what_is_said_to_be_mended_is() -> None:
    found = [kept(seed, 20) for seed in SEEDS]

    assert sum(one.said[0] for one in found) >= 15
    assert faults(found) == []
