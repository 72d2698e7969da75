"""What a simulated holder answers to trainings: a tree of one feature, or of two scores, with invented counts."""

import itertools
import math
from typing import Any

from shared.amounts import NANO_PER_UNIT, format_nano
from shared.datasets import DatasetDescription
from shared.noise import DiscreteLaplaceNoise
from shared.nonces import draw_nonce
from shared.rules import Cell, Predicate, Rule
from shared.scores import Document, TableTerm, Terms
from shared.trained_scores import GROUP_SCORE, LABEL_SCORE
from shared.trainings import (
    FairLinear,
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
    """A training's price: a step for each level of splits, and one for the leaves; of scores, tables and bands."""
    people = 1 if dataset.relation == "add_remove" else 2
    return TrainingQuote(
        dataset=dataset.name,
        version=training.version,
        relation=dataset.relation,
        charge=training.charge,
        steps=(_linear_steps if isinstance(training.algorithm, FairLinear) else _tree_steps)(training, people),
    )


def _tree_steps(training: Training, people: int) -> tuple[TrainingStep, ...]:
    algorithm, epsilon_nano = training.algorithm_as(FairTree), training.epsilon
    depth = algorithm.depth
    level = epsilon_nano * algorithm.splits // NANO_PER_UNIT // depth
    leaves = epsilon_nano - depth * level
    return (
        *(
            _step(f"splits of level {index + 1}", "choices", level, NANO_PER_UNIT / (level // people))
            for index in range(depth)
        ),
        _step("leaves", "counts", leaves, people * NANO_PER_UNIT / leaves),
    )


def _linear_steps(training: Training, people: int) -> tuple[TrainingStep, ...]:
    tables, features = training.epsilon * training.algorithm_as(FairLinear).tables // NANO_PER_UNIT, training.features
    bands = training.epsilon - tables
    return (
        _step("tables", "counts", tables, people * NANO_PER_UNIT / (tables // len(features)), classes=len(features)),
        _step("bands", "counts", bands, people * NANO_PER_UNIT / bands),
    )


def training_answer(training: Training, dataset: DatasetDescription, *, auditor: str) -> TrainingAnswer:
    """A tree that splits on the first feature alone, its later leaves having more people with the label.

    The first group is more often in the later leaves than the others. Of scores the first feature alone has points.
    """
    quote, scores = training_quote(training, dataset), None
    if isinstance(training.algorithm, FairLinear):
        cells, scores = _bands(), _scores(training, dataset)
    else:
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
            ),
            scores=scores,
        ),
        counts=TrainedCounts(groups=groups, noise=DiscreteLaplaceNoise(scale=quote.steps[-1].scale), leaves=counts),
    )


def _scores(training: Training, dataset: DatasetDescription) -> dict[str, Document]:
    """By the label's score ten points for each later bin of the first feature, by the group's ten for the last bins."""
    axes = [feature.axis(dataset.table.by_name[feature.column]) for feature in training.features]
    tables = {
        LABEL_SCORE: [[10.0 * at if axis is axes[0] else 0.0 for at in range(axis.size)] for axis in axes],
        GROUP_SCORE: [[10.0 * (axis is axes[-1] and at > 0) for at in range(axis.size)] for axis in axes],
    }
    return {
        name: Terms(
            kind="terms", precision="float64",
            terms=tuple(
                TableTerm(axes=(axis,), table=tuple(table)) for axis, table in zip(axes, of_score, strict=True)
            ),
        )
        for name, of_score in tables.items()
    }  # fmt: skip


def _bands() -> list[Cell]:
    """Below 10, below 20 and above by the label's score, in both bands of the group's."""
    label = [[("lt", 10)], [("ge", 10), ("lt", 20)], [("ge", 20)]]
    group = [[("lt", 5)], [("ge", 5)]]
    return [
        _cell(
            index,
            tuple(
                Predicate.model_validate({"column": name, "op": op, "value": value})
                for name, tests in ((LABEL_SCORE, of_label), (GROUP_SCORE, of_group))
                for op, value in tests
            ),
        )
        for index, (of_label, of_group) in enumerate(itertools.product(label, group))
    ]


def _step(name: str, measures: str, epsilon_nano: int, scale: float, *, classes: int = 1) -> TrainingStep:
    return TrainingStep.model_validate(
        {
            "name": name, "measures": measures, "epsilon": format_nano(epsilon_nano), "classes": classes,
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
