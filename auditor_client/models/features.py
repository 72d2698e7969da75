"""What a model is given as functions of raw columns: slope times number, plus a number looked up (5-decisions §2).

For `terms` and `layers`. Structure says where a feature is affine; every constant comes out of the fitted
transformers, asked at both ends of every piece of the domain. A piece where a feature is neither is refused.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Domain, Line
from auditor_client.models.inventing import Invented
from auditor_client.models.nameable import nameable_column
from auditor_client.models.preprocessing import Affine, Feature, Preprocessing
from auditor_client.models.probing import Probe
from shared.contract.schema import Value
from shared.scores.documents import Axis, Product, TableTerm, Term

Numbers = NDArray[np.float64]

INTEGERS_MAX: Final = 4096
"""A whole-numbered column of at most so many values is looked up value by value, where it has to be."""
_CLOSE: Final = 1e-9
"""Relative: so near to slope · x + offset a feature is that, but for rounding."""


@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """The features that come from one raw column.

    Attributes:
        domain: The column's atoms, so fine that each feature is affine or constant on each.
        features: Their indices in the model's matrix.
        slopes: Of each, shape (features,).
        offsets: What is added to slope · x where a feature is affine, shape (features,).
        values: The features at the first value of each atom, shape (atoms, features).
        points: The only value of an atom, shape (atoms,); NaN for a stretch, for missing, and for what is no number.
        tables: What is added to slope · x on each atom, shape (atoms, features); the last atom is missing, where the
            column is nullable, and has no x.
        sizes: How large the parts of these are that cancel out in part, of the same shape.
        operations: How many times scikit-learn rounds on the way, at most.
    """

    domain: Domain
    features: tuple[int, ...]
    slopes: Numbers
    offsets: Numbers
    values: Numbers
    points: Numbers
    tables: Numbers
    sizes: Numbers
    operations: int

    def atoms(self, records: Invented) -> NDArray[np.intp]:
        """The atom of each record, shape (records,)."""
        values, column = records.values[self.domain.column.name], self.domain.column
        if column.ordered:
            cuts = [float(Line(column).value(cut)) for cut in self.domain.cuts]
            atoms: NDArray[np.intp] = np.searchsorted(np.array(cuts, np.float64), values, side="left")
            return np.where(np.isnan(values), self.domain.values_count, atoms)
        index: dict[Any, int] = {value: atom for atom, value in enumerate(column.values)}
        return np.array([index.get(value, self.domain.values_count) for value in values.tolist()], np.intp)

    def numbers(self, records: Invented) -> Numbers:
        """The column of each record, shape (records,); 0 where it is missing or no number."""
        if not self.domain.column.ordered:
            return np.zeros(records.count)
        return np.nan_to_num(records.values[self.domain.column.name], nan=0.0)

    def magnitudes(self, records: Invented) -> Numbers:
        """Return how large slope · x and what is added are together, shape (records, features)."""
        sizes: Numbers = np.abs(self.slopes) * np.abs(self.numbers(records))[:, None] + self.sizes[self.atoms(records)]
        return sizes

    def terms(self, slope: float, table: Numbers, square: float = 0.0) -> tuple[list[Term], float]:
        """Terms worth square · x² + slope · x + the table's number, but for a constant that all atoms share.

        Args:
            slope: For the column's number.
            table: By atom.
            square: For its square.

        Returns:
            The terms, and the constant.
        """
        name, missing = self.domain.column.name, 0.0 if self.domain.column.nullable else None
        terms: list[Term] = []
        if square:
            terms.append(Product(columns=(name, name), slope=square, missing=missing))
        if slope:
            terms.append(Product(columns=(name,), slope=slope, missing=missing))
        if (table == table[0]).all():
            return terms, float(table[0])
        terms.append(TableTerm(axes=(self._axis(table),), table=tuple(self._joined(table).tolist())))
        return terms, 0.0

    def _turning(self, table: Numbers) -> NDArray[np.intp]:
        """The atoms of an ordered column after which the table's number changes."""
        values = table[: self.domain.values_count]
        return np.flatnonzero(values[1:] != values[:-1])

    def _axis(self, table: Numbers) -> Axis:
        column = self.domain.column
        if not column.ordered:
            return Axis(column=column.name, values=column.values, missing=column.nullable)
        line = Line(column)
        cuts = tuple(float(line.value(self.domain.cuts[atom])) for atom in self._turning(table))
        return Axis(column=column.name, cuts=cuts, missing=column.nullable)

    def _joined(self, table: Numbers) -> Numbers:
        """The table with one number for each stretch of equal ones."""
        if not self.domain.column.ordered:
            return table
        first = np.append(0, self._turning(table) + 1)
        return np.append(table[first], table[self.domain.values_count :])


def column_features(
    preprocessing: Preprocessing, cuts: Mapping[str, Collection[int]] | None = None
) -> list[ColumnFeatures]:
    """All features, by raw column in order of appearance.

    Args:
        preprocessing: The steps before the model.
        cuts: By raw column, keys behind which it is cut, too.

    Raises:
        ModelRefused: A feature is neither affine nor constant on some piece; or comes from a column that nothing may be
            asked about.
    """
    by_source: dict[str, list[int]] = {}
    for index, feature in enumerate(preprocessing.features):
        by_source.setdefault(feature.source, []).append(index)
    for source in by_source:
        nameable_column(source, preprocessing.inputs.schema)
    return [
        _of_column(preprocessing, name, tuple(features), (cuts or {}).get(name, ()))
        for name, features in by_source.items()
    ]


def _of_column(
    preprocessing: Preprocessing, name: str, indices: tuple[int, ...], cuts: Collection[int]
) -> ColumnFeatures:
    """The features of one column; value by value where they are no functions piece by piece, and there are few."""
    column = preprocessing.inputs.schema.by_name[name]
    try:
        return _by_pieces(preprocessing, name, indices, cuts)
    except ModelRefused:
        if column.type != "integer" or column.high - column.low >= INTEGERS_MAX:
            raise
    line = Line(column)
    return _by_pieces(preprocessing, name, indices, range(line.first, line.last))


def _by_pieces(
    preprocessing: Preprocessing, name: str, indices: tuple[int, ...], cuts: Collection[int]
) -> ColumnFeatures:
    column = preprocessing.inputs.schema.by_name[name]
    features = [preprocessing.features[index] for index in indices]
    domain = Domain(column, tuple(sorted(frozenset(cuts).union(*(feature.cuts for feature in features)))))
    ends = list(_ends(domain))
    matrix = preprocessing.numbers(preprocessing.inputs.rows([Probe(name, value) for _, value in ends]))
    tables = np.zeros((domain.values_count + column.nullable, len(indices)))
    sizes = np.zeros_like(tables)
    slopes = np.array([feature.affine.slope if feature.affine else 0.0 for feature in features])
    offsets = np.array([feature.affine.offset if feature.affine else 0.0 for feature in features])
    values, points = np.zeros_like(tables), np.full(len(tables), np.nan)
    for atom in range(len(tables)):
        rows = [row for row, (of, _) in enumerate(ends) if of == atom]
        x = [ends[row][1] for row in rows]
        values[atom] = matrix[rows[0], list(indices)]
        if column.ordered and len(x) == 1 and x[0] is not None:
            points[atom] = x[0]
        for number, (index, feature) in enumerate(zip(indices, features, strict=True)):
            answer = _answer(feature, x, matrix[rows, index], slopes[number])
            if answer is None:
                raise ModelRefused(
                    f"The model makes of column {name!r} what is neither constant nor a multiple of it between "
                    f"{x[0]} and {x[-1]}, so it is no sum of terms: leave `clip` out, or have the column declared "
                    "more narrowly."
                )
            tables[atom, number], sizes[atom, number] = answer
    operations = max((feature.affine.operations if feature.affine else 0) for feature in features)
    if not (np.isfinite(tables).all() and np.isfinite(slopes).all()):
        raise ModelRefused(f"The model makes of column {name!r} what is not a number.")
    return ColumnFeatures(domain, indices, slopes, offsets, values, points, tables, sizes, operations)


def _ends(domain: Domain) -> Iterator[tuple[int, Value | None]]:
    """The first and the last value of each atom, each with its atom."""
    for atom in range(domain.values_count):
        if domain.column.ordered:
            line = Line(domain.column)
            yield from ((atom, line.value(key)) for key in dict.fromkeys(domain.ends(atom)))
        else:
            yield atom, domain.column.values[atom]
    if domain.column.nullable:
        yield domain.values_count, None


def _answer(feature: Feature, x: list[Any], numbers: Numbers, slope: float) -> tuple[float, float] | None:
    """Return what a feature adds to slope · x on an atom, and how large its parts are; None if that is no constant.

    Args:
        feature: The feature.
        x: The first and the last value of the atom, one if they are the same; None for missing.
        found: What the model makes of them.
        slope: Of the feature.
    """
    affine = feature.affine
    if x[0] is None or isinstance(x[0], str | bool):
        return float(numbers[0]), abs(float(numbers[0]))
    if affine is not None and _fits(affine, x, numbers):
        return affine.offset, affine.size
    if len(x) == 1:
        constant = float(numbers[0]) - slope * x[0]
        return constant, abs(float(numbers[0])) + abs(slope * x[0])
    if affine is None and (numbers == numbers[0]).all():
        return float(numbers[0]), abs(float(numbers[0]))
    return None


def _fits(affine: Affine, x: list[Any], numbers: Numbers) -> bool:
    values = np.array(x, np.float64)
    expected = affine.slope * values + affine.offset
    return bool((np.abs(numbers - expected) <= _CLOSE * (np.abs(affine.slope * values) + affine.size)).all())
