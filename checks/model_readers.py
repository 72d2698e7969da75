"""Random models behind random preprocessing, read, and compared with their makers.

`python -m checks.model_readers` reads 200 invented models of each kind, and compares each with its maker's own
`predict` on people that the reader did not see: random ones with missing and unseen values, others on and beside every
threshold, and pairs of neighbouring people between whom the maker's decision turns. For trees no decision may differ;
for terms and layers none further from the threshold than the stated bound. The exit status is 1 if one does, or if a
model is refused that should be read.

`--kinds forest,linear` chooses kinds, `--models` how many of each, `--first` the first seed.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from auditor_client.errors import ModelRefused
from auditor_client.models import checking
from auditor_client.models.checking import Agreement, Ask, compare
from auditor_client.models.domains import Line
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.sklearn_scores import one_job, read_uncompared
from shared.contract.schema import Schema
from testing.invented.classifiers import KINDS, Kind, invent_classifier
from testing.invented.models import SCHEMA, people

Read = Callable[[int], tuple[ReadModel, Schema, Ask]]
"""From a seed to a model that was read, and whom to compare it with."""

_EXPECTED: Final = ("leave `clip` out", "there is nothing to ask")
"""Of refusals: clipping that acts is no term, and some random models decide the same about everybody."""
_PAIRS: Final = 40
_STEPS: Final = 70


@dataclass(frozen=True, slots=True)
class Tally:
    """What many comparisons gave.

    Attributes:
        models: How many models were read.
        refused: How many were refused, and why the first was.
        records: On how many records they were compared.
        differing, outside, inside: Of all comparisons together; see `Agreement`.
        share_of_bound: The largest difference of scores as a share of its bound; None if nothing has a bound.
    """

    models: int = 0
    refused: tuple[str, ...] = ()
    records: int = 0
    differing: int = 0
    outside: int = 0
    inside: int = 0
    share_of_bound: float | None = None

    def with_comparison(self, found: Agreement) -> "Tally":
        """One more model."""
        share = self.share_of_bound
        if found.bound and found.largest is not None:
            share = max(share or 0.0, found.largest / found.bound)
        return replace(
            self, models=self.models + 1, records=self.records + found.probes,
            differing=self.differing + found.differing, outside=self.outside + found.outside,
            inside=self.inside + found.inside, share_of_bound=share,
        )  # fmt: skip


def of_kind(kind: Kind) -> Read:
    """Models of a kind of scikit-learn's."""

    def read(seed: int) -> tuple[ReadModel, Schema, Ask]:
        invented = invent_classifier(kind, seed)
        found, schema, ask = read_uncompared(
            invented.model, ModelRequest(SCHEMA, invented.favourable, columns=invented.columns)
        )

        def in_one_job(records: Invented) -> Any:
            with one_job(invented.model):
                return ask(records)

        return found, schema, in_one_job

    return read


READERS: Final[Mapping[str, Read]] = {name: of_kind(kind) for name, kind in KINDS.items()}
"""By name, what is read; readers of other makers add theirs here."""


def check_one(read: Read, seed: int, *, count: int = 4000) -> Agreement:
    """Read one model, and compare it on people that the reader did not invent for itself."""
    found, schema, ask = read(seed)
    documents = checking.documents_of(found)
    drawn = invent(documents, schema, count, predicates=checking.predicates_of(found.tree), seed=1_000_003 + seed)
    draw = np.random.default_rng(seed)
    if schema is SCHEMA:
        drawn = joined([drawn, as_invented(people(draw, 200, unseen=True), schema)])
    return compare(found, schema, ask, joined([drawn, *neighbours(drawn, schema, ask, draw)]))


def tally(read: Read, seeds: Iterable[int], *, count: int = 4000) -> Tally:
    """Read and compare many models."""
    found = Tally()
    for seed in seeds:
        try:
            found = found.with_comparison(check_one(read, seed, count=count))
        except ModelRefused as refusal:
            found = replace(found, refused=(*found.refused, f"seed {seed}: {refusal}"))
    return found


def as_invented(records: Sequence[Mapping[str, Any]], schema: Schema) -> Invented:
    """People column by column."""
    values = {}
    for column in schema.columns:
        if not (column.sensitive or column.label):
            listed = [person[column.name] for person in records]
            values[column.name] = np.array(listed, np.float64 if column.ordered else object)
    return Invented(len(records), values)


def joined(parts: Sequence[Invented]) -> Invented:
    """Some people and more people."""
    names = parts[0].values
    return Invented(
        sum(part.count for part in parts),
        {name: np.concatenate([part.values[name] for part in parts]) for name in names},
    )


def neighbours(records: Invented, schema: Schema, ask: Ask, draw: np.random.Generator) -> list[Invented]:
    """Pairs who differ by the smallest step of one number, and about whom the maker decides differently.

    One person is changed into another, of whom the maker thinks otherwise, column by column; the column in which the
    decision turns is then searched by bisection.
    """
    decided = ask(records).favourable
    yes, no = np.flatnonzero(decided), np.flatnonzero(~decided)
    if not (len(yes) and len(no)):
        return []
    first = _rows(records, draw.choice(yes, _PAIRS))
    second = _rows(records, draw.choice(no, _PAIRS))
    changed: dict[str, Any] = {name: values.copy() for name, values in first.values.items()}
    found = []
    for name in draw.permutation(list(changed)).tolist():
        before = changed[name].copy()
        changed[name] = second.values[name].copy()
        turned = np.flatnonzero(~ask(Invented(_PAIRS, changed)).favourable)
        column = schema.by_name[name]
        if column.ordered and len(turned):
            ends = [before[turned].astype(np.float64), changed[name][turned].astype(np.float64)]
            known = ~(np.isnan(ends[0]) | np.isnan(ends[1]))
            base = _rows(Invented(_PAIRS, changed), turned[known])
            found += _bisected(base, Line(column), [end[known].tolist() for end in ends], ask)
        changed[name][turned] = before[turned]  # these pairs stay where they last agreed
    return found


def _bisected(base: Invented, line: Line, ends: list[list[float]], ask: Ask) -> list[Invented]:
    if not base.count:
        return []
    name = line.column.name
    yes, no = ([line.key(value) for value in end] for end in ends)
    for _ in range(_STEPS):
        middle = [(one + other) // 2 for one, other in zip(yes, no, strict=True)]
        values = np.array([line.value(key) for key in middle], np.float64)
        answers = ask(Invented(base.count, {**base.values, name: values})).favourable.tolist()
        yes = [key if answer else one for key, answer, one in zip(middle, answers, yes, strict=True)]
        no = [one if answer else key for key, answer, one in zip(middle, answers, no, strict=True)]
        if all(abs(one - other) <= 1 for one, other in zip(yes, no, strict=True)):
            break
    return [
        Invented(base.count, {**base.values, name: np.array([line.value(key) for key in keys], np.float64)})
        for keys in (yes, no)
    ]


def _rows(records: Invented, rows: Any) -> Invented:
    return Invented(len(rows), {name: values[rows] for name, values in records.values.items()})


def main(arguments: list[str] | None = None) -> int:
    """Run the check; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--kinds", default=",".join(READERS), help="by name, separated by commas")
    options = parser.parse_args(arguments)
    console = Console()
    table = Table("kind", "models", "refused", "records", "differ", "outside", "inside", "largest / bound", "s")
    failed = False
    names = [name for name in READERS if name in options.kinds.split(",") or options.kinds == ",".join(READERS)]
    for name in names:
        started = time.monotonic()
        seeds = range(options.first, options.first + options.models)
        shown = track(seeds, name, console=console, transient=True)
        found = tally(READERS[name], shown, count=options.records)
        exact = name in KINDS and KINDS[name].exact
        surprising = [one for one in found.refused if not any(expected in one for expected in _EXPECTED)]
        failed |= bool(surprising or found.outside or (exact and found.differing and not found.share_of_bound))
        share = "–" if found.share_of_bound is None else f"{found.share_of_bound:.3f}"
        figures = (found.models, len(found.refused), found.records, found.differing, found.outside, found.inside)
        table.add_row(name, *map(str, figures), share, f"{time.monotonic() - started:.0f}")
        console.print(
            f"{name}: {found.models} read, {len(found.refused)} refused; of {found.records} records {found.differing} "
            f"differ, {found.outside} outside the bound, {found.inside} inside; largest / bound {share}"
        )
        for refusal in found.refused[:3]:
            console.print(f"{name}: {refusal}", style="red")
    console.print(table)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
