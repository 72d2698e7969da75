"""Random data, columns as a holder declares them, and records as a maker's library takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "income", "type": "number", "nullable": True},
    {"name": "tiny", "type": "number", "minimum": -1e4, "maximum": 1e4},
    {"name": "age", "type": "integer", "minimum": -3, "maximum": 40, "nullable": True},
    {"name": "children", "type": "integer", "minimum": 0, "maximum": 50},
    {"name": "work", "type": "category", "categories": ["w", "unseen", "x", "y", "z"], "nullable": True},
    {"name": "home", "type": "category", "categories": ["other", "own", "rent"]},
    {"name": "owner", "type": "boolean"},
    {"name": "insured", "type": "boolean", "nullable": True},
    {"name": "sex", "type": "category", "categories": ["f", "m"], "sensitive": True},
]
NUMBERS: Final = ("income", "tiny", "age", "children", "owner", "insured")
NEVER_MISSING: Final = ("tiny", "children", "owner")
TEXTS: Final = ("work", "home")


@dataclass(frozen=True)
class Table:
    """How the model's table is made of declared columns.

    Attributes:
        columns: Which, in the model's order.
        categories: Of columns that are pandas' categories: which ones.
        integers: Columns whose numbers are whole, and never missing.
        truths: Columns of truth values that stay what they are.
        array: Whether the model takes an array of numbers, without names.
        single: Whether numbers are rounded to single precision first, as whoever feeds a graph does.
        gone: What a missing text is.
    """

    columns: Sequence[str]
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    integers: Sequence[str] = ()
    truths: Sequence[str] = ()
    array: bool = False
    single: bool = False
    gone: Any = np.nan

    def of(self, values: Mapping[str, Any]) -> Any:
        """The model's table of some records, column by column; missing numbers are NaN, missing texts None."""
        frame = pd.DataFrame({name: self._column(name, values[name]) for name in self.columns})
        if not self.array:
            return frame
        return frame.to_numpy(np.float32 if self.single else np.float64)

    def _column(self, name: str, values: Any) -> Any:
        if name in self.categories:
            return pd.Categorical(values, categories=list(self.categories[name]))
        if name in TEXTS:
            return np.array([self.gone if value is None else value for value in values], object)
        numbers = np.asarray(values, np.float64)
        if name in self.truths:
            return numbers.astype(bool)
        return numbers.astype(np.int64) if name in self.integers else numbers


def invented(draw: np.random.Generator, records: int = 400, *, missing: bool = True) -> dict[str, Any]:
    """Values of all columns: numbers that round, tiny ones, rare categories, missing ones."""
    size = 10.0 ** draw.integers(-40, 4, records)
    values: dict[str, Any] = {
        "income": np.round(draw.normal(size=records) * 10, int(draw.integers(0, 6))),
        "tiny": np.where(draw.random(records) < 0.5, 0, draw.uniform(-1, 1, records) * size),
        "age": draw.integers(-3, 41, records).astype(float),
        "children": draw.integers(0, 51, records).astype(float),
        "work": draw.choice(list("wxyz"), records).astype(object),
        "home": draw.choice(["other", "own", "rent"], records).astype(object),
        "owner": (draw.random(records) < 0.5).astype(float),
        "insured": (draw.random(records) < 0.5).astype(float),
    }
    if draw.random() < 0.3:
        values["income"] = 100 + values["income"] * 1e-6  # neighbours among float32
    for name in ("income", "age", "work", "insured") if missing else ():
        gone = draw.random(records) < 0.2
        values[name][gone] = None if name == "work" else np.nan
    return values


def classes_of(draw: np.random.Generator, values: Mapping[str, Any], classes: int) -> Any:
    """Classes that depend on the values, or on nothing; each occurs."""
    income, age = np.nan_to_num(values["income"]), np.nan_to_num(values["age"])
    high = income > np.median(income)
    found = draw.integers(0, classes, len(income))
    if draw.random() < 0.8:
        score = high * draw.random(len(income)) * classes + age * 0.02 + (values["home"] == "own") * 0.4
        found = np.clip(np.floor(score), 0, classes - 1).astype(int)
    found[:classes] = np.arange(classes)
    return found


def number_of(draw: np.random.Generator, values: Mapping[str, Any]) -> Any:
    """A positive number that depends on the values."""
    income = np.nan_to_num(values["income"])
    return np.round(np.abs(income) * 0.2 + draw.gamma(2, 1, len(income)) + values["owner"], 3) + 0.01
