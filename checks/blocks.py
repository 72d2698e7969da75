"""Random histories of a population with blocks against an independent accountant: nobody loses more than was promised.

`python -m checks.blocks --histories 20000`, and `--cost` for what charging takes with 1 to 10 000 blocks.

A history is a random course of declarations, loads (people come, go, come back, change their block or their dataset),
plans with random rules, and limits at which they are refused, in ε or in ρ. The holder's own code declares, compares
people's blocks, prices, charges and enters; then the ledger is replayed. The accountant knows none of it. For each
answered plan and person it tries every record that the person may have in their block, has `Rule.matches` say which
cells count it, and adds up what the noise of these counts loses. *Above* counts people whose sum exceeds
`per_person_max` times the cap: it has to be 0. The planted faults have to be found.
"""

import argparse
import itertools
import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from holder_service.domain import block_charges
from holder_service.domain.block_accounts import BlockAccount
from holder_service.domain.block_charges import entered
from holder_service.domain.block_losses import BlockTree, nodes_at
from holder_service.domain.declared_blocks import entered_blocks, require_one_block_column
from holder_service.domain.errors import Conflict
from holder_service.domain.ledger import GENESIS, Balance, Entry, Event, Replay
from holder_service.records import person_blocks
from holder_service.records.person_blocks import TooManyBlocks, join_blocks
from holder_service.services.releases.priced import PricedPlan
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockLoss, Blocks
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell
from shared.contract.schema import Column, Schema
from shared.kinds.plans import Batch, Plan
from shared.privacy.amounts import NANO_PER_UNIT, Loss, format_nano
from shared.wire.nonces import draw_nonce

NOW: Final = datetime(2026, 11, 28, tzinfo=UTC)
PEOPLE: Final = 6
STEPS: Final = 16
FIRST: Final = -2
"""The number of the first block where blocks are whole numbers."""
SEXES: Final = ("Female", "Male")
ACCOUNTS: Final = ("ADR", "BEA")


@dataclass(slots=True)
class Found:
    """What some histories came to.

    Attributes:
        histories, answered, refused, loads, unfit: How many there were: of plans answered and refused, of loads taken
            and refused.
        above: How often a person's sum exceeded what was promised.
        closest: The largest share of the promise that anybody lost.
    """

    histories: int = 0
    answered: int = 0
    refused: int = 0
    loads: int = 0
    unfit: int = 0
    above: int = 0
    closest: Fraction = Fraction(0)


@dataclass(slots=True)
class _Table:
    """A dataset of a history: as declared, who is in which block now, and the file of everybody's blocks."""

    schema: Schema
    people: dict[int, int] | None = None
    blocks: Path | None = None


@dataclass(slots=True)
class _Accountant:
    """Adds up what each person lost, by brute force over the records that they may have.

    Attributes:
        lost: By person, in nano-units of ε, or of ρ.
    """

    relation: NeighbouringRelation
    in_rho: bool
    lost: defaultdict[int, Fraction] = field(default_factory=lambda: defaultdict(Fraction))

    def answered(self, plan: Plan, table: _Table) -> None:
        """Take an answered plan: everybody in the records loses what their block's records may move the counts by."""
        losses = {
            value: self._loss(plan, value)
            for value in {_value(table.schema, one) for one in (table.people or {}).values()}
        }
        for person, block in (table.people or {}).items():
            self.lost[person] += losses[_value(table.schema, block)]

    def _loss(self, plan: Plan, block: str | int) -> Fraction:
        records = [{"month": block, "x": x, "sex": sex} for x in range(3) for sex in SEXES]
        counts = [[self._counted(batch, record) for record in records] for batch in plan.batches]
        nobody: frozenset[Any] = frozenset()
        pairs = (
            [(None, index) for index in range(len(records))]
            if self.relation.name == "add_remove"
            else list(itertools.combinations(range(len(records)), 2))
        )
        moves = self.relation.counts_that_change(len(SEXES), moved=False)
        worst = Fraction(0)
        for before, after in pairs:
            lost = Fraction(0)
            for batch, of_batch in zip(plan.batches, counts, strict=True):
                moved = len((nobody if before is None else of_batch[before]) ^ of_batch[after])
                epsilon = Fraction(batch.epsilon or 0)
                # Noise of scale m/ε: in ε each count that moves by 1 loses ε/m; in ρ what Laplace noise of that ε has.
                lost += moved * (epsilon / moves) ** 2 / (2 * NANO_PER_UNIT) if self.in_rho else moved * epsilon / moves
            worst = max(worst, lost)
        return worst

    def _counted(self, batch: Batch, record: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        found = ((cell.id, record["sex"]) for cell in batch.cells if any(rule.matches(record) for rule in cell.any_of))
        return frozenset(found)


class _History:
    """One random course of a population with blocks."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self._rng = rng
        self._folder = folder
        self._files = itertools.count()
        self.per_person_max = rng.choice((1, 1, 2, 3))
        self._category = rng.random() < 0.5
        self._in_rho = rng.random() < 0.4
        self._cap = rng.choice((NANO_PER_UNIT // 2, NANO_PER_UNIT, 2 * NANO_PER_UNIT))
        self._relation = NeighbouringRelation(rng.choice(("add_remove", "add_remove", "replace")))
        limit = Loss.of_rho(self._cap) if self._in_rho else Loss(self._cap)
        part = Loss.of_rho(self._cap // 2) if self._in_rho else Loss(self._cap // 2)
        self._balances = {"": Balance(limit), **{name: Balance(rng.choice((limit, part))) for name in ACCOUNTS}}
        self._trees = {name: BlockTree() for name in self._balances}
        self._entries: list[Entry] = []
        self._tables: dict[str, _Table] = {}
        self._accountant = _Accountant(self._relation, self._in_rho)
        self._version = 0
        self._enter(Event("population", "admin", population="people", cap=self._balances[""]))
        for name in ACCOUNTS:
            self._enter(self._about("budget", auditor=name, account=self._balances[name]))
        self.declare("loans", rng.randint(1, 3))

    @property
    def promised(self) -> int:
        """What one person may lose at most, in nano-units."""
        return self.per_person_max * self._cap

    @property
    def lost(self) -> Mapping[int, Fraction]:
        """What each person lost, as the accountant says."""
        return self._accountant.lost

    def declare(self, name: str, count: int) -> None:
        """Declare a dataset, or more blocks of it; what is refused changes nothing."""
        schema = _schema(count, category=self._category, per_person_max=self.per_person_max)
        present = {one: table.schema for one, table in self._tables.items()}
        require_one_block_column(present, name, schema, fixed=any(one.blocks for one in self._tables.values()))
        table = self._tables.setdefault(name, _Table(schema))
        if table.schema != schema:
            table.schema, table.people = schema, None
        self._enter(self._about("dataset", dataset=name, detail=entered_blocks(schema.block_domain)))

    def step(self, found: Found) -> None:
        """Take one random step."""
        rng = self._rng
        name = rng.choice(list(self._tables))
        kind = rng.choices(("plan", "load", "declare"), (6, 3, 1))[0]
        if kind == "plan":
            self._ask(name, found)
        elif kind == "load":
            self._load(name, found)
        else:
            domain = self._tables[name].schema.block_domain
            assert domain is not None
            with suppress(Conflict):
                self.declare(rng.choice((name, "others")), domain.count + rng.randint(-1, 2) or 1)

    def _load(self, name: str, found: Found) -> None:
        table, rng = self._tables[name], self._rng
        domain = table.schema.block_domain
        assert domain is not None
        people = rng.sample(range(PEOPLE), rng.randint(0, PEOPLE))
        home = rng.random() < 0.4  # most come back in a block that they were in
        usual = {person: domain.first + person % domain.count for person in people}
        blocks = {person: usual[person] if home else rng.randint(domain.first, domain.last) for person in people}
        new, joined = (self._folder / str(next(self._files)) for _ in range(2))
        np.concatenate([np.array(people, np.uint64), np.array(list(blocks.values()), np.int64).view(np.uint64)]).tofile(
            new
        )
        others = [one.blocks for other, one in self._tables.items() if other != name and one.blocks is not None]
        try:
            person_blocks.join_blocks(new, table.blocks, others, joined, per_person_max=domain.per_person_max)
        except TooManyBlocks:
            found.unfit += 1
            return
        found.loads += 1
        table.people, table.blocks = blocks, joined
        self._version += 1
        self._enter(self._about("records", dataset=name, subject=str(self._version)))

    def _ask(self, name: str, found: Found) -> None:
        table = self._tables[name]
        if table.people is None:
            return
        plan = _plan(self._rng, table.schema, self._cap, in_rho=self._in_rho)
        dataset = Dataset(name, "people", 1000, table.schema, self._version, self._version, "records", retired=False)
        priced = PricedPlan.of(plan, dataset, self._relation, terms=self._balances[""].terms)
        auditor = self._rng.choice(ACCOUNTS)
        accounts = {whose: BlockAccount(self._balances[whose], self._trees[whose]) for whose in (auditor, "")}
        if any(one.unaffordable(priced.block_losses, NOW) is not None for one in accounts.values()):
            found.refused += 1
            return
        found.answered += 1
        for whose, account in accounts.items():
            self._balances[whose] = account.charged(priced.block_losses)
        domain = table.schema.block_domain
        assert domain is not None
        self._enter(
            self._about(
                "charge", dataset=name, auditor=auditor, account=self._balances[auditor], loss=priced.charge,
                detail={"blocks": entered(priced.block_losses, domain)},
            )
        )  # fmt: skip
        self._accountant.answered(plan, table)

    def replay(self) -> None:
        """Replay the ledger: balances and sums have to be those that were charged against.

        Raises:
            BrokenLedger: They are not.
        """
        replay = Replay()
        for entry in self._entries:
            replay.apply(entry)
        kept = {("people", whose): tree.nodes for whose, tree in self._trees.items() if tree.nodes}
        if replay.blocks.nodes() != kept:
            raise RuntimeError("The sums by block do not follow from the entries.")

    def _about(self, kind: Any, **said: Any) -> Event:
        return Event(kind, "admin", population="people", cap=self._balances[""], **said)

    def _enter(self, event: Event) -> None:
        previous = self._entries[-1].hash if self._entries else GENESIS
        self._entries.append(
            Entry.chained(
                sequence=len(self._entries) + 1, at=NOW.isoformat(), event=event, nonce=draw_nonce(), previous=previous
            )
        )


def histories(number: int, seed: int, *, first: int = 0) -> Found:
    """Run random histories, and account for every person of each."""
    found = Found()
    for index in range(first, first + number):
        rng = random.Random(seed * 1_000_003 + index)
        with tempfile.TemporaryDirectory() as folder:
            history = _History(rng, Path(folder))
            for _ in range(STEPS):
                history.step(found)
            history.replay()
        found.histories += 1
        for lost in history.lost.values():
            found.above += lost > history.promised
            found.closest = max(found.closest, lost / history.promised)
    return found


def _one_block(cell: Cell, column: Column, domain: Any) -> Iterator[tuple[int, int]]:
    """A fault: a cell that names no block is charged to one block."""
    for first, last in _HONEST(cell, column, domain):
        yield (first, first) if last - first + 1 == domain.count else (first, last)


def _forgetful(new: Path, own: Path | None, others: Sequence[Path], destination: Path, **limits: int) -> None:
    """A fault: people who were taken away are forgotten, and so is in which block somebody was before."""
    join_blocks(new, None, others, destination, **limits)


def _by_dataset(new: Path, own: Path | None, others: Sequence[Path], destination: Path, **limits: int) -> None:
    """A fault: the other datasets of the population are not looked at."""
    join_blocks(new, own, [], destination, **limits)


def _newest(self: BlockTree, first: int, last: int) -> tuple[int, int, int]:
    """A fault: of a range only the last block's sum is looked at."""
    return _HONEST_HIGHEST(self, last, last)


_HONEST: Final = block_charges.blocks_of
_HONEST_HIGHEST: Final = BlockTree.highest
FAULTS: Final[Mapping[str, Callable[[], Any]]] = {
    "a cell without a block is charged to one block": lambda: patch.object(block_charges, "blocks_of", _one_block),
    "people who were taken away are forgotten": lambda: patch.object(person_blocks, "join_blocks", _forgetful),
    "other datasets are not looked at": lambda: patch.object(person_blocks, "join_blocks", _by_dataset),
    "one block of a range is looked at": lambda: patch.object(BlockTree, "highest", _newest),
}
"""What has to be found, by what it is."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Plant one of `FAULTS`; the ledger is not replayed, which would find some of them by itself."""
    with ExitStack() as stack:
        stack.enter_context(FAULTS[name]())
        stack.enter_context(patch.object(_History, "replay", lambda _: None))
        yield


def found_after(fault: str, most: int, seed: int) -> int | None:
    """Plant a fault, and return the first of some histories in which somebody lost more than was promised."""
    with planted(fault):
        return next((index + 1 for index in range(most) if histories(1, seed, first=index).above), None)


def _schema(count: int, *, category: bool, per_person_max: int) -> Schema:
    month = (
        Column(name="month", type="category", categories=tuple(f"m{index}" for index in range(count)))
        if category
        else Column(name="month", type="integer", minimum=FIRST, maximum=FIRST + count - 1)
    )
    return Schema(
        person_key="id",
        columns=(
            month,
            Column(name="x", type="integer", minimum=0, maximum=2),
            Column(name="sex", type="category", categories=SEXES, sensitive=True),
        ),
        blocks=Blocks(column="month", per_person_max=per_person_max),
    )


def _value(schema: Schema, block: int) -> str | int:
    domain = schema.block_domain
    assert domain is not None
    return domain.value(block)


def _plan(rng: random.Random, schema: Schema, cap_nano: int, *, in_rho: bool) -> Plan:
    batches = []
    for index in range(rng.randint(1, 2)):
        cells = [
            {"id": str(number), "any_of": [{"all_of": _rule(rng, schema)} for _ in range(rng.randint(1, 2))]}
            for number in range(rng.randint(1, 3))
        ]
        part = cap_nano // rng.choice((1, 2, 2, 3, 4))
        epsilon = format_nano(math.isqrt(2 * part * NANO_PER_UNIT) if in_rho else part)  # ρ of pure ε is ε²/2
        batches.append({"name": str(index), "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": cells})
    return Plan.model_validate({"sensitive": ["sex"], "batches": batches, "version": 1})


def _rule(rng: random.Random, schema: Schema) -> list[dict[str, Any]]:
    compared: list[dict[str, Any]] = []
    domain = schema.block_domain
    assert domain is not None
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        some = [domain.value(rng.randint(domain.first, domain.last)) for _ in range(rng.randint(1, 2))]
        if domain.values or rng.random() < 0.5:
            compared.append({"column": "month", "op": rng.choice(("in", "in", "not_in")), "values": some})
        else:
            bound = rng.choice((some[0], float(some[0]) + 0.5))
            compared.append({"column": "month", "op": rng.choice(("lt", "le", "gt", "ge")), "value": bound})
    if rng.random() < 0.6:
        compared.append({"column": "x", "op": rng.choice(("eq", "le", "gt")), "value": rng.randint(0, 2)})
    return compared


@dataclass(frozen=True, slots=True)
class Cost:
    """What charging takes where every one of some blocks has lost something else.

    Attributes:
        one_us, all_us: Microseconds to look and add where one block is charged, or all of them.
        nodes: How many nodes are read at most.
    """

    blocks: int
    one_us: float
    all_us: float
    nodes: int


def cost(blocks: int, *, times: int = 200) -> Cost:
    """Measure charging with a number of blocks, each with its own sum."""
    tree = BlockTree()
    for block in range(blocks):
        tree.add(block, block, (block + 1, 0, 0))
    spans = [(blocks // 2, blocks // 2), (0, blocks - 1)]
    took = []
    for first, last in spans:
        account = BlockAccount(Balance(Loss(999 * NANO_PER_UNIT)), tree)
        loss = (BlockLoss(first, last, Loss(1)),)
        begun = time.perf_counter()
        for _ in range(times):
            needed = nodes_at([(first, last)])
            part = BlockTree({node: tree.nodes[node] for node in needed if node in tree.nodes})
            account = BlockAccount(Balance(Loss(999 * NANO_PER_UNIT)), part)
            if account.unaffordable(loss, NOW) is None:
                account.charged(loss)
        took.append((time.perf_counter() - begun) / times * 1e6)
    return Cost(blocks, took[0], took[1], max(len(nodes_at([span])) for span in spans))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=2000, help="how many random histories")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=3000, help="at most how many histories find a planted fault")
    parser.add_argument("--cost", action="store_true", help="measure charging with 1 to 10 000 blocks instead")
    asked = parser.parse_args()
    if asked.cost:
        costs = [cost(blocks) for blocks in (1, 10, 100, 1000, 10_000)]
        for one in costs:
            print(f"{one.blocks:6} blocks: one {one.one_us:7.0f} µs, all {one.all_us:7.0f} µs, {one.nodes} nodes read")
        return int(max(one.one_us for one in costs) > 5 * costs[1].one_us or not math.isfinite(costs[-1].all_us))
    found = histories(asked.histories, asked.seed)
    print(
        f"{found.histories} histories: {found.answered} plans answered and {found.refused} refused, {found.loads} "
        f"loads taken and {found.unfit} refused."
    )
    print(f"{found.above} people above what was promised, of which at most {float(found.closest):.3f} was lost.")
    missed = found.above > 0
    for name in FAULTS:
        caught = found_after(name, asked.faults, asked.seed)
        print(f"planted: {name}: {'not found' if caught is None else f'found in history {caught}'}")
        missed |= caught is None
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
