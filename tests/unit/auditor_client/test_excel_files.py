"""Tables as Excel and R write them are read by every way in, and no library's text reaches a user."""

from pathlib import Path

import pandas as pd
import pytest

from auditor_client.asking.data_files import CsvForm, data_table, with_points
from auditor_client.errors import QuestionRefused
from tests.unit.auditor_client.test_linking import linked


def whole(path: Path) -> list[list[object]]:
    """Read every column."""
    table = data_table(path)
    return table.columns(table.names)


EXCEL = "Person;Entscheid;Punkte\nP1;bewilligt;0,5\nP2;verweigert für immer;1,25\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1"])
def test_excels_file_is_read_without_a_flag(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes(EXCEL.encode(encoding))

    table = data_table(path)
    decisions, points = table.columns(["Entscheid", "Punkte"])

    assert table.names == ("Person", "Entscheid", "Punkte")
    assert decisions == ["bewilligt", "verweigert für immer"]
    assert with_points(points, table.decimal) == ["0.5", "1.25"]


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
        ("a.csv", b"a,b\n1,2\n4,5,6,7,8\n", "line 3 has 5 fields, and the header has 2"),
        ("a.csv", b'a,b\n1,"2\n', "not a CSV file"),
        ("a.csv", b"a,a\n1,2\n", "has two columns 'a'"),
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
        whole(path)

    for theirs in ("Error tokenizing", "codec", "pandas", "pyarrow", "EmptyData", "Magic"):
        assert theirs not in str(refused.value)


def test_a_named_encoding_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\nü,1\n".encode("cp1252"))

    assert data_table(path).columns(["a"]) == [["ü"]]
    with pytest.raises(QuestionRefused, match="it is not utf-8"):
        data_table(path, CsvForm(encoding="utf-8")).columns(["a"])


def test_short_and_blank_lines_are_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1\n\n-,2\n")

    assert data_table(path, CsvForm(missing=["-"])).columns(["b", "a"]) == [[None, "2"], ["1", None]]
