"""What decisions about people are worth: how many are right, and how alike the rates of groups are."""

from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.trained_models import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Judged:
    """Decisions about the people of a part for tests.

    Attributes:
        accuracy: The share of right decisions.
        balanced: The mean of that of people with the label and of people without it.
        auc: The chance that of two people of whom one has the label this one has the larger score (half of it if they
            are equal). Of decisions that are no threshold of one score it is `balanced`.
        ratio: The smallest rate of favourable decisions of a group divided by the largest; 1 where nobody gets one.
        difference: The largest less the smallest.
    """

    accuracy: float
    balanced: float
    auc: float
    ratio: float
    difference: float

    @classmethod
    def of(
        cls, decided: BoolArray, label: BoolArray, groups: IntArray, scores: NDArray[np.float64] | None = None
    ) -> Self:
        """Judge decisions, shape (n,), about people of groups that are numbered; a group of nobody is left out."""
        right = decided == label
        balanced = float((right[label].mean() + right[~label].mean()) / 2)
        auc = balanced if scores is None else float(roc_auc_score(label, scores))
        people = np.bincount(groups)
        rates = np.bincount(groups, weights=decided)[people > 0] / people[people > 0]
        ratio = float(rates.min() / rates.max()) if rates.max() > 0 else 1.0
        return cls(float(right.mean()), balanced, auc, ratio, float(np.ptp(rates)))


FIGURES: Final = tuple(one.name for one in fields(Judged))
