"""The public data: the paper's preprocessing, from exactly the published files."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pafer_demo.open_data import LOADERS, OpenData, OpenDataMissing, adult, data_directory
from pafer_demo.register import register
from shared.contract.schema import Column

# (train rows, test rows, favourable share in per cent, male and White of both parts together)
PUBLISHED = {
    "adult": (30_162, 15_060, 24.8, 18_038 + 8_982),
    "compas": (4_114, 2_058, 54.5, 1_621),
    "german": (666, 334, 70.0, 30),
}


@pytest.fixture(scope="module", params=[*PUBLISHED, "register"])
def data(request: pytest.FixtureRequest) -> OpenData:
    """Each data set that a demonstration can be about."""
    if request.param == "register":
        return register(people=5_000, people_to_train_on=1_000)
    directory: Path = request.getfixturevalue("open_data")
    return LOADERS[request.param](directory)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_split_and_groups(open_data: Path, name: str) -> None:
    """Rows, favourable share and the privileged men are those of 1-method §5."""
    rows_to_train_on, rows_to_test, favourable_percent, privileged_men = PUBLISHED[name]

    data = LOADERS[name](open_data)

    everybody = pa.concat_tables([data.train, data.test])
    groups = Counter(zip(everybody["sex"].to_pylist(), everybody["ethnicity"].to_pylist(), strict=True))
    assert (data.train.num_rows, data.test.num_rows) == (rows_to_train_on, rows_to_test)
    assert 100 * pc.mean(everybody[data.label]).as_py() == pytest.approx(favourable_percent, abs=0.05)
    assert groups["male", "White"] == privileged_men


def test_every_value_lies_in_its_declared_domain(data: OpenData) -> None:
    for part in (data.train, data.test):
        assert part.column_names == [
            data.declaration.person_key,
            *(column.name for column in data.declaration.columns),
        ]
        for column in data.declaration.columns:
            assert _admitted(column, part[column.name]), column.name


def test_every_person_has_a_key_of_their_own(data: OpenData) -> None:
    keys = data.test[data.declaration.person_key].to_pylist()

    assert len(set(keys)) == len(keys)


def test_features_hold_neither_sensitive_columns_nor_the_label(data: OpenData) -> None:
    kept_back = {*data.declaration.table.sensitive, data.label}

    assert len(kept_back) == 3
    assert not kept_back & set(data.features)
    assert kept_back | set(data.features) == {column.name for column in data.declaration.columns}


def test_the_csv_holds_the_test_part(data: OpenData, tmp_path: Path) -> None:
    data.write_csv(tmp_path / "records.csv")

    with (tmp_path / "records.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == data.test.num_rows
    assert {row[data.label] for row in rows} == {"true", "false"}
    assert rows[0].keys() == set(data.test.column_names)
    assert rows[-1]["sex"] == data.test["sex"][-1].as_py()


def test_a_changed_file_is_refused(open_data: Path, tmp_path: Path) -> None:
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).write_bytes((open_data / name).read_bytes())
    with (tmp_path / "adult.test").open("ab") as file:
        file.write(b" ")

    with pytest.raises(OpenDataMissing, match=r"adult\.test is not the published file"):
        adult(tmp_path)


def test_an_absent_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        OpenDataMissing,
        match=r"adult\.data is not in the data directory\. Run `./run data` to fetch it, or set PAFER_DATA",
    ):
        adult(tmp_path)


def test_the_environment_names_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PAFER_DATA", str(tmp_path))
    assert data_directory() == tmp_path

    monkeypatch.setenv("PAFER_DATA", str(tmp_path / "nowhere"))
    assert data_directory() is None


def _admitted(column: Column, values: pa.ChunkedArray) -> bool:
    """Whether all values are of the declared type and range, and missing only where that is declared."""
    if values.null_count and not column.nullable:
        return False
    if column.type == "boolean":
        return bool(values.type == pa.bool_())
    if column.type == "category":
        return set(values.drop_null().to_pylist()) <= set(column.categories or ())
    numbers = np.asarray(values.drop_null())
    whole = column.type == "number" or numbers.dtype == np.int64
    return bool(whole and (column.low <= numbers).all() and (numbers <= column.high).all())
