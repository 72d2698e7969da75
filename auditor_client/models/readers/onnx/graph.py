"""ONNX: what a graph's operators make of its inputs, followed symbol by symbol (`symbols`). The graph is never run.

An operator that leads to anything but these symbols is refused by its name.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.onnx.symbols import (
    STEPS,
    Chosen,
    DenseStep,
    Encoded,
    Outputs,
    Tensor,
    Unread,
    cast_number,
    columns_of,
    is_coded,
    is_text,
    layer_of,
    linear_outputs,
    machine_outputs,
    require_small,
    shifted,
    texts_of,
    with_step,
)
from auditor_client.models.readers.onnx.tensors import constant_array

NODES_MAX: Final = 10_000
WIDTH_MAX: Final = 65_536
_KINDS: Final = {1: "single", 6: "whole", 7: "whole", 9: "single", 11: "double"}
_NUMPY: Final[Mapping[int, Any]] = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}
OPSETS: Final[Mapping[str, tuple[int, int]]] = {"": (7, 28), "ai.onnx": (7, 28), "ai.onnx.ml": (1, 5)}
"""The versions of the operators' sets in which they mean what is read here."""


_CLASSES: Final = "classlabels_ints classlabels_int64s classlabels_strings"
ATTRIBUTES: Final[Mapping[str, str]] = {
    "Identity": "", "ZipMap": _CLASSES, "Squeeze": "axes", "Flatten": "axis", "Reshape": "allowzero",
    "Constant": "value value_float value_floats value_int value_ints value_string value_strings",
    "Cast": "to saturate", "Concat": "axis", "Gather": "axis", "FeatureVectorizer": "inputdimensions",
    "Add": "", "Sub": "", "Mul": "", "Div": "", "MatMul": "", "Relu": "", "Tanh": "", "Sigmoid": "",
    "Gemm": "alpha beta transA transB", "Softmax": "axis", "Normalizer": "norm",
    "ArgMax": "axis keepdims select_last_index", "ArrayFeatureExtractor": "",
    "Scaler": "offset scale",
    "Imputer": "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64",
    "OneHotEncoder": "cats_strings zeros",
    "LabelEncoder": "keys_strings values_floats values_int64s default_float default_int64 default_string",
    "LinearRegressor": "coefficients intercepts post_transform targets",
    "LinearClassifier": f"{_CLASSES} coefficients intercepts multi_class post_transform",
    "SVMRegressor": "coefficients kernel_params kernel_type n_supports one_class post_transform rho support_vectors",
    "SVMClassifier": f"{_CLASSES} coefficients kernel_params kernel_type post_transform prob_a prob_b rho "
    "support_vectors vectors_per_class",
}  # fmt: skip
"""The attributes of each operator that are used, or change nothing; those of tree ensembles are looked at apart."""


class Graph:
    """A graph, operator by operator.

    Attributes:
        names: Of the inputs' numbers, in order.
        tensors: What every tensor's name stands for.
    """

    def __init__(self, model: Any) -> None:
        """Follow all operators.

        Raises:
            ModelRefused: One is not known, or leads to what is none of the tensors that can be read.
        """
        graph = model.graph
        for opset in model.opset_import:
            low, high = OPSETS.get(opset.domain, (0, 2**31))  # an operator of another domain is refused itself
            if not low <= opset.version <= high:
                raise ModelRefused(
                    f"The graph is made of operators of version {opset.version} of {opset.domain or 'ai.onnx'!r}. Read "
                    f"are {low} to {high}: export it with such a target_opset."
                )
        if len(graph.node) > NODES_MAX or model.functions or graph.sparse_initializer:
            raise ModelRefused(f"The graph has functions, sparse constants or more than {NODES_MAX} operators.")
        self.names: list[str] = []
        self.tensors: dict[str, Tensor] = {}
        for tensor in graph.initializer:
            self.tensors[tensor.name] = constant_array(tensor)
        for graph_input in graph.input:
            if graph_input.name not in self.tensors:
                self._take(graph_input)
        for node in graph.node:
            self._follow(node)

    def _take(self, graph_input: Any) -> None:
        tensor = graph_input.type.tensor_type
        shape = [size.dim_value for size in tensor.shape.dim]
        width = shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else 0
        if not 1 <= width <= WIDTH_MAX:
            raise ModelRefused(f"Input {graph_input.name[:60]!r} is no table of a declared width.")
        first = len(self.names)
        self.names += [graph_input.name] if width == 1 else [f"{graph_input.name}[{index}]" for index in range(width)]
        if tensor.elem_type == 8:
            if width > 1:
                raise ModelRefused("Texts come as one input for each column.")
            self.tensors[graph_input.name] = ("text", first)
        elif tensor.elem_type in _KINDS:
            kind = _KINDS[tensor.elem_type]
            self.tensors[graph_input.name] = tuple(Encoded(first + index, kind=kind) for index in range(width))
        else:
            raise ModelRefused(
                f"Input {graph_input.name[:60]!r} has a type that is not read: use float, int64, bool or string."
            )

    def _follow(self, node: Any) -> None:
        names = {attribute.name: self._attribute(attribute) for attribute in node.attribute}
        try:
            inputs = [self.tensors[name] for name in node.input if name]
        except KeyError as error:
            raise ModelRefused(f"Operator {node.op_type!r} takes {error}, which nothing makes before it.") from error
        method = getattr(self, f"_op_{node.op_type.lower()}", None)
        if method is None or node.domain not in ("", "ai.onnx", "ai.onnx.ml"):
            raise ModelRefused(f"The operator {node.op_type[:60]!r} is not read. {READ}")
        vocabulary = ATTRIBUTES.get(node.op_type)
        for name in names:
            if vocabulary is not None and name not in vocabulary.split():
                raise ModelRefused(f"{node.op_type} has an attribute {name[:60]!r}, which is not read.")
        outputs = method(inputs, names)
        for name, output in zip(node.output, outputs if isinstance(outputs, list) else [outputs], strict=False):
            if name in self.tensors:
                raise ModelRefused(f"The tensor {name[:60]!r} is made twice.")
            self.tensors[name] = output

    @staticmethod
    def _attribute(attribute: Any) -> Any:
        match attribute.type:
            case 1:
                return attribute.f
            case 2:
                return attribute.i
            case 3:
                return attribute.s.decode()
            case 4:
                return constant_array(attribute.t)
            case 6:
                return list(attribute.floats)
            case 7:
                return list(attribute.ints)
            case 8:
                return [text.decode() for text in attribute.strings]
        raise ModelRefused(f"The attribute {attribute.name[:60]!r} is of a kind that is not read.")

    def _op_identity(self, inputs: Sequence[Any], _: Any) -> Any:
        return inputs[0]

    _op_zipmap = _op_identity

    def _op_squeeze(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        axes = attributes.get("axes", inputs[1].ravel().tolist() if len(inputs) > 1 else [1])
        if not isinstance(inputs[0], np.ndarray) and list(axes) not in ([1], [-1]):
            raise ModelRefused("A Squeeze of records, not of columns, is not read.")
        return inputs[0]

    def _op_flatten(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        if isinstance(inputs[0], np.ndarray) or attributes.get("axis", 1) not in (1, -1):
            raise ModelRefused("A Flatten is read of columns that stay columns.")
        return inputs[0]

    def _op_constant(self, _: Any, attributes: dict[str, Any]) -> Any:
        return np.asarray(next(iter(attributes.values())))

    def _op_reshape(self, inputs: Sequence[Any], _: Any) -> Any:
        if isinstance(inputs[0], Encoded | Outputs) or (isinstance(inputs[0], tuple) and len(inputs[0]) > 2):
            shape = np.asarray(inputs[1]).ravel().tolist()
            width = len(inputs[0]) if isinstance(inputs[0], tuple) else -1
            if len(shape) != 2 or shape[0] not in (-1, 0) or (width > 0 and shape[1] not in (-1, width)):
                raise ModelRefused("A Reshape changes a table's width, which is not read.")
        return inputs[0]

    def _op_cast(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        tensor, to = inputs[0], int(attributes.get("to", 0))
        if isinstance(tensor, np.ndarray):
            if tensor.dtype.kind in "fiub" and to in _NUMPY:
                return tensor.astype(_NUMPY[to])
            if tensor.dtype.kind in "OSU" and to == 8:
                return tensor
            raise ModelRefused(f"A Cast of a constant to the type {to} is not read.")
        if isinstance(tensor, Chosen) and to in (6, 7, 8):
            return tensor
        if isinstance(tensor, Outputs) and to in (1, 11):
            return tensor
        if isinstance(tensor, Outputs | Chosen):
            raise ModelRefused(f"A Cast of a model's outputs to the type {to} is not read.")
        if tensor[0] == "text" or to not in (1, 11):
            raise ModelRefused("A Cast of inputs to whole numbers or texts is not read.")
        return tuple(cast_number(encoded, to) for encoded in tensor)

    def _op_concat(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        if all(isinstance(tensor, np.ndarray) for tensor in inputs):
            require_small(sum(tensor.size for tensor in inputs))
            return np.concatenate(inputs, axis=attributes.get("axis", 0))
        one_hot = all(isinstance(tensor, tuple) and all(is_coded(part) for part in tensor) for tensor in inputs)
        if attributes.get("axis") not in (1, -1, 2 if one_hot else 1):  # a table of one-hot columns has three axes
            raise ModelRefused("A Concat of records, not of columns, is not read.")
        if len(inputs) == 2 and all(isinstance(tensor, Outputs) for tensor in inputs):
            first, second = inputs
            if first.both and first.layers is second.layers and second.link == "Sigmoid":
                return first
        if all(texts_of(tensor) for tensor in inputs):
            return tuple(text for tensor in inputs for text in texts_of(tensor))
        if all(isinstance(tensor, tuple) and isinstance(tensor[0], Encoded) for tensor in inputs):
            require_small(sum(map(len, inputs)), WIDTH_MAX)
            return tuple(encoded for tensor in inputs for encoded in tensor)
        raise ModelRefused("A Concat of a model's outputs is not read.")

    def _op_gather(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Some columns of a table, as a ColumnTransformer takes them."""
        table, positions = inputs
        columns: tuple[Any, ...] = texts_of(table) or (table if isinstance(table, tuple) else ())
        if not columns or not isinstance(positions, np.ndarray) or attributes.get("axis") not in (1, -1):
            raise ModelRefused("A Gather is read of a table's columns, by constant numbers.")
        indices = positions.ravel().tolist()
        if not all(-len(columns) <= index < len(columns) for index in indices) or not indices:
            raise ModelRefused("A Gather takes a column that the table does not have.")
        taken = tuple(columns[int(index)] for index in indices)
        return taken[0] if len(taken) == 1 and is_text(taken[0]) else taken

    def _op_featurevectorizer(self, inputs: Sequence[Any], _: Any) -> Any:
        table = self._op_concat(inputs, {"axis": 1})
        return tuple(cast_number(encoded, 1) for encoded in table) if isinstance(table[0], Encoded) else table

    def _elementwise(self, name: str, inputs: Sequence[Any]) -> Any:
        left, right = inputs
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            require_small(math.prod(np.broadcast_shapes(left.shape, right.shape)))
            return STEPS[name](left, right)
        if name == "Sub" and isinstance(right, Outputs) and right.link == "Sigmoid" and _is_one(left):
            return replace(right, both=True)
        if isinstance(left, np.ndarray) and name in ("Add", "Mul"):
            left, right = right, left
        if not isinstance(right, np.ndarray):
            raise ModelRefused(f"{name} of two columns, or of outputs, is not read.")
        if isinstance(left, Outputs):
            return shifted(left, name, right)
        if not isinstance(left[0], Encoded):
            raise ModelRefused(f"{name} of texts is not read.")
        numbers = np.broadcast_to(np.asarray(right, np.float64).ravel(), (len(left),))
        return tuple(with_step(encoded, name, float(number)) for encoded, number in zip(left, numbers, strict=True))

    def _op_add(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._elementwise("Add", inputs)

    def _op_sub(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._elementwise("Sub", inputs)

    def _op_mul(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._elementwise("Mul", inputs)

    def _op_div(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._elementwise("Div", inputs)

    def _op_scaler(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        columns = columns_of(inputs[0], "Scaler")
        steps = []
        for name, default in (("offset", 0.0), ("scale", 1.0)):
            numbers = np.asarray(attributes.get(name, [default]), np.float64)
            steps.append(np.broadcast_to(numbers, (len(columns),)).tolist())
        return tuple(
            with_step(with_step(column, "Sub", offset), "Mul", scale)
            for column, offset, scale in zip(columns, *steps, strict=True)
        )

    def _op_imputer(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        columns = columns_of(inputs[0], "Imputer")
        values = attributes.get("imputed_value_floats", attributes.get("imputed_value_int64s", []))
        replaced = attributes.get("replaced_value_float", attributes.get("replaced_value_int64", 0.0))
        if not np.isnan(replaced) or any(encoded.steps or encoded.codes for encoded in columns):
            raise ModelRefused("An Imputer that replaces another value than NaN, or behind other steps, is not read.")
        filling = np.broadcast_to(np.asarray(values, np.float64), (len(columns),)).tolist()
        return tuple(replace(encoded, filling=number) for encoded, number in zip(columns, filling, strict=True))

    def _op_onehotencoder(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        column = inputs[0]
        if not (is_text(column) and "cats_strings" in attributes and attributes.get("zeros", 1) == 1):
            raise ModelRefused("A OneHotEncoder is read for texts, with zeros for an unknown one.")
        return tuple(Encoded(column[1], codes=((text, 1.0),), otherwise=0.0) for text in attributes["cats_strings"])

    def _op_labelencoder(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        text = inputs[0]
        keys = attributes.get("keys_strings")
        values = attributes.get("values_floats", attributes.get("values_int64s"))
        if not (isinstance(text, tuple) and text[0] == "text" and keys and values and len(keys) == len(values)):
            raise ModelRefused("A LabelEncoder is read from texts to numbers.")
        name, default = ("default_float", -0.0) if "values_floats" in attributes else ("default_int64", -1)
        otherwise = attributes.get(name, default)
        codes = tuple((key, float(value)) for key, value in zip(keys, values, strict=True))
        return (Encoded(text[1], codes=codes, otherwise=float(otherwise)),)

    def _op_matmul(self, inputs: Sequence[Any], _: Any) -> Any:
        left, right = inputs
        if not isinstance(right, np.ndarray) or right.ndim != 2:
            raise ModelRefused("A MatMul is read of columns with a constant table.")
        return layer_of(left, np.asarray(right, np.float64).T)

    def _op_gemm(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            raise ModelRefused("A Gemm is read with alpha = beta = 1 and without transA.")
        weights = np.asarray(inputs[1], np.float64)
        layer = layer_of(inputs[0], weights if attributes.get("transB", 0) else weights.T)
        return layer if len(inputs) == 2 else shifted(layer, "Add", np.asarray(inputs[2]))

    def _activated(self, outputs: Any, name: str) -> Any:
        if (
            not isinstance(outputs, Outputs)
            or outputs.trees is not None
            or outputs.link
            or outputs.layers[-1].activation != "identity"
        ):
            raise ModelRefused(f"An activation {name!r} is read behind a layer.")
        return replace(outputs, layers=(*outputs.layers[:-1], replace(outputs.layers[-1], activation=name)))

    def _op_relu(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._activated(inputs[0], "relu")

    def _op_tanh(self, inputs: Sequence[Any], _: Any) -> Any:
        return self._activated(inputs[0], "tanh")

    def _op_sigmoid(self, inputs: Sequence[Any], _: Any) -> Any:
        outputs = inputs[0]
        if isinstance(outputs, Outputs) and not outputs.link:
            return replace(outputs, link="Sigmoid")
        raise ModelRefused("A Sigmoid is read behind a layer or trees.")

    def _op_softmax(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        outputs = inputs[0]
        if isinstance(outputs, Outputs) and not outputs.link and attributes.get("axis", 1) in (1, -1):
            return replace(outputs, link="Softmax")
        raise ModelRefused("A Softmax is read behind a layer or trees, over classes.")

    def _op_normalizer(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        if not isinstance(inputs[0], Outputs):
            raise ModelRefused("A Normalizer of inputs mixes columns, which is not read.")
        if attributes.get("norm", "MAX") != "L1":
            raise ModelRefused("A Normalizer is read that makes shares of 1: norm 'L1'.")
        return replace(inputs[0], link="Normalizer")

    def _op_argmax(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        over_classes = attributes.get("axis") in (1, -1) and not attributes.get("select_last_index", 0)
        if not isinstance(inputs[0], Outputs) or not over_classes:
            raise ModelRefused("An ArgMax is read of outputs, over classes.")
        return Chosen(inputs[0])

    def _op_arrayfeatureextractor(self, inputs: Sequence[Any], _: Any) -> Any:
        if isinstance(inputs[0], np.ndarray) and isinstance(inputs[1], Chosen):
            return Chosen(inputs[1].of, tuple(_plain(label) for label in inputs[0].ravel().tolist()))
        if isinstance(inputs[1], np.ndarray) and (inputs[1] < 0).any():
            raise ModelRefused("An ArrayFeatureExtractor takes a column that the table does not have.")
        if isinstance(inputs[0], Outputs) and isinstance(inputs[1], np.ndarray):
            return Unread()
        return self._op_gather(inputs, {"axis": 1})

    def _op_linearregressor(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        columns = columns_of(inputs[0], "LinearRegressor")
        return linear_outputs(columns, attributes, attributes.get("targets", 1))

    def _op_linearclassifier(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        columns, classes = columns_of(inputs[0], "LinearClassifier"), _classes(attributes)
        outputs = linear_outputs(columns, attributes, len(attributes.get("coefficients", [])) // max(1, len(columns)))
        return [Chosen(outputs, classes), outputs]

    def _op_svmregressor(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        if attributes.get("one_class", 0) or attributes.get("post_transform", "NONE") != "NONE":
            raise ModelRefused("An SVMRegressor is read that gives a number as it adds it up.")
        return machine_outputs(columns_of(inputs[0], "SVMRegressor"), attributes, int(attributes.get("n_supports", 0)))

    def _op_svmclassifier(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Of two classes by the sign of one sum: above 0 is the first class, and 0 itself the second."""
        columns, classes = columns_of(inputs[0], "SVMClassifier"), _classes(attributes)
        vectors = sum(attributes.get("vectors_per_class", []))
        has_signs = min(attributes.get("coefficients", [0.0])) < 0
        if len(classes) != 2 or not vectors or attributes.get("prob_a") or not has_signs:
            raise ModelRefused(
                "An SVMClassifier is read with its support vectors, of two classes and without probabilities: fit it "
                "with `probability=False`, or one model for each class."
            )
        outputs = machine_outputs(columns, attributes, vectors)
        layer = outputs.layers[0]
        both = DenseStep(np.concatenate([-layer.weights, layer.weights]), np.concatenate([-layer.bias, layer.bias]))
        outputs = replace(outputs, layers=(both,))
        return [Chosen(outputs, (classes[1], classes[0])), outputs]

    def _op_treeensembleregressor(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        return Outputs(columns_of(inputs[0], "TreeEnsembleRegressor"), trees=attributes)

    def _op_treeensembleclassifier(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        outputs = Outputs(columns_of(inputs[0], "TreeEnsembleClassifier"), trees=attributes)
        return [Chosen(outputs, _classes(attributes)), outputs]


READ: Final = (
    "Read are ONNX graphs of TreeEnsembleClassifier and -Regressor, LinearClassifier and -Regressor, SVMClassifier and "
    "-Regressor with a linear kernel, MatMul, Gemm, Add, Sub, Mul, Div, Relu, Tanh, Sigmoid, Softmax, ArgMax, "
    "ArrayFeatureExtractor, Gather, Scaler, Imputer, OneHotEncoder, LabelEncoder, FeatureVectorizer, Concat, Cast, "
    "Reshape, Identity and ZipMap."
)


def _is_one(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size == 1 and float(value.ravel()[0]) == 1


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _classes(attributes: dict[str, Any]) -> tuple[Any, ...]:
    names = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
    classes = next((tuple(attributes[name]) for name in names if attributes.get(name)), ())
    if len(classes) < 2 or len(set(classes)) != len(classes):
        raise ModelRefused("A classifier has no names for its classes.")
    return classes
