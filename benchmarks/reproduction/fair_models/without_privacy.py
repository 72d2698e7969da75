"""What is reached without privacy: upper bounds, and the constant."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.reproduction.fair_models.parity import parity_step
from benchmarks.reproduction.fair_models.rivals import AS_IT_IS, PARITY_STEP, RATIO, Rival, Row, row
from benchmarks.reproduction.fair_models.splits import codes, one_hot
from benchmarks.trained_models import BoolArray, FloatArray, IntArray, Parts
from shared.kinds.trainings import FairLinear
from shared.privacy.amounts import NANO_PER_UNIT

CONSTANT: Final = "one decision for all"
LOGISTIC: Final = "logistic regression"
TREE: Final = "tree"
TWO_SCORES: Final = "two logistic regressions"
LEAF_MIN: Final = 0.005
"""The least share of people in a leaf of the tree."""


def rivals(parts: Parts, names: Sequence[str], seed: int) -> Iterator[Rival]:
    """A logistic regression and a tree on some columns; the former on all columns too."""
    labels = parts.train.labels(parts.data.label)
    for name, columns in ((LOGISTIC, names), (f"{LOGISTIC}, all columns", parts.data.features)):
        yield Rival(name, *_logistic(parts, columns, labels), 0.5)
    tree = DecisionTreeClassifier(min_samples_leaf=LEAF_MIN, random_state=seed).fit(codes(parts.train, names), labels)
    train, test = (tree.predict_proba(codes(people, names))[:, 1] for people in (parts.train, parts.test))
    yield Rival(TREE, train, test, 0.5)


def constant_row(parts: Parts, sensitive: Sequence[str]) -> Row:
    """As most people are whom one learns from."""
    label = parts.data.label
    decided = np.full(len(parts.test), parts.train.labels(label).mean() > 0.5)
    return {"learner": CONSTANT, "step": AS_IT_IS, **row(parts.test, label, sensitive, decided)}


def two_scores_row(parts: Parts, names: Sequence[str], sensitive: Sequence[str]) -> Row:
    """What `fair_linear` would be without privacy: bands of a score for the label, and for the worst-off group."""
    labels, groups = parts.train.labels(parts.data.label), parts.train.groups(sensitive)
    people = np.bincount(groups)
    rates = np.bincount(groups, weights=labels) / np.maximum(people, 1)
    worst_off = int(np.where(people > 0, rates, np.inf).argmin())
    default = FairLinear(name="fair_linear")
    of_label = _cut(_logistic(parts, names, labels), default.label_quantiles)
    of_group = _cut(_logistic(parts, names, groups == worst_off), default.group_quantiles)
    width = len(default.group_quantiles) + 1
    of_train, of_test = (one * width + other for one, other in zip(of_label, of_group, strict=True))
    number = width * (len(default.label_quantiles) + 1)
    decided = np.full(number, False)
    found = parity_step(of_train, labels, groups, RATIO)
    decided[: len(found)] = found
    figures = row(parts.test, parts.data.label, sensitive, decided[of_test])
    return {"learner": TWO_SCORES, "step": PARITY_STEP, **figures}


def _logistic(parts: Parts, names: Sequence[str], wanted: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities for both parts' people; numbers are scaled to a deviation of 1."""
    train, test = one_hot(parts.train, names), one_hot(parts.test, names)
    deviation = np.maximum(train.std(axis=0), 1e-9)
    ordered = np.any((train != 0) & (train != 1), axis=0)
    scale = np.where(ordered, deviation, 1.0)
    model = LogisticRegression(max_iter=1000).fit(train / scale, wanted)
    of_train, of_test = (model.predict_proba(part / scale)[:, 1] for part in (train, test))
    return of_train, of_test


def _cut(scores: tuple[FloatArray, FloatArray], quantiles: Sequence[int]) -> tuple[IntArray, IntArray]:
    ends = np.quantile(scores[0], [one / NANO_PER_UNIT for one in quantiles])
    train, test = (np.searchsorted(ends, part, side="left") for part in scores)
    return train, test
