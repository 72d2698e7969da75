"""What a count does is the same whatever the records are: every line that it runs, and the shape of every array."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records import counting
from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, encode_column
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from testing.encoded_records import encoded_columns
from testing.work_traces import Trace, traced

V = 1e6
COLUMNS = 3
SCHEMA = Schema(
    person_key="person",
    columns=(
        *(Column(name=f"x{n}", type="number") for n in range(COLUMNS)),
        Column(name="age", type="integer", minimum=0, maximum=65_535),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)
SCORE = Column(name="score", type="number", nullable=True)
PEOPLE = CHUNK_RECORDS_MAX + 3000


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One thread that is traced as who hands over to it, and waited for; gives how many chunks it was handed."""
    handed_over: list[int] = []

    class Pool(ThreadPoolExecutor):
        def map(self, fn: Callable[..., Any], *iterables: Any, **options: Any) -> Iterator[Any]:
            tracer = sys.gettrace()

            def traced(chunk: Any) -> Any:
                sys.settrace(tracer)
                return fn(chunk)

            handed_over.append(len(iterables[0]))
            return iter(list(super().map(traced, *iterables, **options)))

    with Pool(1) as pool:
        monkeypatch.setattr(counting, "_threads", lambda: pool)
        yield handed_over


def loaded(values: npt.NDArray[np.float64], folder: Path) -> Records:
    """A register whose columns all hold some values."""
    size = len(values)
    columns = {f"x{n}": values for n in range(COLUMNS)}
    ages = values.astype(np.int64) % 65_536
    return encoded_columns(folder, SCHEMA, {**columns, "age": ages, "sex": ["F", *["M"] * (size - 1)]})


def loaded_table(values: npt.NDArray[np.float64], people: npt.NDArray[np.int64], folder: Path) -> Records:
    """An aggregate table whose columns all hold some values, of rows that stand for so many people."""
    schema = SCHEMA.model_copy(update={"person_key": None, "people": "people"})
    columns = {f"x{n}": values for n in range(COLUMNS)}
    sexes = ["F", *["M"] * (len(values) - 1)]
    ages = values.astype(np.int64) % 65_536
    return encoded_columns(folder, schema, {**columns, "age": ages, "sex": sexes}, people=people.tolist())


def with_score(records: Records, values: npt.NDArray[np.float64], folder: Path) -> Records:
    """The same register with a derived column of some values."""
    chunks = np.array_split(values, np.cumsum([chunk.records for chunk in records.chunks])[:-1])
    encode_column(SCORE, chunks, folder / "score")
    return records.with_column(SCORE, folder / "score")


def one_rule() -> list[Cell]:
    """Everybody below the frequent value."""
    tests = tuple(Predicate(column=f"x{n}", op="lt", value=V) for n in range(COLUMNS))
    return [Cell(id="below", any_of=(Rule(all_of=tests),))]


def scored() -> list[Cell]:
    """Two disjoint bands of the derived column, above and below all cuts of a declared one."""
    tests = (Predicate(column="score", op="lt", value=V / 2), Predicate(column="score", op="ge", value=V / 2))
    other = Predicate(column="x0", op="le", value=V / 2)
    return [Cell(id=test.op, any_of=(Rule(all_of=(test, other)),)) for test in tests]


def tree() -> list[Cell]:
    """A comb of many leaves over all columns, walked; cuts at values, beyond them, and at the frequent one."""
    cells: list[Cell] = []
    path: tuple[Predicate, ...] = ()
    for n, value in enumerate((*np.linspace(-10, 2 * V, 150), V)):
        column = ("age", "x0", "x1", "x2")[n % 4]
        test = Predicate(column=column, op="le", value=float(round(value)))
        cells.append(Cell(id=f"leaf-{n}", any_of=(Rule(all_of=(*path, test)),)))
        path = (*path, Predicate(column=column, op="gt", value=float(round(value))))
    return cells


def overlapping() -> list[Cell]:
    """Cells of several classes, in words."""
    values = (*range(0, 60_000, 600), V)
    return [Cell(id=str(v), any_of=(Rule(all_of=(Predicate(column="x0", op="lt", value=v),)),)) for v in values]


def trace_of(records: Records, cells: Sequence[Cell]) -> Trace:
    """What a count does; what it keeps from one count to the next is at hand before. The mapped file is left out."""
    classes = disjoint_classes(cells, records.schema)
    count_cells(records, cells, classes, ["sex"])
    mapped = list(records.doubles.values())
    return traced(lambda: count_cells(records, cells, classes, ["sex"]), mapped=mapped)


def crowded(people: int) -> npt.NDArray[np.float64]:
    """Half of the people have one value, everybody else another each."""
    values = np.full(people, V)
    values[: people // 2] = np.arange(people // 2)
    return np.random.default_rng(1).permutation(values)


REGISTERS = {
    "one value": np.full(PEOPLE, V),
    "one value below all cuts": np.zeros(PEOPLE),
    "sorted": np.arange(PEOPLE, dtype=float),
    "random": np.random.default_rng(2).random(PEOPLE) * V,
}


@pytest.mark.parametrize("cells", [one_rule, tree, overlapping])
@pytest.mark.parametrize("other", REGISTERS)
def test_registers_that_differ_in_everything_make_the_same_work(
    other: str, cells: Callable[[], list[Cell]], tmp_path: Path, threads: list[int]
) -> None:
    (tmp_path / "other").mkdir()

    trace = trace_of(loaded(crowded(PEOPLE), tmp_path), cells())

    assert trace_of(loaded(REGISTERS[other], tmp_path / "other"), cells()) == trace
    assert {len(arrays) for _, _, arrays in trace} > {0, 3}, "the arrays of the kernel were seen"
    assert set(threads) == {2}


WEIGHTS = {
    "one each": np.ones(PEOPLE, dtype=np.int64),
    "one row of many": np.where(np.arange(PEOPLE) == 7, 900_000, 1),
    "random": np.random.default_rng(3).integers(1, 50, PEOPLE),
}


@pytest.mark.parametrize("cells", [one_rule, tree, overlapping])
@pytest.mark.parametrize("other", REGISTERS)
@pytest.mark.parametrize("people", WEIGHTS)
def test_aggregate_tables_that_differ_in_everything_make_the_same_work(
    people: str, other: str, cells: Callable[[], list[Cell]], tmp_path: Path, threads: list[int]
) -> None:
    """Whatever the values are, and however many people stand for them."""
    (tmp_path / "other").mkdir()

    trace = trace_of(loaded_table(crowded(PEOPLE), np.full(PEOPLE, 3), tmp_path), cells())

    assert trace_of(loaded_table(REGISTERS[other], WEIGHTS[people], tmp_path / "other"), cells()) == trace
    assert {len(arrays) for _, _, arrays in trace} > {0, 3}, "the arrays of the kernel were seen"
    assert set(threads) == {2}


@pytest.mark.parametrize("other", REGISTERS)
def test_scores_that_differ_in_everything_make_the_same_work(other: str, tmp_path: Path, threads: list[int]) -> None:
    records = loaded(crowded(PEOPLE), tmp_path)
    (tmp_path / "other").mkdir()

    trace = trace_of(with_score(records, crowded(PEOPLE), tmp_path), scored())

    assert trace_of(with_score(records, REGISTERS[other], tmp_path / "other"), scored()) == trace
    assert set(threads) == {2}


@pytest.mark.parametrize("people", [70_000, CHUNK_RECORDS_MAX - 1], ids=["three chunks", "one chunk"])
def test_one_more_person_makes_every_array_longer_by_one_at_most(
    people: int, tmp_path: Path, threads: list[int]
) -> None:
    """Half have one value, cut just below it; the one more has the one value that nobody else has."""
    (tmp_path / "more").mkdir()
    values = crowded(people)

    here = trace_of(loaded(values, tmp_path), one_rule())
    there = trace_of(loaded(np.append(values, 2 * V), tmp_path / "more"), one_rule())

    assert [line[:2] for line in there] == [line[:2] for line in here]
    lengths = [
        (there_arrays[name], shape)
        for (_, _, here_arrays), (_, _, there_arrays) in zip(here, there, strict=True)
        for name, shape in here_arrays.items()
    ]
    assert all(sum(more) - sum(fewer) in (0, 1) for more, fewer in lengths)


def test_one_chunk_is_handed_to_the_threads_as_two_are(tmp_path: Path, threads: list[int]) -> None:
    for number, people in enumerate((100, CHUNK_RECORDS_MAX, CHUNK_RECORDS_MAX + 1)):
        (tmp_path / str(number)).mkdir()
        trace_of(loaded(crowded(people), tmp_path / str(number)), one_rule())

    assert threads == [1, 1, 1, 1, 2, 2]
