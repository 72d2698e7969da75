"""The people of a run: who is learned from, who is judged, and what others' learners are given of them.

Adult has its own file for tests, so that its runs differ by noise alone. Of COMPAS and German two thirds of the people
are learned from, drawn anew for every run by its number (`train_test_split` with `random_state`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from sklearn.model_selection import train_test_split

from benchmarks.reproduction.data_sets import load
from benchmarks.trained_models import FloatArray, People
from pafer_demo.open_data import OpenData
from shared.contract.schema import Column

WITH_OWN_TEST_FILE: Final = ("adult",)
FAVOURED: Final[Mapping[tuple[str, str], int]] = {
    ("adult", "sex"): 0, ("adult", "ethnicity"): 0, ("compas", "sex"): 1, ("compas", "ethnicity"): 0,
    ("german", "sex"): 0, ("german", "ethnicity"): 0,
}  # fmt: skip
"""The index of the group that has the favourable outcome more often, as is known of these data: PFLR* asks for it."""


def split(dataset: str, run: int) -> OpenData:
    """A data set as a run has it; runs are numbered from 1."""
    data = load(dataset)
    if dataset in WITH_OWN_TEST_FILE:
        return data
    everybody = pa.concat_tables([data.train, data.test])
    train, test = train_test_split(np.arange(len(everybody)), test_size=1 / 3, random_state=run)
    return OpenData(data.name, data.declaration, train=everybody.take(train), test=everybody.take(test))


def one_hot(people: People, names: Sequence[str]) -> FloatArray:
    """A column of 0 and 1 for each category, and ordered columns over their declared ranges; all within [0, 1]."""
    return np.concatenate([_spread(people, people.schema.by_name[name]) for name in names], axis=1)


def codes(people: People, names: Sequence[str]) -> FloatArray:
    """One column each: ordered ones as they are, categories as their declared numbers, shape (n, names)."""
    return np.stack([_coded(people, people.schema.by_name[name]) for name in names], axis=1)


def bounds(people: People, names: Sequence[str]) -> FloatArray:
    """The smallest and the largest code of each column as declared, never read off records, shape (names, 2)."""
    columns = [people.schema.by_name[name] for name in names]
    return np.array([(one.low, one.high) if one.ordered else (0, len(one.values) - 1) for one in columns], np.float64)


def _spread(people: People, column: Column) -> FloatArray:
    values = people.columns[column.name]
    if column.ordered:
        return ((values - column.low) / (column.high - column.low)).astype(np.float64)[:, None]
    return np.stack([values == value for value in column.values], axis=1).astype(np.float64)


def _coded(people: People, column: Column) -> FloatArray:
    if column.ordered:
        return people.columns[column.name].astype(np.float64)
    values, index = people.different[column.name]
    return np.array([column.values.index(value) for value in values], np.float64)[index]
