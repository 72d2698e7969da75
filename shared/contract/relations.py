"""Neighbouring relations: what "one person" means in a guarantee (2-privacy §2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from shared.contract.schema import Group

Relation = Literal["add_remove", "replace", "sensitive_attribute"]


@dataclass(frozen=True, slots=True)
class NeighbouringRelation:
    """The difference that the histograms of disjoint cells can have between two neighbouring datasets.

    Each count that changes, changes by one person. The figures are for K groups, and for all cells of
    one class together. Whether a person may be *moved* between cells is known from the rules: they name a sensitive
    column, or a derived one that follows from it.

    Source: 2-privacy §2; proof: docs/guarantee.md. A person is in one cell of a class at most, before and after a
    change, so two counts change at most, whatever the rules name. Under `sensitive_attribute` rules that name no
    sensitive column move nobody: a cell's sum over the groups is known, so for K = 2 the second group follows from the
    first, the first alone is counted, and only one count changes. Rules that do name one leave no sum known: then both
    groups are counted, and two counts change.
    """

    name: Relation

    def __post_init__(self) -> None:
        if self.name not in get_args(Relation):
            raise ValueError(f"{self.name!r} is not a neighbouring relation.")

    def counts_that_change(self, groups: int, *, moved: bool) -> int:
        """Return how many counts differ at most."""
        if self.name == "add_remove":
            return 1
        return 1 if self.counts_first_group_alone(groups, moved=moved) else 2

    def l1(self, groups: int, *, moved: bool) -> int:
        """The largest sum of absolute differences, in people."""
        return self.counts_that_change(groups, moved=moved)

    def l2_squared(self, groups: int, *, moved: bool) -> int:
        """The square of the largest Euclidean difference, in people squared: a whole number."""
        return self.counts_that_change(groups, moved=moved)

    def counted_groups(self, groups: Sequence[Group], *, moved: bool) -> tuple[Group, ...] | None:
        """The groups that are counted where not all are; they come first in the order of groups. Else `None`."""
        return (groups[0],) if self.counts_first_group_alone(len(groups), moved=moved) else None

    def counts_first_group_alone(self, groups: int, *, moved: bool) -> bool:
        """Whether the first of K groups is counted, and the other follows from a cell's support.

        Args:
            groups: K.
            moved: Whether a rule of the batch names a sensitive column, or one that follows from it.
        """
        return self.name == "sensitive_attribute" and groups == 2 and not moved
