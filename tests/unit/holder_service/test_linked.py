"""Linked values: what was sent for somebody stands in their record, and nothing shows for how many that was."""

import hashlib
import math
import stat
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.records import linked as linked_module
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, load_records
from holder_service.records.linked import LinkedValues, read_linked
from holder_service.records.person_keys import PersonSecret
from holder_service.services.work.apart import Apart
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn
from testing.work_traces import Trace, traced

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
SECRET = PersonSecret.forgotten()
SCHEMA = Schema(
    person_key="id", columns=(Column(name="sex", type="category", categories=("F", "M"), sensitive=True),)
)  # fmt: skip
CANARY = "Zebedee"
DECISION = {"type": "category", "categories": ["granted", "refused", "é"]}
SCORE = {"type": "number"}
GRADE = {"type": "integer", "minimum": 0, "maximum": 100}
OUTCOME = {"type": "boolean", "label": True}


def derived(kind: dict[str, Any], content: bytes) -> DerivedColumn:
    """The column of a file."""
    sha256 = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return DerivedColumn.model_validate(
        {"name": "linked", "nullable": True, "from": "linked", "values": sha256, **kind}
    )


def register(folder: Path, people: Sequence[str], secret: PersonSecret = SECRET) -> Records:
    """Records of some people."""
    keys = pa.array(list(people), pa.string())
    pa.parquet.write_table(pa.table({"id": keys, "sex": pa.array(["F"] * len(people), pa.string())}), folder / "upload")
    load_records(folder / "upload", PARQUET, SCHEMA, 10**6, folder / "records", secret=secret)
    return Records.open(folder / "records", SCHEMA)


def sent(folder: Path, kind: dict[str, Any], content: str | bytes, media_type: str = CSV) -> LinkedValues:
    """The values of a file."""
    source = folder / "sent"
    source.write_bytes(content.encode() if isinstance(content, str) else content)
    column = derived(kind, source.read_bytes())
    rows = read_linked(source, media_type, column, person_key="id", secret=SECRET, destination=folder / "values")
    assert rows == len(LinkedValues.open(folder / "values", column.column).people)
    return LinkedValues.open(folder / "values", column.column)


def joined(folder: Path, values: LinkedValues, records: Records) -> list[float]:
    """What stands in the column, record by record."""
    values.join(records, folder / "derived")
    both = records.with_column(values.column, folder / "derived")
    return [value for chunk in both.chunks for value in both.values(chunk, "linked").tolist()]


def parquet(**columns: Any) -> bytes:
    written = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table(columns), written)
    return bytes(written.getvalue())


def refusal_of(folder: Path, send: Callable[[], object]) -> str:
    """The text of the refusal; nothing may be left behind but what was sent, and no value may be in it."""
    with pytest.raises(InvalidRecords) as refused:
        send()
    assert {path.name for path in folder.iterdir()} <= {"sent"}
    assert CANARY not in repr(refused.value)
    assert refused.value.__cause__ is None
    return refused.value.detail


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        (DECISION, "id,value\nb,refused\nx,granted\nd,é\na,granted\n", [0, 1, 3, 2]),
        (DECISION, "value,id\nrefused,b\n,a\n", [3, 1, 3, 3]),
        (SCORE, "id,value\r\na,-0.5\r\nb,1e300\r\nc,NaN\r\n", [-0.5, 1e300, math.inf, math.inf]),
        (GRADE, "id,value\nd,100\nc,0\nb,\n", [math.inf, math.inf, 0, 100]),
        (OUTCOME, "id,value\nd,true\nc,false\n", [2, 2, 0, 1]),
        (OUTCOME, "id,value\nnobody,true\n", [2, 2, 2, 2]),
        (DECISION, parquet(id=["c", "x"], value=["granted", "refused"]), [3, 3, 0, 3]),
        (SCORE, parquet(value=pa.array([1.5, None], pa.float32()), id=["c", "a"]), [math.inf, math.inf, 1.5, math.inf]),
    ],
)
def test_what_was_sent_for_somebody_stands_in_their_record(
    kind: dict[str, Any], content: str | bytes, expected: list[float], tmp_path: Path
) -> None:
    """Also what was sent as missing; nothing of whom no record is about."""
    values = sent(tmp_path, kind, content, PARQUET if isinstance(content, bytes) else CSV)

    assert joined(tmp_path, values, register(tmp_path, "abcd")) == expected
    assert stat.S_IMODE((tmp_path / "values").stat().st_mode) == 0o400


def test_integers_as_keys_are_those_that_texts_say(tmp_path: Path) -> None:
    values = sent(tmp_path, SCORE, parquet(id=[7, 8], value=[0.5, 1.5]), PARQUET)

    assert joined(tmp_path, values, register(tmp_path, ["8", "07", "7"])) == [1.5, math.inf, 0.5]


def test_keys_meet_after_nfc(tmp_path: Path) -> None:
    values = sent(tmp_path, SCORE, "id,value\ne\u0301,2\n")

    assert joined(tmp_path, values, register(tmp_path, ["\u00e9", "e"])) == [2, math.inf]


def test_each_version_of_the_records_is_joined_with_what_was_sent_once(tmp_path: Path) -> None:
    values = sent(tmp_path, GRADE, "id,value\na,1\nb,2\nc,3\n")
    (tmp_path / "sent").unlink()

    assert joined(tmp_path, values, register(tmp_path, "ab")) == [1, 2]
    assert joined(tmp_path, values, register(tmp_path, "cxb")) == [3, math.inf, 2]
    assert joined(tmp_path, values, register(tmp_path, "")) == []


KEYS = st.text(min_size=1, max_size=3).filter(lambda key: "\0" not in key and not set(key) & set('\r\n",'))


@pytest.mark.slow
@given(
    values=st.dictionaries(KEYS.map(lambda key: unicodedata.normalize("NFC", key)), st.integers(0, 100), min_size=1),
    others=st.sets(KEYS.map(lambda key: unicodedata.normalize("NFC", key))),
    ours=st.data(),
)
@settings(deadline=None, max_examples=50)
def test_a_join_is_a_look_up_in_a_dictionary(values: dict[str, int], others: set[str], ours: st.DataObject) -> None:
    known = ours.draw(st.sets(st.sampled_from(sorted(values))))
    people = ours.draw(st.permutations(sorted(known | others)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = parquet(id=list(values), value=list(values.values()))
        found = joined(folder, sent(folder, GRADE, content, PARQUET), register(folder, people))

    assert found == [values.get(person, math.inf) for person in people]


def test_many_are_joined_over_all_chunks(tmp_path: Path) -> None:
    people = 2 * CHUNK_RECORDS_MAX + 100
    rng = np.random.default_rng(4)
    keys, grades = rng.permutation(2 * people)[:people], rng.integers(0, 101, people)
    values = sent(tmp_path, GRADE, parquet(id=keys, value=grades), PARQUET)

    found = joined(tmp_path, values, register(tmp_path, [str(n) for n in range(people)]))

    grade_of = dict(zip(keys.tolist(), grades.tolist(), strict=True))
    assert found == [grade_of.get(n, math.inf) for n in range(people)]


VALUE = "column 'value': expected one of the declared categories, or nothing where it is missing."
AGAIN = "column 'id': the key of an earlier line; everybody has exactly one."
BAD: list[tuple[str, str, str]] = [
    ("an undeclared category", f"id,value\na,granted\nb,{CANARY}\n", f"line 3, {VALUE}"),
    ("the same key", f"id,value\na,granted\n{CANARY},refused\nb,é\n{CANARY},refused\n", f"line 5, {AGAIN}"),
    ("the same key after NFC", "id,value\ne\u0301,granted\n\u00e9,granted\n", "line 3, column 'id': the key of"),
    ("no key", "id,value\n,granted\n", "line 2, column 'id': expected a person key"),
    ("too many fields", f"id,value\na,granted,{CANARY}\n", "line 2: does not have 2 fields"),
    ("no header", f"{CANARY},granted\n", "line 1: fields 1, 2 are not declared columns"),
    ("one column more", f"id,value,{CANARY}\n", "line 1: field 3 is not a declared column"),
    ("the name of the column", "id,linked\n", "line 1: field 2 is not a declared column"),
    ("no values", "id\na\n", "line 1: column 'value' is missing"),
    ("no rows", "id,value\n", "The file is empty"),
    ("nothing", "", "line 1: the file is empty"),
    ("Parquet, it says", "PAR1\0", "line 1: holds a NUL byte"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "refusal"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_bad_file_is_refused_by_line_and_column(content: str, refusal: str, tmp_path: Path) -> None:
    assert refusal_of(tmp_path, lambda: sent(tmp_path, DECISION, content)).startswith(refusal)


@pytest.mark.parametrize(
    ("kind", "content", "refusal"),
    [
        (GRADE, parquet(id=["a", "b"], value=[1, 101]), "record 2, column 'value': expected a whole number from 0 to"),
        (GRADE, parquet(id=["a", "b"], value=["1", CANARY]), "column 'value': its type string cannot hold values"),
        (GRADE, parquet(id=["a", "a"], value=[1, 2]), "record 2, column 'id': the key of an earlier record"),
        (SCORE, parquet(id=["a", "b"], value=[1.0, math.inf]), "record 2, column 'value': expected a finite number"),
        (SCORE, parquet(id=[[CANARY]], value=[1.0]), "column 'id': expected texts or integers"),
        (SCORE, parquet(id=["a"], value=[1.0])[:-9], "record 1: from here on the file is not readable"),
        (SCORE, parquet(id=pa.array([], pa.string()), value=pa.array([], pa.float64())), "The file is empty"),
    ],
)
def test_bad_parquet_is_refused_by_record_and_column(
    kind: dict[str, Any], content: bytes, refusal: str, tmp_path: Path
) -> None:
    assert refusal_of(tmp_path, lambda: sent(tmp_path, kind, content, PARQUET)).startswith(refusal)


MARKS = "\u0301\u0316" * 1_000_000
"""NFC would sort them for hours."""


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (f"id,value\na,granted\nb{MARKS},granted\n", "line 3, column 'id': expected a person key with at most 30"),
        (f"id,value\na,granted\nb,{MARKS}\n", f"line 3, {VALUE}"),
        (f"id,{MARKS[:100_000]}\na,granted\n", "line 1: field 2 is not a declared column"),
        (parquet(id=["a"], **{MARKS: ["granted"]}), "the file's schema: field 2 is not a declared column"),
        (parquet(id=["a"], value=[MARKS]), "record 1, column 'value'"),
    ],
    ids=["key", "value", "header", "name in Parquet", "value in Parquet"],
)
def test_texts_that_would_take_hours_to_compare_are_refused(content: str | bytes, refusal: str, tmp_path: Path) -> None:
    media_type = PARQUET if isinstance(content, bytes) else CSV

    assert refusal_of(tmp_path, lambda: sent(tmp_path, DECISION, content, media_type)).startswith(refusal)


def test_as_many_marks_as_a_language_may_have_are_taken(tmp_path: Path) -> None:
    key = "e" + "\u0316\u0301" * 15
    values = sent(tmp_path, SCORE, f"id,value\n{key},2\n")

    assert joined(tmp_path, values, register(tmp_path, [unicodedata.normalize("NFC", key)])) == [2]


def repeated(text: str, times: int) -> pa.Array:
    """A text again and again, written once."""
    return pa.DictionaryArray.from_arrays(np.zeros(times, dtype=np.int32), [text])


BOMBS: dict[str, Callable[[], pa.Table]] = {
    "long values": lambda: pa.table({"id": range(60_000), "value": repeated("x" * 1_000_000, 60_000)}),
    "long keys": lambda: pa.table({"id": repeated("x" * 100_000_000, 60), "value": repeated("granted", 60)}),
}


@pytest.mark.skipif(sys.platform != "linux", reason="nothing else limits a process's memory so")
@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_unfolds_without_end_is_refused(bomb: str, tmp_path: Path) -> None:
    """Where it is read apart, as the service does."""
    pa.parquet.write_table(BOMBS[bomb](), tmp_path / "sent", compression="zstd")
    assert (tmp_path / "sent").stat().st_size < 1_000_000
    column = derived(DECISION, (tmp_path / "sent").read_bytes())
    work = partial(
        read_linked, tmp_path / "sent", PARQUET, column, person_key="id", secret=SECRET, destination=tmp_path / "values"
    )
    apart = Apart()

    with closing(apart), pytest.raises(InvalidRecords, match=r"not readable as Parquet|in the memory there is"):
        apart.run(work)

    assert [path.name for path in tmp_path.iterdir()] == ["sent"]


def test_another_file_than_the_column_names_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "sent").write_text(f"{CANARY}\n")
    column = derived(SCORE, b"id,value\na,1\n")

    refusal = refusal_of(
        tmp_path,
        lambda: read_linked(
            tmp_path / "sent", CSV, column, person_key="id", secret=SECRET, destination=tmp_path / "values"
        ),
    )

    assert refusal == "The file's SHA-256 differs from the one that the column names. Send the file with that SHA-256."


def test_more_rows_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_module, "LINKED_ROWS_MAX", 2)

    assert "at most 2 rows" in refusal_of(tmp_path, lambda: sent(tmp_path, GRADE, "id,value\na,1\nb,1\nc,1\n"))
    sent(tmp_path, GRADE, "id,value\na,1\nb,1\n")


def test_a_person_key_that_is_called_value_cannot_be_linked_to(tmp_path: Path) -> None:
    content = b"value,value\na,1\n"
    (tmp_path / "sent").write_bytes(content)

    assert "called 'value' itself" in refusal_of(
        tmp_path,
        lambda: read_linked(
            tmp_path / "sent", CSV, derived(SCORE, content), person_key="value", secret=SECRET,
            destination=tmp_path / "values",
        ),
    )  # fmt: skip


def test_what_stays_holds_no_key_and_no_text_and_shows_nothing(tmp_path: Path) -> None:
    values = sent(tmp_path, DECISION, f"id,value\n{CANARY},granted\n")

    content = (tmp_path / "values").read_bytes()
    assert CANARY.encode() not in content
    assert b"granted" not in content
    assert "=" not in repr(values)


def test_keys_that_were_hashed_under_different_secrets_are_not_joined(tmp_path: Path) -> None:
    """They would meet nobody, and the answer would be that nobody was decided about."""
    values = sent(tmp_path, DECISION, "id,value\na,granted\n")

    with pytest.raises(Unavailable, match="secret for person keys was replaced"):
        values.join(register(tmp_path, "a", PersonSecret.forgotten()), tmp_path / "derived")
    assert not (tmp_path / "derived").exists()


def test_values_of_another_column_or_version_or_damaged_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = sent(tmp_path, DECISION, "id,value\na,granted\n")
    other = derived(SCORE, b"").column

    with pytest.raises(Unavailable, match="send them again"):
        LinkedValues.open(tmp_path / "values", other)
    damaged = tmp_path / "damaged"
    damaged.write_bytes((tmp_path / "values").read_bytes()[:-100])
    with pytest.raises(Unavailable, match="send them again"):
        LinkedValues.open(damaged, values.column)
    with pytest.raises(FileNotFoundError):
        LinkedValues.open(tmp_path / "absent", values.column)
    monkeypatch.setattr(linked_module, "LINKED_ENCODING", 99)
    with pytest.raises(Unavailable, match="send them again"):
        LinkedValues.open(tmp_path / "values", values.column)


PEOPLE = CHUNK_RECORDS_MAX + 3000
SENT = 5000
KEYS_SENT = np.random.default_rng(9).permutation(PEOPLE)[:SENT]
VALUES: dict[str, tuple[dict[str, Any], Any]] = {
    "decision": (DECISION, np.random.default_rng(5).choice(["granted", "refused"], SENT)),
    "score": (SCORE, np.random.default_rng(6).random(SENT)),
    "grade": (GRADE, np.random.default_rng(7).integers(0, 101, SENT)),
}


def seen_of_a_join(folder: Path, kind: dict[str, Any], values: Any, keys: Sequence[int], records: Records) -> Any:
    """Everything that making a linked column does: each line, the shape of each array, the size of each file."""
    content = parquet(id=[f"{key:09}" for key in keys], value=values)
    (folder / "sent").write_bytes(content)
    column = derived(kind, content)

    def read() -> None:
        read_linked(folder / "sent", PARQUET, column, person_key="id", secret=SECRET, destination=folder / "values")

    def join() -> None:
        LinkedValues.open(folder / "values", column.column).join(records, folder / "derived")

    traces: list[Trace] = [traced(read), traced(join)]
    sizes = [(folder / name).stat().st_size for name in ("values", "derived")]
    for name in ("values", "derived"):
        (folder / name).unlink()
    return traces, sizes


@pytest.mark.parametrize("values", VALUES)
def test_the_work_is_the_same_for_all_half_and_none_known(values: str, tmp_path: Path) -> None:
    records = register(tmp_path, [f"{n:09}" for n in range(PEOPLE)])
    half = np.where(np.random.default_rng(8).random(SENT) < 0.5, KEYS_SENT, KEYS_SENT + PEOPLE)

    everybody, some, nobody = (
        seen_of_a_join(tmp_path, *VALUES[values], keys.tolist(), records)
        for keys in (KEYS_SENT, half, KEYS_SENT + PEOPLE)
    )

    assert everybody == some
    assert everybody == nobody
    (read, join), sizes = everybody
    assert len(read) > 100
    assert len(join) > 100
    assert {shape for _, _, arrays in join for shape in arrays.values()} >= {(CHUNK_RECORDS_MAX,), (3000,)}
    assert all(sizes)


def test_whoever_is_found_early_searches_on(tmp_path: Path) -> None:
    """Registers of one person each, who is found at different steps, or never."""
    kind, values = VALUES["score"]
    content = parquet(id=[f"{key:09}" for key in KEYS_SENT.tolist()], value=values)
    sent_values = sent(tmp_path, kind, content, PARQUET)
    traces = []
    for number in (*KEYS_SENT[:20].tolist(), 2 * PEOPLE):
        records = register(tmp_path, [f"{number:09}"])
        traces.append(traced(partial(sent_values.of, records.chunks[0].people)))

    assert len(traces[0]) > 20
    assert all(trace == traces[0] for trace in traces)
