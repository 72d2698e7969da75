"""What a simulated holder answers to trainings: a tree of one feature, or of two scores, with invented counts."""

import itertools
from typing import Any

from holder_service.learning.features import binned
from holder_service.learning.learners import LEARNERS
from shared.contract.datasets import DatasetDescription
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell, Predicate, Rule
from shared.kinds.trained_scores import GROUP_SCORE, LABEL_SCORE
from shared.kinds.trainings import (
    FairLinear,
    FairTree,
    LeafHistogram,
    Pflr,
    PflrStar,
    PrivateFairTree,
    TrainedCounts,
    TrainedLeaf,
    TrainedScore,
    TrainedTree,
    Training,
    TrainingAnswer,
    TrainingQuote,
)
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.scores.documents import Document, RuleTerm, TableTerm, Terms
from shared.wire.nonces import draw_nonce


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
    """A training's price, with the steps of the holder's own learner; under a relation without trainings, as if."""
    protects_records = dataset.relation != "sensitive_attribute"
    relation = NeighbouringRelation(dataset.relation if protects_records else "add_remove")
    steps = LEARNERS[training.algorithm.name].steps(training, dataset.table)
    return TrainingQuote(
        dataset=dataset.name,
        version=training.version,
        relation=dataset.relation,
        charge=training.charge,
        steps=tuple(step.quoted(relation) for step in steps),
    )


def training_answer(training: Training, dataset: DatasetDescription, *, auditor: str) -> TrainingAnswer:
    """A tree that splits on the first feature alone, its later leaves having more people with the label.

    The first group is more often in the later leaves than the others. Of a score or two the first feature alone, or the
    last, has points.
    """
    quote = training_quote(training, dataset)
    model, counts = _learned(training, dataset, noise=quote.steps[-1].scale)
    return TrainingAnswer(
        id=training.identity(auditor=auditor, dataset=dataset.name),
        dataset=dataset.name,
        version=training.pinned_version,
        auditor=auditor,
        relation=dataset.relation,
        nonce=draw_nonce(),
        training=training,
        charge=quote.charge,
        steps=quote.steps,
        model=model,
        counts=counts,
    )


def _learned(
    training: Training, dataset: DatasetDescription, *, noise: float
) -> tuple[TrainedTree | TrainedScore, TrainedCounts | None]:
    """The model, and the counts of its leaves where the algorithm has them."""
    algorithm, scores = training.algorithm, None
    match algorithm:
        case Pflr() | PflrStar():
            return _regression(training, dataset), None
        case FairLinear():
            cells, scores = _bands(), _scores(training, dataset)
        case FairTree() | PrivateFairTree():
            cells = _cells(training, dataset, leaves=2**algorithm.depth)
    groups = dataset.table.groups(training.sensitive)
    counts = tuple(
        LeafHistogram(
            id=cell.id,
            positive=tuple(100 * (index + 1) * (1 if number else 2) for number in range(len(groups))),
            negative=tuple(300 + 10 * number for number in range(len(groups))),
        )
        for index, cell in enumerate(cells)
    )
    model = TrainedTree(
        leaves=tuple(
            TrainedLeaf(cell=cell, favourable=sum(of_leaf.positive) > sum(of_leaf.negative))
            for cell, of_leaf in zip(cells, counts, strict=True)
        ),
        scores=scores,
    )
    if isinstance(algorithm, PrivateFairTree):
        return model, None
    return model, TrainedCounts(groups=groups, noise=DiscreteLaplaceNoise(scale=noise), leaves=counts)


def _regression(training: Training, dataset: DatasetDescription) -> TrainedScore:
    """Who is in a later bin of the first feature has more."""
    later = enumerate(binned(training, dataset.table)[0].bins[1:], start=1)
    terms = tuple(RuleTerm(rule=Rule(all_of=path), value=0.5 * index) for index, path in later)
    return TrainedScore(document=Terms(kind="terms", precision="float64", base=-1.0, terms=terms), at_least=0.0)


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


def _cells(training: Training, dataset: DatasetDescription, *, leaves: int) -> list[Cell]:
    """The bins of the first feature, up to so many; the last has everybody behind the last cut."""
    feature = training.features[0]
    column = dataset.table.by_name[feature.column]
    if not column.ordered:
        return [
            _cell(index, (Predicate(column=column.name, op="eq", value=value),))
            for index, value in enumerate(column.values[:leaves])
        ]
    cuts = (feature.cuts or ())[: leaves - 1]
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
