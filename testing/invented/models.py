"""Invented people, tables and models for the tests of reading models: all supported transforms, mixed at random.

The numbers sit where rounding bites: multiples of 0.1 that no float32 holds, whole numbers, repeated values, so that
thresholds fall on float32 roundings; some values are missing, some categories are declared and never seen in training.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema, Value

Record = dict[str, Value | None]

EDUCATION = ("none", "primary", "secondary", "college", "doctorate", "other")
CITIES = ("Aa", "Bb", "Cc", "Dd", "Ee", "Ff", "Gg")
SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=99),
        Column(name="children", type="integer", minimum=-1, maximum=6),
        Column(name="debt", type="integer", nullable=True),
        Column(name="income", type="number", minimum=0, nullable=True),
        Column(name="hours", type="number"),
        Column(name="education", type="category", categories=EDUCATION),
        Column(name="city", type="category", categories=CITIES, nullable=True),
        Column(name="owner", type="boolean"),
        Column(name="insured", type="boolean", nullable=True),
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
        Column(name="good", type="boolean", label=True),
    ),
)
NUMERIC = ("age", "children", "debt", "income", "hours")
TEXTS = ("education", "city")
BOOLEAN = ("owner", "insured")


@dataclass(frozen=True)
class InventedModel:
    """A fitted model, the steps before its tree, and the tree."""

    model: Any
    steps: list[Any]
    tree: Any
    columns: tuple[str, ...]
    framed: bool
    classes: list[Any]

    def table(self, people: list[Record]) -> Any:
        """People as the model takes them."""
        frame = as_frame(people)[list(self.columns)]
        return frame if self.framed else as_array(frame)

    def leaves(self, people: list[Record]) -> list[int]:
        """The leaf that scikit-learn reaches."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown categories are here on purpose
            matrix = self.table(people)
            for step in self.steps:
                matrix = step.transform(matrix)
            reached: list[int] = self.tree.apply(matrix).tolist()
        return reached

    def decisions(self, people: list[Record]) -> list[Any]:
        """What scikit-learn decides."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels: list[Any] = self.model.predict(self.table(people)).tolist()
        return labels


def people(draw: np.random.Generator, count: int, *, unseen: bool) -> list[Record]:
    """Invented people; with `unseen`, also categories and ranges that training never has."""
    cities = CITIES if unseen else CITIES[:5]
    education = EDUCATION if unseen else EDUCATION[:4]
    records: list[Record] = []
    for _ in range(count):
        record: Record = {
            "age": int(draw.integers(0, 100)),
            "children": pick(draw, [-1, 0, 0, 1, 2, 3, 6] if unseen else [-1, 0, 0, 1, 2, 4]),
            "debt": int(draw.integers(-5, 6)) * 10 ** int(draw.integers(0, 9)) + 1,
            "income": round(float(draw.integers(0, 60)) * 0.1, 1) * pick(draw, [1, 1000]),
            "hours": float(pick(draw, [draw.normal(), 0.1 * draw.integers(-9, 9), draw.integers(-3, 3)])),
            "education": pick(draw, education),
            "city": pick(draw, cities),
            "owner": bool(draw.random() < 0.5),
            "insured": bool(draw.random() < 0.5),
        }
        for name in ("debt", "income", "city", "insured"):
            if draw.random() < (0.15 if unseen else 0.1):
                record[name] = None
        records.append(record)
    return records


def as_frame(records: list[Record]) -> pd.DataFrame:
    """The table that an auditor would have: the types that pandas chooses."""
    return pd.DataFrame(
        {
            column.name: pd.Series([_or_nan(record[column.name]) for record in records], dtype=_dtype(column))
            for column in SCHEMA.columns
            if not column.sensitive and not column.label
        }
    )


def _or_nan(value: Value | None) -> Value:
    return math.nan if value is None else value


def _dtype(column: Column) -> str:
    if column.type == "integer":
        return "float64" if column.nullable else "int64"
    if column.type == "boolean":
        return "object" if column.nullable else "bool"
    return {"number": "float64", "category": "str"}[column.type]


def as_array(frame: pd.DataFrame) -> Any:
    """The same as an array: of numbers if all are, else of objects with NaN for missing."""
    return frame.to_numpy() if all(frame.dtypes != "object") else frame.to_numpy(dtype=object, na_value=math.nan)


def invent(seed: int) -> InventedModel:
    """A random model trained on random people, with decisions that are part rule and part chance."""
    draw = np.random.default_rng(seed)
    trained = people(draw, int(draw.integers(60, 160)), unseen=False)
    frame = as_frame(trained)
    classes = _classes(draw)
    guilty = (frame["age"] > 40).astype(int) + (frame["hours"] > 0) + (frame["city"] == "Bb") + (frame["children"] == 2)
    chance = draw.integers(0, len(classes), len(frame))
    labels = np.array(classes)[np.where(draw.random(len(frame)) < 0.4, chance, guilty % len(classes))]
    bare = draw.random() < 0.25
    names = [*NUMERIC, *BOOLEAN] if bare else list(frame.columns)
    columns = tuple(draw.permutation(names)[: draw.integers(2, 6)].tolist())
    framed = bool(bare or draw.random() < 0.8)
    steps = [] if bare else random_steps(draw, columns, framed=framed)
    tree = DecisionTreeClassifier(
        max_depth=int(draw.integers(2, 8)),
        min_samples_leaf=pick(draw, [1, 2, 5, 10]),
        max_leaf_nodes=int(draw.integers(4, 25)) if draw.random() < 0.3 else None,
        splitter=pick(draw, ["best", "random"]),
        class_weight="balanced" if draw.random() < 0.2 else None,
        random_state=int(draw.integers(2**31)),
    )
    model: Any = make_pipeline(*steps, tree) if steps or draw.random() < 0.3 else tree
    given = frame[list(columns)] if framed else as_array(frame[list(columns)])
    if len(classes) == 2 and draw.random() < 0.2:
        model = FixedThresholdClassifier(model, threshold=pick(draw, [0.3, 0.5, 0.7]), pos_label=classes[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bins that are too narrow, columns without variance
        model.fit(given, labels)
    inner = getattr(model, "estimator_", model)
    parts = [part for _, part in inner.steps] if isinstance(inner, Pipeline) else [inner]
    return InventedModel(model, parts[:-1], parts[-1], columns, framed, classes)


def pick(draw: np.random.Generator, options: Sequence[Any]) -> Any:
    """One of some options."""
    return options[int(draw.integers(len(options)))]


def _classes(draw: np.random.Generator) -> list[Any]:
    options: list[list[Any]] = [[0, 1], [False, True], ["no", "yes"], ["bad", "fair", "good"], [1, 2, 3, 4]]
    chosen: list[Any] = pick(draw, options)
    return chosen


def random_steps(
    draw: np.random.Generator, columns: tuple[str, ...], *, framed: bool, sparse: bool = True
) -> list[Any]:
    """Steps before a model: every column goes through some transformers of its kind, or none."""
    transformers = []
    for number, group in enumerate(_groups(draw, columns)):
        indices: Any = list(group) if framed else [columns.index(name) for name in group]
        if group[0] in NUMERIC:
            options = _numeric(draw, group)
        elif group[0] in TEXTS:
            options = _texts(draw)
        else:
            options = _booleans(draw, group)
        transformers.append((f"part-{number}", pick(draw, options), indices))
    if draw.random() < 0.3 and len(transformers) > 2:
        transformers[0] = (transformers[0][0], "drop", transformers[0][2])
    if draw.random() < 0.2 and sparse:  # a tree takes no missing value from a sparse matrix
        return [
            ColumnTransformer(transformers, sparse_threshold=1.0),
            SimpleImputer(strategy="constant", fill_value=-9),
        ]
    columns_apart = ColumnTransformer(transformers, sparse_threshold=0.0)
    second = [MinMaxScaler(), StandardScaler(), "passthrough"]
    return [make_pipeline(columns_apart, pick(draw, second)) if draw.random() < 0.2 else columns_apart]


def _groups(draw: np.random.Generator, columns: tuple[str, ...]) -> list[list[str]]:
    """Columns that share a transformer: those of a kind together, or each alone."""
    groups: list[list[str]] = []
    for kind in (NUMERIC, TEXTS, BOOLEAN):
        names = [name for name in columns if name in kind]
        groups += ([names] if names else []) if draw.random() < 0.4 else [[name] for name in names]
    return [groups[index] for index in draw.permutation(len(groups))]


def _numeric(draw: np.random.Generator, group: list[str]) -> list[Any]:
    nullable = "debt" in group or "income" in group
    whole = set(group) <= {"age", "children"}
    impute = SimpleImputer(
        strategy=pick(draw, ["mean", "median", "most_frequent"]), add_indicator=bool(draw.random() < 0.5)
    )
    constant = SimpleImputer(strategy="constant", fill_value=-1 if whole else -0.1, add_indicator=not whole)
    bins = KBinsDiscretizer(
        n_bins=int(draw.integers(2, 6)),
        encode=pick(draw, ["onehot", "onehot-dense", "ordinal"]),
        strategy=pick(draw, ["uniform", "quantile"]),
        quantile_method="averaged_inverted_cdf",
    )
    scalers = [StandardScaler(), MinMaxScaler(clip=True), MinMaxScaler((-3, 0.1)), MaxAbsScaler(), RobustScaler()]
    scaler = pick(draw, scalers)
    known = [
        OneHotEncoder(handle_unknown="ignore", drop=pick(draw, [None, "first"])),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12, sparse_output=False),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=pick(draw, [-1, 200])),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=math.nan, min_frequency=3),
    ]
    encoder = pick(draw, known)
    binned = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    options = [scaler, "passthrough", make_pipeline(impute, scaler), make_pipeline(constant, encoder)]
    options += [make_pipeline(scaler, constant, bins, "passthrough"), make_pipeline(impute, scaler, binned, encoder)]
    options += [make_pipeline(impute, bins)]
    if whole:
        options += [encoder, make_pipeline(scaler, encoder)]
    if group == ["children"]:
        options += [make_pipeline(SimpleImputer(missing_values=-1), pick(draw, [scaler, bins, encoder]))]
    return options if nullable else [*options, bins, make_pipeline(scaler, bins), make_pipeline(binned, scaler)]


def _texts(draw: np.random.Generator) -> list[Any]:
    hot = OneHotEncoder(
        handle_unknown=pick(draw, ["ignore", "infrequent_if_exist", "warn"]),
        drop=pick(draw, [None, "first", "if_binary"]),
        min_frequency=pick(draw, [None, 5, 0.1]),
        max_categories=pick(draw, [None, 3]),
        sparse_output=bool(draw.random() < 0.5),
    )
    ordinal = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=pick(draw, [-1, math.nan, 50]),
        encoded_missing_value=pick(draw, [-2, math.nan]),
        min_frequency=pick(draw, [None, 8]),
    )
    impute = SimpleImputer(strategy="most_frequent")
    constant = SimpleImputer(strategy="constant", fill_value="?", add_indicator=True)
    known = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    again = OneHotEncoder(handle_unknown="ignore")
    pipelines = [(impute, hot), (impute, ordinal), (known, again), (known, StandardScaler()), (known, binned_codes())]
    return [hot, ordinal, *(make_pipeline(*steps) for steps in pipelines), make_pipeline(constant, again)]


def binned_codes() -> KBinsDiscretizer:
    """Bins over an encoder's numbers."""
    return KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")


def _booleans(draw: np.random.Generator, group: list[str]) -> list[Any]:
    encoders = [
        OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=7),
    ]
    if group == ["owner"]:
        return [*encoders, "passthrough", StandardScaler()]
    return [*encoders, "passthrough", make_pipeline(SimpleImputer(strategy="most_frequent"), encoders[1])]


def edge_people(draw: np.random.Generator, base: list[Record], predicates: list[Predicate]) -> list[Record]:
    """People at the boundaries: the last value on one side of a threshold and the first on the other."""
    edges: list[Record] = []
    for predicate in predicates:
        column = SCHEMA.by_name[predicate.column]
        if column.ordered and isinstance(predicate.value, int | float):
            number = predicate.value
            if column.type == "integer":
                near: list[float] = [math.ceil(number) - 1, math.floor(number), math.floor(number) + 1]
            else:
                near = [math.nextafter(number, -math.inf), float(number), math.nextafter(number, math.inf)]
            near = [value for value in near if column.low <= value <= column.high]
            edges += [{**pick(draw, base), column.name: value} for value in near]
    return edges
