"""The tree ensembles of an ONNX graph, whose nodes are lists of attributes, as the tables of a score document."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.inputs import (
    Comparison,
    InputTest,
    ModelInputs,
    all_float32_below,
    one_of,
    opposite,
)
from auditor_client.models.readers.links import least
from auditor_client.models.readers.onnx.symbols import Encoded
from auditor_client.models.readers.parsing import DocumentPart
from auditor_client.models.readers.tree_tables import TestTable, binary_table, made
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.scores.documents import ScoreTree, Trees
from shared.wire import limits

_SINGLE_EXACT: Final = 2**24
_MODES: Final[Mapping[str, Comparison]] = {
    "BRANCH_LEQ": "le", "BRANCH_LT": "lt", "BRANCH_GTE": "ge", "BRANCH_GT": "gt", "BRANCH_EQ": "eq", "BRANCH_NEQ": "ne",
}  # fmt: skip


def trees_documents(
    fields: dict[str, Any], kind: str, numbers: Sequence[int], encoded: tuple[Encoded, ...], inputs: ModelInputs
) -> list[Trees]:
    """Return a document for each of some outputs of a tree ensemble.

    Args:
        fields: The operator's attributes by name.
        kind: "class" or "target", as the names of the leaves' attributes begin.
        numbers: Of which outputs.
        encoded: The numbers that the trees test.
        inputs: The graph's.

    Raises:
        ModelRefused: The nodes contradict each other, or test what no predicate says.
    """
    count = len(fields.get("nodes_treeids", []))
    if not 1 <= count <= limits.SCORE_NODES_MAX or fields.get("aggregate_function", "SUM") not in ("SUM", "AVERAGE"):
        raise ModelRefused(
            f"A tree ensemble is read with 1 to {limits.SCORE_NODES_MAX} nodes, and with the aggregate SUM or AVERAGE."
        )
    index = dict(zip(zip(fields["nodes_treeids"], fields["nodes_nodeids"], strict=True), range(count), strict=True))
    if len(index) != count or len(fields["nodes_modes"]) != count:
        raise ModelRefused("A tree ensemble's nodes do not fit together: save the model again.")
    separated = list(_separated(fields, index, _answers(fields, encoded, inputs)))
    mean = fields.get("aggregate_function", "SUM") == "AVERAGE"
    documents = []
    for number in numbers:
        leaves, tests = _leaf_values(fields, kind, number, index), TestTable()
        trees = [
            binary_table(yes, no, answers, [leaves[position] for position in ends], tests)
            for yes, no, answers, ends in separated
        ]
        trees += _base(fields, number, mean=mean)
        documents.append(
            made(Trees, kind="trees", precision="float32", tests=tests.tests, trees=tuple(trees), mean=mean)
        )
    return documents


def _base(fields: dict[str, Any], number: int, *, mean: bool) -> list[ScoreTree]:
    """Return an output's base value as a tree of one leaf, or nothing."""
    base = fields.get("base_values") or []
    if not base:
        return []
    if len(base) > 1 and len(base) <= number:
        raise ModelRefused("The ensemble's base values do not fit its outputs.")
    if mean:
        raise ModelRefused("A mean of trees with base values is not read.")
    return [made(ScoreTree, tests=(), yes=(), no=(), values=(float(base[number] if len(base) > 1 else base[0]),))]


def _leaf_values(fields: dict[str, Any], kind: str, number: int, index: Mapping[Any, int]) -> list[float]:
    """Return the number of each node, of shape (nodes,): 0 in a leaf without one."""
    values, modes = [0.0] * len(index), fields["nodes_modes"]
    names = ("treeids", "nodeids", "ids", "weights")
    for tree, node, of, weight in zip(*(fields[f"{kind}_{name}"] for name in names), strict=True):
        if of == number:
            position = index[tree, node]
            if modes[position] != "LEAF" or values[position] != 0:
                raise ModelRefused("A tree ensemble has two numbers in a leaf, or one in a node.")
            values[position] = float(weight)
    return values


def _separated(
    fields: dict[str, Any], index: Mapping[Any, int], answers: Sequence[Predicate | bool | None]
) -> Iterator[tuple[list[int], list[int], list[Any], list[int]]]:
    """Give each tree's children for yes and no, its tests and its leaves' positions, as `binary_table` counts them.

    A tree's first node is its root, and trees come in the order of their roots.
    """
    trees: dict[Any, tuple[list[int], list[int]]] = {}
    number = [0] * len(index)
    for position, tree in enumerate(fields["nodes_treeids"]):
        inner, ends = trees.setdefault(tree, ([], []))
        number[position] = ~len(ends) if answers[position] is None else len(inner)
        (ends if answers[position] is None else inner).append(position)
    has_parent = bytearray(len(index))
    for tree, (inner, ends) in trees.items():
        if not inner or (ends and ends[0] < inner[0]):  # a root that is a leaf
            yield [], [], [], ends[:1]
            continue
        has_parent[inner[0]] = 1
        ways: list[list[int]] = []
        for name in ("nodes_truenodeids", "nodes_falsenodeids"):
            nodes, way = fields[name], []
            for position in inner:
                child = index.get((tree, nodes[position]))
                if child is None:
                    raise ModelRefused(f"A tree's node {nodes[position]} is not there.")
                if has_parent[child]:
                    raise ModelRefused("A tree's nodes lead round in a circle, or two of them to the same one.")
                has_parent[child] = 1
                way.append(number[child])
            ways.append(way)
        yield ways[0], ways[1], [answers[position] for position in inner], ends


def _answers(
    fields: dict[str, Any], encoded: tuple[Encoded, ...], inputs: ModelInputs
) -> list[Predicate | bool | None]:
    """Return the test of each node, of shape (nodes,), or the answer that is the same for everybody; None: a leaf."""
    part = {name: DocumentPart(value, name) for name, value in fields.items()}
    modes = fields["nodes_modes"]
    count = len(modes)
    tracks = fields.get("nodes_missing_value_tracks_true") or [0] * count
    if len(tracks) != count:
        raise ModelRefused("A tree ensemble's nodes do not fit together: save the model again.")
    columns = part["nodes_featureids"].integers(0, len(encoded) - 1, count)
    with np.errstate(over="ignore"):
        values = part["nodes_values"].numbers(count).astype(np.float32)
        above = np.nextafter(values, np.float32(np.inf))
    upto = np.array([mode in ("BRANCH_LEQ", "BRANCH_GT") for mode in modes])
    below = all_float32_below(np.where(upto, above, values))
    answers: list[Predicate | bool | None] = []
    predicates: dict[tuple[int, str, float, bool], Predicate | bool] = {}
    for column, mode, value, track, rounded in zip(columns, modes, values.tolist(), tracks, below, strict=True):
        if mode == "LEAF":
            answers.append(None)
            continue
        if mode not in _MODES:
            raise ModelRefused(f"A node of the mode {str(mode)[:40]!r} is not read.")
        test = column, mode, value, bool(track)
        answer = predicates.get(test)
        if answer is None:
            kind = InputTest(_MODES[mode], value, missing=bool(track) or mode == "BRANCH_NEQ")
            answer = predicates[test] = _predicate(encoded[column], kind, rounded, inputs)
        answers.append(answer)
    return answers


def _predicate(
    encoded: Encoded, kind: InputTest, below: tuple[Comparison, float], inputs: ModelInputs
) -> Predicate | bool:
    """Return a test of a number behind encoders and scalers as a predicate of the column that it comes from.

    Args:
        encoded: The number.
        kind: The test.
        below: The doubles that are rounded to the lower side of its threshold, as a comparison.
        inputs: The graph's.
    """
    column = inputs.column(encoded.source)
    if encoded.codes is not None:
        if column.type != "category":
            raise ModelRefused(f"The model takes {column.name!r} as a text, and the dataset declares {column.type}.")
        codes = dict(encoded.codes)
        yes = [
            value
            for value in column.values
            if kind.answer(float(encoded.image(codes.get(str(value), encoded.otherwise))))
        ]
        if column.nullable:
            raise ModelRefused(
                f"The model takes {column.name!r} as a text, which is never missing in ONNX: it is nullable."
            )
        return one_of(column, yes, missing=False)
    _require_rounded_once(encoded, column)
    missing = kind.missing if math.isnan(encoded.filling) else kind.answer(float(encoded.image(encoded.filling)))
    source = inputs[encoded.source]
    if column.type == "boolean":
        yes_values = [value for value in (False, True) if kind.answer(float(encoded.image(value)))]
        return one_of(column, yes_values, missing)
    if kind.op in ("eq", "ne"):
        if column.type != "integer" or encoded.steps:
            raise ModelRefused("A tree that tests numbers for equality is read for integers without scaling.")
        return source.predicate(InputTest(kind.op, kind.value, missing))
    if encoded.kind == "double":
        return source.predicate(InputTest(kind.op, kind.value, missing))
    falls = kind.op in ("ge", "gt")
    if encoded.steps:
        rising = np.prod([np.sign(number) for name, number in encoded.steps if name in ("Mul", "Div")] or [1.0]) > 0
        falls = falls == bool(rising)

        def turned(number: float) -> bool:
            return kind.answer(float(encoded.image(number))) == falls

        [below] = all_float32_below([least(turned, "float32")])
    if not falls:
        return source.compared_with(*below, missing)
    predicate = source.compared_with(*below, not missing)
    return not predicate if isinstance(predicate, bool) else opposite(predicate, column)


def _require_rounded_once(encoded: Encoded, column: Column) -> None:
    """Refuse numbers that are computed in double precision before a tree compares them, and large whole ones."""
    if encoded.steps and encoded.kind in ("double", "widened"):
        raise ModelRefused(
            f"A tree compares {column.name!r} behind steps in double precision, which is not read: export the model "
            "with float inputs."
        )
    if encoded.kind == "whole" and max(abs(column.low), abs(column.high)) > _SINGLE_EXACT:
        raise ModelRefused(
            f"A tree compares whole numbers of {column.name!r} beyond 2²⁴, which runtimes round in different ways: "
            "export the model with float inputs, or declare a narrower range."
        )
