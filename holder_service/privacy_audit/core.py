"""Draws through the core: the real loader, proof, count and mechanism, without a server (2-privacy §9)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holder_service.domain.pricing import price
from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.privacy_audit.log_likelihood_ratio import Answer
from holder_service.privacy_audit.loss_bounds import Drawn
from holder_service.privacy_audit.neighbours import READ_AT_NANO, Neighbours
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from shared.contract.relations import NeighbouringRelation
from shared.kinds.plans import Batch
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import RandomisedResponseNoise

_RUNS_PER_CALL = 2000

Calibration = Callable[[Neighbours, Batch], Mechanism]


def as_charged(pair: Neighbours, batch: Batch) -> Mechanism:
    """The mechanism that the service answers a batch with."""
    return mechanism_of(
        batch, relation=NeighbouringRelation(pair.relation), schema=pair.declaration.table, sensitive=pair.sensitive
    )


@dataclass(frozen=True, slots=True)
class TruePair:
    """The true counts of a plan's batches on both registers: (cell, group) after (cell, group), in people."""

    here: tuple[int, ...]
    there: tuple[int, ...]

    @property
    def changed(self) -> tuple[int, ...]:
        return tuple(
            index for index, (one, other) in enumerate(zip(self.here, self.there, strict=True)) if one != other
        )

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The counts that differ."""
        return tuple((self.here[index], self.there[index]) for index in self.changed)


def true_counts(pair: Neighbours, folder: Path) -> TruePair:
    """Load and count both registers, as the service does."""
    here, there = pair.registers
    return TruePair(_counted(pair, here, folder / "here"), _counted(pair, there, folder / "there"))


def _counted(pair: Neighbours, content: bytes, folder: Path) -> tuple[int, ...]:
    schema, plan = pair.declaration.table, pair.plan()
    folder.mkdir(parents=True)
    (folder / "records.csv").write_bytes(content)
    load_records(folder / "records.csv", "text/csv", schema, pair.declaration.records_max, folder / "encoded")
    batch = plan.batches[0]
    classes = price(plan, schema).batches[0].classes
    counts = count_cells(Records.open(folder / "encoded", schema), batch.cells, classes, plan.sensitive)
    groups = schema.groups(plan.sensitive)
    moved = batch.names_sensitive(schema)
    counted = NeighbouringRelation(pair.relation).counted_groups(groups, moved=moved) or groups
    revealed = counts.reveal_to_mechanism()[:, : len(counted)]
    return tuple(int(count) for count in revealed.ravel())


def draw(
    pair: Neighbours, batch: Batch, counts: TruePair, *, runs: int, calibration: Calibration = as_charged
) -> Drawn:
    """Draw answers to a batch on both registers.

    Args:
        calibration: What draws; noise and charge are stated as those of `as_charged` all the same.
    """
    stated = as_charged(pair, batch)
    if isinstance(stated.noise, RandomisedResponseNoise):
        raise TypeError("Randomised response draws nothing here: its noise was drawn where the records come from.")
    mechanism = calibration(pair, batch)
    here, there = (_answers(mechanism, side, counts.changed, runs) for side in (counts.here, counts.there))
    loss = batch.loss.read_at(READ_AT_NANO)
    return Drawn(
        noise=stated.noise, epsilon=loss.epsilon_nano / NANO_PER_UNIT, delta=loss.delta_nano / NANO_PER_UNIT,
        counts=counts.pairs, answers=(here, there),
    )  # fmt: skip


def _answers(mechanism: Mechanism, counts: tuple[int, ...], changed: tuple[int, ...], runs: int) -> list[Answer]:
    """The answers to the counts that differ, run by run. One call draws many, because all noise is independent."""
    answers: list[Answer] = []
    while len(answers) < runs:
        times = min(_RUNS_PER_CALL, runs - len(answers))
        drawn = mechanism.release(counts * times)
        answers += zip(*(drawn[index :: len(counts)] for index in changed), strict=True)
    return answers
