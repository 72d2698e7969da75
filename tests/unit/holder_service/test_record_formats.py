"""CSV files as other tools write them load with declared options, and broken ones are refused for all their faults."""

import io
import math
import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from pydantic import ValidationError

from holder_service.domain.errors import InvalidRecords
from holder_service.records.encoded import Records, load_records
from holder_service.records.faults import FAULTS_MAX
from holder_service.records.formats import STRICT, RecordFormat
from shared.contract.schema import Column, Schema

SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120),
        Column(name="income", type="number", nullable=True),
        Column(name="town", type="category", categories=("Zürich", "Genève"), nullable=True),
        Column(name="granted", type="boolean", nullable=True),
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
    ),
)
PEOPLE: Final = pd.DataFrame(
    {
        "id": ["p1", "p2", "p3"],
        "age": [37, 41, 29],
        "income": [1234.5, math.nan, 0.25],
        "town": ["Zürich", "Genève", None],
        "granted": [True, False, None],
        "sex": ["f", "m", "f"],
    }
)


def pandas_writes() -> bytes:
    """`DataFrame.to_csv` itself, with its row numbers."""
    return PEOPLE.to_csv().encode()


WRITTEN: Final[dict[str, tuple[bytes | Callable[[], bytes], dict[str, Any]]]] = {
    "pandas to_csv": (pandas_writes, {"only_declared": True}),
    "pandas to_csv(sep=';', decimal=',', na_rep='NULL')": (
        lambda: PEOPLE.to_csv(sep=";", decimal=",", na_rep="NULL", index=False).encode("utf-8-sig"),
        {"delimiter": ";", "decimal": ",", "missing": ["NULL"], "encoding": "utf-8-sig"},
    ),
    "R write.csv": (
        '"","id","age","income","town","granted","sex"\n"1","p1",37,1234.5,"Zürich",TRUE,"f"\n'
        '"2","p2",41,NA,"Genève",FALSE,"m"\n"3","p3",29,0.25,NA,NA,"f"\n'.encode(),
        {"missing": ["NA"], "only_declared": True},
    ),
    "R write.csv2 in Latin-1": (
        '"";"id";"age";"income";"town";"granted";"sex"\n"1";"p1";37;1234,5;"Zürich";TRUE;"f"\n'
        '"2";"p2";41;NA;"Genève";FALSE;"m"\n"3";"p3";29;0,25;NA;NA;"f"\n'.encode("latin-1"),
        {"delimiter": ";", "decimal": ",", "missing": ["NA"], "encoding": "latin-1", "only_declared": True},
    ),
    "readr write_csv": (
        "id,age,income,town,granted,sex\np1,37,1234.5,Zürich,TRUE,f\np2,41,NA,Genève,FALSE,m\n"
        "p3,29,2.5e-01,NA,NA,f\n".encode(),
        {"missing": ["NA"]},
    ),
    "SAS PROC EXPORT": (
        "id,age,income,town,granted,sex\r\np1,37,1234.5,Zürich,1,f\r\np2,41,.,Genève,0,m\r\n"
        "p3,29,0.25,,.,f\r\n".encode("cp1252"),
        {"missing": ["."], "true": ["1"], "false": ["0"], "encoding": "cp1252"},
    ),
    "SPSS SAVE TRANSLATE": (
        "\ufeffid;age;income;town;granted;sex\r\np1;37;1234,50;Zürich;1;f\r\np2;41; ;Genève;0;m\r\n"
        "p3;29;,25; ; ;f\r\n".encode(),
        {"delimiter": ";", "decimal": ",", "missing": [" "], "true": ["1"], "false": ["0"]},
    ),
    "Excel, German": (
        "id;age;income;town;granted;sex\r\np1;37;1234,5;Zürich;WAHR;f\r\np2;41;;Genève;FALSCH;m\r\n"
        "p3;29;0,25;;;f\r\n".encode("cp1252"),
        {"delimiter": ";", "decimal": ",", "true": ["WAHR"], "false": ["FALSCH"], "encoding": "cp1252"},
    ),
    "Excel, English, CSV UTF-8": (
        "\ufeffid,age,income,town,granted,sex\r\np1,37,1234.5,Zürich,TRUE,f\r\np2,41,,Genève,FALSE,m\r\n"
        "p3,29,0.25,,,f\r\n".encode(),
        {"encoding": "utf-8-sig"},
    ),
    "PostgreSQL COPY WITH CSV HEADER": (
        'id,age,income,town,granted,sex\np1,37,1234.5,Zürich,t,f\np2,41,,Genève,f,m\np3,29,0.25,"",,f\n'.encode(),
        {"true": ["t"], "false": ["f"]},
    ),
    "MySQL INTO OUTFILE, by tabs": (
        "id\tage\tincome\ttown\tgranted\tsex\np1\t37\t1234.5\tZürich\t1\tf\np2\t41\t\\N\tGenève\t0\tm\n"
        "p3\t29\t0.25\t\\N\t\\N\tf\n".encode(),
        {"delimiter": "tab", "missing": ["\\N"], "true": ["1"], "false": ["0"]},
    ),
    "SQL Server, by bars": (
        "id|age|income|town|granted|sex\r\np1|37|1234.5|Zürich|Y|f\r\np2|41|NULL|Genève|N|m\r\n"
        "p3|29|.25|NULL|NULL|f\r\n".encode(),
        {"delimiter": "|", "missing": ["NULL"], "true": ["Y", "J"], "false": ["N"]},
    ),
}  # fmt: skip


def load(folder: Path, content: bytes, form: RecordFormat = STRICT, media_type: str = "text/csv") -> Records:
    source = folder / "upload"
    source.write_bytes(content)
    load_records(source, media_type, SCHEMA, 1000, folder / "encoded", form=form)
    return Records.open(folder / "encoded", SCHEMA)


def values(records: Records, name: str) -> list[float]:
    return [value for chunk in records.chunks for value in records.values(chunk, name).tolist()]


def refused(folder: Path, content: bytes, form: RecordFormat = STRICT) -> list[tuple[str, str]]:
    """Where each fault is and what it says; nothing is left behind."""
    with pytest.raises(InvalidRecords) as error:
        load(folder, content, form)
    assert not (folder / "encoded").exists()
    errors: list[dict[str, str]] = error.value.fields["errors"]
    assert error.value.detail in (f"{errors[0]['field']}: {errors[0]['detail']}", errors[0]["detail"])
    return [(one["field"], one["detail"]) for one in errors]


@pytest.mark.parametrize("tool", WRITTEN)
def test_what_a_tool_writes_is_read_as_declared(tmp_path: Path, tool: str) -> None:
    written, options = WRITTEN[tool]
    content = written() if callable(written) else written

    records = load(tmp_path, content, RecordFormat.model_validate(options))

    assert values(records, "age") == [37, 41, 29]
    assert values(records, "income") == [1234.5, math.inf, 0.25]
    assert values(records, "town") == [0, 1, 2]
    assert values(records, "granted") == [1, 0, 2]
    assert values(records, "sex") == [0, 1, 0]


@pytest.mark.parametrize("tool", [tool for tool in WRITTEN if tool != "Excel, English, CSV UTF-8"])
def test_nothing_is_guessed(tmp_path: Path, tool: str) -> None:
    """Without its options, what a tool writes is refused."""
    written, _ = WRITTEN[tool]

    assert refused(tmp_path, written() if callable(written) else written)


HEADER: Final = "id;age;income;town;granted;sex;note"
FORM: Final = RecordFormat(
    delimiter=";", decimal=",", encoding="latin-1", missing=("NA", "."), true=("1", "yes"), false=("0",),
    only_declared=True,
)  # fmt: skip
SOUND: Final = "37;12,5;Zürich;1;f;-"
CANARY: Final = "Zebedee"
BROKEN: Final = {
    f"{CANARY};12,5;Zürich;1;f;-": "column 'age': expected a whole number from 0 to 120",
    "137;12,5;Zürich;1;f;-": "column 'age': expected",
    "NA;12,5;Zürich;1;f;-": "column 'age': expected",
    "37;12.5;Zürich;1;f;-": "column 'income': expected a finite number",
    "37;1.234,5;Zürich;1;f;-": "column 'income': expected",
    f"37;{CANARY};Zürich;1;f;-": "column 'income': expected",
    "37;na;Zürich;1;f;-": "column 'income': expected",
    f"37;12,5;{CANARY};1;f;-": "column 'town': expected one of the declared categories",
    "37;12,5;Zürich;true;f;-": "column 'granted': expected true or false",
    f"37;12,5;Zürich;{CANARY};f;-": "column 'granted': expected",
    "37;12,5;Zürich;1;.;-": "column 'sex': expected",
    f"37;12,5;Zürich;1;f;-;{CANARY}": "does not have 7 fields",
    f'37;12,5;"{CANARY};1;f;-': "has a misplaced quote",
    "37;12,5;Zürich": "does not have 7 fields",
}


@pytest.mark.parametrize("seed", range(100))
def test_of_a_broken_file_everything_wrong_is_said_and_no_value(tmp_path: Path, seed: int) -> None:
    """A hundred files, each with up to nineteen lines broken in some way: every one of them is named, in order."""
    rng = random.Random(seed)
    rows: list[str] = []
    expected: list[tuple[int, str, str]] = []
    for number in range(60):
        row = SOUND
        if number == seed % 60 or (rng.random() < 0.2 and len(expected) < FAULTS_MAX - 2):
            row = rng.choice(list(BROKEN))
            separator = "" if BROKEN[row].startswith(("does", "has")) else ", "
            expected.append((number + 2, separator, BROKEN[row]))
        rows.append(f"p{number};{row}")
    content = "\n".join((HEADER, *rows)).encode("latin-1")

    found = refused(tmp_path, content, FORM)

    assert len(found) == len(expected)
    for (field, detail), (line, separator, text) in zip(found, expected, strict=True):
        assert f"{field}: {detail}".startswith(f"line {line}{separator or ': '}{text}")
    assert CANARY not in repr(found)


def test_no_more_faults_are_named_than_there_may_be(tmp_path: Path) -> None:
    rows = [f"p{number};x;12,5;Zürich;maybe;f;-" for number in range(1000)]

    found = refused(tmp_path, "\n".join((HEADER, *rows)).encode("latin-1"), FORM)

    assert [field for field, _ in found[:3]] == [
        "line 2, column 'age'", "line 2, column 'granted'", "line 3, column 'age'",
    ]  # fmt: skip
    assert len(found) == FAULTS_MAX


def test_every_repeated_key_and_every_wrong_column_is_named(tmp_path: Path) -> None:
    repeated = "\n".join((HEADER, *(f"{key};{SOUND}" for key in "abcbad"))).encode("latin-1")
    assert [field for field, _ in refused(tmp_path, repeated, FORM)] == ["line 5, column 'id'", "line 6, column 'id'"]

    header = f"id,age,age,{CANARY},town,granted\n".encode()
    found = refused(tmp_path, header)
    assert [detail.split(".")[0] for _, detail in found] == [
        "column 'age' is there twice", "field 4 is not a declared column", "column 'income' is missing",
        "column 'sex' is missing",
    ]  # fmt: skip
    assert CANARY not in repr(found)


def test_bytes_of_no_character_are_named_in_their_encoding(tmp_path: Path) -> None:
    content = b"id,age,income,town,granted,sex\np1,37,1,\x81,true,f\np2,37,1,\xe9,true,f\n"

    said = "is not UTF-8. If it is {0}, give --encoding {0}."
    assert refused(tmp_path, content) == [("line 2", said.format("latin-1")), ("line 3", said.format("cp1252"))]
    assert refused(tmp_path, content, RecordFormat(encoding="cp1252"))[0] == (
        "line 2",
        "is not CP1252. If it is latin-1, give --encoding latin-1.",
    )


def test_a_wrong_delimiter_and_aliases_of_encodings(tmp_path: Path) -> None:
    content = b"id;age;income;town;granted;sex\np1;37;1;\xe9;true;f\n"

    assert refused(tmp_path, content) == [
        ("line 1", "the header has one column. If the delimiter is another one, give --delimiter ';'.")
    ]
    aliases = ("latin1", "ISO-8859-1", "windows-1252", "utf8")
    assert [RecordFormat.model_validate({"encoding": name}).encoding for name in aliases] == [
        "latin-1", "latin-1", "cp1252", "utf-8",
    ]  # fmt: skip


def test_repeated_keys_are_reported_with_the_other_faults(tmp_path: Path) -> None:
    """The planted fault sends a delivery back twice."""
    lines = ["id,age,income,town,granted,sex", "p1,37,1,a,true,f", "p2,old,1,a,true,f", "p1,38,1,a,true,f"]

    found = refused(tmp_path, "\n".join(lines).encode())

    wheres = [where for where, _ in found]
    assert any(where.startswith("line 3") for where in wheres)
    assert any(where.startswith("line 4, column 'id'") for where in wheres)


def test_a_declared_category_cannot_mean_missing(tmp_path: Path) -> None:
    assert refused(tmp_path, b"id\n", RecordFormat(missing=("Zürich",)))[0][0] == "column 'town'"


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""}, {"delimiter": "a"}, {"decimal": "'"}, {"encoding": "utf-16"}, {"missing": [""]},
        {"missing": ["NA"] * 21}, {"true": []}, {"true": ["1"], "false": ["1"]}, {"true": ["X"], "false": ["x"]},
        {"true": ["1"], "missing": ["1"]}, {"missing": ['"']}, {"quote": "'"},
    ],
)  # fmt: skip
def test_a_format_that_means_two_things_is_none(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RecordFormat.model_validate(options)


DATED: Final = Schema(
    person_key="id",
    columns=(
        Column(name="born", type="integer", minimum=-43829, maximum=20453, nullable=True),
        Column(name="sex", type="boolean", sensitive=True),
    ),
)


def load_dated(folder: Path, content: bytes, form: RecordFormat, media_type: str = "text/csv") -> list[float]:
    (folder / "upload").write_bytes(content)
    load_records(folder / "upload", media_type, DATED, 1000, folder / "encoded", form=form)
    return values(Records.open(folder / "encoded", DATED), "born")


def test_dates_become_days(tmp_path: Path) -> None:
    content = b"id,born,sex\n1,1970-01-01,true\n2,1850-01-01,true\n3,2024-02-29,false\n4,,false\n5,NA,true\n"

    assert load_dated(tmp_path, content, RecordFormat(dates=("born",), missing=("NA",))) == [
        0, -43829, 19782, math.inf, math.inf,
    ]  # fmt: skip


def test_what_is_no_date_is_refused_in_words_of_dates(tmp_path: Path) -> None:
    wrong = ["1983-02-29", "2024-13-01", "31.12.1984", "1984-12-31 ", "12", "1849-12-31", "1984-1-1", "984-12-31"]
    content = "id,born,sex\n" + "".join(f"{number},{date},true\n" for number, date in enumerate(wrong))

    with pytest.raises(InvalidRecords) as error:
        load_dated(tmp_path, content.encode(), RecordFormat(dates=("born",)))

    errors: list[dict[str, str]] = error.value.fields["errors"]
    assert [one["field"] for one in errors] == [f"line {number + 2}, column 'born'" for number in range(len(wrong))]
    assert all(one["detail"].startswith("expected a date such as 2024-12-31") for one in errors)


@pytest.mark.parametrize("name", ["sex", "id", "other"])
def test_only_declared_whole_numbers_are_dates(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRecords, match="dates need a declared column of type integer"):
        load_dated(tmp_path, b"id,born,sex\n1,1,true\n", RecordFormat(dates=(name,)))


def test_dates_of_a_parquet_file_become_days(tmp_path: Path) -> None:
    written = io.BytesIO()
    born = pa.array([date(1970, 1, 2), None], pa.date32())
    pa.parquet.write_table(pa.table({"id": ["1", "2"], "born": born, "sex": [True, False]}), written)

    assert load_dated(tmp_path, written.getvalue(), STRICT, "application/vnd.apache.parquet") == [1, math.inf]


def test_a_parquet_file_may_have_more_columns_and_takes_no_options_of_text(tmp_path: Path) -> None:
    written = io.BytesIO()
    more = PEOPLE.assign(note=pd.Series([{"a": [CANARY]}] * 3))[["note", *PEOPLE]]
    pa.parquet.write_table(pa.Table.from_pandas(more), written)

    records = load(tmp_path, written.getvalue(), RecordFormat(only_declared=True), "application/vnd.apache.parquet")
    assert values(records, "income") == [1234.5, math.inf, 0.25]

    (tmp_path / "encoded").unlink()
    for form in (STRICT, RecordFormat(delimiter=";")):
        with pytest.raises(InvalidRecords, match=r"field 1 is not a declared|only_declared alone"):
            load(tmp_path, written.getvalue(), form, "application/vnd.apache.parquet")
