"""The holder's scores are the reference's, bit for bit, on every record."""

import random
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holder_service.records import encoded, score_trees, scoring
from holder_service.records.encoded import Records, encode_column
from holder_service.records.scoring import Scores, score_values
from shared.contract.schema import Column
from shared.scores.documents import Document, values_of
from shared.scores.values import score_value
from testing.encoded_records import encoded_people
from testing.invented.documents import SCHEMA, Person, invented_document, invented_list, invented_people


def column_of(document: Document) -> Column:
    """The derived column of a document."""
    said: tuple[Any, ...] = values_of(document)
    if not said or not isinstance(said[0], bool | str):
        return Column(name="score", type="number", nullable=True)
    if isinstance(said[0], bool):
        return Column(name="score", type="boolean", nullable=True)
    return Column(name="score", type="category", categories=(*sorted(said), "other"), nullable=True)


def found(document: Document, records: Records) -> list[bytes]:
    values = score_values(document, column_of(document), records)
    return [struct.pack("<d", value + 0.0) for chunk in values for value in chunk.astype(np.float64)]


def expected(document: Document, people: Sequence[Person]) -> list[bytes]:
    column = column_of(document)
    values = [score_value(document, person) for person in people]
    if column.ordered:
        return [struct.pack("<d", np.inf if value is None else float(value) + 0.0) for value in values]
    return [struct.pack("<d", (*column.values, None).index(value)) for value in values]


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_scores_are_the_references_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    people = invented_people(30, rng)
    records = encoded_people(tmp_path_factory.mktemp("records"), SCHEMA, people)

    for _ in range(8):
        document = invented_document(rng)
        assert found(document, records) == expected(document, people)


@pytest.mark.slow
@pytest.mark.parametrize("step_nodes", [0, 64], ids=["walked", "chosen"])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_scores_are_the_same_in_chunks_of_every_size_and_in_every_order(
    size: int, step_nodes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_trees, "STEP_NODES", step_nodes)
    monkeypatch.setattr(score_trees, "BLOCK_RECORDS_MIN", 1)
    monkeypatch.setattr(encoded, "CHUNK_RECORDS_MAX", size)
    rng = random.Random(size)
    people = invented_people(40, rng)
    order = rng.sample(range(len(people)), len(people))
    (tmp_path / "shuffled").mkdir()
    records = encoded_people(tmp_path, SCHEMA, people)
    shuffled = encoded_people(tmp_path / "shuffled", SCHEMA, [people[index] for index in order])
    assert len(records.chunks) == -(-40 // size)

    for block in (1, 7, 2048):
        monkeypatch.setattr(score_trees, "BLOCK_RECORDS", block)
        monkeypatch.setattr(scoring, "NUMBERS_AT_ONCE", 4 * block)
        for _ in range(15):
            document = invented_document(rng)
            values = expected(document, people)
            assert found(document, records) == values
            assert found(document, shuffled) == [values[index] for index in order]


def test_scores_are_the_same_on_any_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "CHUNK_RECORDS_MAX", 50)
    rng = random.Random(3)
    records = encoded_people(tmp_path, SCHEMA, invented_people(1000, rng))

    for _ in range(10):
        scores = Scores.compiled(invented_document(rng), records)
        alone = [scores.of(chunk).values.tobytes() for chunk in records.chunks]
        for threads in (2, 8):
            with ThreadPoolExecutor(threads) as pool:
                assert [one.values.tobytes() for one in pool.map(scores.of, records.chunks)] == alone


def test_a_column_of_scores_can_be_asked_about(tmp_path: Path) -> None:
    rng = random.Random(4)
    people = invented_people(300, rng)
    records = encoded_people(tmp_path, SCHEMA, people)
    document = invented_list(rng)
    column = column_of(document)

    encode_column(column, score_values(document, column, records), tmp_path / "score")

    with_scores = records.with_column(column, tmp_path / "score")
    values = [value for chunk in with_scores.chunks for value in with_scores.values(chunk, "score")]
    assert [struct.pack("<d", value) for value in values] == expected(document, people)
