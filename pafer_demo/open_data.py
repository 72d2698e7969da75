"""Adult, COMPAS and German credit with the paper's preprocessing (1-method §5).

The files are not part of the project. They are looked for in the folder that `PAFER_DATA` names, else
in `../shared/data` next to the checkout, else in `data`, where `./run data` puts them. Each is checked
against its SHA-256 before it is read, so every figure rests on the same bytes.
"""

import csv
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from pafer_demo.declarations import ADULT, COMPAS, GERMAN, PERSON_KEY
from shared.contract.datasets import DatasetDeclaration
from shared.contract.schema import Column

SHA256: Final = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "compas.csv": "7f355cf431d03d7918d1bf177c013af5fd40c3f8f41d5503916bac8c84da0ddc",
    "german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
}

DOWNLOADED: Final = Path(__file__).resolve().parents[1] / "data"
"""Where `./run data` puts the files unless `PAFER_DATA` names a folder."""

Row = dict[str, str | int | bool]


class OpenDataMissing(Exception):
    """A file of the public data is absent, or is not the one that the figures were computed from."""


@dataclass(frozen=True, slots=True)
class OpenData:
    """A public data set in the paper's split.

    Attributes:
        name: The dataset's name with the holder.
        declaration: What the holder declares of it.
        train: The part that trees are trained on; the declared columns and the person key.
        test: The part that audits are about; the same columns, other people.
    """

    name: str
    declaration: DatasetDeclaration
    train: pa.Table
    test: pa.Table

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that a model may see: neither sensitive nor the label."""
        return tuple(column.name for column in self.declaration.columns if not (column.sensitive or column.label))

    @property
    def label(self) -> str:
        """The name of the column of true outcomes."""
        return next(column.name for column in self.declaration.columns if column.label)

    def write_csv(self, path: Path) -> None:
        """Write the test part, the records that a holder has, as the CSV that it loads."""
        arrow_csv.write_csv(self.test, path)


def data_directory() -> Path | None:
    """Return where the public data lie, or None without any."""
    named = os.environ.get("PAFER_DATA")
    folders = [Path(named)] if named else [DOWNLOADED.parents[1] / "shared" / "data", DOWNLOADED]
    return next((folder for folder in folders if folder.is_dir()), None)


def is_published(path: Path, sha256: str) -> bool:
    """Whether a file is there and has these bytes; `sha256` in hexadecimal digits."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def adult(directory: Path | None = None) -> OpenData:
    """Adult (UCI): 30 162 people to train on and 15 060 to audit, rows with a missing value dropped.

    Args:
        directory: Where the files lie; `data_directory()` if None.

    Raises:
        OpenDataMissing: A file is absent or another one.
    """
    return OpenData(
        "adult",
        ADULT,
        train=_table(ADULT, _adult_rows(_lines(directory, "adult.data"), "train")),
        test=_table(ADULT, _adult_rows(_lines(directory, "adult.test")[1:], "test")),
    )


def compas(directory: Path | None = None) -> OpenData:
    """COMPAS, two-year recidivism (ProPublica): 4 114 and 2 058 people; favourable is no recidivism.

    The paper fills missing values with the column's median; the article's filter leaves none.

    Args:
        directory: Where the file lies; `data_directory()` if None.

    Raises:
        OpenDataMissing: The file is absent or another one.
    """
    return _split("compas", COMPAS, _compas_rows(_lines(directory, "compas.csv")))


def german(directory: Path | None = None) -> OpenData:
    """German credit (UCI): 666 and 334 people; favourable is good credit, and A202 (no foreign worker) is White.

    Args:
        directory: Where the file lies; `data_directory()` if None.

    Raises:
        OpenDataMissing: The file is absent or another one.
    """
    return _split("german", GERMAN, _german_rows(_lines(directory, "german.data")))


LOADERS: Final[dict[str, Callable[[Path | None], OpenData]]] = {"adult": adult, "compas": compas, "german": german}


def _lines(directory: Path | None, name: str) -> list[str]:
    directory = directory or data_directory()
    if directory is None or not (directory / name).is_file():
        raise OpenDataMissing(
            f"{name} is not in the data directory. Run `./run data` to fetch it, or set PAFER_DATA to its folder."
        )
    if not is_published(directory / name, SHA256[name]):
        raise OpenDataMissing(
            f"{name} is not the published file: its SHA-256 differs. Run `./run data` to fetch it again."
        )
    return (directory / name).read_text(encoding="utf-8").splitlines()


def _adult_rows(lines: Sequence[str], part: str) -> Iterator[Row]:
    fields = (
        "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
        "capital-loss hours-per-week native-country income"
    ).split()
    for number, values in enumerate(csv.reader(lines, skipinitialspace=True), start=1):
        if not values or "?" in values:
            continue
        row = dict(zip(fields, values, strict=True))
        yield {
            **row,
            PERSON_KEY: f"{part}-{number}",
            "sex": _binary(row["sex"] == "Male", "male"),
            "ethnicity": _binary(row["race"] == "White", "White"),
            "income_high": row["income"].rstrip(".") == ">50K",
        }


def _compas_rows(lines: Sequence[str]) -> Iterator[Row]:
    for row in csv.DictReader(lines):
        days = row["days_b_screening_arrest"]
        if days and -30 <= float(days) <= 30:
            yield {
                **row,
                PERSON_KEY: row["id"],
                "sex": _binary(row["sex"] == "Male", "male"),
                "ethnicity": _binary(row["race"] == "Caucasian", "White"),
                "no_recidivism": row["two_year_recid"] == "0",
            }


def _german_rows(lines: Sequence[str]) -> Iterator[Row]:
    fields = (
        "checking_account duration credit_history purpose credit_amount savings employment_since instalment_rate "
        "personal_status other_debtors residence_since property age other_instalments housing existing_credits job "
        "dependants telephone foreign_worker class"
    ).split()
    marital = {
        "A91": "separated",
        "A92": "separated-or-married",
        "A93": "single",
        "A94": "married-or-widowed",
        "A95": "single",
    }
    for number, line in enumerate(lines, start=1):
        row = dict(zip(fields, line.split(), strict=True))
        yield {
            **row,
            PERSON_KEY: str(number),
            "marital_status": marital[row["personal_status"]],
            "sex": _binary(row["personal_status"] in ("A91", "A93", "A94"), "male"),
            "ethnicity": _binary(row["foreign_worker"] == "A202", "White"),
            "good_credit": row["class"] == "1",
        }


def _binary(privileged: bool, name: str) -> str:
    return name if privileged else f"non-{name}"


def _split(name: str, declaration: DatasetDeclaration, rows: Iterator[Row]) -> OpenData:
    # scikit-learn takes a second to import, and only this split needs it.
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    table = _table(declaration, rows)
    train, test = train_test_split(np.arange(len(table)), test_size=1 / 3, random_state=42)
    return OpenData(name, declaration, train=table.take(train), test=table.take(test))


def _table(declaration: DatasetDeclaration, rows: Iterator[Row]) -> pa.Table:
    records = list(rows)
    columns = {PERSON_KEY: pa.array([row[PERSON_KEY] for row in records], pa.string())}
    for column in declaration.columns:
        columns[column.name] = _array(column, [row[column.name] for row in records])
    return pa.table(columns)


def _array(column: Column, values: Sequence[str | int | bool]) -> pa.Array:
    if column.type == "integer":
        return pa.array([int(float(value)) for value in values], pa.int64())
    return pa.array(values, pa.bool_() if column.type == "boolean" else pa.string())
