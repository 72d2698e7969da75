"""Features as the public bins that learners count, and the splits between these bins (7-training §1).

The bins of a feature exclude each other, and everybody is in one. **Missing values** are a bin of their own, the last:
each split sends them to one side, which is public, and one split has them alone on its left side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Group, Schema
from shared.kinds.trainings import Training, TrainingFeature

Path = tuple[Predicate, ...]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BinSplit:
    """A candidate: who goes left, who goes right, and the indices of the bins that go left."""

    left: Predicate
    right: Predicate
    left_bins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BinnedFeature:
    """A feature's bins, and the splits over them."""

    column: Column
    bins: tuple[Path, ...]
    splits: tuple[BinSplit, ...]

    @classmethod
    def of(cls, feature: TrainingFeature, column: Column) -> "BinnedFeature":
        """A feature that fits its column."""
        bins, splits = _by_order(feature, column) if column.ordered else _by_value(column)
        if column.nullable:
            missing = Predicate(column=column.name, op="is_missing")
            present = Predicate(column=column.name, op="not_missing")
            bins, splits = [*bins, (missing,)], [*splits, BinSplit(missing, present, (len(bins),))]
        return cls(column, tuple(bins), tuple(splits))

    @property
    def known(self) -> int:
        """How many bins have values: all but the one for missing."""
        return len(self.bins) - self.column.nullable

    @property
    def sides(self) -> IntArray:
        """1 where a bin goes left, shape (splits, bins)."""
        sides = np.zeros((len(self.splits), len(self.bins)), dtype=np.int64)
        for split, side in zip(self.splits, sides, strict=True):
            side[list(split.left_bins)] = 1
        return sides


def binned(training: Training, schema: Schema) -> list[BinnedFeature]:
    """A training's features, in order."""
    return [BinnedFeature.of(feature, schema.by_name[feature.column]) for feature in training.features]


def numbered_cell(index: int, rule: Path) -> Cell:
    """The cell of one rule, named by a number."""
    return Cell(id=str(index), any_of=(Rule(all_of=rule),))


def both_labels(name: str) -> tuple[Predicate, Predicate]:
    """Those with the label, and those without it."""
    return Predicate(column=name, op="eq", value=True), Predicate(column=name, op="eq", value=False)


def group_rule(group: Group, sensitive: Sequence[str], schema: Schema) -> Path:
    """Return who is in a group: a value, a band or none of each sensitive column."""
    return tuple(
        test for value, name in zip(group, sensitive, strict=True) for test in _group_tests(value, schema.by_name[name])
    )


def _group_tests(value: str | bool | None, column: Column) -> Iterator[Predicate]:
    if value is None:
        yield Predicate(column=column.name, op="is_missing")
    elif column.bands_from is None:
        yield Predicate(column=column.name, op="eq", value=value)
    else:
        band = column.group_values.index(value)
        if band > 0:
            yield Predicate(column=column.name, op="ge", value=column.bands_from[band - 1])
        if band < len(column.bands_from):
            yield Predicate(column=column.name, op="lt", value=column.bands_from[band])


def _by_order(feature: TrainingFeature, column: Column) -> tuple[list[Path], list[BinSplit]]:
    """Bins between cuts; below a cut goes left, and all others right, missing values too."""
    cuts, name = feature.cuts or (), column.name
    below = [Predicate(column=name, op="lt", value=cut) for cut in cuts]
    from_on = [Predicate(column=name, op="ge", value=cut) for cut in cuts]
    bins = [(below[0],), *[(start, end) for start, end in zip(from_on, below[1:], strict=False)], (from_on[-1],)]
    at_or_above = [Predicate(column=name, op="ge", value=cut, or_missing=column.nullable) for cut in cuts]
    return list(bins), [
        BinSplit(left, right, tuple(range(index + 1)))
        for index, (left, right) in enumerate(zip(below, at_or_above, strict=True))
    ]


def _by_value(column: Column) -> tuple[list[Path], list[BinSplit]]:
    """A bin for each value; one value goes left, and all others right, missing values too."""
    values, name = column.values, column.name
    bins: list[Path] = [(Predicate(column=name, op="eq", value=value),) for value in values]
    splits = []
    # Of two values that are never missing, one against the rest is the other against the rest.
    for index, value in enumerate(values if column.nullable or len(values) > 2 else values[:1]):
        op, other = ("eq", not value) if column.type == "boolean" else ("ne", value)
        remainder = Predicate.model_validate({"column": name, "op": op, "value": other, "or_missing": column.nullable})
        splits.append(BinSplit(bins[index][0], remainder, (index,)))
    return bins, splits
