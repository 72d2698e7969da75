"""Score documents that are meant to hurt: refused with a word, or computed as the reference says.

`python -m checks.score_documents --documents 5000`

Sound documents of every kind are changed at random, bytes and values. What is still a document, and fits the schema,
is computed by the holder for some people and compared with the reference, bit for bit. Then come documents made by
hand, each of which has to be refused. The process's memory is read when it is warm and at the end.
"""

import argparse
import collections
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter, ValidationError
from rich.console import Console

from checks.changed_documents import changed
from holder_service.records.encoded import Records
from holder_service.records.scoring import score_values
from shared.contract.schema import Column
from shared.scores.documents import Document, check_document, values_of
from shared.scores.values import score_value
from shared.wire import limits
from shared.wire.problems import PlanRefused
from testing.encoded_records import encoded_people
from testing.invented.documents import SCHEMA, Person, invented_document, invented_people

READ: Final = TypeAdapter[Document](Document)
WARM_UP: Final = 200
PEOPLE: Final = 12


@dataclass
class Tried:
    """What came of some documents.

    Attributes:
        ends: How many were refused as no document, refused as unfit, and computed.
        failures: What the holder computed otherwise than the reference, or what failed in another way.
        slowest_s: The longest that one took, once the loops were compiled.
        memory_mb: The most that the process had resident when it was warm, and at the end.
    """

    ends: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    memory_mb: tuple[float, float] = (0.0, 0.0)


def fuzz(number: int, seed: int) -> Tried:
    """Change so many documents, and try them."""
    tried, rng = Tried(), random.Random(seed)
    warm_mb = 0.0
    with tempfile.TemporaryDirectory() as folder:
        people = invented_people(PEOPLE, rng)
        records = encoded_people(Path(folder), SCHEMA, people)
        for index in range(number):
            if index == min(WARM_UP, number // 2):
                warm_mb, tried.slowest_s = _memory_mb(), 0.0
            sound = invented_document(rng).model_dump(mode="json", exclude_none=True)
            body = changed(sound, rng)
            start_s = time.perf_counter()
            end = _try(body, records, people)
            tried.slowest_s = max(tried.slowest_s, time.perf_counter() - start_s)
            tried.ends[end.partition(":")[0]] += 1
            if end.startswith("failed"):
                tried.failures.append(f"{end}: {body[:2000]!r}")
    tried.memory_mb = (warm_mb, _memory_mb())
    return tried


def refused(body: bytes) -> bool:
    """Whether a document is refused, as it is read or by the schema."""
    try:
        check_document(READ.validate_json(body), SCHEMA)
    except (ValidationError, PlanRefused):
        return True
    return False


def by_hand() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Documents that have to be refused: what is wrong with each, and what writes it, for some are large."""
    test = {"column": "share", "op": "le", "value": 0.5}
    leaf = {"tests": [], "yes": [], "no": [], "values": [1.0]}
    trees = {"kind": "trees", "precision": "float64", "tests": [test], "trees": [leaf]}
    terms = {"kind": "terms", "precision": "float64", "terms": []}

    def tree(**fields: Any) -> dict[str, Any]:
        return {**trees, "trees": [{"tests": [0, 0], "yes": [1, -1], "no": [-1, -2], "values": [1.0, 2.0], **fields}]}

    def layer(inputs: int, units: int) -> dict[str, Any]:
        return {"weights": [[0] * inputs] * units, "bias": [0] * units, "activation": "relu"}

    depth = limits.SCORE_TREE_DEPTH_MAX + 1
    chain = {"tests": [0] * depth, "yes": [*range(1, depth), -1], "no": [-1] * depth, "values": [1.0]}
    share = {"columns": ["share"], "slope": 1.0}
    network = {"kind": "layers", "precision": "float64", "inputs": [share] * 1100}
    for name, document in {
        "a million trees": {**trees, "trees": [leaf] * 1_000_000},
        "a cycle": tree(yes=[1, 0]),
        "a node that follows itself": tree(yes=[0, -1]),
        "a child that is not there": tree(no=[-1, -3]),
        "a path of 257 tests": {**trees, "trees": [chain]},
        "a threshold that is no number": {**trees, "tests": [{**test, "value": float("nan")}]},
        "an infinite leaf": {**trees, "trees": [{**leaf, "values": [float("inf")]}]},
        "a leaf beyond float32": {**trees, "trees": [{**leaf, "values": [1e39]}]},
        "a billion steps in layers": {**network, "layers": [layer(1100, 1100), layer(1100, 1)]},
        "more nodes than are admitted": {
            **trees, "trees": [{"tests": [0] * 65_000, "yes": [-1] * 65_000, "no": [-1] * 65_000, "values": [0.0]}] * 9,
        },
        "choices within choices": {
            "kind": "choice", "categories": ["a", "b"],
            "of": [{"kind": "choice", "categories": ["a", "b"], "of": [terms, terms]}, terms],
        },
        "a table that does not fit": {
            **terms, "terms": [{"axes": [{"column": "share", "cuts": [0.0]}], "table": [1.0]}],
        },
        "cuts that do not ascend": {
            **terms, "terms": [{"axes": [{"column": "share", "cuts": [0.0, 0.0]}], "table": [1.0] * 3}],
        },
        "a column that nobody has": {**trees, "tests": [{**test, "column": "nobody"}]},
        "a sensitive column": {**trees, "tests": [{"column": "sex", "op": "eq", "value": "male"}]},
        "code": {**terms, "terms": [{"python": "import os"}]},
    }.items():  # fmt: skip
        yield name, partial(_written, document)
    yield "lists within lists", lambda: b'{"kind": "trees", "trees": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def _written(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


def _try(body: bytes, records: Records, people: Sequence[Person]) -> str:
    """How a document ends; "failed" for whatever is a fault of ours."""
    try:
        document = READ.validate_json(body)
        check_document(document, SCHEMA)
    except ValidationError:
        return "refused as it is read"
    except PlanRefused:
        return "refused by the schema"
    except Exception as error:  # noqa: BLE001 - that there is none other is what is checked
        return f"failed: {error!r}"
    said: tuple[Any, ...] = values_of(document)
    kinds = {type(value) for value in said}
    if kinds not in (set(), {str}, {bool}) and kinds & {str, bool}:
        return "refused by the column"
    if kinds == {str}:
        column = Column(name="score", type="category", categories=tuple(sorted(said)), nullable=True)
    else:
        column = Column(name="score", type="boolean" if kinds == {bool} else "number", nullable=True)
    try:
        found = np.concatenate(list(score_values(document, column, records))).astype(np.float64)
        values = [score_value(document, person) for person in people]
    except Exception as error:  # noqa: BLE001 - the same
        return f"failed: {error!r}"
    listed = (*column.values, None)
    expected = [np.inf if value is None else value for value in values] if column.ordered else map(listed.index, values)
    same = np.array(list(expected), dtype=np.float64).tobytes() == found.tobytes()
    return "computed" if same else "failed: other values than the reference's"


def _memory_mb() -> float:
    """The most that the process had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print what came of the documents; end with status 1 if one failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--documents", type=int, default=5000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    tried = fuzz(given.documents, given.seed)
    admitted = [name for name, write in by_hand() if not refused(write())]
    console = Console()
    for end, number in tried.ends.most_common():
        console.print(f"{number:6} {end}")
    console.print(
        f"slowest {tried.slowest_s:.2f} s; memory {tried.memory_mb[0]:.0f} MB warm, {tried.memory_mb[1]:.0f} MB"
    )
    console.print(f"made by hand and admitted: {admitted or 'none'}")
    for failure in tried.failures:
        console.print(failure, markup=False)
    raise SystemExit(bool(tried.failures or admitted))


if __name__ == "__main__":
    main()
