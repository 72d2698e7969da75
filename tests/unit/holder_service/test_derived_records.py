"""Derived columns beside the declared ones: what is put into their files is what evaluators and counts find."""

import math
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holder_service.domain.disjointness import disjoint_classes
from holder_service.domain.errors import Unavailable
from holder_service.records import encoded
from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, encode_column, load_records
from holder_service.records.person_keys import PersonSecret
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from testing.encoded_records import encoded_columns

SCHEMA = Schema(
    person_key="person",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120, nullable=True),
        Column(name="income", type="number", nullable=True),
        Column(name="wide", type="integer"),
        Column(name="job", type="category", categories=("a", "b", "c"), nullable=True),
        Column(name="member", type="boolean"),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)
SIZES = (0, 1, 700, CHUNK_RECORDS_MAX, CHUNK_RECORDS_MAX + 1, 2 * CHUNK_RECORDS_MAX + 70)


def declared(folder: Path, people: int) -> tuple[Records, dict[str, list[Any]]]:
    """Records and the values in them."""
    rng = np.random.default_rng(people)
    missing = rng.random(people) < 0.2
    columns: dict[str, list[Any]] = {
        "age": [None if gone else int(age) for gone, age in zip(missing, rng.integers(0, 121, people), strict=True)],
        "income": [None if gone else x for gone, x in zip(missing, rng.normal(size=people).tolist(), strict=True)],
        "wide": rng.integers(-(2**53), 2**53, people).tolist(),
        "job": [(None, "a", "b", "c")[job] for job in rng.integers(0, 4, people)],
        "member": (rng.random(people) < 0.5).tolist(),
        "sex": ["FM"[sex] for sex in rng.integers(0, 2, people)],
    }
    return encoded_columns(folder, SCHEMA, columns), columns


def in_chunks(values: Sequence[Any] | npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    for start in range(0, len(values), CHUNK_RECORDS_MAX):
        yield np.asarray(values[start : start + CHUNK_RECORDS_MAX])


def everything(records: Records, name: str) -> list[Any]:
    return [value for chunk in records.chunks for value in records.values(chunk, name).tolist()]


@pytest.mark.parametrize("people", SIZES)
def test_evaluators_get_the_values_that_were_loaded(people: int, tmp_path: Path) -> None:
    records, columns = declared(tmp_path, people)

    for column in SCHEMA.columns:
        if column.ordered:
            expected = [math.inf if value is None else float(value) for value in columns[column.name]]
        else:
            expected = [
                len(column.values) if value is None else column.values.index(value) for value in columns[column.name]
            ]
        assert everything(records, column.name) == expected
    for chunk in islice(records.chunks, 1):
        assert {name: records.values(chunk, name).dtype.str for name in ("income", "age", "job")} == {
            "income": "<f8", "age": "<f8", "job": "|u1"
        }  # fmt: skip


def test_the_keyed_hash_of_each_person_is_beside_its_record(tmp_path: Path) -> None:
    secret = PersonSecret.forgotten()
    people = [f"person {n}" for n in range(CHUNK_RECORDS_MAX + 5)]
    (tmp_path / "upload").write_text("person,sex\n" + "".join(f"{person},F\n" for person in people))
    schema = Schema(person_key="person", columns=SCHEMA.columns[-1:])

    load_records(tmp_path / "upload", "text/csv", schema, 10**6, tmp_path / "encoded", secret=secret)

    records = Records.open(tmp_path / "encoded", schema)
    kept = np.concatenate([chunk.people for chunk in records.chunks])
    assert kept.tobytes() == b"".join(secret.digest(person)[:8] for person in people)
    assert records.secret == secret.id
    assert {name for chunk in records.chunks for name in chunk.codes} == {"sex"}


NEW = (
    Column(name="new", type="integer", minimum=-3, maximum=300, nullable=True),
    Column(name="new", type="integer", minimum=-3, maximum=300),
    Column(name="new", type="number", nullable=True),
    Column(name="new", type="integer"),
    Column(name="new", type="category", categories=("x", "y"), nullable=True),
    Column(name="new", type="boolean"),
)


def some_values(column: Column, people: int) -> npt.NDArray[Any]:
    rng = np.random.default_rng(people)
    if not column.ordered:
        return rng.integers(0, len(column.values) + column.nullable, people)
    values = rng.normal(size=people) if column.type == "number" else rng.integers(-3, 300, people).astype(float)
    values[rng.random(people) < (0.3 if column.nullable else 0)] = np.inf
    return values


@pytest.mark.parametrize("people", SIZES)
@pytest.mark.parametrize("column", NEW, ids=str)
def test_what_is_put_beside_records_is_found_and_counted(column: Column, people: int, tmp_path: Path) -> None:
    values = some_values(column, people)
    records, columns = declared(tmp_path, people)
    encode_column(column, in_chunks(values), tmp_path / "derived")

    both = records.with_column(column, tmp_path / "derived")

    assert both.schema.columns == (*SCHEMA.columns, column)
    assert everything(both, "new") == values.tolist()
    for name in ("income", "job"):
        assert everything(both, name) == everything(records, name)
    assert stat.S_IMODE((tmp_path / "derived").stat().st_mode) == 0o400
    tests = (
        [Predicate(column="new", op="le", value=0), Predicate(column="new", op="gt", value=0)]
        if column.ordered
        else [Predicate(column="new", op="eq", value=value) for value in column.values]
    )
    income = Predicate(column="income", op="gt", value=0.25)
    cells = [Cell(id=f"cell-{index}", any_of=(Rule(all_of=(test, income)),)) for index, test in enumerate(tests)]
    expected = [
        [
            sum(
                bool(hit) and x is not None and x > 0.25 and sex == group
                for hit, x, sex in zip(hits, columns["income"], columns["sex"], strict=True)
            )
            for group in "FM"
        ]
        for hits in (
            [values <= 0, (values > 0) & (values < math.inf)] if column.ordered else [values == 0, values == 1]
        )
    ]
    counts = count_cells(both, cells, disjoint_classes(cells, both.schema), ["sex"])
    assert counts.reveal_to_mechanism().tolist() == expected


def test_ranked_columns_are_looked_up_in_their_own_files(tmp_path: Path) -> None:
    """Also where several files have one each."""
    people = CHUNK_RECORDS_MAX + 10
    records, columns = declared(tmp_path, people)
    scores = {f"score {n}": np.random.default_rng(n).normal(n, 1, people) for n in range(3)}
    for number, (name, values) in enumerate(scores.items()):
        column = Column(name=name, type="number")
        encode_column(column, in_chunks(values), tmp_path / f"derived-{number}")
        records = records.with_column(column, tmp_path / f"derived-{number}")
    rule = Rule(all_of=tuple(Predicate(column=name, op="gt", value=n) for n, name in enumerate(scores)))
    cells = [Cell(id="all", any_of=(rule,))]

    counts = count_cells(records, cells, [[0]], ["sex"])

    everyone = np.all([values > n for n, values in enumerate(scores.values())], axis=0)
    sex = np.array(columns["sex"])
    assert counts.reveal_to_mechanism().tolist() == [[np.sum(everyone & (sex == group)) for group in "FM"]]


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    records, _ = declared(tmp_path, 1)
    column = Column(name="new", type="number")
    encode_column(column, [np.array([-0.0])], tmp_path / "derived")

    both = records.with_column(column, tmp_path / "derived")

    assert math.copysign(1, both.values(both.chunks[0], "new")[0]) == 1


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (NEW[1], [math.inf]),
        (NEW[0], [301.0]),
        (NEW[0], [-4.0]),
        (NEW[0], [1.5]),
        (NEW[2], [math.nan]),
        (NEW[2], [-math.inf]),
        (NEW[4], [3]),
        (NEW[4], [-1]),
        (NEW[5], [2]),
        (NEW[2], [0.0] * (CHUNK_RECORDS_MAX + 1)),
    ],
)
def test_values_that_are_not_the_columns_are_refused_and_nothing_is_left(
    column: Column, values: list[float], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="What is to be column 'new' holds something else than a chunk"):
        encode_column(column, [np.array([0]), np.array(values)], tmp_path / "derived")

    assert not list(tmp_path.iterdir())


def test_an_error_half_way_leaves_nothing(tmp_path: Path) -> None:
    def values() -> Iterator[npt.NDArray[Any]]:
        yield np.zeros(5)
        raise RuntimeError("planned")

    with pytest.raises(RuntimeError):
        encode_column(NEW[2], values(), tmp_path / "derived")

    assert not list(tmp_path.iterdir())


def test_a_column_for_other_records_or_of_another_version_is_not_put_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, _ = declared(tmp_path, CHUNK_RECORDS_MAX + 2)
    path, column = tmp_path / "derived", NEW[2]
    for sizes in ([CHUNK_RECORDS_MAX, 3], [CHUNK_RECORDS_MAX], [CHUNK_RECORDS_MAX - 1, 3], [CHUNK_RECORDS_MAX, 2, 0]):
        encode_column(column, (np.zeros(size) for size in sizes), path)
        with pytest.raises(Unavailable, match="not those of these records"):
            records.with_column(column, path)
    encode_column(column, (np.zeros(size) for size in (CHUNK_RECORDS_MAX, 2)), path)
    records.with_column(column, path)

    with pytest.raises(Unavailable, match="not those of these records"):
        records.with_column(NEW[3], path)
    with pytest.raises(ValueError, match="share a name"):
        records.with_column(column, path).with_column(column, path)
    with pytest.raises(FileNotFoundError):
        records.with_column(column, tmp_path / "absent")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(Unavailable, match="not those of these records"):
        records.with_column(column, damaged)
    monkeypatch.setattr(encoded, "ENCODING", encoded.ENCODING + 1)
    with pytest.raises(Unavailable, match="not those of these records"):
        records.with_column(column, path)


def test_files_of_columns_have_one_size_whatever_is_in_them(tmp_path: Path) -> None:
    for column in NEW:
        sizes = set()
        for number, values in enumerate((some_values(column, 40_000), np.zeros(40_000))):
            encode_column(column, in_chunks(values), tmp_path / f"{number}")
            sizes.add((tmp_path / f"{number}").stat().st_size)
        assert len(sizes) == 1
