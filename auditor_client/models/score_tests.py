"""Tests of numbers inside a model as tests of raw columns, for score documents (3-estimation §5, 5-decisions §2).

A model compares numbers that its preprocessing made; a score document compares the record's own values. Where each
test turns is asked of the model's own preprocessing; what comes out is a predicate, or a few one after the other if the
values that go left are not one stretch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Domain
from auditor_client.models.nameable import nameable_column
from auditor_client.models.probing import ThresholdTest, turns
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.wire.limits import VALUES_PER_PREDICATE_MAX

if TYPE_CHECKING:
    from auditor_client.models.preprocessing import Preprocessing

LEFT: Final = -1
RIGHT: Final = -2


class NumberTest(NamedTuple):
    """Which way a number inside the model goes.

    Attributes:
        feature: Its column in the matrix.
        threshold: Up to it numbers go left.
        nan_left: Whether NaN does; and, with `codes`, any number that is not known.
        codes: Instead of a threshold: the numbers that go left.
        known: With `codes`: those that go left or right.
    """

    feature: int
    threshold: float
    nan_left: bool
    codes: frozenset[int] | None = None
    known: frozenset[int] = frozenset()

    def left(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each goes left."""
        if self.codes is None:
            return np.where(np.isnan(numbers), self.nan_left, numbers <= self.threshold)
        is_category = np.isin(numbers, list(self.known | self.codes))
        return np.where(is_category, np.isin(numbers, list(self.codes)), self.nan_left)


@dataclass(frozen=True, slots=True)
class Step:
    """One predicate, and where a record goes on whom it matches, or does not: to a later step, `LEFT` or `RIGHT`."""

    predicate: Predicate
    yes: int
    no: int


class RawTests:
    """Tests of numbers inside a model, each as steps over the dataset's columns.

    Attributes:
        steps: Of each test; None if everybody goes left, or everybody right (`always`).
        always: Of each test without steps, whether everybody goes left.
        predicates: Of all steps, each once, in order of their index.
        indices: Of each test, those of its steps' predicates.
    """

    def __init__(self, preprocessing: "Preprocessing", tests: Sequence[NumberTest], matrix: Any) -> None:
        """Find the steps.

        Args:
            preprocessing: The steps before the model.
            tests: Tests of the matrix that they make.
            matrix: From a table of raw rows to the numbers that are compared; rounded as the model rounds them.

        Raises:
            ModelRefused: A test is about a column that nothing may be asked about.
        """
        self._inputs = preprocessing.inputs
        self._features = preprocessing.features
        for source in dict.fromkeys(self._features[test.feature].source for test in tests):
            nameable_column(source, preprocessing.inputs.schema)
        self.steps: list[tuple[Step, ...] | None] = [None] * len(tests)
        self.always: list[bool] = [False] * len(tests)
        for name, cuts in self._cuts(tests, matrix).items():
            about = [number for number, test in enumerate(tests) if self._features[test.feature].source == name]
            self._compile(Domain(self._inputs.schema.by_name[name], cuts), tests, about, matrix)

        self.predicates: dict[Predicate, int] = {}
        self.indices = [
            tuple(self.predicates.setdefault(step.predicate, len(self.predicates)) for step in steps or ())
            for steps in self.steps
        ]

    def _cuts(self, tests: Sequence[NumberTest], matrix: Any) -> dict[str, tuple[int, ...]]:
        """By raw column, in order of their names, where any test of it turns."""
        by_name = self._inputs.schema.by_name
        cuts: dict[str, set[int]] = {}
        threshold_tests: list[ThresholdTest] = []
        for test in tests:
            feature = self._features[test.feature]
            column_cuts = cuts.setdefault(feature.source, set())
            if not by_name[feature.source].ordered:
                continue
            if test.codes is not None:
                column_cuts |= feature.cuts
            else:
                affine = feature.affine
                slope, offset = (affine.slope, affine.offset) if affine else (0.0, 0.0)
                threshold_tests.append(
                    ThresholdTest(
                        feature.source, feature.cuts, test.feature, test.threshold, test.nan_left, slope, offset
                    )
                )
        for asking, keys in zip(threshold_tests, turns(self._inputs, threshold_tests, matrix), strict=True):
            cuts[asking.source] |= keys
        return {name: tuple(sorted(column_cuts)) for name, column_cuts in sorted(cuts.items())}

    def _compile(self, domain: Domain, tests: Sequence[NumberTest], about: Sequence[int], matrix: Any) -> None:
        atom_of, values = domain.extremes()
        name = domain.column.name
        numbers = matrix(self._inputs.table(len(values), {name: (np.arange(len(values)), values)}))
        by_feature: dict[int, list[int]] = {}
        for number in about:
            by_feature.setdefault(tests[number].feature, []).append(number)
        boundaries = domain.boundaries() if domain.column.ordered else []
        for feature, of_feature in by_feature.items():
            own = numbers[:, feature].astype(np.float64)
            present = own[: len(own) - domain.column.nullable]
            plain = [number for number in of_feature if tests[number].codes is None]
            rising = domain.column.ordered and not np.isnan(present).any() and bool((present[1:] >= present[:-1]).all())
            if rising:
                self._rising(domain, boundaries, atom_of, own, [(number, tests[number]) for number in plain])
            for number in of_feature:
                if rising and tests[number].codes is None:
                    continue
                self._one_by_one(domain, atom_of, number, tests[number].left(own))

    def _one_by_one(self, domain: Domain, atom_of: NDArray[np.intp], number: int, answers: NDArray[np.bool_]) -> None:
        left = np.zeros(domain.values_count + domain.column.nullable, bool)
        left[atom_of] = answers
        if (left[atom_of] != answers).any():
            _refuse_within_atoms(domain)
        if left.all() or not left.any():
            self.always[number] = bool(left.all())
        else:
            self.steps[number] = tuple(_steps(domain, left))

    def _rising(
        self,
        domain: Domain,
        boundaries: Sequence[tuple[int | float, float | None]],
        atom_of: NDArray[np.intp],
        own: NDArray[np.float64],
        about: Sequence[tuple[int, NumberTest]],
    ) -> None:
        """Thresholds of a number that only rises with its column: what goes left is what is up to one boundary."""
        column = domain.column
        present = own[:-1] if column.nullable else own
        positions = np.searchsorted(present, np.array([test.threshold for _, test in about]), side="right")
        inside = positions[(positions > 0) & (positions < len(present))]
        if (atom_of[inside - 1] == atom_of[inside]).any():
            _refuse_within_atoms(domain)
        for (number, test), position in zip(about, positions.tolist(), strict=True):
            of_missing = bool(test.left(own[-1:])[0]) if column.nullable else None
            if 0 < position < len(present):
                last, following = boundaries[int(atom_of[position - 1])]
                op, value = ("le", last) if following is None else ("lt", following)
                predicate = {"column": column.name, "op": op, "value": value, "or_missing": bool(of_missing)}
                self.steps[number] = (Step(Predicate.model_validate(predicate), LEFT, RIGHT),)
            elif of_missing is None or of_missing == (position > 0):
                self.always[number] = position > 0
            else:
                self.steps[number] = (Step(Predicate(column=column.name, op="is_missing"), *_sides(of_missing)),)


def _refuse_within_atoms(domain: Domain) -> NoReturn:
    raise ModelRefused(
        f"The model reads column {domain.column.name!r} in a way that cannot be said by tests of it: bin the "
        "column, or let it through."
    )


def _steps(domain: Domain, left: NDArray[np.bool_]) -> list[Step]:
    """Steps that send the atoms of `left` left and all others right; neither is nobody."""
    column, values = domain.column, left[: domain.values_count]
    of_missing = bool(left[-1]) if column.nullable else None
    if values.all() or not values.any():
        return [Step(Predicate(column=column.name, op="is_missing"), *_sides(bool(of_missing)))]
    return _stretches(domain, values, of_missing) if column.ordered else _lists(column, values, of_missing)


def _sides(left: bool) -> tuple[int, int]:
    return (LEFT, RIGHT) if left else (RIGHT, LEFT)


def _lists(column: Column, left: NDArray[np.bool_], of_missing: bool | None) -> list[Step]:
    """Whether the value is on a list, or, if that is too long for one predicate, on one of several."""
    if column.type == "boolean":
        predicate = Predicate(column=column.name, op="eq", value=bool(left[1]), or_missing=bool(of_missing))
        return [Step(predicate, LEFT, RIGHT)]
    side = bool(2 * left.sum() <= len(left))
    listed = [value for value, goes in zip(column.values, left, strict=True) if goes == side]
    with_them = of_missing is not None and of_missing == side
    parts = [
        listed[start : start + VALUES_PER_PREDICATE_MAX] for start in range(0, len(listed), VALUES_PER_PREDICATE_MAX)
    ]
    yes, no = _sides(side)
    return [
        Step(
            Predicate.model_validate({"column": column.name, "op": "in", "values": part, "or_missing": with_them}),
            yes,
            index + 1 if index + 1 < len(parts) else no,
        )
        for index, part in enumerate(parts)
    ]


def _stretches(domain: Domain, left: NDArray[np.bool_], of_missing: bool | None) -> list[Step]:
    """A binary search for the stretch that a value is in; missing goes with the last one, or has a step before."""
    name = domain.column.name
    turning = np.flatnonzero(left[1:] != left[:-1]).tolist()
    sides = [bool(left[0]), *(bool(left[atom + 1]) for atom in turning)]
    steps: list[Step] = []

    def compare(low: int, high: int, or_missing: bool) -> int:
        """Steps for the stretches `low` to `high`; gives where they begin."""
        if low == high:
            return LEFT if sides[low] else RIGHT
        middle = (low + high) // 2
        last, following = domain.boundary(turning[middle])
        op, value = ("le", last) if following is None else ("lt", following)
        here = len(steps)
        predicate = Predicate.model_validate({"column": name, "op": op, "value": value, "or_missing": or_missing})
        steps.append(Step(predicate, RIGHT, RIGHT))
        yes = compare(low, middle, or_missing=False)
        no = compare(middle + 1, high, or_missing=False)
        steps[here] = Step(predicate, yes, no)
        return here

    if of_missing is None or of_missing == sides[-1]:
        compare(0, len(sides) - 1, or_missing=False)
    elif len(sides) == 2:
        compare(0, 1, or_missing=True)
    else:
        steps.append(Step(Predicate(column=name, op="is_missing"), LEFT if of_missing else RIGHT, 1))
        compare(0, len(sides) - 1, or_missing=False)
    return steps
