"""Questions made by hand about an invented dataset with a label, and answers to them from invented people."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from auditor_client.asking.question import Question, make_question
from auditor_client.asking.request import FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE, OF_DECISIONS, AuditRequest
from auditor_client.exchange.expected_noise import expected_noise
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Cell, Predicate
from shared.contract.schema import Value
from shared.kinds.plans import Batch, Plan
from shared.kinds.releases import LedgerPosition, Release, ReleasedBatch, ReleasedCell
from shared.privacy.amounts import NO_LOSS
from testing.registers import LOANS

Person = Mapping[str, Value | None]


OF_REFUSED: Final = (FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE)
"""What is measured among the refused, whom strategy pafer does not count."""


def measured_by(strategy: str) -> tuple[str, ...]:
    """The metrics of decisions that a strategy measures."""
    return tuple(one for one in OF_DECISIONS if strategy != "pafer" or one not in OF_REFUSED)


def split(column: str, threshold: float, low: Any, high: Any, name: str = "split") -> Split:
    """A split of an ordered column."""
    return Split(
        f"{name}-{column}-{threshold}",
        (
            Branch((Predicate(column=column, op="le", value=threshold),), low),
            Branch((Predicate(column=column, op="gt", value=threshold),), high),
        ),
    )


def leaf(name: str, favourable: bool, origin: str | None = None) -> Leaf:
    """A leaf that says yes or no."""
    return Leaf(name, "yes" if favourable else "no", favourable, origin)


def four_leaves(*decisions: bool) -> Tree:
    """A tree of four leaves by age: up to 20, 40, 60, and beyond."""
    a, b, c, d = (leaf(name, favourable) for name, favourable in zip("abcd", decisions, strict=True))
    return Tree(split("age", 40, split("age", 20, a, b), split("age", 60, c, d)))


FOUR_LEAVES = four_leaves(True, False, False, True)
FLIPPED = four_leaves(False, True, True, False)
"""The same leaves, the other way round."""


def question(model: Tree = FOUR_LEAVES, *, dataset: DatasetDescription = LOANS, **asked: Any) -> Question:
    """A question about the invented dataset."""
    given = {"sensitive": ["sex"], "epsilon": "0.5", "strategy": "verdict", **asked}
    return make_question(model, dataset, AuditRequest(**given))


def exact_release(plan: Plan, people: Sequence[Person], dataset: DatasetDescription = LOANS) -> Release:
    """A release whose counts are exact, counted with the reference evaluator."""
    groups = dataset.table.groups(plan.sensitive)

    def counts(batch: Batch, cell: Cell) -> list[int]:
        counted = dataset.neighbouring.counted_groups(groups, moved=batch.names_sensitive(dataset.table)) or groups
        members = [dataset.table.group_of(person, plan.sensitive) for person in people if cell.matches(person)]
        return [members.count(group) for group in counted]

    return release_of(plan, dataset, counts)


def release_of(plan: Plan, dataset: DatasetDescription, counts: Callable[[Batch, Cell], Sequence[int]]) -> Release:
    """A release that nobody signed, of these counts of every cell."""
    groups = dataset.table.groups(plan.sensitive)
    return Release(
        id="sha256:" + "0" * 64,
        dataset=dataset.name,
        version=plan.version or 1,
        auditor="ADR",
        created=datetime(2026, 1, 1, tzinfo=UTC),
        relation=dataset.relation,
        plan=plan,
        charge=sum((batch.loss for batch in plan.batches), NO_LOSS),
        remaining=NO_LOSS,
        nonce="0" * 32,
        batches=tuple(
            ReleasedBatch(
                name=batch.name,
                epsilon="0.1",
                delta="0",
                composition={"classes": 1},
                groups=groups,
                counted_groups=dataset.neighbouring.counted_groups(groups, moved=batch.names_sensitive(dataset.table)),
                noise=expected_noise(batch, dataset.neighbouring, dataset.table, plan.sensitive),
                cells=tuple(ReleasedCell(id=cell.id, counts=tuple(counts(batch, cell))) for cell in batch.cells),
            )
            for batch in plan.batches
        ),
        ledger=LedgerPosition(sequence=1, hash="sha256:" + "0" * 64),
        key="k",
        signature="ed25519:",
    )
