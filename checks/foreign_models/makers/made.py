"""A model that a maker made: its file, how to ask for it, and what its maker decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from checks.foreign_models.makers.data import Table


class Answers(Protocol):
    """A maker's own predictions."""

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Predicted classes or numbers, and each class's probability or None."""


@dataclass(frozen=True)
class Made:
    """A model and its file.

    Attributes:
        kind: What it is: "RandomForestClassifier".
        suffix: The file's name ends so.
        content: The file's bytes.
        table: How the model's table is made of columns.
        model: Answers for itself; kept by pickle in the same environment. None: the file itself is asked.
        classes: In the model's order; none where it predicts a number.
        favourable: Which class is favourable; None where it predicts a number.
        above: The threshold of a probability or number.
        refused: What the refusal has to say; None where the file has to be read.
    """

    kind: str
    suffix: str
    content: bytes
    table: Table
    model: Answers | None
    classes: list[Any]
    favourable: Any = None
    above: float | None = None
    refused: str | None = None
    input_dtypes: Mapping[str, str] | None = None


@dataclass
class Estimator:
    """scikit-learn's interface."""

    model: Any
    probable: bool = True

    def ask(self, table: Any) -> tuple[Any, Any]:
        """Ask `predict` and `predict_proba`."""
        shares = self.model.predict_proba(table) if self.probable and hasattr(self.model, "predict_proba") else None
        if shares is None and hasattr(self.model, "decision_function"):
            scores = np.asarray(self.model.decision_function(table), np.float64)
            return self.model.predict(table), np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        return self.model.predict(table), shares


def decided(made_as: Mapping[str, Any], predicted: Any, shares: Any) -> tuple[Any, Any]:
    """Whether each record is decided favourably, and how far each is from the other decision, in the maker's scale."""
    above, classes, favourable = made_as["above"], made_as["classes"], made_as["favourable"]
    if not classes:
        numbers = np.asarray(predicted, np.float64).ravel()
        return numbers > above, np.abs(numbers - above)
    if above is not None:
        share = np.asarray(shares, np.float64)[:, classes.index(favourable)]
        return share > above, np.abs(share - above)
    texts = np.array([str(label) for label in np.asarray(predicted).ravel().tolist()], object)
    yes = texts == str(favourable)
    if shares is None:
        return yes, np.full(len(yes), np.inf)
    shares = np.asarray(shares, np.float64)
    if shares.ndim == 1 or shares.shape[1] == 1:  # one number, whose sign decides
        return yes, np.abs(shares).ravel()
    ordered = np.sort(shares, axis=1)
    return yes, ordered[:, -1] - ordered[:, -2]
