"""What is asked to see how long releases take: plans small and large, and a training by every algorithm."""

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holder_service.learning.learners import LEARNERS
from shared.kinds.plans import Plan
from shared.kinds.requests import ReleaseRequest
from shared.kinds.trainings import Training

COLUMNS: Final = 12
FREQUENT: Final = 0.5
"""The number that half of the people have; rules cut right below and above it."""


def plans() -> dict[str, ReleaseRequest]:
    """Plans small and large, a tree and no tree, disjoint and overlapping, by every mechanism that draws noise."""
    laplace: dict[str, Any] = {"name": "laplace"}
    # This range is the smallest for its epsilon: draws are rejected most often.
    mechanisms: Sequence[dict[str, Any]] = (
        laplace, {"name": "gaussian", "delta": "0.000001"}, {"name": "exponential", "upper": 1000},
    )  # fmt: skip
    rng = random.Random(0)  # noqa: S311 - invented rules
    unordered = [
        [{"column": f"x{column}", "op": "le", "value": rng.random()} for column in rng.sample(range(COLUMNS), 6)]
        for _ in range(512)
    ]
    plans: dict[str, ReleaseRequest] = {
        "everybody, laplace": _plan([[]], laplace),
        "1024 leaves, laplace": _plan(_leaves(1024, rng), laplace),
        "48 overlapping cells": _plan([[]] * 48, laplace),
        "512 rules that are not a tree": _plan(unordered, laplace, cells=1),
    }
    for leaves, mechanism in itertools.product((2, 64), mechanisms):
        plans[f"{leaves} leaves, {mechanism['name']}"] = _plan(_leaves(leaves, rng), mechanism)
    return plans


def of_rows(every: Mapping[str, ReleaseRequest]) -> dict[str, ReleaseRequest]:
    """Those whose counts are most of the work, of rows that stand for people."""
    return {f"{name}, rows": every[name] for name in ("48 overlapping cells", "64 leaves, laplace")}


def trainings() -> dict[str, ReleaseRequest]:
    """One by each algorithm, of six features in four bins each."""
    features = [{"column": f"x{column}", "cuts": [0.25, FREQUENT, 0.75]} for column in range(6)]
    asked = {"label": "label", "sensitive": ["half"], "features": features, "epsilon": "0.1"}
    return {f"training, {name}": Training.model_validate({**asked, "algorithm": {"name": name}}) for name in LEARNERS}


def _plan(rules: Sequence[list[dict[str, Any]]], mechanism: dict[str, Any], cells: int | None = None) -> Plan:
    """A plan of one batch at the smallest epsilon, whose noise takes longest: a cell for each rule, or so many."""
    dealt: list[list[dict[str, Any]]] = [[] for _ in range(cells or len(rules))]
    for rule, cell in zip(rules, itertools.cycle(dealt), strict=False):
        cell.append({"all_of": rule})
    documents = [{"id": str(index), "any_of": cell} for index, cell in enumerate(dealt)]
    batch = {"name": "batch", "mechanism": mechanism, "epsilon": "0.001", "cells": documents}
    return Plan.model_validate({"sensitive": ["group"], "batches": [batch]})


def _leaves(number: int, rng: random.Random) -> list[list[dict[str, Any]]]:
    """The paths of a random tree."""
    paths: list[list[dict[str, Any]]] = [[]]
    while len(paths) < number:
        index = rng.randrange(len(paths))
        test = {"column": f"x{rng.randrange(COLUMNS)}", "value": rng.choice((FREQUENT, rng.random(), rng.random()))}
        sides = rng.choice((("le", "gt"), ("lt", "ge")))
        paths[index : index + 1] = [[*paths[index], {**test, "op": op}] for op in sides]
    return paths
