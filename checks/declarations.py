"""Random declarations of one population or two through the real service, and what one person's change then moves.

`python -m checks.declarations` puts 20 000 triples through the real service. None that the service takes may let a
change of one person's sensitive values move a count further than `sensitive_attribute` says; the exit status is 1 if
one does. With `--unchecked` the service checks nothing: that is the negative control, which has to find some.

A *triple* is three declarations, first or again, with charges, retirements and merges in between and a charge of every
dataset at the end. A charge is the ledger's entry alone, written as a release writes it: what was released follows from
the declaration at that time, so no records are needed.

The oracle knows nothing of how the service decides. It takes what was declared when losses were charged, makes one
person of every column's first two values, and changes every sensitive column of the population in every way.
"""

import argparse
import itertools
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from rich.console import Console
from rich.progress import track
from rich.table import Table

from holder_service.domain.errors import HolderError
from holder_service.domain.ledger import Balance, Event
from holder_service.services.accounts import populations
from holder_service.services.datasets import datasets as service
from holder_service.services.ledger.store import Transaction
from holder_service.services.running.holder import Holder, initialise
from holder_service.storage import datasets, ledger
from shared.contract.datasets import DatasetDeclaration
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Schema
from shared.privacy.amounts import Loss
from testing.holders import settings_in

ACTOR: Final = "administrator"
NAMES: Final = ("age", "sex", "origin")
SETS: Final = ("first", "second", "third")
_YES_NO: Final[dict[str, Any]] = {"type": "boolean"}
_THREE: Final[dict[str, Any]] = {"type": "category", "categories": ["a", "b", "c"]}
_KEPT: Final = ("0.75", "0.9")
_ROWS: Final = ({"person_key": "id"}, {"person_key": "id"}, {"people": "number"})
"""Rows are people, or stand for several: one person is one of a row's, and moves as much."""
_RELATIONS: Final = ("sensitive_attribute",) * 5 + ("add_remove", "replace")

_Values = dict[str, int]
_Counts = Counter[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Excess:
    """A count that one person's change moves further than the relation says.

    Attributes:
        dataset: In whose release.
        changed: The columns in which the person differs.
        moved: By how many people the counts differ in all.
        allowed: What the relation says.
    """

    dataset: str
    changed: tuple[str, ...]
    moved: int
    allowed: int


@dataclass(slots=True)
class _People:
    """What was released about a population, and what was sensitive in it from the first charge on."""

    released: list[tuple[str, Schema]] = field(default_factory=list)
    sensitive: set[str] = field(default_factory=set)
    perturbed: set[tuple[str, object]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a triple: what was done, what the service refused, and the excesses of what it took."""

    done: tuple[str, ...]
    refused: tuple[str, ...]
    excesses: tuple[Excess, ...]


def triple(holder: Holder, number: int, seed: int) -> Outcome:
    """Make the triple of a number through a real holder, and see what a person moves in it.

    Args:
        holder: It may have other triples: each has datasets and populations of its own.
        number: Of the triple, in their names.
        seed: Of all triples.
    """
    source = random.Random(f"{seed}-{number}")
    trace = _Trace(holder, source, f"-{number}")
    for _ in range(3):
        trace.declare()
        for step in (trace.charge, trace.retire, trace.merge):
            if source.random() < {trace.charge: 0.5, trace.retire: 0.15, trace.merge: 0.3}[step]:
                step()
    trace.charge_all()
    return Outcome(tuple(trace.done), tuple(trace.refused), tuple(trace.excesses()))


class _Trace:
    """One triple under way."""

    def __init__(self, holder: Holder, source: random.Random, suffix: str) -> None:
        self.done: list[str] = []
        self.refused: list[str] = []
        self._holder = holder
        self._source = source
        self._sets = [name + suffix for name in SETS]
        self._populations = ["people" + suffix, "others" + suffix]
        self._relation = source.choice(_RELATIONS)
        self._people: dict[str, _People] = {}

    def declare(self) -> None:
        name = self._source.choice(self._sets)
        # Somebody who declares again rarely means another population, which is always refused.
        declared = [dataset for dataset in self._declared() if dataset.name == name]
        population = declared[0].population if declared else self._source.choice(self._populations)
        declaration = DatasetDeclaration.model_validate(self._declaration(population))
        self._try(
            f"declare {name} {declaration.relation} "
            + ", ".join(f"{one.name}{'*' * one.sensitive}" for one in declaration.columns)
            + ", in rules" * declaration.sensitive_in_rules,
            lambda store: service.declare(
                store, actor=ACTOR, name=name, declaration=declaration, files=self._holder.files, sets_cap=True
            ),
        )

    def retire(self) -> None:
        if in_force := [dataset.name for dataset in self._declared() if not dataset.retired]:
            name = self._source.choice(in_force)
            self._try(
                f"retire {name}",
                lambda store: service.retire(store, actor=ACTOR, name=name, files=self._holder.files),
            )

    def merge(self) -> None:
        into, source = self._source.sample(self._populations, 2)
        if len({dataset.population for dataset in self._declared()}) == 2 and self._try(
            f"merge {into} {source}", lambda store: populations.merge(store, actor=ACTOR, into=into, source=source)
        ):
            joining = self._people.pop(source, _People())
            people = self._people.setdefault(into, _People())
            people.released += joining.released
            people.sensitive |= joining.sensitive
            people.perturbed |= joining.perturbed
            self._look()

    def charge(self) -> None:
        if in_force := [dataset for dataset in self._declared() if not dataset.retired]:
            self._charge(self._source.choice(in_force))

    def charge_all(self) -> None:
        for dataset in self._declared():
            if not dataset.retired:
                self._charge(dataset)

    def excesses(self) -> Iterator[Excess]:
        """Where a person of a population moves more than they may."""
        for people in self._people.values():
            perturbations = Counter(name for name, _ in people.perturbed)
            for dataset, schema in people.released:
                yield from _excesses(dataset, schema, sorted(people.sensitive))
                for name in schema.sensitive:
                    if perturbations[name] > 1:  # its reports were said to reveal less than they do somewhere
                        yield Excess(dataset, (name,), perturbations[name], 1)

    def _declaration(self, population: str) -> dict[str, Any]:
        relation = self._relation if self._source.random() < 0.9 else self._source.choice(_RELATIONS)
        columns: list[dict[str, Any]] = []
        for name in self._source.sample(NAMES, self._source.randint(1, len(NAMES))):
            column = {"name": name, **self._source.choice((_YES_NO, _YES_NO, _THREE))}
            column["sensitive"] = self._source.random() < 0.5 or not columns
            if column["sensitive"] and relation == "sensitive_attribute" and self._source.random() < 0.3:
                column["randomised_response"] = {"kept": self._source.choice(_KEPT)}
            columns.append(column)
        return {
            **self._source.choice(_ROWS), "population": population, "relation": relation, "columns": columns,
            "cap": {"epsilon": "10"}, "records_max": 10, "sensitive_in_rules": self._source.random() < 0.3,
        }  # fmt: skip

    def _declared(self) -> list[datasets.Dataset]:
        with self._holder.store.database.read() as connection:
            found = [datasets.find_dataset(connection, name) for name in self._sets]
        return [dataset for dataset in found if dataset is not None]

    def _charge(self, dataset: datasets.Dataset) -> None:
        def work(transaction: Transaction) -> bool:
            population = datasets.find_population(transaction.connection, dataset.population)
            assert population is not None
            cap = ledger.population_balance(transaction.connection, dataset.population).charged(Loss(1))
            transaction.append(
                Event(
                    "charge", "auditor", population=dataset.population, dataset=dataset.name, auditor="auditor",
                    loss=Loss(1), cap=cap, account=Balance(Loss(10), Loss(1)),
                )
            )  # fmt: skip
            return population.relation == "sensitive_attribute"

        if self._holder.store.commit(work):
            people = self._people.setdefault(dataset.population, _People())
            people.released.append((dataset.name, dataset.schema))
            self._look()
        self.done.append(f"charge {dataset.name}")

    def _try(self, what: str, call: Any) -> bool:
        try:
            call(self._holder.store)
        except HolderError as error:
            self.refused.append(f"{what}: {error.code}")
            return False
        self.done.append(what)
        self._look()
        return True

    def _look(self) -> None:
        """Write down what is sensitive now wherever something was released already."""
        for dataset in self._declared():
            people = self._people.get(dataset.population)
            if people is not None and people.released:
                for column in dataset.schema.columns:
                    if column.sensitive:
                        response = column.randomised_response
                        people.sensitive.add(column.name)
                        people.perturbed.add(
                            (column.name, None if response is None else (response.kept, len(column.values)))
                        )


def _excesses(dataset: str, schema: Schema, changing: list[str]) -> Iterator[Excess]:
    """Every batch that such a dataset can be asked, on every two people who differ in sensitive values alone."""
    people = [dict(zip(changing, values, strict=True)) for values in itertools.product((0, 1), repeat=len(changing))]
    plain = [column for column in schema.columns if column.randomised_response is None]
    named = [column.name for column in plain if schema.sensitive_in_rules or not column.sensitive]
    relation = NeighbouringRelation("sensitive_attribute")
    for size in range(1, len(schema.sensitive) + 1):
        for groups in itertools.combinations(schema.sensitive, size):
            reports = all(schema.by_name[name].randomised_response is not None for name in groups)
            for compared, (one, other) in itertools.product(named or [""], itertools.combinations(people, 2)):
                # The price as the holder has it, of a batch that compares this column.
                secret = schema.follows_sensitive(compared)
                first_alone = relation.counts_first_group_alone(schema.group_count(groups), moved=secret)
                changed = tuple(name for name in changing if one[name] != other[name])
                moved = _moved(_counts(one, compared, groups), _counts(other, compared, groups))
                first = _moved(
                    _counts(one, compared, groups, first_alone), _counts(other, compared, groups, first_alone)
                )
                if first > (allowed := relation.l1(schema.group_count(groups), moved=secret)):
                    yield Excess(dataset, changed, first, allowed)
                # Reports get no noise: nothing may move but by a report that is another one.
                if reports and not secret and moved and not set(changed) & set(groups):
                    yield Excess(dataset, changed, moved, 0)


def _counts(person: _Values, compared: str, groups: tuple[str, ...], first_alone: bool = False) -> _Counts:
    """The person's part of a histogram by cell and group, a cell for each value of one ordinary column."""
    group = tuple(person.get(name, 0) for name in groups)
    return Counter() if first_alone and any(group) else Counter([(person.get(compared, 0), group)])


def _moved(one: _Counts, other: _Counts) -> int:
    return (one - other).total() + (other - one).total()


def main() -> None:
    """Declare, charge, look, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--triples", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--unchecked", action="store_true", help="take the check out: some have to be found")
    given = options.parse_args()
    began_s = time.perf_counter()
    if given.unchecked:
        taken_out = "holder_service.services.{}.require_one_set"
        with patch(taken_out.format("datasets")), patch(taken_out.format("populations")):
            outcomes = declared(given.triples, given.seed)
    else:
        outcomes = declared(given.triples, given.seed)
    took_s = time.perf_counter() - began_s
    done = Counter(step.split()[0] for outcome in outcomes for step in outcome.done)
    refused = Counter(step.split()[0] for outcome in outcomes for step in outcome.refused)
    excessive = sum(bool(outcome.excesses) for outcome in outcomes)
    table = Table("step", "taken", "refused", title=f"{given.triples} triples in {took_s:.0f} s")
    for step in ("declare", "charge", "retire", "merge"):
        table.add_row(step, str(done[step]), str(refused[step]))
    Console(width=100).print(table, f"triples that let a change move more than the relation says: {excessive}")
    raise SystemExit((excessive > 0) != given.unchecked)


def declared(triples: int, seed: int) -> list[Outcome]:
    """The outcomes of triples on a new holder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_in(Path(folder))
        initialise(settings)
        holder = Holder.open(settings)
        try:
            return [triple(holder, number, seed) for number in track(range(triples))]
        finally:
            holder.close()


if __name__ == "__main__":
    main()
