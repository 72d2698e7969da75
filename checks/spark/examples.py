"""Invented datasets, plans, derived columns and divisions of files, for engines that have to count alike."""

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from hypothesis import strategies as st

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.engines import DerivedFile, DerivedValues, EncodedVersion, Engine
from holder_service.records.files import RecordFiles
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.linked import read_linked
from shared.contract.rules import Cell
from shared.contract.schema import Column, Schema, Value
from shared.scores.columns import DerivedColumn, extended
from shared.scores.documents import Axis, Case, Product, RuleList, RuleTerm, TableTerm, Term, Terms
from testing.invented.plans import cells, distinguishing_values, rules, schemas

CSV: Final = "text/csv"
_ARROW_TYPES: Final = {"integer": pa.float64(), "number": pa.float64(), "category": pa.string(), "boolean": pa.bool_()}
DECISION: Final = Column(name="decided", type="category", categories=("granted", "refused"), nullable=True)

AT_TIMES_AGGREGATE: Final = st.sampled_from((False, False, True))

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Example:
    """A dataset in files, and a question about it.

    Attributes:
        schema: Declared columns.
        people: By column the values of all, missing ones included.
        stands_for: Of an aggregate table, how many people each of its rows stands for; else `None`.
        cuts: Where one file ends and the next begins, ascending.
        as_parquet: Which kind of files they are.
        piece: About how many people are in a part of a file that a worker reads by itself.
        scores: Derived columns that are computed.
        linked: Whom a value was sent for, and which; a quarter of them are in no record. Nobody in an aggregate table.
        cells: Over declared and derived columns.
    """

    schema: Schema
    people: dict[str, list[Value | None]]
    stands_for: list[int] | None
    cuts: tuple[int, ...]
    as_parquet: bool
    piece: int
    scores: tuple[DerivedColumn, ...]
    linked: dict[str, Value]
    cells: tuple[Cell, ...]

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Classes of disjoint cells."""
        return disjoint_classes(self.cells, extended(self.schema, _derived(self.schema, self.scores), reads={}))

    def tables(self) -> Iterator[pa.Table]:
        """The people of each file."""
        keys: pa.Array = pa.array([f"p{number}" for number in range(self.number)], pa.string())
        if self.stands_for is not None:
            keys = pa.array(self.stands_for, pa.int32())
        arrays = {
            name: pa.array(values, _ARROW_TYPES[self.schema.by_name[name].type]) for name, values in self.people.items()
        }
        whole = pa.table({self.schema.row_column: keys, **arrays})
        ends = [0, *self.cuts, self.number]
        for begin, end in itertools.pairwise(ends):
            yield whole.slice(begin, end - begin)

    @property
    def number(self) -> int:
        """How many people there are."""
        return len(next(iter(self.people.values())))

    def with_a_row_each(self) -> "Example":
        """An aggregate table as one in which everybody has a row and a key."""
        times = self.stands_for or []
        people = {
            name: [value for value, often in zip(values, times, strict=True) for _ in range(often)]
            for name, values in self.people.items()
        }
        schema = self.schema.model_copy(update={"people": None, "person_key": "person"})
        return replace(self, schema=schema, people=people, stands_for=None, cuts=())

    def write(self, folder: Path) -> int:
        """Write the files into a folder; gives how many bytes a part of one has."""
        for index, table in enumerate(self.tables()):
            if self.as_parquet:
                pa.parquet.write_table(table, folder / f"part-{index:03}.parquet", row_group_size=self.piece)
            else:
                write_csv(table, folder / f"part-{index:03}.csv")
        largest = max((path.stat().st_size for path in folder.iterdir()), default=1)
        return max(largest * self.piece // max(self.number, 1), 1)

    def linked_column(self) -> tuple[DerivedColumn, bytes]:
        """The linked column, and the file of its values."""
        lines = (f"{person},{value}\n" for person, value in self.linked.items())
        content = f"{self.schema.row_column},value\n{''.join(lines)}".encode()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        asked = {**DECISION.model_dump(exclude_defaults=True), "from": "linked", "values": digest}
        return DerivedColumn.model_validate(asked), content


def write_csv(table: pa.Table, path: Path) -> None:
    """Write people as the strict format has them: nothing for missing, and numbers as JSON writes them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(table.column_names) + "\n")
        for row in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True):
            file.write(",".join(map(_field, row)) + "\n")


def _field(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return str(value).lower() if isinstance(value, bool) else repr(value)


@st.composite
def examples(
    draw: st.DrawFn, *, people_max: int = 400, aggregate: st.SearchStrategy[bool] = AT_TIMES_AGGREGATE
) -> Example:
    """Any columns, missing values where they may be, one or two scores, linked values, cells that may overlap."""
    schema = draw(schemas(features=3))
    if draw(aggregate):
        schema = schema.model_copy(update={"person_key": None, "people": "people"})
    rng = random.Random(draw(st.integers(0, 2**32)))
    number = draw(st.one_of(st.integers(0, 3), st.integers(0, people_max)))
    people = {column.name: rng.choices(distinguishing_values(column), k=number) for column in schema.columns}
    scores = (_terms(schema, rng, draw(rules(schema))), _list(draw(st.lists(rules(schema), max_size=4))))
    derived = _derived(schema, scores)
    known = [] if schema.is_aggregate else [f"p{index}" for index in range(number) if rng.random() < 0.6]
    strangers = [f"stranger{index}" for index in range(len(known) // 3 + 1)]
    return Example(
        schema=schema,
        people=people,
        stands_for=rng.choices((1, 1, 2, 3, 40), k=number) if schema.is_aggregate else None,
        cuts=tuple(sorted(rng.choices(range(number + 1), k=draw(st.integers(0, 4))))),
        as_parquet=draw(st.booleans()),
        piece=draw(st.integers(1, people_max)),
        scores=scores,
        linked={person: rng.choice(DECISION.values) for person in (*known, *strangers)},
        cells=tuple(draw(cells(extended(schema, derived, reads={}), cells_max=6))),
    )


def _derived(schema: Schema, scores: Sequence[DerivedColumn]) -> dict[str, Column]:
    """The derived columns that cells may name."""
    linked = {} if schema.is_aggregate else {DECISION.name: DECISION}
    return {one.name: one.column for one in scores} | linked


def _terms(schema: Schema, rng: random.Random, rule: Any) -> DerivedColumn:
    """A sum over all columns that are not sensitive."""
    terms: list[Term] = [RuleTerm(rule=rule, value=2.5)]
    for column in schema.columns:
        if column.sensitive:
            continue
        if column.ordered:
            terms.append(Product(columns=(column.name,), slope=rng.choice((1.0, -0.5)), missing=0.25))
        else:
            axis = Axis(column=column.name, values=column.values, missing=column.nullable)
            terms.append(TableTerm(axes=(axis,), table=tuple(rng.choice((0.0, 1.0, 7.0)) for _ in range(axis.size))))
    document = Terms(kind="terms", precision="float64", base=0.0, terms=tuple(terms))
    return DerivedColumn.model_validate(
        {"name": "score", "type": "number", "nullable": True, "from": {"score": document.model_dump(mode="json")}}
    )


def _list(tried: Sequence[Any]) -> DerivedColumn:
    """The first rule that matches decides."""
    said = ("yes", "no", "perhaps")
    cases = tuple(Case(rule=rule, value=said[index % 3]) for index, rule in enumerate(tried))
    document = RuleList(kind="list", cases=cases, otherwise="no")
    categories = [word for word in said if word == "no" or any(case.value == word for case in cases)]
    return DerivedColumn.model_validate(
        {
            "name": "said", "type": "category", "categories": categories,
            "from": {"score": document.model_dump(mode="json", exclude_none=True)},
        }
    )  # fmt: skip


def counted_by(engine: Engine, files: RecordFiles, example: Example, source: Upload | RecordsUrl, name: str) -> Counts:
    """Load an example, make its derived columns, count, and take everything away."""
    engine.load(source, example.schema, records_max=10**6, name=name)
    people = sent = None
    asked_columns: list[tuple[DerivedColumn, str | None]] = [(score, None) for score in example.scores]
    if example.schema.person_key is not None:
        people, sent = engine.join(name, None), f"{name}-values"
        linked, content = example.linked_column()
        (files.incoming / name).write_bytes(content)
        read_linked(
            files.incoming / name, CSV, linked, person_key=example.schema.person_key, secret=files.secret,
            destination=files.linked / sent,
        )  # fmt: skip
        asked_columns.append((linked, sent))
    engine.forget(name)
    version = EncodedVersion(name, name, example.schema)
    derived = []
    for index, (asked, linked_file) in enumerate(asked_columns):
        values = DerivedValues(asked.model_dump_json(by_alias=True), linked_file, f"{name}{index}")
        engine.make_column(version, values, apart=lambda work, *arguments: work(*arguments))
        derived.append(DerivedFile(asked.column, values.name))
    whole = EncodedVersion(name, name, example.schema, tuple(derived))
    counts = engine.count(whole, example.cells, example.classes, example.schema.sensitive).reveal_to_mechanism()
    for one in derived:
        files.remove(derived=one.name)
    files.remove(records=name, people=people, linked=sent)
    return counts
