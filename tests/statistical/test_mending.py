"""A tree that is said to be mended is so on the true counts; taken for enough by noisy counts alone it is not.

Three invented trees in 20 releases each by the holder's own mechanism. The statement fails at most as often as 5 % by
more than chance (p < 10⁻⁶, binomial), and the planted fault, which is right in fewer than two of three, must be seen.
"""

import pytest

from checks.mending import faults, kept

pytestmark = pytest.mark.statistical
SEEDS = (4, 5, 8)


def test_what_is_said_to_be_mended_is() -> None:
    found = [kept(seed, 20) for seed in SEEDS]

    assert sum(one.said[0] for one in found) >= 15
    assert faults(found) == []
