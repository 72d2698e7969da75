"""The symbols that an ONNX graph's tensors are followed as, and what operators make of them.

A tensor is one of: a constant; numbers that are each a function of one input (`Encoded`); outputs of trees or of layers
of such numbers (`Outputs`); a class (`Chosen`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.parsing import VALUES_MAX
from shared.wire import limits

Numbers = NDArray[np.float64]
STEPS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Unread:
    """The number that skl2onnx gives beside a classifier's class; operators on it are refused."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A number that is a function of one input.

    Attributes:
        source: The input's index.
        steps: Operators with a constant each, applied to a number in order, in single precision.
        codes: The number of each text; None if the input is a number.
        otherwise: The number of a text that is not in `codes`.
        filling: The number that replaces a missing one before the steps; NaN if it stays missing.
        kind: Whether it is a float32 ("single"), or still the double ("double") or the whole number ("whole") that came
            in. A float32 that is made a double again is "widened".
    """

    source: int
    steps: tuple[tuple[str, float], ...] = ()
    codes: tuple[tuple[str, float], ...] | None = None
    otherwise: float = np.nan
    filling: float = np.nan
    kind: str = "single"

    def image(self, number: float) -> np.float32:
        """Return a number after all steps, in single precision."""
        value = np.float32(number)
        with np.errstate(all="ignore"):
            for name, constant in self.steps:
                value = STEPS[name](value, np.float32(constant))
        return np.float32(value)

    @property
    def affine(self) -> tuple[float, float]:
        """The slope and the constant of all steps together, as real numbers."""
        slope, constant = 1.0, 0.0
        for name, number in self.steps:
            match name:
                case "Add":
                    constant += number
                case "Sub":
                    constant -= number
                case "Mul":
                    slope, constant = slope * number, constant * number
                case "Div":
                    slope, constant = slope / number, constant / number
        return slope, constant


STEPS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": lambda value, constant: value + constant,
    "Sub": lambda value, constant: value - constant,
    "Mul": lambda value, constant: value * constant,
    "Div": lambda value, constant: value / constant,
}


@dataclass(frozen=True, slots=True)
class DenseStep:
    """One layer: weights of shape (units, inputs), a bias for each unit, and what is done with the sums."""

    weights: Numbers
    bias: Numbers
    activation: str = "identity"


@dataclass(frozen=True, slots=True)
class Outputs:
    """Numbers that a record gets: one for each class, or one.

    Attributes:
        inputs: What goes in.
        layers: Dense layers, at least one, or none where there are trees.
        trees: A tree ensemble's attributes by name.
        link: What was done with the sums at last: "", "Sigmoid", "Softmax" or "Normalizer".
        both: Whether the two numbers are 1 − p and p of a single sum.
    """

    inputs: tuple[Encoded, ...]
    layers: tuple[DenseStep, ...] = ()
    trees: dict[str, Any] | None = None
    link: str = ""
    both: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The class of the largest number; its index as long as `classes` is None."""

    of: Outputs
    classes: tuple[Any, ...] | None = None


Tensor = NDArray[Any] | tuple[Encoded, ...] | tuple[str, int] | Outputs | Chosen


def cast_number(encoded: Encoded, to: int) -> Encoded:
    """Return a number as a float32 (1) or as a double (11)."""
    if to == 1 and (encoded.kind == "single" or not encoded.steps):
        return replace(encoded, kind="single")
    return replace(encoded, kind="widened") if to == 11 and encoded.kind == "single" else encoded


def is_text(tensor: Any) -> bool:
    """Return whether a tensor is one column of texts."""
    return isinstance(tensor, tuple) and len(tensor) == 2 and tensor[0] == "text"


def texts_of(tensor: Any) -> tuple[Any, ...]:
    """Return the columns of a table of texts; an empty tuple for any other tensor."""
    if is_text(tensor):
        return (tensor,)
    return tensor if isinstance(tensor, tuple) and all(map(is_text, tensor)) else ()


def require_small(size: int, limit: int = VALUES_MAX) -> None:
    """Refuse what a few operators can make large."""
    if size > limit:
        raise ModelRefused(f"The graph makes a tensor or layers of {size} parts: {limit} are read.")


def is_coded(tensor: Any) -> bool:
    """Return whether it is a number that stands for a text."""
    return isinstance(tensor, Encoded) and tensor.codes is not None


def columns_of(tensor: Any, what: str) -> tuple[Encoded, ...]:
    """Return the columns of a table of numbers that go directly into an operator."""
    if isinstance(tensor, tuple) and tensor and all(isinstance(column, Encoded) for column in tensor):
        return tensor
    raise ModelRefused(f"{what} is read directly behind encoders and scalers.")


def with_step(encoded: Encoded, name: str, number: float) -> Encoded:
    """Return a number behind one more operator with a constant."""
    if not np.isfinite(number) or (name in ("Div", "Mul") and number == 0):
        raise ModelRefused(f"{name} by {number}, which is not read.")
    if len(encoded.steps) >= STEPS_MAX:
        raise ModelRefused(f"A number goes through more than {STEPS_MAX} operators before the model.")
    return replace(encoded, steps=(*encoded.steps, (name, number)))


def layer_of(tensor: Any, weights: Numbers) -> Outputs:
    """Return the outputs of a dense layer, weights of shape (units, inputs), behind columns or other layers."""
    bias = np.zeros(len(weights))
    require_small(weights.size, limits.SCORE_WEIGHT_MAX)
    if isinstance(tensor, Outputs) and tensor.trees is None and tensor.link in ("", "Sigmoid"):
        before = tensor.layers
        require_small(len(before), limits.SCORE_LAYERS_MAX)
        require_small(sum(layer.weights.size for layer in before) + weights.size, limits.SCORE_WEIGHT_MAX)
        if tensor.link:  # a Sigmoid between two layers
            before = (*before[:-1], replace(before[-1], activation="logistic"))
        if weights.shape[1] != len(before[-1].weights):
            raise ModelRefused("Two layers of the graph do not fit together.")
        return Outputs(tensor.inputs, (*before, DenseStep(weights, bias)))
    columns = columns_of(tensor, "A layer")
    if weights.shape[1] != len(columns):
        raise ModelRefused("A layer of the graph does not fit its inputs.")
    return Outputs(columns, (DenseStep(weights, bias),))


def linear_outputs(columns: tuple[Encoded, ...], attributes: dict[str, Any], rows: int) -> Outputs:
    """Return the outputs of a linear operator with so many rows of coefficients."""
    weights = np.asarray(attributes.get("coefficients", []), np.float64)
    if rows < 1 or weights.size != rows * len(columns):
        raise ModelRefused("A linear operator's coefficients do not fit its inputs.")
    bias = np.broadcast_to(np.asarray(attributes.get("intercepts", [0.0]), np.float64), (rows,))
    link = {"NONE": "", "LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}.get(attributes.get("post_transform", "NONE"))
    if link is None:
        raise ModelRefused(f"post_transform {attributes['post_transform'][:40]!r} is not read.")
    return Outputs(columns, (DenseStep(weights.reshape(rows, len(columns)), np.array(bias)),), link=link)


def machine_outputs(columns: tuple[Encoded, ...], attributes: dict[str, Any], number: int) -> Outputs:
    """Return a linear support vector machine: its vectors times their coefficients are one weight for each input.

    Without vectors the coefficients are the weights.
    """
    if attributes.get("kernel_type", "LINEAR") != "LINEAR":
        kernel = attributes["kernel_type"][:40]
        raise ModelRefused(f"Support vector machines are read with a LINEAR kernel, not {kernel!r}.")
    weights, vectors, rho = (
        np.asarray(attributes.get(name, []), np.float64) for name in ("coefficients", "support_vectors", "rho")
    )
    if number:
        if weights.size != number or vectors.size != number * len(columns):
            raise ModelRefused("A support vector machine's vectors do not fit its inputs.")
        weights = weights @ vectors.reshape(number, -1)
    if weights.size != len(columns) or rho.size != 1:
        raise ModelRefused("A support vector machine's numbers do not fit its inputs.")
    return Outputs(columns, (DenseStep(weights[np.newaxis], rho),))


def shifted(outputs: Outputs, name: str, constant: NDArray[Any]) -> Outputs:
    """Return outputs with a constant added to the last layer, or subtracted from it."""
    plain = outputs.trees is None and not outputs.link and outputs.layers[-1].activation == "identity"
    if not plain or name not in ("Add", "Sub"):
        raise ModelRefused(f"{name} behind an activation or trees is not read.")
    last = outputs.layers[-1]
    numbers = np.broadcast_to(np.asarray(constant, np.float64).ravel(), last.bias.shape)
    bias = last.bias + numbers if name == "Add" else last.bias - numbers
    return replace(outputs, layers=(*outputs.layers[:-1], replace(last, bias=bias)))
