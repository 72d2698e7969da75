"""The model's own preprocessing as oracle: which raw column each feature comes from, and where it may turn.

Nothing here computes what a transformer would compute. The structure of a fitted pipeline only shows
which single raw column a feature depends on, and points between which it is monotone in that column;
every value comes out of the fitted transformers themselves (3-estimation §5). A transformer that mixes
columns, or that this file does not know, is refused: also a subclass, which may do anything.
"""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Domain
from auditor_client.models.probing import Inputs, Matrix, Probe, ThresholdTest, turns
from auditor_client.models.soundness import require_fitted, require_sound_encoder
from shared.wire.text import normalise

_SCALERS: Final = (
    preprocessing.StandardScaler,
    preprocessing.MinMaxScaler,
    preprocessing.MaxAbsScaler,
    preprocessing.RobustScaler,
)
SUPPORTED: Final = (
    "Supported are Pipeline, ColumnTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler, MinMaxScaler, "
    "MaxAbsScaler, RobustScaler, KBinsDiscretizer, SimpleImputer, passthrough and drop: each makes features of one "
    "column alone."
)

Transform = Callable[[Any], Any]
"""From a table of raw rows to what a step inside the model is given."""


@dataclass(frozen=True, slots=True)
class Affine:
    """slope · x + offset, but for rounding.

    Attributes:
        slope, offset: Of the function.
        size: How large the parts of the offset are that cancel out in part; of the same scale.
        operations: How many times scikit-learn rounds on the way.
    """

    slope: float = 1.0
    offset: float = 0.0
    size: float = 0.0
    operations: int = 0

    def then(self, slope: float, offset: float) -> "Affine":
        """The function followed by another one."""
        return Affine(
            self.slope * slope,
            self.offset * slope + offset,
            self.size * abs(slope) + abs(offset),
            self.operations + 2,
        )


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of a matrix inside the model.

    Attributes:
        source: The raw column that it is a function of.
        cuts: For an ordered raw column, keys between whose neighbours the function is monotone.
        affine: For an ordered raw column, what the function is wherever it is not constant between two cuts; None if it
            is constant between any two.
    """

    source: str
    cuts: frozenset[int] = frozenset()
    affine: Affine | None = None


class Preprocessing:
    """The steps before the tree, traced.

    Attributes:
        features: What the columns of the matrix are that the tree is given.
        transform: From a table of raw rows to that matrix, by the model's own steps.
    """

    def __init__(self, steps: Sequence[Any], inputs: Inputs) -> None:
        """Trace the fitted steps.

        Raises:
            ModelRefused: A step mixes columns, is not known, or fails for a declared value.
        """
        self.inputs = inputs
        columns = inputs.schema.by_name
        self.features: Sequence[Feature] = [
            Feature(name, affine=Affine() if name in columns and columns[name].ordered else None)
            for name in inputs.columns
        ]
        self.transform: Transform = lambda table: table
        for step in steps:
            self.features = self._trace(step, self.features, self.transform)
            self.transform = _then(self.transform, step)

    def matrix(self, table: Any) -> NDArray[np.float32]:
        """Return what a tree compares that rounds to float32, shape (rows, features)."""
        with np.errstate(over="ignore"):
            return self.numbers(table).astype(np.float32)

    def numbers(self, table: Any) -> NDArray[np.float64]:
        """Return what the model is given, shape (rows, features)."""
        return _numbers(self.transform)(table)

    def cut_at_zero(self) -> None:
        """Make 0 a piece of its own of every feature that is a multiple of its raw column."""
        levels = [_around([0.0]) if feature.affine else [] for feature in self.features]
        self.features = self._cut_at(self.features, levels, self.transform, keep=True)

    def probes(self, features: Sequence[Feature]) -> list[Probe]:
        """The values of the features' raw columns that matter: declared ones, those next to cuts, missing."""
        probes: dict[Probe, None] = {}
        for feature in dict.fromkeys(features):
            column = self.inputs.schema.by_name.get(feature.source)
            if column is None:
                probes[Probe(feature.source, None)] = None
                continue
            domain = Domain(column, tuple(sorted(feature.cuts)))
            for atom in range(domain.values_count + column.nullable):
                probes.update((Probe(column.name, value), None) for value in domain.examples(atom))
        return list(probes)

    def require_works(self, transform: Transform, features: Sequence[Feature], what: str) -> None:
        """Refuse a model that fails for a declared value, rather than audit it for half of the people."""
        try:
            quietly(transform, self.inputs.rows(self.probes(features)))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            sources = list(dict.fromkeys(feature.source for feature in features))
            undeclared = [name for name in sources if name not in self.inputs.schema.by_name]
            if undeclared:
                raise ModelRefused(
                    f"The model reads {', '.join(map(repr, undeclared))}, which the dataset does not declare: is it "
                    "the right dataset? If the dataset calls them otherwise, give its names in the model's order as "
                    "`columns`."
                ) from error
            raise ModelRefused(
                f"{what} fails for some declared value of the columns {sources}{_why(str(error))}. "
                "Train the model on the declared types and to take every declared value (encoders: handle_unknown; an "
                "imputer for missing values), or have the dataset declared more narrowly."
            ) from error

    def _trace(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        require_fitted(step)
        untransformed = type(step) is preprocessing.FunctionTransformer and step.func is None
        if step is None or isinstance(step, str) or untransformed:
            return list(features)
        if type(step) is Pipeline:
            for _, part in step.steps:
                features = self._trace(part, features, before)
                before = _then(before, part)
            return list(features)
        if type(step) is ColumnTransformer:
            return self._trace_columns(step, features, before)
        tracers: Mapping[type, Callable[[Any, Sequence[Feature], Transform], list[Feature]]] = {
            SimpleImputer: self._trace_imputer,
            preprocessing.KBinsDiscretizer: self._trace_bins,
            preprocessing.OneHotEncoder: self._trace_one_hot,
            preprocessing.OrdinalEncoder: self._trace_ordinal,
            **dict.fromkeys(_SCALERS, _trace_scaler),
        }
        if type(step) not in tracers:
            raise ModelRefused(f"{type(step).__name__} before the tree cannot be read exactly. {SUPPORTED}")
        traced = tracers[type(step)](step, features, before)
        self.require_works(_then(before, step), [*features, *traced], type(step).__name__)
        return traced

    def _trace_columns(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        traced = []
        for name, part, _ in step.transformers_:
            columns = vars(step)["_transformer_to_input_indices"][name]  # also behind callables and slices
            if not (isinstance(part, str) and part == "drop") and len(columns) > 0:
                traced += self._trace(part, [features[column] for column in columns], _selected(before, columns))
        return traced

    def _trace_imputer(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        """The value for missing may be a number, for example −1, which is then a piece of its own."""
        sentinel = step.missing_values
        for feature in features if sentinel is None else ():
            self._missing_is(None, feature.source)
        if isinstance(sentinel, int | float) and not math.isnan(sentinel):
            features = self._cut_at(features, [_around([sentinel])] * len(features), before, keep=True)
        filled = [
            feature
            for feature, filling in zip(features, step.statistics_, strict=True)
            if step.keep_empty_features or not _is_missing(filling)  # NaN: nothing was there to learn from
        ]
        indicated = step.indicator_.features_ if step.add_indicator else ()
        return [*filled, *(replace(features[index], affine=None) for index in indicated)]

    def _trace_bins(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        """A bin's own feature turns twice; the bin's number only rises, so the number is searched."""
        counts = [int(count) for count in step.n_bins_]
        levels = [[float(level) for level in range(count - 1)] for count in counts]
        if step.encode == "ordinal":
            return self._cut_at(features, levels, _then(before, step))
        require_sound_encoder(vars(step)["_encoder"], counts)
        cut = self._cut_at(features, levels, _bin_numbers(_then(before, step), counts))
        return [feature for feature, count in zip(cut, counts, strict=True) for _ in range(count)]

    def _trace_one_hot(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        none = [None] * len(features)
        dropped = none if step.drop_idx_ is None else step.drop_idx_
        rare = getattr(step, "infrequent_categories_", none)
        counts = [
            len(categories) - (drop is not None) - (0 if together is None else len(together) - 1)
            for categories, drop, together in zip(step.categories_, dropped, rare, strict=True)
        ]
        require_sound_encoder(step, counts)
        cut = self._trace_ordinal(step, features, before)
        return [feature for feature, count in zip(cut, counts, strict=True) for _ in range(count)]

    def _trace_ordinal(self, step: Any, features: Sequence[Feature], before: Transform) -> list[Feature]:
        """An encoder knows single numbers: each is a piece of its own, with unknown ones in between."""
        levels = []
        for index, (feature, categories) in enumerate(zip(features, step.categories_, strict=True)):
            for missing in {value for value in categories if _is_missing(value)}:
                self._missing_is(missing, feature.source)
            values = quietly(_selected(before, [index]), self.inputs.rows(self.probes([feature])))
            if feature.source in self.inputs.schema.by_name:
                _require_same_kind(_dense(values).ravel(), categories, feature.source)
            numbers = [] if any(isinstance(value, str) for value in categories) else categories.astype(np.float64)
            levels.append(_around([number for number in numbers if not math.isnan(number)]))
        return self._cut_at(features, levels, before)

    def _missing_is(self, marker: float | None, source: str) -> None:
        """Take note of what stood for missing in the table that the model was trained on: None or NaN."""
        if (self.inputs.missing.setdefault(source, marker) is None) != (marker is None):
            raise ModelRefused(f"The model knows both None and NaN for a missing {source!r}: train it on one of them.")

    def _cut_at(
        self, features: Sequence[Feature], levels: Sequence[Sequence[float]], before: Transform, *, keep: bool = False
    ) -> list[Feature]:
        """Cut each ordered feature's raw column wherever the feature goes from at most a level to above it.

        Between the cuts what is made of a feature is constant; or, with `keep`, what it was.
        """
        by_name = self.inputs.schema.by_name
        ordered = [
            index
            for index, feature in enumerate(features)
            if feature.source in by_name and by_name[feature.source].ordered and levels[index]
        ]
        tests = [
            ThresholdTest(features[index].source, features[index].cuts, column, level)
            for column, index in enumerate(ordered)
            for level in levels[index]
        ]
        cuts = [set(feature.cuts) for feature in features]
        turning_keys = turns(self.inputs, tests, _numbers(_selected(before, ordered)))
        for test, keys in zip(tests, turning_keys, strict=True):
            cuts[ordered[test.column]] |= keys
        return [
            Feature(feature.source, frozenset(cut), feature.affine if keep else None)
            for feature, cut in zip(features, cuts, strict=True)
        ]


def _trace_scaler(step: Any, features: Sequence[Feature], _: Transform) -> list[Feature]:
    """Scaling and clipping are monotone, whatever the rounding."""
    scales, offsets = _scaling(step, len(features))
    return [
        replace(feature, affine=feature.affine and feature.affine.then(scale, offset))
        for feature, scale, offset in zip(features, scales, offsets, strict=True)
    ]


def _scaling(step: Any, count: int) -> tuple[list[float], list[float]]:
    """Return what a scaler multiplies each feature by, and then adds."""
    if type(step) is preprocessing.MinMaxScaler:
        return step.scale_.tolist(), step.min_.tolist()
    middle = getattr(step, "mean_" if type(step) is preprocessing.StandardScaler else "center_", None)
    shifted = middle is not None and getattr(step, "with_mean", True)
    scale = np.ones(count) if step.scale_ is None else np.asarray(step.scale_, np.float64)
    with np.errstate(all="ignore"):
        offsets = -np.asarray(middle, np.float64) / scale if shifted else np.zeros(count)
        return (1 / scale).tolist(), offsets.tolist()


def _require_same_kind(declared_values: NDArray[Any], categories: NDArray[Any], source: str) -> None:
    """Refuse an encoder of texts where the dataset has numbers: it would take every value for an unknown one."""
    of_text = [
        {isinstance(value, str) for value in values if not _is_missing(value)}
        for values in (declared_values, categories)
    ]
    if of_text[0] and of_text[1] and of_text[0] != of_text[1]:
        raise ModelRefused(
            f"The encoder of column {source!r} knows {_shown(categories)}, and the dataset declares "
            f"{_shown(declared_values)}: train the model on the declared type."
        )
    if any(isinstance(value, str) and normalise(value) != value for value in categories):
        raise ModelRefused(f"The encoder of column {source!r} knows texts that are not in NFC: train it on NFC texts.")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _shown(values: NDArray[Any]) -> str:
    return ", ".join(repr(value) for value in values[:3].tolist()) + (", …" if len(values) > 3 else "")


def _around(levels: Sequence[float]) -> list[float]:
    """Thresholds that part each level from everything below and above it."""
    return [threshold for level in levels for threshold in (math.nextafter(level, -math.inf), float(level))]


def _bin_numbers(one_hot: Transform, counts: Sequence[int]) -> Transform:
    ends = np.cumsum(counts)

    def numbers(table: Any) -> NDArray[np.float64]:
        blocks = np.split(_dense(one_hot(table)), ends[:-1], axis=1)
        return np.column_stack([block @ np.arange(block.shape[1]) for block in blocks])

    return numbers


def _numbers(transform: Transform) -> Matrix:
    def numbers(table: Any) -> NDArray[np.float64]:
        return _dense(quietly(transform, table)).astype(np.float64)

    return numbers


def quietly(transform: Transform, table: Any) -> Any:
    """Run the model's steps without their warnings: unknown categories are asked about on purpose."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return transform(table)


def _then(before: Transform, step: Any) -> Transform:
    if step is None or isinstance(step, str):
        return before
    return lambda table: step.transform(before(table))


def _selected(before: Transform, columns: Sequence[int]) -> Transform:
    def select(table: Any) -> Any:
        matrix = before(table)
        return matrix.iloc[:, list(columns)] if hasattr(matrix, "iloc") else matrix[:, list(columns)]

    return select


def _dense(matrix: Any) -> NDArray[Any]:
    return np.asarray(getattr(matrix, "toarray", lambda: matrix)())


def _why(text: str) -> str:
    """What a library says of a value, as far as it is known how it says it; its own words are for programmers."""
    unknown = re.search(r"unknown categories (\[.{1,200}?\])", text)
    if unknown:
        return f": it does not know {unknown[1]}"
    return ": it takes no missing values" if "NaN" in text else ""
