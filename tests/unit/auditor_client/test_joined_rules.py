"""Bands that lie behind each other and decide alike become one rule, and nobody is decided otherwise."""

import itertools
import random
from collections.abc import Sequence

from auditor_client.models.bands import joined_rules
from shared.contract.rules import Predicate, Rule

NUMBERS = range(-1, 8)


def bands(column: str, starts: Sequence[int]) -> list[tuple[Predicate, ...]]:
    """Everybody, parted at some numbers."""
    below = [Predicate(column=column, op="lt", value=start) for start in starts]
    above = [Predicate(column=column, op="ge", value=start) for start in starts]
    return [(below[0],), *zip(above, below[1:], strict=False), (above[-1],)]


def test_everybody_is_decided_as_before_by_one_rule() -> None:
    for seed in range(200):
        source = random.Random(seed)
        grid = [
            (Rule(id=str(index), all_of=(*first, *second)), source.random() < 0.5)
            for index, (first, second) in enumerate(
                itertools.product(*(bands(name, sorted(source.sample(range(6), 3))) for name in ("x", "y")))
            )
        ]

        joined = joined_rules(grid)

        assert len(joined) <= len(grid)
        for x, y in itertools.product(NUMBERS, NUMBERS):
            (decided,) = [favourable for rule, favourable in joined if rule.matches({"x": x, "y": y})]
            assert decided == next(favourable for rule, favourable in grid if rule.matches({"x": x, "y": y}))


def test_all_alike_is_one_rule_for_everybody() -> None:
    rules = [(Rule(id=str(index), all_of=path), True) for index, path in enumerate(bands("x", [1, 3]))]

    assert [(rule.all_of, favourable) for rule, favourable in joined_rules(rules)] == [((), True)]


def test_what_does_not_lie_behind_each_other_is_left() -> None:
    low, middle, high = bands("x", [1, 3])
    missing = Predicate(column="x", op="lt", value=1, or_missing=True)
    for first, second in ((low, high), ((missing,), middle), ((Predicate(column="x", op="le", value=1),), middle)):
        rules = [(Rule(id="a", all_of=first), True), (Rule(id="b", all_of=second), True)]
        assert joined_rules(rules) == rules
    apart = [(Rule(id="a", all_of=low), True), (Rule(id="b", all_of=middle), False)]
    assert joined_rules(apart) == apart
