"""A bucket admits its burst at once and its rate in the long run, and none is kept that nobody misses."""

from hypothesis import given
from hypothesis import strategies as st

from holder_service.web.edge.rate_limits import BUCKETS_MAX, BURST_S, TokenBuckets


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@given(st.lists(st.floats(0, 30), max_size=300), st.integers(1, 5))
def test_no_more_than_burst_and_rate_pass(pauses_s: list[float], rate: int) -> None:
    clock = Clock()
    buckets = TokenBuckets(rate, clock)
    passed = 0

    for pause_s in pauses_s:
        clock.now_s += pause_s
        passed += buckets.take("somebody")

    assert passed <= rate * (BURST_S + clock.now_s) + 1e-6


@given(st.integers(1, 5))
def test_who_keeps_to_the_rate_is_never_refused(rate: int) -> None:
    clock = Clock()
    buckets = TokenBuckets(rate, clock)

    for number in range(200):
        clock.now_s = number / rate
        assert buckets.take("somebody")


def test_a_token_that_is_given_back_can_be_taken_again() -> None:
    buckets = TokenBuckets(0.1, Clock())

    assert buckets.take("somebody")
    assert not buckets.take("somebody")
    buckets.give_back("somebody")
    assert buckets.take("somebody")


def test_buckets_are_bounded_in_number() -> None:
    buckets = TokenBuckets(1, Clock())

    for number in range(2 * BUCKETS_MAX):
        buckets.take(str(number))

    assert len(buckets._buckets) == BUCKETS_MAX
