"""Tables as Excel and R write them are read by every way in, and no library's text reaches a user."""

from pathlib import Path

import pandas as pd
import pytest

from auditor_client.asking.own_data import DECIMAL, CsvForm, file_table
from auditor_client.errors import QuestionRefused
from tests.unit.auditor_client.test_linking import linked

EXCEL = "Person;Entscheid;Punkte\nP1;bewilligt;0,5\nP2;verweigert für immer;1,25\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1"])
def test_excels_file_is_read_without_a_flag(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes(EXCEL.encode(encoding))

    table = file_table(path)

    assert list(table) == ["Person", "Entscheid", "Punkte"]
    assert table["Entscheid"].tolist() == ["bewilligt", "verweigert für immer"]
    assert table["Punkte"].tolist() == [0.5, 1.25]
    assert table.attrs[DECIMAL] == ","


def test_values_of_excels_file_are_linked(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes(EXCEL.encode("cp1252"))

    found = linked(path, key="Person", value="Punkte")

    assert found.column.type == "number"
    assert found.content.decode() == "id,value\nP1,0.5\nP2,1.25\n"


def test_a_missing_column_is_answered_with_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_text(EXCEL)

    with pytest.raises(QuestionRefused, match=r"The columns are 'Person', 'Entscheid', 'Punkte'.*--key"):
        linked(path)
    with pytest.raises(QuestionRefused, match="did you mean 'Person'"):
        linked(path, key="person")
    with pytest.raises(QuestionRefused, match="did you mean 'Punkte'"):
        linked(path, key="Person", value="Punkt")


def test_equal_keys_are_counted(tmp_path: Path) -> None:
    data = pd.DataFrame({"id": ["a", "b", "a", "b"], "value": [1, 2, 3, 4]})

    with pytest.raises(QuestionRefused, match="4 rows of your data have a person key that is there more than once"):
        linked(data)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6,7,8\n", "line 3 has 5 fields"),
        ("a.parquet", b"no", "not a whole Parquet file"),
        ("a.csv.gz", b"no", "cannot be read"),
        ("a.zip", b"no", "not a CSV file"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_errors_are_in_our_words(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(QuestionRefused, match=says) as refused:
        file_table(path)

    for theirs in ("Error tokenizing", "codec", "pandas", "pyarrow", "EmptyData", "Magic"):
        assert theirs not in str(refused.value)


def test_a_named_encoding_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\nü,1\n".encode("cp1252"))

    assert file_table(path)["a"].tolist() == ["ü"]
    with pytest.raises(QuestionRefused, match="it is not utf-8"):
        file_table(path, form=CsvForm(encoding="utf-8"))
