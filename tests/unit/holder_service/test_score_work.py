"""What computing a score does is the same whatever the records are: every line that runs, and the shape of every array.

The compiled loops run as the Python that they are compiled from, so that their lines are seen.
"""

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import holder_service.records
import shared.scores.arrays
from holder_service.records import score_loops, score_trees, scoring
from holder_service.records.encoded import Records
from holder_service.records.scoring import score_values
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.scores.documents import Document, ScoreTree, Trees
from testing.encoded_records import encoded_people
from testing.invented.documents import (
    SCHEMA,
    Person,
    invented_choice,
    invented_layers,
    invented_list,
    invented_people,
    invented_terms,
    invented_trees,
)

KERNEL = (str(Path(holder_service.records.__file__).parent), shared.scores.arrays.__file__)
PEOPLE = 16
COLUMN = Column(name="score", type="category", categories=("a", "b", "c", "d", "yes", "no", "perhaps"), nullable=True)
NUMBER = Column(name="score", type="number", nullable=True)

Trace = list[tuple[str, int, dict[str, tuple[int, ...]]]]


@pytest.fixture(autouse=True)
def _not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_trees, "add_trees", lambda: score_loops._add_trees)
    monkeypatch.setattr(scoring, "scale_by_rank", lambda: score_loops._scale_by_rank)
    monkeypatch.setattr(score_trees, "BLOCK_RECORDS", PEOPLE)
    monkeypatch.setattr(score_trees, "BLOCK_RECORDS_MIN", 1)


def alike() -> list[Person]:
    """Everybody as the first person is, with nothing missing."""
    [person] = invented_people(1, random.Random(1))
    filled = {name: value if value is not None else invented(name) for name, value in person.items()}
    return [filled] * PEOPLE


def invented(name: str) -> Any:
    column = SCHEMA.by_name[name]
    return column.values[0] if not column.ordered else 1


def missing() -> list[Person]:
    """Whatever may be missing is."""
    return [
        {name: None if SCHEMA.by_name[name].nullable else value for name, value in person.items()}
        for person in invented_people(PEOPLE, random.Random(2))
    ]


REGISTERS = {"alike": alike(), "missing": missing(), "others": invented_people(PEOPLE, random.Random(3))}


def documents() -> Sequence[Document]:
    rng = random.Random(5)
    kinds = (invented_trees, invented_terms, invented_layers, invented_choice)
    return [kind(rng) for kind in kinds for _ in range(2)] + [
        document for document in (invented_list(rng) for _ in range(6)) if isinstance(document.otherwise, str)
    ]


def trace_of(records: Records, document: Document) -> Trace:
    trace: Trace = []

    def tracer(frame: FrameType, _event: str, _value: object) -> Any:
        if not frame.f_code.co_filename.startswith(KERNEL):
            return None
        arrays = {
            name: value.shape
            for name, value in frame.f_locals.items()
            if isinstance(value, np.ndarray) and all(value is not mapped for mapped in records.doubles.values())
        }
        trace.append((frame.f_code.co_qualname, frame.f_lineno, arrays))
        return tracer

    column = COLUMN if document.kind in ("list", "choice") else NUMBER
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        list(score_values(document, column, records))
    finally:
        sys.settrace(before)
    return trace


@pytest.fixture(scope="module")
def registers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Records]:
    people = {"first": invented_people(PEOPLE, random.Random(4)), **REGISTERS}
    return {name: encoded_people(tmp_path_factory.mktemp(name), SCHEMA, some) for name, some in people.items()}


@pytest.mark.slow
@pytest.mark.parametrize("step_nodes", [0, 64], ids=["walked", "chosen"])
@pytest.mark.parametrize("other", REGISTERS)
def test_registers_that_differ_in_everything_make_the_same_work(
    other: str, step_nodes: int, registers: dict[str, Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_trees, "STEP_NODES", step_nodes)

    for document in documents():
        trace = trace_of(registers["first"], document)
        assert trace_of(registers[other], document) == trace
        assert len(trace) > 100, "the lines of the kernel were seen"


def test_a_walk_that_ends_early_would_be_noticed(
    registers: dict[str, Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a loop over those records only that have not arrived."""

    def early(total: Any, codes: Any, tests: Any, trees: Any, block: int) -> None:
        del block
        for index in range(len(total)):
            row = trees.begins[0]
            while trees.nodes[row, 1] != row - trees.begins[0]:
                test = trees.nodes[row, 0]
                within = codes[tests.row[test], index] - tests.first[tests.run[test]] < tests.width[tests.run[test]]
                row = trees.begins[0] + trees.nodes[row, 1 if within else 2]
            total[index] += trees.values[trees.nodes[row, 3]]

    early.__code__ = early.__code__.replace(co_filename=score_loops.__file__)
    monkeypatch.setattr(score_trees, "STEP_NODES", 0)
    monkeypatch.setattr(score_trees, "add_trees", lambda: early)
    tests = (Predicate(column="share", op="le", value=0.5), Predicate(column="share", op="le", value=0.1))
    tree = ScoreTree(tests=(0, 1), yes=(1, -1), no=(-2, -3), values=(0.0, 1.0, 2.0))
    document = Trees(kind="trees", precision="float64", tests=tests, trees=(tree,))

    assert trace_of(registers["first"], document) != trace_of(registers["alike"], document)
