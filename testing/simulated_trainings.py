"""What a simulated holder answers to trainings: a tree of one feature with invented counts."""

import itertools
import math
from typing import Any

from shared.amounts import NANO_PER_UNIT, format_nano
from shared.datasets import DatasetDescription
from shared.noise import DiscreteLaplaceNoise
from shared.nonces import draw_nonce
from shared.rules import Cell, Predicate, Rule
from shared.trainings import (
    FairTree,
    LeafHistogram,
    TrainedCounts,
    TrainedLeaf,
    TrainedTree,
    Training,
    TrainingAnswer,
    TrainingQuote,
    TrainingStep,
    training_identity,
)


def loans_training(epsilon: str = "1", **changes: Any) -> Training:
    """A training that `testing.registers.LOANS` allows: a tree of three splits over ages and education."""
    asked: dict[str, Any] = {
        "algorithm": {"name": "fair_tree", "depth": 2},
        "label": "repaid",
        "sensitive": ["sex"],
        "features": [{"column": "age", "cuts": [25, 35, 60]}, {"column": "education"}],
        "epsilon": epsilon,
        "version": 3,
    }
    return Training.model_validate({**asked, **changes})


def training_quote(training: Training, dataset: DatasetDescription) -> TrainingQuote:
    """A training's price: a step for each level of splits, and one for the leaves."""
    people = 1 if dataset.relation == "add_remove" else 2
    algorithm, epsilon_nano = training.algorithm_as(FairTree), training.epsilon
    depth = algorithm.depth
    level = epsilon_nano * algorithm.splits // NANO_PER_UNIT // depth
    leaves = epsilon_nano - depth * level
    return TrainingQuote(
        dataset=dataset.name,
        version=training.version,
        relation=dataset.relation,
        charge=training.charge,
        steps=(
            *(_step(f"splits of level {index + 1}", "choices", level, NANO_PER_UNIT / (level // people))
              for index in range(depth)),
            _step("leaves", "counts", leaves, people * NANO_PER_UNIT / leaves),
        ),
    )  # fmt: skip


def training_answer(training: Training, dataset: DatasetDescription, *, auditor: str) -> TrainingAnswer:
    """A tree that splits on the first feature alone, its later leaves having more people with the label.

    The first group is more often in the later leaves than the others.
    """
    quote = training_quote(training, dataset)
    cells = _cells(training, dataset)[: 2 ** training.algorithm_as(FairTree).depth]
    groups = dataset.table.groups(training.sensitive)
    counts = tuple(
        LeafHistogram(
            id=cell.id,
            positive=tuple(100 * (index + 1) * (1 if number else 2) for number in range(len(groups))),
            negative=tuple(300 + 10 * number for number in range(len(groups))),
        )
        for index, cell in enumerate(cells)
    )
    return TrainingAnswer(
        id=training_identity(training, auditor=auditor, dataset=dataset.name),
        dataset=dataset.name,
        version=training.pinned_version,
        auditor=auditor,
        relation=dataset.relation,
        nonce=draw_nonce(),
        training=training,
        charge=quote.charge,
        steps=quote.steps,
        model=TrainedTree(
            leaves=tuple(
                TrainedLeaf(cell=cell, favourable=sum(of_leaf.positive) > sum(of_leaf.negative))
                for cell, of_leaf in zip(cells, counts, strict=True)
            )
        ),
        counts=TrainedCounts(groups=groups, noise=DiscreteLaplaceNoise(scale=quote.steps[-1].scale), leaves=counts),
    )


def _step(name: str, measures: str, epsilon_nano: int, scale: float) -> TrainingStep:
    return TrainingStep.model_validate(
        {
            "name": name, "measures": measures, "epsilon": format_nano(epsilon_nano), "classes": 1,
            "scale": math.nextafter(scale, math.inf),
        }
    )  # fmt: skip


def _cells(training: Training, dataset: DatasetDescription) -> list[Cell]:
    """The bins of the first feature; the last has everybody behind the last cut that the depth allows."""
    feature = training.features[0]
    column = dataset.table.by_name[feature.column]
    if not column.ordered:
        return [
            _cell(index, (Predicate(column=column.name, op="eq", value=value),))
            for index, value in enumerate(column.values)
        ]
    cuts = (feature.cuts or ())[: 2 ** training.algorithm_as(FairTree).depth - 1]
    cells = []
    for index, (start, behind) in enumerate(itertools.pairwise((None, *cuts, None))):
        tests = [
            {"column": column.name, "op": op, "value": end, "or_missing": column.nullable and start is None}
            for op, end in (("ge", start), ("lt", behind))
            if end is not None
        ]
        cells.append(_cell(index, tuple(map(Predicate.model_validate, tests))))
    return cells


def _cell(index: int, tests: tuple[Predicate, ...]) -> Cell:
    return Cell(id=f"leaf-{index}", any_of=(Rule(all_of=tests),))
