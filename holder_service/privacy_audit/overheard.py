"""A training overheard: all that its steps give, how much likelier one register gives it, and the model made of it.

`Overheard` measures as `Measuring` does, and draws its noise. It knows the true counts of both registers, each counted
once by the real engine, so that it can work out the log likelihood ratio of what every step gave, under the noise as
stated. A step is chosen by what the steps before it gave, so the ratios of all steps add up to that of the training.

`Replayed` gives a learner the same numbers once more, on the other register. A learner that makes its model of them
alone makes the same model; one that does not has taken something from the records that nobody paid for.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from holder_service.learning.features import IntArray
from holder_service.learning.measuring import Combination, LearningStep, Measuring, by_cells
from holder_service.learning.split_scores import NodeSplits, ScoredSplits
from holder_service.privacy_audit.log_likelihood_ratio import log_likelihood
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.records.encoded import Records, load_records
from holder_service.records.engines import EncodedVersion
from holder_service.records.scored_chunks import ScoredColumn
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell, Record
from shared.contract.schema import Schema

PEOPLE_MAX: Final = 1000
Noiseless = frozenset[tuple[str, int]]
"""Of steps of sums, by name and index, numbers that a fault hands to the learner without noise."""


class Registers:
    """An engine of two registers that counts either, each question once.

    Attributes:
        counts: What both have of the cells that were counted last, shape (cells, groups) each.
    """

    def __init__(self, schema: Schema, sides: tuple[Sequence[Record], Sequence[Record]], folder: Path) -> None:
        self._records = [_encoded(schema, people, folder / str(side)) for side, people in enumerate(sides)]
        self._known: dict[Hashable, tuple[TrueCounts, TrueCounts]] = {}
        self._schema = schema
        self.counts: tuple[IntArray, IntArray]

    def version(self, side: int) -> EncodedVersion:
        """One of the registers, to be counted."""
        return EncodedVersion("audited", str(side), self._schema)

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Count as the local engine does."""
        key = tuple(cells), tuple(sensitive), version.scored
        if key not in self._known:
            here, there = (count_cells(records, cells, classes, sensitive, version.scored) for records in self._records)
            self._known[key] = here, there
        known = self._known[key]
        self.counts = known[0].reveal_to_mechanism(), known[1].reveal_to_mechanism()
        return known[int(version.name or 0)]


@dataclass(slots=True)
class Transcript:
    """What the steps of one training gave.

    Attributes:
        answers: Of each step, flat.
        loss: Its log likelihood ratio: of the first register, against the second.
        reach: The most that the ratio could have been, given which steps were taken.
    """

    answers: dict[str, list[int]] = field(default_factory=dict)
    loss: float = 0.0
    reach: float = 0.0


class Overheard(Measuring):
    """Measures one of two registers, and takes down what it gives."""

    def __init__(
        self,
        registers: Registers,
        schema: Schema,
        *,
        side: int,
        stated: tuple[Sequence[LearningStep], NeighbouringRelation],
        drawn: tuple[Sequence[LearningStep], NeighbouringRelation],
        noiseless: Noiseless,
    ) -> None:
        """Measure with some noise, and state another.

        Args:
            registers: Both.
            schema: Of them.
            side: Which one is measured.
            stated: The steps that are charged, and the relation.
            drawn: Those whose noise is drawn; the same, but for a fault.
            noiseless: Further faults.
        """
        super().__init__(registers, registers.version(side), schema, drawn[1], drawn[0])
        self._registers, self._side, self._unpaid = registers, side, noiseless
        self._stated, self._stated_relation = {step.name: step for step in stated[0]}, stated[1]
        self.transcript = Transcript()

    def counts(
        self, name: str, cells: Sequence[Cell], sensitive: Sequence[str] = (), scored: Sequence[ScoredColumn] = ()
    ) -> IntArray:
        noisy = super().counts(name, cells, sensitive, scored)
        here, there = self._registers.counts
        self._hear(name, noisy.ravel().tolist(), here.ravel().tolist(), there.ravel().tolist())
        return noisy

    def sums(
        self, name: str, cells: Sequence[Cell], combinations: Sequence[Combination], sensitive: Sequence[str] = ()
    ) -> list[int]:
        noisy = super().sums(name, cells, combinations, sensitive)
        true = [_added(combinations, counts) for counts in self._registers.counts]
        self._hear(name, noisy, *true)
        return _handed(name, noisy, true[self._side], self._unpaid)

    def choices(self, name: str, nodes: Sequence[NodeSplits]) -> list[int]:
        chosen = super().choices(name, nodes)
        self.transcript.answers[name] = chosen
        scale = self._stated[name].choice(self._stated_relation).scale
        splits = ScoredSplits.of(nodes, self.schema)
        sides = [splits.scores(counts[:, 0]) for counts in self._registers.counts]
        for index, here, there in zip(chosen, *sides, strict=True):
            masses = (choice_log_masses(tuple(scores), scale) for scores in (here, there))
            ratios = [one - other for one, other in zip(*masses, strict=True)]
            self.transcript.loss += ratios[index]
            self.transcript.reach += max(map(abs, ratios))
        return chosen

    def _hear(self, name: str, noisy: list[int], here: Sequence[int], there: Sequence[int]) -> None:
        noise = self._stated[name].noise(self._stated_relation).noise
        self.transcript.answers[name] = noisy
        for answer, one, other in zip(noisy, here, there, strict=True):
            if one != other:
                self.transcript.loss += log_likelihood(noise, answer, one) - log_likelihood(noise, answer, other)
                self.transcript.reach += abs(one - other) / noise.scale


class Replayed(Measuring):
    """Gives what was overheard once more, and draws nothing."""

    def __init__(
        self,
        overheard: Overheard,
        registers: Registers,
        answers: Mapping[str, list[int]],
        *,
        side: int,
        noiseless: Noiseless,
    ) -> None:
        relation, steps = overheard.relation, overheard.steps
        super().__init__(registers, registers.version(side), overheard.schema, relation, steps)
        self._answers, self._unpaid = answers, noiseless

    def counts(
        self, name: str, cells: Sequence[Cell], sensitive: Sequence[str] = (), scored: Sequence[ScoredColumn] = ()
    ) -> IntArray:
        return by_cells(self._answers[name], len(cells))

    def sums(
        self, name: str, cells: Sequence[Cell], combinations: Sequence[Combination], sensitive: Sequence[str] = ()
    ) -> list[int]:
        classes = [[index] for index in range(len(cells))]
        counted = self.engine.count(self.version, cells, classes, sensitive).reveal_to_mechanism()
        return _handed(name, self._answers[name], _added(combinations, counted), self._unpaid)

    def choices(self, name: str, nodes: Sequence[NodeSplits]) -> list[int]:
        return self._answers[name]


@lru_cache
def choice_log_masses(scores: tuple[int, ...], scale: float) -> list[float]:
    """The logarithms of permute-and-flip's probabilities for a few candidates, in their order.

    A candidate is looked at a uniform time t, and taken with probability q = e^((score − best)/scale), unless another
    was before: p = q ∫₀¹ ∏ (1 − t·q′) dt over all others. McKenna, Sheldon (2020).
    """
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    masses = []
    for index, coin in enumerate(coins):
        others = [1.0]  # the polynomial's coefficients
        for other in itertools.chain(coins[:index], coins[index + 1 :]):
            others = [one - other * before for one, before in zip([*others, 0.0], [0.0, *others], strict=True)]
        masses.append(coin * math.fsum(one / (power + 1) for power, one in enumerate(others)))
    return list(map(math.log, masses))


def _added(combinations: Sequence[Combination], counts: IntArray) -> list[int]:
    """The true sums, given counts of shape (cells, groups)."""
    return [int(one.weights @ counts.ravel()[one.counts]) for one in combinations]


def _handed(name: str, noisy: Sequence[int], true: Sequence[int], noiseless: Noiseless) -> list[int]:
    return [true[index] if (name, index) in noiseless else answer for index, answer in enumerate(noisy)]


def _encoded(schema: Schema, people: Sequence[Record], folder: Path) -> Records:
    folder.mkdir(parents=True)
    names = [column.name for column in schema.columns]
    rows = [",".join(_text(person[name]) for name in names) for person in people]
    lines = [",".join([schema.row_column, *names]), *(f"p{number},{row}" for number, row in enumerate(rows)), ""]
    (folder / "records.csv").write_text("\n".join(lines))
    load_records(folder / "records.csv", "text/csv", schema, PEOPLE_MAX, folder / "encoded")
    return Records.open(folder / "encoded", schema)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
