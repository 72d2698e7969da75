"""A draft suggests what a file declares, and keeps out of it what only the records say."""

import math
import unicodedata
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holder_service.domain.errors import InvalidRecords
from holder_service.records.draft_hints import could_be_key, rounded_range, sounds_sensitive
from holder_service.records.drafts import Draft, draft
from holder_service.records.encoded import load_records
from holder_service.records.formats import RecordFormat
from holder_service.records.options import DraftOptions
from holder_service.records.person_keys import PersonSecret
from shared.contract.schema import Schema

PEOPLE: Final = 120


def people(**more: Any) -> pd.DataFrame:
    """A register with a column of each type."""
    count = range(PEOPLE)
    return pd.DataFrame(
        {
            "row": [number % 7 for number in count],
            "person_id": [f"p{number}" for number in count],
            "age": [18 + number % 73 for number in count],
            "income": [math.nan if number % 9 == 0 else 1234.5 + number for number in count],
            "granted": [number % 2 == 0 for number in count],
            "Geslacht": ["man" if number % 3 else "vrouw" for number in count],
            **more,
        }
    )


def drafted(frame: pd.DataFrame, folder: Path, *, parquet: bool = False, **options: Any) -> Draft:
    how = RecordFormat(**{name: options.pop(name) for name in RecordFormat.model_fields.keys() & options.keys()})
    if parquet:
        source, media_type = folder / "register.parquet", "application/vnd.apache.parquet"
        frame.to_parquet(source, index=False)
    else:
        source, media_type = folder / "register.csv", "text/csv"
        frame.to_csv(source, index=False, sep=how.separator, decimal=how.decimal)
    return draft(source, media_type, how, DraftOptions(**options))


def notes_on(found: Draft, column: str) -> str:
    return " ".join(note for note in found.notes if note.startswith(f"Column {column!r}"))


@pytest.mark.parametrize("parquet", [False, True])
def test_an_aggregate_table_is_drafted_by_its_people(tmp_path: Path, parquet: bool) -> None:
    """Words of fewer than ten people are left out, however many rows they are in; everybody's value is no key."""
    table = pd.DataFrame(
        {
            "age": ["young", "young", "old", "few", "few", "few"],
            "number": [f"n{row}" for row in range(6)],
            "sex": ["F", "M", "F", None, "M", "F"],
            "n": [5, 6, 30, 3, 3, 3],
        }
    )

    found = drafted(table, tmp_path, parquet=parquet, people="n")

    assert found.document() == {"people": "n", "relation": "add_remove", "columns": found.columns}
    assert {column.name: (column.categories, column.nullable) for column in found.columns} == {
        "age": (("old", "young"), False), "number": (("n2",), False), "sex": (("F",), True),
    }  # fmt: skip
    assert not any("name the person key" in note for note in found.notes)


@pytest.mark.parametrize(("numbers", "named"), [([1, 0], "people"), ([1, 2], "n")])
def test_a_column_that_says_no_number_of_people_is_refused(tmp_path: Path, numbers: list[int], named: str) -> None:
    table = pd.DataFrame({"sex": ["F", "M"], "people": numbers})

    with pytest.raises(InvalidRecords, match=f"Column '{named}'"):
        drafted(table, tmp_path, people=named)


@pytest.mark.parametrize("parquet", [False, True])
def test_types_missing_values_and_the_person_key_are_found(tmp_path: Path, parquet: bool) -> None:
    found = drafted(people(), tmp_path, parquet=parquet)

    assert found.person_key == "person_id"
    assert {column.name: (column.type, column.nullable) for column in found.columns} == {
        "row": ("integer", False),
        "age": ("integer", False),
        "income": ("number", True),
        "granted": ("boolean", False),
        "Geslacht": ("category", False),
    }
    assert found.columns[-1].categories == ("man", "vrouw")


@pytest.mark.parametrize("parquet", [False, True])
def test_the_file_loads_as_drafted(tmp_path: Path, parquet: bool) -> None:
    found = drafted(people(), tmp_path, parquet=parquet)
    source = tmp_path / ("register.parquet" if parquet else "register.csv")
    media_type = "application/vnd.apache.parquet" if parquet else "text/csv"

    schema = Schema(person_key=str(found.person_key), columns=found.columns)

    load_records(source, media_type, schema, PEOPLE, tmp_path / "encoded", secret=PersonSecret.forgotten())


def test_no_extreme_no_rare_word_and_no_number_of_people_is_in_a_draft(tmp_path: Path) -> None:
    towns = ["Bern", *["Basel"] * 10, *["Genf"] * (PEOPLE - 11)]
    found = drafted(people(town=towns, salary=[123_456] * (PEOPLE - 1) + [987_654]), tmp_path)

    assert next(column.categories for column in found.columns if column.name == "town") == ("Basel", "Genf")
    assert "fewer than 10 people" in notes_on(found, "town")
    everything = f"{found.document()}{found.notes}"
    for private in ("Bern", "123456", "987654", str(PEOPLE), "1234.5", "minimum=1", "maximum=9"):
        assert private not in everything
    assert not any(column.sensitive or column.label for column in found.columns)
    assert "cap" not in found.document()


def test_ranges_are_round_numbers_and_only_if_asked_for(tmp_path: Path) -> None:
    found = drafted(people(change=[number - 17 for number in range(PEOPLE)]), tmp_path, ranges=True)

    ranges = {column.name: (column.minimum, column.maximum) for column in found.columns if column.ordered}
    assert ranges == {"row": (0, 10), "age": (0, 100), "income": (0, 2000), "change": (-20, 200)}
    assert all(column.minimum is None for column in drafted(people(), tmp_path).columns)


def test_values_that_no_declared_range_holds_get_none(tmp_path: Path) -> None:
    """Beyond ±2^53 or the largest double, and at the smallest one."""
    found = drafted(
        people(
            large=[6 * 10**15 + number for number in range(PEOPLE)],
            huge=[1.5e308] * PEOPLE,
            endless=["1e400"] * PEOPLE,
            least=[5e-324] * PEOPLE,
        ),
        tmp_path, ranges=True,
    )  # fmt: skip

    ranges = {column.name: (column.minimum, column.maximum) for column in found.columns if column.ordered}
    assert ranges.pop("age") == (0, 100)
    for name in ("large", "huge", "endless", "least"):
        assert ranges[name] == (None, None)
        assert "does not have a range" in notes_on(found, name)


def test_names_of_a_parquet_file_are_compared_after_nfc(tmp_path: Path) -> None:
    sent = "Zivilsta\u0308nde"
    found = drafted(people(**{sent: ["a", "b"] * (PEOPLE // 2)}), tmp_path, parquet=True)

    assert found.columns[-1].name == unicodedata.normalize("NFC", sent)
    assert found.columns[-1].categories == ("a", "b")
    for names in ((sent, sent), (sent, unicodedata.normalize("NFC", sent))):
        pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names), tmp_path / "twice.parquet")
        with pytest.raises(InvalidRecords, match=r"there twice .* Rename one of them"):
            draft(tmp_path / "twice.parquet", "application/vnd.apache.parquet", RecordFormat(), DraftOptions())


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(18, 90, (0, 100)), (0, 100, (0, 200)), (-3, 4, (-5, 5)), (-5, -1, (-10, 0)), (0, 0, (0, 0)), (0.013, 1, (0, 2))],
)
def test_a_rounded_end_is_no_value(low: float, high: float, expected: tuple[float, float]) -> None:
    assert rounded_range(low, high, whole=False) == expected


def test_empty_texts_of_a_parquet_file_are_called_so(tmp_path: Path) -> None:
    table = pa.table({"id": [f"p{number}" for number in range(60)], "remark": ["", "", "old"] * 20})
    pq.write_table(table, tmp_path / "people.parquet")

    drafted = draft(tmp_path / "people.parquet", "application/vnd.apache.parquet", RecordFormat(), DraftOptions())

    assert any("'remark' has empty texts: write missing values as nulls" in note for note in drafted.notes)
    assert not any("words of fewer" in note for note in drafted.notes)


def test_hints_say_what_to_decide(tmp_path: Path) -> None:
    found = drafted(
        people(
            code=[number % 2 + 1 for number in range(PEOPLE)],
            flag=[number % 2 for number in range(PEOPLE)],
            answer=["ja" if number % 2 else "nein" for number in range(PEOPLE)],
            remark=[f"remark {number}" for number in range(PEOPLE)],
            born=["1970-01-01"] * PEOPLE,
            left=["NULL" if number % 4 == 0 else "1970-01-01" for number in range(PEOPLE)],
            empty=[None] * PEOPLE,
            score=["NA" if number % 4 == 0 else "1,5" for number in range(PEOPLE)],
        ),
        tmp_path,
    )

    assert "codes" in notes_on(found, "code")
    assert "--true 1 --false 0" in notes_on(found, "flag")
    assert "--true ja --false nein" in notes_on(found, "answer")
    assert "more than 100 different words" in notes_on(found, "remark")
    assert "--dates 'born'" in notes_on(found, "born")
    assert "with --missing 'NULL' --dates 'left' they become days" in notes_on(found, "left")
    assert "it is empty" in notes_on(found, "empty")
    assert "--decimal , --missing 'NA'" in notes_on(found, "score")
    assert any("sensitive" in note and "'Geslacht'" in note and "'age'" in note for note in found.notes)
    assert any('"label": true' in note and "'granted'" in note for note in found.notes)
    assert any("'person_id'" in note and "'remark'" in note for note in found.notes)


def test_options_of_the_format_are_used(tmp_path: Path) -> None:
    frame = people(
        flag=[number % 2 for number in range(PEOPLE)],
        born=["1970-01-01"] * PEOPLE,
        left=["NULL" if number % 4 == 0 else "1970-01-01" for number in range(PEOPLE)],
        score=["NA" if number % 4 == 0 else "1,5" for number in range(PEOPLE)],
    ).drop(columns=["granted", "row"])
    found = drafted(
        frame, tmp_path, delimiter=";", decimal=",", missing=("NA",), true=("1",), false=("0",),
        dates=("born", "left", "birth"),
    )  # fmt: skip

    kinds = {column.name: (column.type, column.nullable) for column in found.columns}
    assert kinds["flag"] == ("boolean", False)
    assert kinds["born"] == ("integer", False)
    assert "left" not in kinds
    assert "with --missing 'NULL' --dates 'left'" in notes_on(found, "left")
    assert "does not exist" in notes_on(found, "birth")
    assert kinds["score"] == ("number", True)


def test_a_key_that_repeats_is_none(tmp_path: Path) -> None:
    found = drafted(people(person_id=["p1", *(f"p{number}" for number in range(1, PEOPLE))]), tmp_path)

    assert found.person_key != "person_id"


def test_without_a_key_the_draft_lacks_it(tmp_path: Path) -> None:
    found = drafted(people().drop(columns=["person_id", "income"]), tmp_path)

    assert found.person_key is None
    assert "person_key" not in found.document()
    assert any("person_key" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the file is empty"),
        (b"id;sex\n1;f\n", "--delimiter"),
        (b"id,sex\n1,f,secret\n", "does not have 2 fields"),
        (b"id,sex\n1,\xff\n", "is not UTF-8"),
        (b"id,sex,sex\n1,f,f\n", "there twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_without_a_value(tmp_path: Path, content: bytes, expected: str) -> None:
    source = tmp_path / "register.csv"
    source.write_bytes(content)

    with pytest.raises(InvalidRecords) as refused:
        draft(source, "text/csv", RecordFormat(), DraftOptions())

    assert expected in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        ("sex", True), ("Gender", True), ("country_of_birth", True), ("placeOfBirth", True), ("Geschlecht", True),
        ("age", True), ("agency", False), ("income", False), ("rash", False), ("wage", False), ("Sexe", True),
    ],
)  # fmt: skip
def test_names_hint_at_what_is_sensitive(name: str, sensitive: bool) -> None:
    assert sounds_sensitive(name) is sensitive


def test_names_hint_at_person_keys() -> None:
    assert could_be_key("person_id")
    assert could_be_key("AHV-Nr")
    assert not could_be_key("midday")
