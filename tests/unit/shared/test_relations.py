"""Neighbouring relations are those of the specification's table (2-privacy §2)."""

import pytest

from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.schema import Group

TWO: tuple[Group, ...] = (("Female",), ("Male",))
FOUR: tuple[Group, ...] = tuple((sex, origin) for sex in ("Female", "Male") for origin in (True, False))


@pytest.mark.parametrize(
    ("name", "groups", "moved", "counts", "counted"),
    [
        ("add_remove", TWO, False, 1, None),
        ("add_remove", TWO, True, 1, None),
        ("add_remove", FOUR, True, 1, None),
        ("replace", TWO, False, 2, None),
        ("replace", TWO, True, 2, None),
        ("replace", FOUR, True, 2, None),
        ("sensitive_attribute", TWO, False, 1, (("Female",),)),
        ("sensitive_attribute", TWO, True, 2, None),
        ("sensitive_attribute", FOUR, False, 2, None),
        ("sensitive_attribute", FOUR, True, 2, None),
        ("sensitive_attribute", TWO[:1], False, 2, None),
        ("sensitive_attribute", TWO[:1], True, 2, None),
    ],
)
def test_sensitivities(
    name: Relation, groups: tuple[Group, ...], moved: bool, counts: int, counted: tuple[Group, ...] | None
) -> None:
    neighbouring = NeighbouringRelation(name)

    assert neighbouring.name == name
    assert neighbouring.counts_that_change(len(groups), moved=moved) == counts
    assert neighbouring.l1(len(groups), moved=moved) == counts
    assert neighbouring.l2_squared(len(groups), moved=moved) == counts
    assert neighbouring.counted_groups(groups, moved=moved) == counted


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(ValueError, match="add-remove"):
        NeighbouringRelation("add-remove")  # type: ignore[arg-type]  # that is the point
