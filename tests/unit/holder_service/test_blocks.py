"""Losses by block of people: what a plan costs each, sums in a tree, blocks of each person, and the check at length."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from checks.blocks import FAULTS, cost, found_after, histories
from holder_service.domain.block_losses import BlockSums, BlockTree, ImplausibleBlocks, nodes_at
from holder_service.domain.pricing import price
from holder_service.records.person_blocks import TooManyBlocks, join_blocks
from holder_service.services.releases.priced import PricedPlan
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockCharge, Blocks, ChargedBlocks
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Column, Schema
from shared.kinds.plans import Plan
from shared.privacy.amounts import Loss
from shared.privacy.charges import SUM
from shared.wire import limits
from shared.wire.problems import TooLarge

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="month", type="integer", minimum=202601, maximum=202612),
        Column(name="x", type="integer", minimum=0, maximum=9),
        Column(name="sex", type="boolean", sensitive=True),
    ),
    blocks=Blocks(column="month", per_person_max=2),
)


def priced(*rules: list[dict[str, Any]], epsilon: str = "0.1", schema: Schema = SCHEMA) -> list[tuple[int, int, int]]:
    """What a batch with a cell for each rule costs: ranges of blocks and their ε in units of 10⁻⁹."""
    cells = [{"id": str(index), "all_of": rule} for index, rule in enumerate(rules)]
    batch = {"name": "b", "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": cells}
    plan = Plan.model_validate({"sensitive": ["sex"], "batches": [batch]})
    dataset = Dataset("loans", "loans", 1000, schema, 1, 1, "records", retired=False)
    found = PricedPlan.of(plan, dataset, NeighbouringRelation("add_remove"), terms=SUM)
    assert found.charge.fits_in(price(plan, schema).charge)
    assert found.charge.epsilon_nano == max((one.loss.epsilon_nano for one in found.block_losses), default=0)
    return [(one.first, one.last, one.loss.epsilon_nano) for one in found.block_losses]


def compared(column: str, op: str, value: Any) -> dict[str, Any]:
    return {"column": column, "op": op, "values" if op in ("in", "not_in") else "value": value}


def test_a_cell_is_charged_to_the_blocks_that_it_may_match() -> None:
    """Disjoint cells cost each block ε once; a cell without a block is charged to all that are declared."""
    assert priced([compared("month", "eq", 202603)]) == [(202603, 202603, 10**8)]
    assert priced([compared("x", "le", 4)]) == [(202601, 202612, 10**8)]
    assert priced([compared("month", "gt", 202609.5)], [compared("month", "lt", 202602)]) == [
        (202601, 202601, 10**8), (202610, 202612, 10**8),
    ]  # fmt: skip
    assert priced([compared("month", "ne", 202605)]) == [(202601, 202604, 10**8), (202606, 202612, 10**8)]
    assert priced([compared("month", "gt", 202612)]) == []


def test_overlapping_cells_cost_where_they_overlap() -> None:
    """A block pays for as many classes as have a cell for it."""
    overlapping = [compared("month", "in", [202601, 202602])], [compared("x", "le", 4), compared("month", "eq", 202602)]
    assert priced(*overlapping) == [(202601, 202601, 10**8), (202602, 202602, 2 * 10**8)]


def test_few_separate_ranges_are_charged_by_one_request() -> None:
    """Each range is looked up under the ledger's lock, so a request about every other block is refused."""
    column = {"name": "month", "type": "integer", "minimum": 0, "maximum": 9999}
    schema = SCHEMA.model_copy(update={"columns": (Column.model_validate(column), *SCHEMA.columns[1:])})
    limit = limits.BLOCK_RANGES_PER_REQUEST_MAX

    def about(blocks: int) -> list[tuple[int, int, int]]:
        return priced([compared("month", "in", [2 * block for block in range(blocks)])], schema=schema)

    assert len(about(limit)) == limit
    with pytest.raises(TooLarge, match="ranges of blocks"):
        about(limit + 1)


def test_a_tree_says_what_every_block_lost() -> None:
    """Random sums against a plain table: highest of any range, ranges of equal sums, and what `nodes_at` names."""
    rng = random.Random(3)
    for _ in range(20):
        tree, table = BlockTree(), dict.fromkeys(range(-40, 60), (0, 0, 0))
        for _ in range(30):
            first, last = sorted(rng.choices(range(-40, 60), k=2))
            amounts = rng.randint(0, 3), rng.randint(0, 2), 0
            part = BlockTree({node: tree.nodes[node] for node in nodes_at([(first, last)]) if node in tree.nodes})
            part.add(first, last, amounts)
            tree.nodes.update({node: part.nodes[node] for node in part.changed})
            for block in range(first, last + 1):
                table[block] = tuple(map(sum, zip(table[block], amounts, strict=True)))  # type: ignore[assignment]
            low, high = sorted(rng.choices(range(-40, 60), k=2))
            some = [table[block] for block in range(low, high + 1)]
            assert tree.highest(low, high) == tuple(map(max, zip(*some, strict=True)))
        runs = list(tree.runs(-40, 59))
        assert [run[:2] for run in runs] == sorted((run[:2] for run in runs), reverse=True)
        assert {block: sums for first, last, sums in runs for block in range(first, last + 1)} == table


def test_charging_reads_no_more_nodes_of_many_blocks() -> None:
    """10 000 blocks, each with its own sum, are as quickly charged as ten."""
    assert cost(10_000, times=2).nodes <= cost(10, times=2).nodes + 2


def test_one_person_loses_the_largest_blocks_that_they_may_be_in() -> None:
    """The sum of the c largest losses, whatever the number of blocks."""
    charged = (
        BlockCharge(first=1, last=1, blocks=1, loss=Loss(3)), BlockCharge(first=2, last=9, blocks=8, loss=Loss(2)),
    )  # fmt: skip

    def lost(most: int) -> Loss:
        return ChargedBlocks(column="month", per_person_max=most, charged=charged).person_loss

    assert [lost(most) for most in (1, 2, 3, 20)] == [Loss(3), Loss(5), Loss(7), Loss(19)]


def test_one_person_loses_the_largest_delta_too() -> None:
    """The block that loses most ε is not the one that loses most δ; in ρ its sum is read at the same δ."""

    def lost(*losses: Loss) -> Loss:
        charged = tuple(BlockCharge(first=n, last=n, blocks=1, loss=loss) for n, loss in enumerate(losses))
        return ChargedBlocks(column="month", per_person_max=1, charged=charged).person_loss

    assert lost(Loss(5), Loss(4, 1)) == Loss(5, 1)
    assert lost(Loss.of_rho(5), Loss.of_rho(7)) == Loss.of_rho(7)
    assert lost() == Loss(0)


def declared(**changes: Any) -> dict[str, Any]:
    """The detail of a dataset's entry."""
    return {"blocks": {"column": "month", "per_person_max": 2, "first": 5, "last": 9, **changes}}


@pytest.mark.parametrize(
    "changes", [{"last": 8}, {"first": 4}, {"first": 6}, {"column": "year"}, {"per_person_max": 1}]
)
def test_a_replay_finds_blocks_that_changed_after_a_load(changes: dict[str, Any]) -> None:
    """Blocks only grow at their end once records are loaded; before, they are declared as an administrator likes."""
    sums = BlockSums()
    sums.declare("people", "loans", declared())
    sums.declare("people", "loans", declared(**changes))
    sums.declare("people", "loans", declared())
    sums.use("people")
    sums.declare("people", "loans", declared(last=10))
    sums.declare("people", "leases", declared(last=7))
    sums.declare("people", "loans", declared(last=10))

    with pytest.raises(ImplausibleBlocks, match="declares"):
        sums.declare("people", "loans", declared(**changes))
    with pytest.raises(ImplausibleBlocks, match="declares other"):
        sums.declare("people", "loans", {})


def test_a_replay_finds_charges_to_blocks_that_are_not_declared() -> None:
    """A charge names a declared dataset and its declared blocks, each once."""
    sums = BlockSums()
    sums.declare("people", "loans", declared())

    def charged(dataset: str, *ranges: tuple[int, int]) -> None:
        parts = [{"first": first, "last": last, "epsilon_nano": 3, "delta_nano": 0} for first, last in ranges]
        sums.losses("people", dataset, Loss(3), {"blocks": parts})

    charged("loans", (5, 6), (8, 9))
    for dataset, ranges in (
        ("leases", [(5, 6)]), ("loans", [(4, 6)]), ("loans", [(9, 10)]), ("loans", [(5, 6), (6, 7)]),
    ):  # fmt: skip
        with pytest.raises(ImplausibleBlocks, match="not declared"):
            charged(dataset, *ranges)


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "number", "minimum": 0, "maximum": 1}, {"maximum": None}, {"nullable": True},
        {"maximum": 202601 + 10_000}, {"name": "another"},
    ],
)  # fmt: skip
def test_unsuitable_columns_of_blocks_are_refused(changes: dict[str, Any]) -> None:
    """Blocks are public, bounded and never missing."""
    column = {"name": "month", "type": "integer", "minimum": 202601, "maximum": 202612, **changes}

    with pytest.raises(ValidationError, match="blocks"):
        Schema(person_key="id", columns=(Column.model_validate(column),), blocks=Blocks(column="month"))


def test_people_are_compared_with_everybody_who_was_ever_loaded(tmp_path: Path) -> None:
    """Records of people in too many blocks are named; pairs of all others are kept, each once."""

    def written(name: str, *pairs: tuple[int, int]) -> Path:
        path = tmp_path / name
        people, blocks = ([pair[index] for pair in pairs] for index in (0, 1))
        np.array([*people, *blocks], dtype=np.uint64).tofile(path)
        return path

    first, other = written("first", (9, 1), (2**64 - 1, 2), (0, 3)), written("other", (5, 7))
    join_blocks(first, None, [], tmp_path / "own", per_person_max=1)
    join_blocks(other, None, [], tmp_path / "others", per_person_max=1)
    again = written("again", (9, 1), (7, 7), (5, 6), (0, 4))

    with pytest.raises(TooManyBlocks) as refused:
        join_blocks(again, tmp_path / "own", [tmp_path / "others"], tmp_path / "joined", per_person_max=1)

    assert refused.value.records.tolist() == [2, 3]
    assert not (tmp_path / "joined").exists()
    join_blocks(again, tmp_path / "own", [tmp_path / "others"], tmp_path / "joined", per_person_max=2)
    joined = np.fromfile(tmp_path / "joined", dtype=np.uint64).reshape(2, -1)
    assert joined.T.tolist() == [[0, 3], [0, 4], [5, 6], [7, 7], [9, 1], [2**64 - 1, 2]]


def test_nobody_loses_more_than_was_promised_in_random_histories() -> None:
    """`python -m checks.blocks` at length: 0 people above, and the ledger replays."""
    found = histories(40, seed=1)

    assert found.above == 0
    assert found.answered > 30
    assert found.closest >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_let_somebody_lose_more(fault: str) -> None:
    """The accountant notices each of them: the check can fail."""
    assert found_after(fault, 3000, seed=1) is not None
