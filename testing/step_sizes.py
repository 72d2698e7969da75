"""What the steps of a learner count, beside what the deadline supposes of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holder_service.domain.deadlines import PlanSize
from holder_service.domain.pricing import BatchPrice, Price
from holder_service.learning.measuring import LearningStep
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import Counts, EncodedVersion
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.kinds.plans import Batch
from shared.privacy.amounts import Loss


class Counted(NamedTuple):
    """What one step counted."""

    cells: Sequence[Cell]
    classes: Sequence[Sequence[int]]
    sensitive: Sequence[str]


class KeepingEngine:
    """Counts as another engine does, and keeps what it was asked."""

    def __init__(self, engine: Counts) -> None:
        self._engine = engine
        self.asked: list[Counted] = []

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        self.asked.append(Counted(cells, classes, sensitive))
        return self._engine.count(version, cells, classes, sensitive)


def exceeded(step: LearningStep, counted: Counted, schema: Schema) -> list[str]:
    """The parts of a step's size that what it counted exceeds."""
    found = dict(_parts(_size(counted, schema)))
    return [name for name, most in _parts(step.size) if found[name] > most]


def _size(counted: Counted, schema: Schema) -> PlanSize:
    """As of a batch that counts the same."""
    batch = Batch.model_validate(
        {
            "name": "step", "mechanism": {"name": "laplace"}, "epsilon": "1",
            "cells": [{"id": str(index), "any_of": cell.any_of} for index, cell in enumerate(counted.cells)],
        }
    )  # fmt: skip
    bands = [schema.by_name[name].bands_from for name in counted.sensitive]
    price = Price((BatchPrice(batch, tuple(map(tuple, counted.classes)), Loss(0), Loss(0)),))
    return PlanSize.of(
        price, schema.group_count(counted.sensitive), band_cuts=[len(one) for one in bands if one],
        sensitive=counted.sensitive,
    )  # fmt: skip


def _parts(size: PlanSize) -> Iterator[tuple[str, int]]:
    for name in size.__slots__:
        value = getattr(size, name)
        yield name, sum(value.values()) if name == "counts" else value
