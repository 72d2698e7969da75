"""A running holder under bad requests fails at none; `python -m checks.fuzz` asks 20 000 of them."""

import random

import pytest

from checks.fuzz import fuzz
from checks.hostile_requests import hostile_requests

SMALL_BYTES = 20_000


@pytest.mark.slow
def test_no_bad_request_makes_a_holder_fail() -> None:
    """Some of each kind; which ones is random."""
    seed = random.randrange(10**9)
    by_hand = [request for request in hostile_requests() if len(request.content) < SMALL_BYTES]

    found = fuzz(180, seed, random.Random(seed).sample(by_hand, 60))

    assert found.failures == [], seed
    assert found.intact, seed
    for kind, answers in found.answers.items():
        assert len(answers.took_s) >= 50, kind
        assert answers.statuses[422] > 0, kind
    assert {200, 422} < set().union(*(answers.statuses for answers in found.answers.values())), "of every sort"
