"""ONNX graphs, read and never run; what they decide, ONNX's reference evaluator says."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.onnx import graph as onnx_graph
from auditor_client.models.readers.onnx.symbols import Encoded, machine_outputs
from checks.model_formats.__main__ import survivors
from checks.model_formats.formats import Format
from checks.model_formats.onnx_graphs import CLASSIFIERS, NEVER_MISSING, agreement, onnx_file
from shared.contract.schema import Column, Schema
from shared.scores.columns import ScoreOrigin
from shared.scores.documents import Product, Terms


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_random_graph_is_read_as_it_decides(kind: str, seed: int) -> None:
    """Behind scalers and one-hot encoders. Trees have no bound: every decision is the same."""
    read, found = agreement(*onnx_file(seed, kind))

    assert found.outside == 0
    assert found.differing == 0 or kind == "vectors"  # thousands of vectors that nearly cancel: within the bound
    assert (found.bound is None) == (kind not in ("logistic", "network", "vectors"))
    assert read.provenance is not None
    assert read.provenance.compared_with is None


def test_a_fault_in_reading_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: scalers that are read a little wrongly."""
    right = Encoded.image
    files = [onnx_file(seed, "forest") for seed in range(6)]
    monkeypatch.setattr(Encoded, "image", lambda self, number: right(self, number) + np.float32(0.01))

    assert any(agreement(*one)[1].outside for one in files)


def test_a_support_vector_machine_that_is_read_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: weights that are a hundredth too large."""
    machine = machine_outputs

    def too_large(*given: Any) -> Any:
        made = machine(*given)
        return replace(made, layers=(replace(made.layers[0], weights=1.01 * made.layers[0].weights),))

    monkeypatch.setattr(onnx_graph, "machine_outputs", too_large)

    assert agreement(*onnx_file(1, "vectors"))[1].outside


def test_a_machine_without_vectors_has_its_weights() -> None:
    """An SVMRegressor of liblinear's kind: 0.5 more than twice the income."""
    node = helper.make_node(
        "SVMRegressor", ["income"], ["y"], domain="ai.onnx.ml", coefficients=[2.0], rho=[0.5], kernel_type="LINEAR"
    )
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("income", TensorProto.FLOAT, [None, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
    )  # fmt: skip
    content = helper.make_model(graph, ir_version=9).SerializeToString()

    read = read_object(load_object(content, "model.onnx"), ModelRequest(NEVER_MISSING, above=10))

    origin = read.columns[0].origin
    assert isinstance(origin, ScoreOrigin)
    assert isinstance(origin.score, Terms)
    assert origin.score.base == 0.5
    assert origin.score.terms == (Product(columns=("income",), slope=2.0),)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: _machine(m, kernel_type=b"RBF"), "LINEAR kernel"),
        (lambda m: _machine(m, prob_a=[1.0]), "without probabilities"),
        (lambda m: _machine(m, rho=[1.0, 2.0]), "do not fit"),
        (lambda m: _machine(m, vectors_per_class=[1, 1]), "do not fit"),
        (lambda m: _machine(m, classlabels_ints=[0, 1, 2]), "two classes"),
    ],
)
def test_other_support_vector_machines_are_refused(change: Any, text: str) -> None:
    content, request = onnx_file(1, "vectors")
    model = ModelProto.FromString(content)
    change(model)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(model.SerializeToString(), "model.onnx"), request)


def _machine(model: ModelProto, **changed: Any) -> None:
    """Change attributes of the SVMClassifier."""
    node = next(node for node in model.graph.node if node.op_type == "SVMClassifier")
    for name, value in changed.items():
        for attribute in [attribute for attribute in node.attribute if attribute.name == name]:
            node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute(name, value))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: m.graph.node.append(helper.make_node("Gather", ["income", "income"], ["x"])), "Gather"),
        (lambda m: m.graph.node.append(helper.make_node("Identity", ["nothing"], ["x"])), "nothing"),
        (lambda m: m.graph.node.append(helper.make_node("Identity", ["income"], ["income"])), "made twice"),
        (lambda m: setattr(m, "ir_version", 99), "IR version"),
        (lambda m: m.graph.node.append(helper.make_node("Identity", ["income"], ["x"], surprise=1)), "surprise"),
        (lambda m: _tree_node(m).attribute.append(helper.make_attribute("surprise", 1)), "surprise"),
        (lambda m: _attribute(m, "nodes_modes").strings.__setitem__(0, b"BRANCH_MEMBER"), "BRANCH_MEMBER"),
        (lambda m: _attribute(m, "nodes_truenodeids").ints.__setitem__(0, 0), "circle"),
        (lambda m: _attribute(m, "nodes_values").floats.__setitem__(0, float("nan")), "NaN"),
        (lambda m: _attribute(m, "nodes_featureids").ints.__setitem__(0, 99), "whole numbers"),
        (lambda m: setattr(m.graph.input[0], "name", "sex"), "nothing makes"),
    ],
)
def test_what_is_not_known_is_refused_by_name(change: Any, text: str) -> None:
    content, request = onnx_file(0, "forest")
    model = ModelProto.FromString(content)
    change(model)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(model.SerializeToString(), "model.onnx"), request)


def test_a_file_that_only_begins_as_one_is_refused() -> None:
    with pytest.raises(ModelRefused):
        read_object(load_object(b"\x08\x09\x12\x08skl2onnx", "model.onnx"), onnx_file(0)[1])


def test_constants_in_another_file_are_refused() -> None:
    content, request = onnx_file(0, "network")
    model = ModelProto.FromString(content)
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL

    with pytest.raises(ModelRefused, match="another file"):
        read_object(load_object(model.SerializeToString(), "model.onnx"), request)


@pytest.mark.parametrize("bomb", ["Concat", "Add", "steps", "layers"])
def test_a_graph_that_makes_much_of_little_is_refused(bomb: str) -> None:
    """Each operator doubles what the one before made."""
    content, request = onnx_file(0, "network")
    model = ModelProto.FromString(content)
    graph = model.graph
    table = next(one for one in graph.initializer if len(one.dims) == 2 and one.dims[1] == 1 and one.dims[0] > 1)
    column = next(node.input[0] for node in graph.node if node.op_type in ("MatMul", "Scaler", "Concat"))
    last = {"Concat": table.name, "Add": table.name, "steps": column, "layers": column}[bomb]
    if bomb == "layers":
        graph.initializer.append(helper.make_tensor("one", 1, [1, 1], [1.0]))
    for index in range(200):
        made = f"bomb{index}"
        match bomb:
            case "Concat":
                node = helper.make_node("Concat", [last, last], [made], axis=0)
            case "Add":
                node = helper.make_node("Concat", [last, last], [made], axis=1)
            case "steps":
                node = helper.make_node("Add", [last, "unity"], [made])
            case _:
                node = helper.make_node("MatMul", [last, "one"], [made])
        graph.node.append(node)
        last = made

    with pytest.raises(ModelRefused, match=r"parts|operators"):
        read_object(load_object(model.SerializeToString(), "model.onnx"), request)


def test_damaged_files_are_refused_and_nothing_else() -> None:
    survived, peak, faults = survivors(Format(None, onnx_file), 200)

    assert faults == []
    assert survived < 200
    assert peak < 200e6


def _attribute(model: Any, name: str) -> Any:
    return next(one for node in model.graph.node for one in node.attribute if one.name == name)


def _tree_node(model: Any) -> Any:
    return next(node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier")


ONE = Schema(person_key="id", columns=(Column(name="x", type="number", minimum=-1, maximum=1),))
WHOLE = Schema(person_key="id", columns=(Column(name="x", type="integer", minimum=0, maximum=2**25),))


def one_split(element: int, *before: Any, versions: Mapping[str, int] | None = None, after: Any = None) -> bytes:
    """A tree that asks x ≤ 0.1 of a float32, behind some operators."""
    tree = helper.make_node(
        "TreeEnsembleRegressor", ["z"], ["t"], domain="ai.onnx.ml", nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0] * 3, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[float(np.float32(0.1)), 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 0.0], n_targets=1,
    )  # fmt: skip
    steps = before or (helper.make_node("Identity", ["x"], ["z"]),)
    end = after or helper.make_node("Identity", ["t"], ["y"])
    two, three = np.array([2.7], np.float32), np.array([1.0], np.float32)
    graph = helper.make_graph(
        [*steps, tree, end],
        "one split",
        [helper.make_tensor_value_info("x", element, [None, 1])],
        [helper.make_tensor_value_info("y", 1, [None, 1])],
        [numpy_helper.from_array(two, "two"), numpy_helper.from_array(three, "three")],
    )
    opsets = {"": 18, "ai.onnx.ml": 3} | dict(versions or {})
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*one) for one in opsets.items()], ir_version=9)
    return bytes(made.SerializeToString())


SINGLE = float(np.float32(0.1))
BESIDE = [0.1, 0.100000002, SINGLE, float(np.nextafter(SINGLE, 1))]


@pytest.mark.parametrize(("element", "favourable"), [(1, [True] * 4), (11, [True, False, True, False])])
def test_a_double_is_compared_as_the_double_that_it_is(element: int, favourable: list[bool]) -> None:
    """ONNX Runtime 1.32 gave the same answers."""
    read = read_object(load_object(one_split(element), "m.onnx"), ModelRequest(ONE, above=0.5))

    assert [read.tree.decide({"x": value}).favourable for value in BESIDE] == favourable
    cast = one_split(element, helper.make_node("Cast", ["x"], ["z"], to=1))
    rounded = read_object(load_object(cast, "m.onnx"), ModelRequest(ONE, above=0.5))
    assert all(rounded.tree.decide({"x": value}).favourable for value in BESIDE)


REFUSED_GRAPHS = {
    "steps in double": (
        one_split(11, helper.make_node("Add", ["x", "three"], ["z"])), ONE, "double precision"
    ),
    "steps in double behind a float": (
        one_split(
            1, helper.make_node("Cast", ["x"], ["w"], to=11), helper.make_node("Add", ["w", "three"], ["z"])
        ), ONE, "double precision",
    ),
    "whole numbers beyond single precision": (one_split(7), WHOLE, "2²⁴"),
    "a Flatten of everything": (one_split(1, helper.make_node("Flatten", ["x"], ["z"], axis=0)), ONE, "Flatten"),
    "a Squeeze of records": (
        one_split(1, helper.make_node("Constant", [], ["a"], value_ints=[0]),
                  helper.make_node("Squeeze", ["x", "a"], ["z"])), ONE, "Squeeze",
    ),
    "outputs cut to whole numbers": (
        one_split(1, after=helper.make_node("Cast", ["t"], ["y"], to=7)), ONE, "model's outputs"
    ),
    "a Normalizer of one number": (
        one_split(1, after=helper.make_node("Normalizer", ["t"], ["y"], domain="ai.onnx.ml", norm="L1")), ONE,
        "Normalizer of one number",
    ),
    "a Softmax of one number": (
        one_split(1, after=helper.make_node("Softmax", ["t"], ["y"])), ONE, "Softmax of one number"
    ),
    "a Normalizer by the largest number": (
        one_split(1, after=helper.make_node("Normalizer", ["t"], ["y"], domain="ai.onnx.ml", norm="MAX")), ONE,
        "shares of 1",
    ),
    "a later set of operators": (one_split(1, versions={"": 99}), ONE, "version 99"),
    "an earlier set of operators": (one_split(1, versions={"": 6}), ONE, "version 6"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED_GRAPHS)
def test_what_would_be_computed_otherwise_is_refused(kind: str) -> None:
    content, schema, text = REFUSED_GRAPHS[kind]

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(content, "m.onnx"), ModelRequest(schema, above=0.5))


@pytest.mark.parametrize("operator", ["Identity", "Sigmoid", "Softmax"])
def test_a_threshold_is_about_the_probabilities_that_the_graph_gives(operator: str) -> None:
    """A threshold on changed probabilities is refused; the class does not depend on them."""
    content, request = onnx_file(0, "boosting")
    model = ModelProto.FromString(content)
    given = next(one.input[0] for one in model.graph.node if one.op_type == "ZipMap")
    for node in model.graph.node:
        if node.op_type == "ZipMap":
            node.input[0] = "changed"
    model.graph.node.insert(len(model.graph.node) - 1, helper.make_node(operator, [given], ["changed"]))
    changed = load_object(model.SerializeToString(), "m.onnx")
    above = replace(request, above=0.3)

    assert read_object(changed, request).tree == read_object(load_object(content, "m.onnx"), request).tree
    if operator == "Identity":
        assert read_object(changed, above).tree == read_object(load_object(content, "m.onnx"), above).tree
    else:
        with pytest.raises(ModelRefused, match="other numbers than it gives as probabilities"):
            read_object(changed, above)


def test_a_constant_that_is_cast_is_cut() -> None:
    """2.7 as a whole number is 2."""
    steps = (
        helper.make_node("Cast", ["two"], ["whole"], to=7),
        helper.make_node("Cast", ["whole"], ["back"], to=1),
        helper.make_node("Sub", ["x", "back"], ["z"]),
    )
    schema = Schema(person_key="id", columns=(Column(name="x", type="number", minimum=-9, maximum=9),))
    read = read_object(load_object(one_split(1, *steps), "m.onnx"), ModelRequest(schema, above=0.5))

    assert [read.tree.decide({"x": value}).favourable for value in (2.0, 2.05, 2.15, 2.75)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_sets_of_operators_are_those_that_onnx_has() -> None:
    assert onnx_graph.OPSETS[""][1] <= onnx.defs.onnx_opset_version()


def test_every_operator_has_a_table_of_its_attributes() -> None:
    """Those of tree ensembles are in a table of their own, which the test above holds."""
    operators = {name[len("_op_") :] for name in vars(onnx_graph.Graph) if name.startswith("_op_")}

    assert operators - {name.lower() for name in onnx_graph.ATTRIBUTES} == {
        "treeensembleclassifier", "treeensembleregressor",
    }  # fmt: skip
