"""scikit-learn's multi-layer perceptrons as `layers` documents (5-decisions §2).

The inputs are the raw columns' numbers and tables, so scalers are folded into the first layer's weights. The arithmetic
differs from scikit-learn's by rounding, and every layer passes on what came before it. With u half a unit in the last
place and absolute values throughout, a layer of n inputs x, off by e, is off by |W|·e + 2(n + 2)·u·(|W|·|x| + |b|); no
activation makes a difference larger, and each is off by at most 8 units of u itself.
"""

import copy
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from pydantic import ValidationError
from sklearn.neural_network import MLPClassifier
from sklearn.neural_network._base import ACTIVATIONS
from sklearn.preprocessing import LabelBinarizer

from auditor_client.errors import ModelRefused
from auditor_client.models.features import column_features
from auditor_client.models.inventing import Invented
from auditor_client.models.preprocessing import Preprocessing
from auditor_client.models.scoring import Numbers, Scoring, by_label
from shared.scores.documents import Dense, Layers, Term

_AGAIN: Final = "Save the model again from its source."
_ACTIVATIONS: Final = ("identity", "relu", "tanh", "logistic")


class _Network:
    """A fitted network's weights, and the inputs of its documents."""

    def __init__(self, model: MLPClassifier, preprocessing: Preprocessing) -> None:
        self.weights = [np.asarray(array, np.float64) for array in model.coefs_]
        self.biases = [np.asarray(array, np.float64) for array in model.intercepts_]
        self.activation = model.activation
        self.unit = 2.0**-24 if any(np.asarray(array).dtype == np.float32 for array in model.coefs_) else 2.0**-53
        self._require_sound(model, len(preprocessing.features))
        self.columns = column_features(preprocessing)

    def _require_sound(self, model: MLPClassifier, features: int) -> None:
        outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
        shapes = [weights.shape for weights in self.weights]
        sound = (
            len(shapes) == len(self.biases) == model.n_layers_ - 1 >= 1
            and all(len(shape) == 2 for shape in shapes)
            and [shape[0] for shape in shapes] == [features, *(shape[1] for shape in shapes[:-1])]
            and all(bias.shape == shape[1:] for bias, shape in zip(self.biases, shapes, strict=True))
            and shapes[-1][1] == outputs == model.n_outputs_
            and model.n_features_in_ == features
            and self.activation in _ACTIVATIONS
            and type(vars(model)["_label_binarizer"]) is LabelBinarizer
            and all(np.isfinite(array).all() for array in (*self.weights, *self.biases))
        )
        if not sound:
            raise ModelRefused(f"The network's weights do not fit together. {_AGAIN}")

    def document(self, output: int) -> Layers:
        """The number of one output, before its activation."""
        inputs: list[Term] = []
        rows: list[Numbers] = []
        first_bias = self.biases[0].copy()
        for column in self.columns:
            for number, feature in enumerate(column.features):
                terms, constant = column.terms(float(column.slopes[number]), column.tables[:, number])
                inputs += terms
                rows += [self.weights[0][feature]] * len(terms)
                first_bias += constant * self.weights[0][feature]
        weights = [np.array(rows).reshape(len(rows), self.weights[0].shape[1]), *self.weights[1:]]
        biases = [first_bias, *self.biases[1:]]
        weights[-1], biases[-1] = weights[-1][:, [output]], biases[-1][[output]]
        layers = [
            Dense(
                weights=tuple(tuple(row) for row in weight.T.tolist()),
                bias=tuple(bias.tolist()),
                activation=self.activation if number < len(weights) - 1 else "identity",
            )
            for number, (weight, bias) in enumerate(zip(weights, biases, strict=True))
        ]
        return Layers(kind="layers", precision="float64", inputs=tuple(inputs), layers=tuple(layers))

    def bounds(self, records: Invented) -> Numbers:
        """Return how far the two arithmetics may be apart, shape (records,)."""
        features = np.zeros((records.count, len(self.weights[0])))
        for column in self.columns:
            features[:, list(column.features)] = column.magnitudes(records)
        operations = max((column.operations for column in self.columns), default=0)
        numbers, off = features, (3 * operations + 8) * self.unit * features
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            sizes = numbers @ np.abs(weight) + np.abs(bias)
            inputs = 2 * len(weight) if number == 0 else len(weight)
            off = off @ np.abs(weight) + 2 * (inputs + 2) * self.unit * sizes
            numbers = sizes
            if number < len(self.weights) - 1 and self.activation in ("tanh", "logistic"):
                numbers = np.ones_like(sizes)
                off += 8 * self.unit
        largest: Numbers = off.max(axis=1) * 1.01
        return largest


def scoring_of(model: MLPClassifier, preprocessing: Preprocessing) -> tuple[Scoring, str]:
    """A network as documents, and what it is in words.

    Args:
        model: Fitted.
        preprocessing: The steps before it.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    classes: Sequence[Any] = np.asarray(model.classes_).tolist()
    if np.asarray(model.classes_).ndim != 1 or len(classes) < 2:
        raise ModelRefused("The network decides several things at once: train one for each.")
    network = _Network(model, preprocessing)
    preprocessing.require_works(
        lambda table: model.predict(preprocessing.transform(table)), preprocessing.features, type(model).__name__
    )
    scores = network.weights[-1].shape[1]
    try:
        documents = tuple(network.document(output) for output in range(scores))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ModelRefused(f"The network is larger than a score document may be: {first['msg']}") from error

    before, around = copy.copy(model), copy.copy(model)
    before.out_activation_ = "identity"
    if model.out_activation_ not in ("logistic", "softmax"):
        raise ModelRefused(f"The network ends with {model.out_activation_!r}, which no classifier does. {_AGAIN}")

    def activated(numbers: Numbers, check_input: bool = True) -> Numbers:
        outputs = numbers.copy()
        ACTIVATIONS[model.out_activation_](outputs)
        return outputs

    around._forward_pass_fast = activated  # noqa: SLF001  # the model's own code, of numbers that are known already
    scoring = Scoring(
        classes,
        documents,
        by_label(around.predict, classes),
        probabilities=around.predict_proba,
        own=before._forward_pass_fast,  # noqa: SLF001
        bounds=network.bounds,
    )
    hidden = " and ".join(str(weight.shape[1]) for weight in network.weights[:-1])
    return scoring, f"a neural network of {hidden} hidden units" if hidden else "a neural network without hidden units"
