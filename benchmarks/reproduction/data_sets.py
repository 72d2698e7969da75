"""The data sets of the experiments: the paper's, and any other one whose declaration is next to its records.

A further data set is two files in the data directory: `NAME.csv`, with a header, and `NAME.declaration.json`, what a
holder's administrator would declare (4-interface, *datasets*): the person key, every column with its domain, which
are sensitive, and one boolean label, true where the outcome is favourable. Columns of the file that are not declared
are ignored. The people are split as the paper splits COMPAS and German. `docs/reproduction.md` has an example.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from sklearn.model_selection import train_test_split

from benchmarks.reproduction.published import SENSITIVE, Sensitive
from pafer_demo.open_data import LOADERS, OpenData, OpenDataMissing, data_directory
from shared.contract.datasets import DatasetDeclaration
from shared.contract.schema import Column

DECLARATION: Final = ".declaration.json"
_TYPES: Final = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}


def further_names() -> tuple[str, ...]:
    """The data sets in the data directory that are not the paper's."""
    directory = data_directory()
    found = () if directory is None else directory.glob(f"*{DECLARATION}")
    return tuple(sorted(path.name.removesuffix(DECLARATION) for path in found))


@lru_cache(maxsize=2)
def load(name: str) -> OpenData:
    """A data set by its name.

    Raises:
        OpenDataMissing: There is none of that name, or a file of it is absent or another one.
    """
    if name in LOADERS:
        return LOADERS[name](None)
    directory = data_directory()
    if directory is None or name not in further_names():
        raise OpenDataMissing(f"There is no {name}{DECLARATION} in the data directory.")
    return declared(name, directory)


def declared(name: str, directory: Path) -> OpenData:
    """Read a further data set.

    Args:
        name: Of its two files.
        directory: Where they are.

    Raises:
        OpenDataMissing: It has no records.
        ValueError: Declaration and records do not fit.
    """
    declaration = DatasetDeclaration.model_validate_json((directory / f"{name}{DECLARATION}").read_bytes())
    path = directory / f"{name}.csv"
    if not path.is_file():
        raise OpenDataMissing(f"There is no {name}.csv next to its declaration.")
    if sum(column.label for column in declaration.columns) != 1:
        raise ValueError(f"{name}{DECLARATION} declares no label: trees are trained on one.")
    key = declaration.table.row_column
    names = [key, *(column.name for column in declaration.columns)]
    types = {key: pa.string(), **{column.name: _type(column) for column in declaration.columns}}
    options = arrow_csv.ConvertOptions(include_columns=names, column_types=types, strings_can_be_null=True)
    table = arrow_csv.read_csv(path, convert_options=options)
    # The same split as the paper's of COMPAS and German (1-method §5).
    train, test = train_test_split(np.arange(len(table)), test_size=1 / 3, random_state=42)
    return OpenData(name, declaration, train=table.take(train), test=table.take(test))


def sensitive_choices(name: str) -> tuple[Sensitive, ...]:
    """By what a data set's people are grouped: each sensitive column by itself, then all together."""
    if name in LOADERS:
        return SENSITIVE
    columns = load(name).declaration.table.sensitive
    return (*((column,) for column in columns), *([columns] if len(columns) > 1 else []))


def _type(column: Column) -> pa.DataType:
    return _TYPES.get(column.type, pa.string())
