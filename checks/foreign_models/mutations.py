"""Files changed at one point, by the vocabulary of their format: what is read of them decides as their maker does.

    .venv/bin/python -m checks.foreign_models.mutations ENVIRONMENT [--formats pmml] [--mutations 2000] [--records 300]

The files are those that `./run check foreign_models` has made. Each mutation changes, removes or adds one attribute,
element, member or line. A file that is refused is right, whatever it says; one that is read is asked of its maker (the
library that loads the file, JPMML or ONNX Runtime), and a decision that differs is a silent fault. A file that the
maker itself does not load, or about which it does not answer, proves nothing and is counted.
"""

import argparse
import copy
import json
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final
from xml.etree.ElementTree import Element, tostring  # written here; defusedxml parses

from defusedxml.ElementTree import fromstring
from rich.console import Console
from rich.table import Table

from checks.foreign_models.__main__ import Tally, compare_case, read_case
from checks.foreign_models.environments import ENVIRONMENTS, ROOT, cache, python_of, run

_SCHEMA: Final = ROOT / "tests" / "unit" / "auditor_client" / "formats" / "pmml_schema.json"
_CRASHES_MAX: Final = 100
_WHOLE: Final = 0.8
"""How many of the changed whole numbers stay whole; others get a fraction or an exponent."""
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "operator": ("equal", "notEqual", "lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual", "isMissing"),
    "booleanOperator": ("and", "or", "xor", "surrogate", "isIn", "isNotIn"),
    "multipleModelMethod": ("sum", "average", "majorityVote", "weightedAverage", "max", "median", "modelChain",
                            "selectFirst", "x-weightedSum"),
    "missingValueStrategy": ("none", "lastPrediction", "nullPrediction", "defaultChild", "weightedConfidence"),
    "noTrueChildStrategy": ("returnNullPrediction", "returnLastPrediction"),
    "normalizationMethod": ("none", "simplemax", "softmax", "logit", "probit", "cloglog", "exp", "loglog", "cauchit"),
    "invalidValueTreatment": ("returnInvalid", "asIs", "asMissing", "asValue"),
    "missingValueTreatment": ("asIs", "asMean", "asMode", "asMedian", "asValue", "returnInvalid"),
    "dataType": ("string", "integer", "float", "double", "boolean"),
    "optype": ("categorical", "ordinal", "continuous"),
    "outliers": ("asIs", "asMissingValues", "asExtremeValues"),
    "usageType": ("active", "supplementary", "target", "order", "frequencyWeight"),
    "property": ("valid", "invalid", "missing"),
    "function": ("+", "-", "*", "/", "min", "max", "pow"),
    "functionName": ("classification", "regression"),
    "feature": ("predictedValue", "probability", "transformedValue", "decision", "entityId"),
    "activationFunction": ("logistic", "tanh", "identity", "rectifier", "sine", "threshold"),
    "classificationMethod": ("OneAgainstAll", "OneAgainstOne"),
    "closure": ("openOpen", "openClosed", "closedOpen", "closedClosed"),
    "method": ("indicator", "thermometer"),
    "cumulativeLink": ("logit",), "x-mathContext": ("float", "double"), "isScorable": ("true", "false"),
}  # fmt: skip
_VALUES: Final = ("0", "1", "-1", "2", "0.5", "0.25", "1e3", "true", "own", "NaN")


def pmml(content: bytes, draw: random.Random) -> bytes:
    """Change one attribute, element or text."""
    root = fromstring(content)
    schema = json.loads(_SCHEMA.read_text())
    parents = {child: parent for parent in root.iter() for child in parent}
    early = [one for one in root.iter() if _tag(one) not in ("Node", "SimplePredicate", "ScoreDistribution", "True")]
    element = draw.choice(early if draw.random() < 0.7 else list(root.iter()))
    way, name = draw.randrange(7), _tag(element)
    known = schema.get(name, ["name"]) or ["name"]
    if way <= 1 and element.attrib:
        chosen = draw.choice(sorted(element.attrib))
        element.set(chosen, _other(chosen, element.get(chosen, ""), draw))
    elif way == 2 and element.attrib:
        del element.attrib[draw.choice(sorted(element.attrib))]
    elif way == 3:
        chosen = draw.choice(known)
        element.set(chosen, _other(chosen, "", draw))
    elif way == 4 and element in parents:
        parents[element].remove(element)
    elif way == 5 and element in parents:
        parent = parents[element]
        parent.insert(draw.randrange(len(parent) + 1), copy.deepcopy(element))
    else:
        _with_more(element, draw)
    return tostring(root)


def _with_more(element: Element, draw: random.Random) -> None:
    space = element.tag[: -len(_tag(element))]
    made = Element(space + draw.choice(("Targets", "Output", "Interval", "Value", "MiningField", "Extension", "True",
                                        "False", "SimplePredicate", "LocalTransformations", "Constant")))  # fmt: skip
    if _tag(made) == "Targets":
        target = Element(f"{space}Target", {draw.choice(("rescaleFactor", "rescaleConstant", "min", "max")): "2"})
        made.append(target)
    elif _tag(made) == "Interval":
        made.attrib.update(closure=draw.choice(_WORDS["closure"]), leftMargin="0", rightMargin="10")
    elif _tag(made) == "Value":
        made.attrib.update(value=draw.choice(_VALUES), property=draw.choice(_WORDS["property"]))
    element.insert(draw.randrange(len(element) + 1), made)


def _other(name: str, value: str, draw: random.Random) -> str:
    if name in _WORDS:
        return draw.choice(_WORDS[name])
    if re.fullmatch(r"-?[0-9]+", value) and draw.random() < _WHOLE:
        whole = int(value)
        return str(draw.choice((-whole, whole + 1, whole - 1, whole // 2, 0, 3)))
    try:
        number = float(value)
    except ValueError:
        return draw.choice(_VALUES)
    return repr(draw.choice((-number, number + 1, number * 0.5, 0.0, number * (1 + 1e-9), float(draw.choice((-1, 3))))))


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def document(content: bytes, draw: random.Random) -> bytes:
    """Change, remove or add one member of a JSON document."""
    root = json.loads(content)
    _change(root, draw)
    return json.dumps(root).encode()


def _change(root: Any, draw: random.Random) -> None:
    members: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        listed = list(node.items() if isinstance(node, dict) else enumerate(node))
        if isinstance(node, list) and len(listed) > 6:
            listed = draw.sample(listed, 6)
        for key, child in listed:
            members.append((node, key))
            waiting += [child] if isinstance(child, dict | list) else []
    node, key = draw.choice(members)
    value, way = node[key], draw.randrange(6)
    if way == 0:
        del node[key]
    elif way == 1 and isinstance(node, dict):
        other, name = draw.choice(members)
        node[name if isinstance(name, str) else "more"] = copy.deepcopy(other[name])
    elif isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, int | float):
        node[key] = draw.choice((-value, value + 1, value * 0.5, 0, value * (1 + 1e-6), 1))
    elif isinstance(value, str):
        node[key] = draw.choice((_other("", value, draw), value + "x", ""))
    elif value is None:
        node[key] = draw.choice((0, 1, "x", []))
    elif isinstance(value, list) and value:
        node[key] = value[:-1] if way == 2 else [value[0], *value]


def lightgbm(content: bytes, draw: random.Random) -> bytes:
    """Change one number, or remove, double or add a line. Without `tree_sizes`, LightGBM reads line by line."""
    lines = [line for line in content.decode().split("\n") if not line.startswith("tree_sizes=")]
    index = draw.randrange(len(lines))
    way = draw.randrange(6)
    if way == 0:
        del lines[index]
    elif way == 1:
        lines.insert(index, lines[draw.randrange(len(lines))])
    elif way == 2:
        lines.insert(index, draw.choice(("average_output", "is_linear=1", "linear_tree=1", "shrinkage=0.5", "sigmoid=2",
                                         "objective=regression", "num_class=2", "boost_from_average=0")))  # fmt: skip
    else:
        numbers = list(re.finditer(r"-?\d[\d.eE+-]*", lines[index]))
        if numbers:
            one = draw.choice(numbers)
            lines[index] = lines[index][: one.start()] + _other("", one.group(), draw) + lines[index][one.end() :]
        elif "objective" in lines[index]:
            lines[index] = draw.choice(("objective=binary sigmoid:2", "objective=regression sqrt", "objective=poisson"))
    return "\n".join(lines).encode()


def onnx(content: bytes, draw: random.Random) -> bytes:
    """Change one attribute of a node, its operator, its inputs, or a constant."""
    import onnx as library  # noqa: PLC0415  # the other formats do not need it

    model = library.ModelProto.FromString(content)
    node = draw.choice(list(model.graph.node))
    way = draw.randrange(6)
    if way <= 2 and len(node.attribute):
        attribute = draw.choice(list(node.attribute))
        for field in ("floats", "ints", "strings"):
            listed = getattr(attribute, field)
            if len(listed):
                index = draw.randrange(len(listed))
                modes = (b"BRANCH_LT", b"BRANCH_LEQ", b"BRANCH_GT", b"BRANCH_GTE", b"BRANCH_EQ", b"LEAF")
                listed[index] = draw.choice(modes) if field == "strings" else listed[index] + draw.choice((1, -1))
        if attribute.type == library.AttributeProto.INT:
            attribute.i += draw.choice((1, -1))
        elif attribute.type == library.AttributeProto.FLOAT:
            attribute.f = draw.choice((0.0, 0.5, 2.0, -1.0))
        elif attribute.type == library.AttributeProto.STRING:
            attribute.s = draw.choice((b"NONE", b"LOGISTIC", b"SOFTMAX", b"SOFTMAX_ZERO", b"PROBIT", b"L1", b"AVERAGE"))
    elif way == 3 and len(node.attribute):
        del node.attribute[draw.randrange(len(node.attribute))]
    elif way == 4:
        groups = (("Add", "Sub", "Mul", "Div"), ("Relu", "Tanh", "Sigmoid", "Identity", "Softmax"))
        alike = next((group for group in groups if node.op_type in group), None)
        if alike:
            node.op_type = draw.choice(alike)
        elif len(node.input) > 1:
            node.input[0], node.input[1] = node.input[1], node.input[0]
    elif len(model.graph.initializer):
        tensor = draw.choice(list(model.graph.initializer))
        array = library.numpy_helper.to_array(tensor).copy()
        if array.size and array.dtype.kind in "fi":
            array.flat[draw.randrange(array.size)] += 1
            tensor.CopyFrom(library.numpy_helper.from_array(array, tensor.name))
    return bytes(model.SerializeToString())


def skops(content: bytes, draw: random.Random) -> bytes:
    """Change one plain value of an estimator, or remove or add a member of one."""
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as before, zipfile.ZipFile(made, "w") as after:
        schema = json.loads(before.read("schema.json"))
        plain: list[tuple[dict[str, Any], str]] = []
        waiting = [schema]
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict):
                plain += [(node, key) for key, child in node.items() if isinstance(child, dict) and "is_json" in child]
                waiting += node.values()
            elif isinstance(node, list):
                waiting += node
        node, key = draw.choice(plain)
        way = draw.randrange(5)
        if way == 0:
            del node[key]
        elif way == 1:
            other, name = draw.choice(plain)
            node[name] = copy.deepcopy(other[name])
        elif key != "_sklearn_version":
            values = ("null", "true", "false", "0", "1", "2", "0.5", '"auto"', '"hard"', '"soft"', '"mean"',
                      '"hinge"', '"ignore"', '"zero"', '"constant"', '"tanh"', '"relu"')  # fmt: skip
            node[key] = {**node[key], "content": draw.choice(values)}
        for name in before.namelist():
            after.writestr(name, json.dumps(schema) if name == "schema.json" else before.read(name))
    return made.getvalue()


WAYS: Final[dict[str, Callable[[bytes, random.Random], bytes]]] = {
    "pmml": pmml, "xgboost": document, "catboost": document, "lightgbm": lightgbm, "onnx": onnx, "skops": skops,
}  # fmt: skip


def main() -> int:
    """Run the check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", nargs="+", help=", ".join(ENVIRONMENTS))
    parser.add_argument("--formats", default="")
    parser.add_argument("--mutations", type=int, default=2000, help="of each format in each environment")
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = Table("environment", "format", "mutations", "refused", "read", "maker fails", "records", "faults")
    faults: list[str] = []
    for name in options.environments:
        python = python_of(name)
        for one in ENVIRONMENTS[name].formats if python else ():
            if one in (options.formats or one).split(","):
                tally, failing = _mutated(name, one, options)
                table.add_row(
                    name, one, *map(str, (tally.files, tally.refused, tally.read, failing, tally.records)),
                    str(len(tally.faults)),
                )  # fmt: skip
                faults += [f"{name} {fault}" for fault in tally.faults]
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    Console(width=130).print(table)
    return int(bool(faults))


def _mutated(name: str, one: str, options: argparse.Namespace) -> tuple[Tally, int]:
    python, folder = python_of(name), cache() / "mutations" / name / one
    shutil.rmtree(folder, ignore_errors=True)
    originals = sorted((cache() / "corpus" / name).glob(f"{one}-*/answers.npz"))
    if one == "xgboost":
        originals = [case for case in originals if (case.parent / "model.json").exists()]
    tally, accepted, failing = Tally(), {}, 0
    for number in range(options.mutations if originals else 0):
        draw = random.Random(f"{options.seed} {one} {number}")  # no secret
        original = originals[number % len(originals)].parent
        about = json.loads((original / "case.json").read_text())
        content = (original / about["file"]).read_bytes()
        try:
            changed = WAYS[one](content, draw)
        except (ValueError, TypeError, OverflowError):
            continue
        if changed == content:
            continue
        case = folder / f"{one}-{number}"
        case.mkdir(parents=True)
        (case / about["file"]).write_bytes(changed)
        (case / "case.json").write_text(json.dumps({**about, "changed": True, "of": original.name, "refused": None}))
        shutil.copy(original / "maker.pickle", case / "maker.pickle")
        found = read_case(case, tally, options.records, refusals=False)
        if found is None:
            shutil.rmtree(case)
        else:
            accepted[case] = found
    for _ in range(_CRASHES_MAX if python and accepted else 0):
        try:
            run(python, "answer", str(folder))  # type: ignore[arg-type]
            break
        except subprocess.CalledProcessError:
            continue
    for case, found in accepted.items():
        if (case / "answers.npz").exists():
            compare_case(case, *found, tally)
        else:
            failing += 1
    return tally, failing


if __name__ == "__main__":
    sys.exit(main())
