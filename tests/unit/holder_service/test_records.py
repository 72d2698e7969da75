"""Files of records are taken all or nothing; an error says where and what is expected, and no value."""

import csv
import gzip
import io
import math
import stat
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.records import encoded
from holder_service.records.column_codes import CODES_MAX, code_count
from holder_service.records.csv_records import PIECE_BYTES, csv_pieces
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, load_records
from holder_service.records.faults import Faults
from holder_service.records.formats import STRICT
from shared.contract.schema import Column, Schema

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120),
        Column(name="hours", type="number", nullable=True),
        Column(name="job", type="category", categories=("é", "a b", 'A,"B"'), nullable=True),
        Column(name="member", type="boolean"),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)
HEADER = "id,age,hours,job,member,sex"
SOUND = "p1,37,12.5,é,true,F"
CANARY = "Zebedee"


class Loader:
    """Loads files into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.destination = folder / "encoded"

    def csv(self, content: str | bytes, schema: Schema = SCHEMA, records_max: int = 1000) -> Records:
        source = self.folder / "upload.csv"
        source.write_bytes(content.encode() if isinstance(content, str) else content)
        load_records(source, CSV, schema, records_max, self.destination)
        return Records.open(self.destination, schema)

    def parquet(self, columns: dict[str, Any], schema: Schema = SCHEMA) -> Records:
        source = self.folder / "upload.parquet"
        pa.parquet.write_table(pa.table(columns), source)
        load_records(source, PARQUET, schema, 1_000_000, self.destination)
        return Records.open(self.destination, schema)

    def refusal_of(self, load: Callable[[], object]) -> str:
        """The text of the refusal; nothing may be left behind, and no value may be in it."""
        with pytest.raises(InvalidRecords) as refused:
            load()
        assert not self.destination.exists()
        assert not list(self.folder.glob(".*"))
        assert CANARY not in repr(refused.value)
        assert refused.value.__cause__ is None
        return refused.value.detail


@pytest.fixture
def loader(tmp_path: Path) -> Loader:
    return Loader(tmp_path)


def lines(*rows: str) -> str:
    return "\n".join((HEADER, *rows)) + "\n"


def numbers(records: Records, name: str) -> list[float]:
    """A column of numbers as it was stored; missing is infinity."""
    column = records.schema.by_name[name]
    codes = code_count(column)
    return [
        float(records.doubles[name][chunk.sorted_at[name] + int(code)])
        if codes is None
        else math.inf
        if column.nullable and code == codes - 1
        else column.low + int(code)
        for chunk in records.chunks
        for code in chunk.codes[name]
    ]


def indices(records: Records, name: str) -> list[int]:
    return [int(code) for chunk in records.chunks for code in chunk.codes[name]]


def test_what_is_in_the_file_is_stored(loader: Loader) -> None:
    """Columns in any order, a byte order mark, CR LF, quotes, and no line feed at the end."""
    content = [
        '\ufeff"sex",age,id,job,hours,member',
        'F,0,p1,"A,""B""",-0.0,true',
        "M,1.2e2,p2,e\u0301,NaN,false",
        "M,8,p4,,nan,false",
        'M,7.0,"p,3",,"",false',
    ]

    records = loader.csv("\r\n".join(content))

    assert numbers(records, "age") == [0, 120, 8, 7]
    assert numbers(records, "hours") == [0, math.inf, math.inf, math.inf]
    assert math.copysign(1, numbers(records, "hours")[0]) == 1
    assert indices(records, "job") == [2, 0, 3, 3]
    assert indices(records, "member") == [1, 0, 0, 0]
    assert indices(records, "sex") == [0, 1, 1, 1]


def test_a_file_without_records_is_a_dataset_without_people(loader: Loader) -> None:
    assert sum(chunk.records for chunk in loader.csv(HEADER + "\n").chunks) == 0
    assert sum(chunk.records for chunk in loader.csv(HEADER).chunks) == 0


AGE = "column 'age': expected a whole number from 0 to 120; the column is not nullable."
HOURS = "column 'hours': expected a finite number, or nothing where it is missing."
JOB = "column 'job': expected one of the declared categories, or nothing where it is missing."
MEMBER = "column 'member': expected true or false; the column is not nullable."
BAD_LINES: list[tuple[str, str, str]] = [
    ("no number", f"p2,{CANARY},1,é,true,F", f"line 3, {AGE}"),
    ("not whole", "p2,37.5,1,é,true,F", "line 3, column 'age'"),
    ("not whole, but for rounding", "p2,36.99999999999999999999,1,é,true,F", "line 3, column 'age'"),
    ("below the range", "p2,-1,1,é,true,F", "line 3, column 'age'"),
    ("above the range", "p2,121,1,é,true,F", "line 3, column 'age'"),
    ("an exponent beyond everything", "p2,1e-99999999999999999999,1,é,true,F", "line 3, column 'age'"),
    ("missing though not nullable", "p2,,1,é,true,F", "line 3, column 'age'"),
    ("NaN though not nullable", "p2,NaN,1,é,true,F", "line 3, column 'age'"),
    ("a blank before", "p2, 37,1,é,true,F", "line 3, column 'age'"),
    ("a sign that JSON has not", "p2,+37,1,é,true,F", "line 3, column 'age'"),
    ("leading zeros", "p2,037,1,é,true,F", "line 3, column 'age'"),
    ("digits that JSON has not", "p2,٣٧,1,é,true,F", "line 3, column 'age'"),
    ("infinity", "p2,37,Infinity,é,true,F", f"line 3, {HOURS}"),
    ("infinity in short", "p2,37,-inf,é,true,F", "line 3, column 'hours'"),
    ("infinity by overflow", "p2,37,1e400,é,true,F", "line 3, column 'hours'"),
    ("NAN in capitals", "p2,37,NAN,é,true,F", "line 3, column 'hours'"),
    ("null", "p2,37,null,é,true,F", "line 3, column 'hours'"),
    ("a point without digits", "p2,37,1.,é,true,F", "line 3, column 'hours'"),
    ("hexadecimal", "p2,37,0x1p3,é,true,F", "line 3, column 'hours'"),
    ("undeclared category", f"p2,37,1,{CANARY},true,F", f"line 3, {JOB}"),
    ("other case", "p2,37,1,É,true,F", "line 3, column 'job'"),
    ("a blank behind", "p2,37,1,é ,true,F", "line 3, column 'job'"),
    ("a control character", "p2,37,1,é\x07,true,F", "line 3, column 'job'"),
    ("a word for true", "p2,37,1,é,yes,F", f"line 3, {MEMBER}"),
    ("1 for true", "p2,37,1,é,1,F", "line 3, column 'member'"),
    ("missing group", "p2,37,1,é,true,", "line 3, column 'sex'"),
    ("no person key", ",37,1,é,true,F", "line 3, column 'id': expected a person key"),
    ("the same person", "p1,38,1,é,true,M", "line 3, column 'id': the key of an earlier line; everybody"),
    ("too few fields", f"p2,{CANARY}", "line 3: does not have 6 fields"),
    ("too many fields", f"p2,37,1,é,true,F,{CANARY}", "line 3: does not have 6 fields"),
    ("a quote never closed", f'p2,37,1,"{CANARY},true,F', "line 3: has a misplaced quote"),
    ("a quote in the middle", f'p2,37,1,{CANARY}"x",true,F', "line 3: has a misplaced quote"),
    ("text behind a quote", 'p2,37,1,"é"x,true,F', "line 3: has a misplaced quote"),
    ("a line break in a field", 'p2,37,1,"é\n",true,F', "line 3: has a misplaced quote"),
    ("a carriage return alone", "p2,37,1,é\r,true,F", "line 3: holds a carriage return alone"),
    ("an empty line", "", "line 3: is empty"),
    ("a NUL byte", f"p2,37,1,{CANARY}\0,true,F", "line 3: holds a NUL byte"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "refusal"), [bad[1:] for bad in BAD_LINES], ids=[bad[0] for bad in BAD_LINES])
def test_a_bad_line_is_reported_by_number_and_column(loader: Loader, line: str, refusal: str) -> None:
    """Behind it stands another broken line, and in between a sound one: the first error is reported."""
    content = lines(SOUND, line, "p8,37,1,é,true,F", f"p9,{CANARY},x")
    if "earlier" in refusal:
        content = lines(SOUND, line, "p8,37,1,é,true,F")

    assert loader.refusal_of(lambda: loader.csv(content)).startswith(refusal)


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "line 1: the file is empty"),
    ("only a byte order mark", b"\xef\xbb\xbf", "line 1: the file is empty"),
    ("a record for a header", f"{CANARY},37,1,x,true,F\n".encode(), "line 1: fields 1, 2, 3"),
    ("a column too many", f"{HEADER},{CANARY}\n".encode(), "line 1: field 7 is not a declared column"),
    ("a column twice", f"{HEADER},age\n".encode(), "line 1: column 'age' is there twice"),
    ("a column missing", b"id,age,hours,job,member\n", "line 1: column 'sex' is missing"),
    ("the key missing", b"age,hours,job,member,sex\n", "line 1: column 'id' is missing"),
    ("a header with a broken quote", f'"id,{CANARY}\n'.encode(), "line 1: has a misplaced quote"),
    ("a header of one endless name", b"x" * 200_000 + b"\n", "line 1: the name of a column is too long"),
    ("Latin-1", f"{HEADER}\n{SOUND}\np2,37,1,".encode() + b"\xe9,true,F\n", "line 3: is not UTF-8"),
    ("UTF-16", lines(SOUND).encode("utf-16"), "line 1: is UTF-16, which is not read. Save the file as UTF-8"),
    (
        "UTF-16 unmarked",
        lines(SOUND).encode("utf-16-le"),
        "line 1: holds a NUL byte; a CSV file is text, and not UTF-16",
    ),
    ("gzip", gzip.compress(lines(SOUND).encode()), "line 1: is compressed by gzip. Unpack the file"),
    ("an endless line", HEADER.encode() + b"\n" + b"x" * (2 * PIECE_BYTES), f"line 2: longer than {PIECE_BYTES} bytes"),
    ("a Parquet file", b"PAR1\0\0", "line 1: holds a NUL byte"),
]


@pytest.mark.parametrize(("content", "refusal"), [bad[1:] for bad in BAD_FILES], ids=[bad[0] for bad in BAD_FILES])
def test_a_bad_file_is_reported(loader: Loader, content: bytes, refusal: str) -> None:
    assert loader.refusal_of(lambda: loader.csv(content)).startswith(refusal)


def test_of_two_bad_columns_in_a_line_the_first_is_reported(loader: Loader) -> None:
    assert "column 'hours'" in loader.refusal_of(lambda: loader.csv(lines("p1,37,x,é,maybe,F")))


def test_of_two_bad_lines_the_first_is_reported_whatever_its_column(loader: Loader) -> None:
    content = lines(SOUND, "p2,37,x,é,true,F", "p3,x,1,é,true,F")

    assert loader.refusal_of(lambda: loader.csv(content)).startswith("line 3, column 'hours'")


@pytest.mark.slow
def test_lines_are_counted_through_all_pieces_of_a_large_file(loader: Loader) -> None:
    """The file is read in pieces of some megabytes; the bad line is the last but one, a repeated key the last."""
    many = 2 * PIECE_BYTES // 20
    rows = [f"p{n},37,12.5,a b,true,F" for n in range(many)]

    last = loader.refusal_of(lambda: loader.csv(lines(*rows, "p7,37,1,é,true,F"), records_max=many + 1))
    assert last.startswith(f"line {many + 2}, column 'id'")
    bad = loader.refusal_of(
        lambda: loader.csv(lines(*rows, "q,37,x,é,true,F", "p7,37,1,é,true,F"), records_max=many + 2)
    )
    assert bad.startswith(f"line {many + 2}, column 'hours'")


def test_the_first_line_of_a_person_who_was_there_is_reported(loader: Loader) -> None:
    """Not the first of a person who comes again."""
    content = lines(*(f"{key},37,1,é,true,F" for key in ("a", "b", "c", "b", "a")))

    assert loader.refusal_of(lambda: loader.csv(content)).startswith("line 5, column 'id'")


def test_keys_are_compared_after_nfc(loader: Loader) -> None:
    composed, decomposed = "\u00e9,37,1,é,true,F", "e\u0301,37,1,é,true,F"

    assert loader.refusal_of(lambda: loader.csv(lines(composed, decomposed))).startswith("line 3, column 'id'")


def test_keys_differ_by_case_blanks_and_zeros(loader: Loader) -> None:
    records = loader.csv(lines(*(f"{key},37,1,é,true,F" for key in ("a", "A", "a ", "1", "01", "1.0"))))

    assert len(indices(records, "sex")) == 6


def test_more_records_than_declared_are_refused(loader: Loader) -> None:
    content = lines(*(f"p{n},37,1,é,true,F" for n in range(3)))

    assert "at most 2 records" in loader.refusal_of(lambda: loader.csv(content, records_max=2))
    loader.csv(content, records_max=3)


def test_integers_are_exact_up_to_two_to_the_53(loader: Loader) -> None:
    schema = Schema(person_key="id", columns=(Column(name="n", type="integer"), SCHEMA.by_name["sex"]))
    top = 2**53

    records = loader.csv(f"id,n,sex\n1,{top},F\n2,-{top}.0,F\n3,9007199254740991,M\n", schema)

    assert numbers(records, "n") == [top, -top, top - 1]
    for beyond in (f"{top + 1}", f"-{top + 1}", f"{top + 1}.0", "4503599627370496.3"):
        loader.destination.unlink(missing_ok=True)
        refusal = loader.refusal_of(partial(loader.csv, f"id,n,sex\n1,{beyond},F\n", schema))
        assert refusal.startswith("line 2, column 'n': expected a whole number within ±2^53")


def test_numbers_are_the_nearest_doubles(loader: Loader) -> None:
    texts = [
        "0.1",
        "4.9e-324",
        "1e-400",
        "2.2250738585072011e-308",
        "0.1000000000000000055511151231257827",
        "1E+2",
        "-0",
    ]

    records = loader.csv(lines(*(f"p{n},37,{text},é,true,F" for n, text in enumerate(texts))))

    assert numbers(records, "hours") == [float(text) for text in texts]


def test_an_unknown_media_type_is_refused(loader: Loader) -> None:
    (loader.folder / "x").write_text(lines(SOUND))

    refusal = loader.refusal_of(lambda: load_records(loader.folder / "x", "text/html", SCHEMA, 9, loader.destination))

    assert "text/csv or application/vnd.apache.parquet" in refusal


def test_a_media_type_may_have_parameters(loader: Loader) -> None:
    (loader.folder / "x").write_text(lines(SOUND))

    load_records(loader.folder / "x", "Text/CSV; charset=utf-8", SCHEMA, 9, loader.destination)

    assert loader.destination.exists()


def table(**changed: Any) -> dict[str, Any]:
    sound: dict[str, Any] = {
        "id": ["p1", "p2"], "age": [37, 38], "hours": [1.5, None], "job": ["é", None], "member": [True, False],
        "sex": ["F", "M"],
    }  # fmt: skip
    return {**sound, **changed}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"id": pa.array([1, 2], pa.uint64())},
        {"id": pa.array(["p1", "p2"], pa.large_string())},
        {"age": pa.array([37, 38], pa.int8())},
        {"age": pa.array([37, 38], pa.uint64())},
        {"age": pa.array([37.0, 38.0], pa.float32())},
        {"hours": pa.array([1.5, float("nan")], pa.float32())},
        {"hours": pa.array([np.float16(1.5), None], pa.float16())},
        {"job": pa.array(["e\u0301", None]).dictionary_encode()},
        {"job": pa.array(["é", None], pa.string_view())},
        {"sex": pa.array(["F", "M"]).dictionary_encode()},
    ],
)
def test_parquet_types_that_fit_are_taken(loader: Loader, changed: dict[str, Any]) -> None:
    records = loader.parquet(table(**changed))

    assert numbers(records, "age") == [37, 38]
    assert numbers(records, "hours") == [1.5, math.inf]
    assert indices(records, "job") == [0, 3]
    assert indices(records, "member") == [1, 0]
    assert indices(records, "sex") == [0, 1]


def test_a_parquet_column_that_is_wholly_null_is_missing(loader: Loader) -> None:
    records = loader.parquet(table(hours=pa.nulls(2), job=pa.nulls(2)))

    assert numbers(records, "hours") == [math.inf, math.inf]
    assert indices(records, "job") == [3, 3]


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"age": [37, 121]}, "record 2, column 'age': expected a whole number from 0 to 120"),
        ({"age": [37, None]}, "record 2, column 'age'"),
        ({"age": [37.0, 37.5]}, "record 2, column 'age'"),
        ({"age": ["37", CANARY]}, "column 'age': its type string cannot hold values of the declared type integer"),
        ({"age": [True, False]}, "column 'age': its type bool"),
        ({"age": pa.array([Decimal(37), Decimal("37.5")], pa.decimal128(5, 1))}, "record 2, column 'age'"),
        ({"age": pa.array([Decimal(37), Decimal(37) + Decimal("1e-20")], pa.decimal128(30, 20))}, "record 2, column"),
        ({"job": pa.array([Decimal(1), Decimal(2)], pa.decimal128(5))}, "column 'job': its type decimal128"),
        ({"hours": [1.0, math.inf]}, "record 2, column 'hours'"),
        ({"job": ["é", CANARY]}, "record 2, column 'job'"),
        ({"job": ["é", ""]}, "record 2, column 'job'"),
        ({"job": [b"a b", b"x"]}, "column 'job': its type binary"),
        ({"member": [1, 0]}, "column 'member': its type int64"),
        ({"member": [True, None]}, "record 2, column 'member'"),
        ({"sex": pa.nulls(2)}, "record 1, column 'sex'"),
        ({"id": ["p1", "p1"]}, "record 2, column 'id': the key of an earlier record"),
        ({"id": ["p1", None]}, "record 2, column 'id': expected a person key"),
        ({"id": ["p1", ""]}, "record 2, column 'id': expected a person key"),
        ({"id": [1.5, 2.5]}, "column 'id': expected texts or integers"),
        ({CANARY: [1, 2]}, "the file's schema: field 7 is not a declared column"),
    ],
)
def test_bad_parquet_is_reported_by_record_and_column(loader: Loader, changed: dict[str, Any], refusal: str) -> None:
    assert loader.refusal_of(lambda: loader.parquet(table(**changed))).startswith(refusal)


def test_whole_numbers_of_a_number_column_are_the_nearest_doubles_as_in_a_csv_file(loader: Loader) -> None:
    """Beyond 2⁵³ a double holds only some whole numbers; a declared integer is refused there, however it is written."""
    schema = Schema(person_key="id", columns=(Column(name="n", type="number"), SCHEMA.by_name["sex"]))
    whole = [2**53 + 1, -(2**62) + 1, 2**63 - 1]

    typed = loader.parquet({"id": ["1", "2", "3"], "n": pa.array(whole), "sex": ["F"] * 3}, schema)
    values = numbers(typed, "n")
    loader.destination.unlink()
    written = loader.csv("id,n,sex\n" + "".join(f"{row},{number},F\n" for row, number in enumerate(whole)), schema)

    assert values == numbers(written, "n") == [float(number) for number in whole]
    integer = schema.model_copy(update={"columns": (Column(name="n", type="integer"), SCHEMA.by_name["sex"])})
    for load in (
        lambda: loader.parquet({"id": ["1"], "n": [2**53 + 1], "sex": ["F"]}, integer),
        lambda: loader.csv(f"id,n,sex\n1,{2**53 + 1},F\n", integer),
    ):
        loader.destination.unlink(missing_ok=True)
        assert "column 'n': expected a whole number within ±2^53" in loader.refusal_of(load)


def test_decimals_are_the_numbers_that_a_csv_file_says(loader: Loader) -> None:
    """Each becomes the nearest double, as its text does."""
    sums = [Decimal("0.1"), Decimal("12345678901234.56"), Decimal("-99999999999999.99"), Decimal("4503599627370497.5")]
    hours = pa.array([*sums, None], pa.decimal128(38, 10))
    age = pa.array([Decimal(one) for one in (0, 1, 37, 119, 120)], pa.decimal128(5, 2))
    five = {name: (values * 3)[:5] for name, values in table().items() if isinstance(values, list)}

    records = loader.parquet({**five, "id": [f"p{one}" for one in range(5)], "hours": hours, "age": age})

    assert numbers(records, "hours") == [*(float(str(one)) for one in sums), math.inf]
    assert numbers(records, "age") == [0, 1, 37, 119, 120]


def test_a_damaged_parquet_file_is_refused(loader: Loader) -> None:
    source = loader.folder / "upload.parquet"
    pa.parquet.write_table(pa.table(table(id=[f"{CANARY}{n}" for n in range(2)])), source)
    whole = source.read_bytes()
    middle = len(whole) // 4

    for content in (
        b"",
        b"PAR1",
        whole[:-20],
        b"x" + whole[1:-4],
        whole[:middle] + b"\xff" * 40 + whole[middle + 40 :],
    ):
        source.write_bytes(content)
        refusal = loader.refusal_of(lambda: load_records(source, PARQUET, SCHEMA, 9, loader.destination))
        assert refusal.startswith("record ")


def test_parquet_text_that_is_no_utf_8_is_refused(loader: Loader) -> None:
    broken = pa.array([b"p1", b"\xff\xfe"], pa.binary()).view(pa.string())

    assert loader.refusal_of(lambda: loader.parquet(table(id=broken))).startswith("record 1")


@pytest.mark.parametrize("different", [1, CODES_MAX, CODES_MAX + 1], ids=["one value", "65 536", "65 537"])
@pytest.mark.parametrize("people", [0, CODES_MAX + 1])
def test_the_declaration_alone_decides_how_columns_are_encoded(loader: Loader, people: int, different: int) -> None:
    """Registers that differ by one person, or in everything, become files of the same fields and types."""
    values = np.random.default_rng(1).permutation(people) % different
    content: dict[str, Any] = {
        "id": np.arange(people),
        "narrow": values % CODES_MAX,
        "wide": values,
        "x": values / 7,
        "sex": ["F"] * people,
    }
    pa.parquet.write_table(pa.table(content), loader.folder / "upload")
    load_records(loader.folder / "upload", PARQUET, NUMBERS, people, loader.destination)

    records = Records.open(loader.destination, NUMBERS)

    with pa.memory_map(str(loader.destination)) as mapped:
        fields = [(field.name, str(field.type), field.metadata) for field in pa.ipc.open_file(mapped).schema]
    assert fields == [
        ("person", "uint64", None),
        ("code:narrow", "uint16", None), ("code:wide", "uint16", None), ("sorted:wide", "double", None),
        ("code:x", "uint16", None), ("sorted:x", "double", None), ("code:sex", "uint8", None),
    ]  # fmt: skip
    assert [chunk.records for chunk in records.chunks] == ([CHUNK_RECORDS_MAX] * 2 + [3] if people else [])
    for name in ("narrow", "wide", "x"):
        assert numbers(records, name) == (values % CODES_MAX if name == "narrow" else content[name]).tolist()


NUMBERS = Schema(
    person_key="id",
    columns=(
        Column(name="narrow", type="integer", minimum=0, maximum=CODES_MAX - 1),
        Column(name="wide", type="integer", minimum=0, maximum=CODES_MAX),
        Column(name="x", type="number", minimum=0),
        SCHEMA.columns[-1],
    ),
)


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (Column(name="c", type="integer", minimum=0, maximum=CODES_MAX - 1), CODES_MAX),
        (Column(name="c", type="integer", minimum=-(2**53), maximum=-(2**53) + CODES_MAX - 1), CODES_MAX),
        (Column(name="c", type="integer", minimum=0.0, maximum=254.0, nullable=True), 256),
        (Column(name="c", type="integer", minimum=0, maximum=CODES_MAX - 1, nullable=True), None),
        (Column(name="c", type="integer", minimum=0), None),
        (Column(name="c", type="number", minimum=0, maximum=1), None),
        (Column(name="c", type="boolean", nullable=True), 3),
        (Column(name="c", type="category", categories=("a", "b")), 2),
    ],
)
def test_small_declared_domains_have_a_code_for_each_value(column: Column, codes: int | None) -> None:
    assert code_count(column) == codes


def test_encoded_records_cannot_be_changed(loader: Loader) -> None:
    records = loader.csv(lines(SOUND))
    (loader.folder / "upload.csv").write_text("gone")

    for chunk in records.chunks:
        for view in (*chunk.codes.values(), *records.doubles.values(), chunk.people):
            with pytest.raises(ValueError, match="read-only"):
                view[0] = 0
    assert stat.S_IMODE(loader.destination.stat().st_mode) == 0o400
    assert numbers(records, "age") == [37]


def test_a_new_version_leaves_the_mapped_one_as_it_was(loader: Loader) -> None:
    before = loader.csv(lines(SOUND))

    after = loader.csv(lines(SOUND.replace("37", "38")))

    assert (numbers(before, "age"), numbers(after, "age")) == ([37], [38])


def test_no_key_and_no_text_is_in_the_encoded_file(loader: Loader) -> None:
    loader.csv(lines(f"{CANARY},37,1,é,true,F"))

    content = loader.destination.read_bytes()
    assert CANARY.encode() not in content
    assert "é".encode() not in content


def test_records_show_nothing_of_themselves(loader: Loader) -> None:
    records = loader.csv(lines("p1,73,1,é,true,F"))

    for shown in (repr(records), str(records), f"{records}", repr(records.chunks[0])):
        assert "73" not in shown.partition(" at 0x")[0]
        assert "records=" not in shown


def test_a_file_for_another_declaration_or_damaged_is_not_opened(loader: Loader) -> None:
    loader.csv(lines(SOUND))
    other = Schema(person_key="id", columns=(SCHEMA.columns[0], SCHEMA.columns[4]))

    with pytest.raises(Unavailable, match="another declaration"):
        Records.open(loader.destination, other)
    damaged = loader.folder / "damaged"
    damaged.write_bytes(loader.destination.read_bytes()[:-100])
    with pytest.raises(Unavailable, match="damaged"):
        Records.open(damaged, SCHEMA)
    with pytest.raises(FileNotFoundError):
        Records.open(loader.folder / "absent", SCHEMA)


def test_a_file_of_an_older_encoding_is_not_opened(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    loader.csv(lines(SOUND))
    monkeypatch.setattr(encoded, "ENCODING", encoded.ENCODING + 1)

    with pytest.raises(Unavailable, match="another version of the holder; they have to be loaded again"):
        Records.open(loader.destination, SCHEMA)


TWO_COLUMNS = Schema(person_key="a", columns=(Column(name="b", type="category", categories=("x",), sensitive=True),))


def rows_of(content: str, folder: Path) -> list[list[str]]:
    """What our reader makes of a file of two columns; empty for missing."""
    source = folder / "rows.csv"
    source.write_bytes(f"a,b\n{content}".encode())
    rows = []
    for piece in csv_pieces(source, TWO_COLUMNS, STRICT, faults := Faults()):
        columns = [array.fill_null("").to_pylist() for array in piece.columns.values()]
        rows += [list(row) for row in zip(*columns, strict=True)]
    faults.check()
    return rows


FIELDS = st.text("ab\",é '", max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS)), end=st.sampled_from(("\n", "\r\n")), quote_all=st.booleans())
def test_what_the_csv_module_writes_is_read(
    tmp_path: Path, rows: list[tuple[str, str]], end: str, quote_all: bool
) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator=end, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL).writerows(rows)

    assert rows_of(written.getvalue(), tmp_path) == [list(row) for row in rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(content=st.text('a",\n\r', max_size=12))
def test_a_broken_line_is_never_read_as_something_else(tmp_path: Path, content: str) -> None:
    """Whatever is taken, the strict reader of the standard library reads alike."""
    try:
        found = rows_of(content, tmp_path)
    except InvalidRecords:
        return

    assert found == list(csv.reader(io.StringIO(content, newline=""), strict=True))
