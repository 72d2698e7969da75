"""A file that comes from somebody else makes nobody open another file: no reader follows a name that stands in it."""

import ctypes
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import skops.io
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from sklearn.tree import DecisionTreeClassifier

from auditor_client.asking.data_files import data_table
from auditor_client.errors import AuditorError, ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.onnx.model import OnnxModel
from checks.model_formats.boosting import catboost_file, lightgbm_file, xgboost_file
from checks.model_formats.pmml_trees import pmml_file
from shared.contract.schema import Column, Schema
from shared.kinds.bundles import BadBundle, read_bundle

SECRET: Final = b"AUDITOR_API_KEY=pafer_0123456789ab_SECRETSECRETSECRET\n"
NAME: Final = "settings.env"
NUMBERS: Final = Schema(
    person_key="id", columns=(Column(name="a", type="number"), Column(name="b", type="number"))
)  # fmt: skip
_IN_OPEN: Final = 0x20
_kernel: Final = ctypes.CDLL(None, use_errno=True)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The names of the files in the working folder that are opened meanwhile, by Python or by a library in C."""
    queue = _kernel.inotify_init1(os.O_NONBLOCK)
    assert queue >= 0
    assert _kernel.inotify_add_watch(queue, b".", _IN_OPEN) >= 0
    opened: list[str] = []
    try:
        yield opened
    finally:
        with suppress(BlockingIOError):
            while content := os.read(queue, 65_536):
                opened += _names(content)
        os.close(queue)


def _names(events: bytes) -> Iterator[str]:
    at = 0
    while at < len(events):
        _, _, _, length = struct.unpack_from("iIII", events, at)
        yield events[at + 16 : at + 16 + length].rstrip(b"\0").decode()
        at += 16 + length


@pytest.fixture(autouse=True)
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file beside the model, in the folder in which the reader works."""
    path = tmp_path / NAME
    path.write_bytes(SECRET)
    monkeypatch.chdir(tmp_path)
    return path


def external(name: str = "c", kind: int = TensorProto.UINT8, dims: tuple[int, ...] = (2, 27)) -> TensorProto:
    """A tensor whose numbers are in the secret's file."""
    tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", NAME), ("offset", "0"), ("length", str(dims[0] * dims[1]))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def graph_of(*nodes: Any, **more: Any) -> Any:
    return helper.make_graph(
        list(nodes), "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 1])], **more,
    )  # fmt: skip


def constant_node(**attribute: Any) -> Any:
    node = helper.make_node("Constant", [], ["c"])
    node.attribute.append(AttributeProto(name="value", **attribute))
    return node


LAYERS: Final = (
    helper.make_node("MatMul", ["x", "c"], ["h"]),
    helper.make_node("Relu", ["h"], ["r"]),
    helper.make_node("MatMul", ["r", "w"], ["z"]),
    helper.make_node("Sigmoid", ["z"], ["p"]),
)
WEIGHTS: Final = numpy_helper.from_array(np.ones((27, 1), np.float32), "w")


def in_initializer() -> Any:
    return helper.make_model(graph_of(*LAYERS, initializer=[WEIGHTS, external()]))


def in_attribute() -> Any:
    node = constant_node(type=AttributeProto.TENSOR, t=external())
    return helper.make_model(graph_of(node, *LAYERS, initializer=[WEIGHTS]))


def in_listed_attribute() -> Any:
    node = constant_node(type=AttributeProto.TENSORS, tensors=[external()])
    return helper.make_model(graph_of(node, *LAYERS, initializer=[WEIGHTS]))


def in_nested_graph() -> Any:
    node = helper.make_node("If", ["x"], ["p"])
    inner = graph_of(constant_node(type=AttributeProto.TENSOR, t=external()))
    node.attribute.append(AttributeProto(name="then_branch", type=AttributeProto.GRAPH, g=inner))
    return helper.make_model(graph_of(node))


def in_sparse_constant() -> Any:
    model = in_initializer()
    del model.graph.initializer[1:]
    model.graph.sparse_initializer.add(values=external(), dims=[2, 27])
    return model


def in_sparse_attribute() -> Any:
    node = helper.make_node("Constant", [], ["c"])
    part = node.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)
    part.sparse_tensor.values.CopyFrom(external())
    return helper.make_model(graph_of(node, *LAYERS, initializer=[WEIGHTS]))


def in_function() -> Any:
    model = in_initializer()
    del model.graph.initializer[1:]
    model.functions.add(name="f", node=[constant_node(type=AttributeProto.TENSOR, t=external())])
    return model


def without_location() -> Any:
    """Says where its numbers are, and not that they are elsewhere."""
    model = in_attribute()
    model.graph.node[0].attribute[0].t.ClearField("data_location")
    return model


TENSOR_POSITIONS: Final = (
    in_initializer, in_attribute, in_listed_attribute, in_nested_graph, in_sparse_constant, in_sparse_attribute,
    in_function, without_location,
)  # fmt: skip


@pytest.mark.parametrize("position", TENSOR_POSITIONS)
@pytest.mark.parametrize("from_memory", [False, True])
def test_onnx_reads_no_tensor_out_of_another_file(position: Callable[[], Any], *, from_memory: bool) -> None:
    model: ModelProto = position()
    model.ir_version = 8

    with listening() as opened, pytest.raises(ModelRefused, match="another file"):
        read_object(
            model if from_memory else load_object(model.SerializeToString(), "model.onnx"),
            ModelRequest(NUMBERS, columns=("a", "b"), above=0.5),
        )

    assert not any(NAME in name for name in opened)


def test_the_same_graph_with_its_numbers_inside_is_read() -> None:
    """The negative control: the graph is refused for where its numbers are, and for nothing else."""
    model = in_attribute()
    inside = numpy_helper.from_array(np.frombuffer(SECRET, np.uint8)[:54].reshape(2, 27), "c")
    model.graph.node[0].attribute[0].t.CopyFrom(inside)
    model.ir_version = 8

    read = read_object(OnnxModel(model), ModelRequest(NUMBERS, columns=("a", "b"), above=0.5))

    assert len(read.columns) == 1


def test_what_onnx_opens_is_noticed() -> None:
    """The negative control: `onnx` itself opens the file, and these tests would see that."""
    with listening() as opened:
        numpy_helper.to_array(external())

    assert any(NAME in name for name in opened)


def _pmml(change: Callable[[str], str]) -> bytes:
    return change(pmml_file(0)[0].decode()).encode()


def _after_declaration(text: str, what: str) -> str:
    declaration = "<?xml version='1.0'?>"
    body = text[text.index("?>") + 2 :] if text.lstrip().startswith("<?xml") else text
    return declaration + what + body


ENTITY: Final = f'<!DOCTYPE PMML [<!ENTITY s SYSTEM "{NAME}">]>'
XML: Final[dict[str, Callable[[str], str]]] = {
    "an entity": lambda text: _after_declaration(text, ENTITY).replace('score="', 'score="&s;', 1),
    "a parameter entity": lambda text: _after_declaration(text, f'<!DOCTYPE PMML [<!ENTITY % s SYSTEM "{NAME}"> %s;]>'),
    "a document type elsewhere": lambda text: _after_declaration(text, f'<!DOCTYPE PMML SYSTEM "{NAME}">'),
}


@pytest.mark.parametrize("kind", XML)
def test_pmml_with_entities_or_a_document_type_is_refused(kind: str) -> None:
    with listening() as opened, pytest.raises(ModelRefused):
        load_object(_pmml(XML[kind]), "model.pmml")

    assert not any(NAME in name for name in opened)


INCLUDE: Final = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{NAME}" parse="text"/>'
HARMLESS: Final[dict[str, Callable[[str], str]]] = {
    "an inclusion": lambda text: text.replace("</PMML>", INCLUDE + "</PMML>"),
    "a style sheet": lambda text: _after_declaration(text, f'<?xml-stylesheet href="{NAME}"?>'),
    "a schema's position": lambda text: text.replace("<PMML ", f'<PMML schemaLocation="{NAME}" ', 1),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_pmml_that_names_another_file_opens_none(kind: str) -> None:
    with listening() as opened:
        _tried(_pmml(HARMLESS[kind]), "model.pmml", pmml_file(0)[1])

    assert not any(NAME in name for name in opened)


def _in_zip(*entries: tuple[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in entries:
            archive.writestr(name, text)
    return content.getvalue()


def _skops(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A tree whose arrays are named otherwise."""
    content = skops.io.dumps(DecisionTreeClassifier(max_depth=1).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop("schema.json"))
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        waiting += [
            value for value in (node.values() if isinstance(node, dict) else node) if isinstance(value, dict | list)
        ]
        if isinstance(node, dict) and node.get("__loader__") == "NdArrayNode" and "file" in node:
            change(node)
    return _in_zip(("schema.json", json.dumps(schema)), *entries.items())


def _objects() -> bytes:
    """An array of objects, which numpy keeps as a pickle."""
    content = io.BytesIO()
    np.save(content, np.array([{"a": 1}], object), allow_pickle=True)
    return content.getvalue()


def _linked(name: str) -> tuple[zipfile.ZipInfo, str]:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return entry, NAME


def _again(content: bytes, *more: tuple[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    return _in_zip(*entries, *more)


SKOPS: Final[dict[str, Callable[[Path], bytes]]] = {
    "another file": lambda folder: _skops(lambda node: node.update(file=str(folder / NAME))),
    "a file above": lambda _: _skops(lambda node: node.update(file=f"../{NAME}")),
    "a link": lambda _: _again(_skops(lambda node: node.update(file="link.npy")), _linked("link.npy")),
    "objects": lambda _: _again(_skops(lambda node: node.update(file="objects.npy")), ("objects.npy", _objects())),
    "memory that is mapped": lambda _: _skops(lambda node: node.update(__class__="memmap", file=NAME)),
}


@pytest.mark.parametrize("kind", SKOPS)
def test_skops_reads_no_array_but_those_in_the_file(kind: str, tmp_path: Path) -> None:
    with listening() as opened, pytest.raises(ModelRefused):
        load_object(SKOPS[kind](tmp_path), "model.skops")

    assert not any(NAME in name for name in opened)


@pytest.mark.slow
def test_text_and_json_that_name_a_file_open_none() -> None:
    """In the parameters by which their makers read files: forced splits, data, an earlier model."""
    lightgbm, of_lightgbm = lightgbm_file(0)
    named = "".join(f"[{key}: {NAME}]\n" for key in ("data", "forcedsplits_filename", "input_model", "valid"))
    xgboost, of_xgboost = next(
        (content, request) for content, request in map(xgboost_file, range(20)) if content[:2] != b"{L"
    )
    document = json.loads(xgboost)
    document["learner"]["attributes"] = {"model_in": NAME, "data": NAME}
    catboost, of_catboost = catboost_file(0)
    exported = json.loads(catboost)
    exported["model_info"]["params"]["data_processing_options"] = {"learn_set": NAME, "input_borders": NAME}
    files = (
        (lightgbm.replace(b"end of parameters", named.encode() + b"end of parameters"), "model.txt", of_lightgbm),
        (json.dumps(document).encode(), "model.json", of_xgboost),
        (json.dumps(exported).encode(), "model.json", of_catboost),
    )
    assert named.encode() in files[0][0]

    for content, name, request in files:
        with listening() as opened:
            _tried(content, name, request)
        assert not any(NAME in one for one in opened)


def _tried(content: bytes, name: str, request: ModelRequest) -> None:
    try:
        read_object(load_object(content, name), request)
    except ModelRefused:
        return


def test_parquet_reads_no_columns_of_another_file(tmp_path: Path, secret: Path) -> None:
    """Parquet may say of each column in which file it is."""
    path = tmp_path / "people.parquet"
    pd.DataFrame({"age": [30.0, 40.0]}).to_parquet(path)
    content = path.read_bytes()
    metadata = pq.read_metadata(path)
    metadata.set_file_path(NAME)
    metadata.write_metadata_file(str(secret))  # its footer, and a canary of the name
    footer = secret.read_bytes()
    length = struct.unpack("<I", footer[-8:-4])[0] + 8
    old = struct.unpack("<I", content[-8:-4])[0] + 8
    path.write_bytes(content[:-old] + footer[-length:])
    assert NAME.encode() in path.read_bytes()
    secret.unlink()

    try:
        table = data_table(path)
    except AuditorError:
        return
    assert table.columns(["age"]) == [[30.0, 40.0]]


def test_a_table_has_no_columns_out_of_its_folders_name(tmp_path: Path) -> None:
    folder = tmp_path / "sex=F"
    folder.mkdir()
    pd.DataFrame({"age": [30.0]}).to_parquet(folder / "people.parquet")

    assert data_table(folder / "people.parquet").names == ("age",)


def test_a_folder_is_not_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    pd.DataFrame({"age": [30.0]}).to_parquet(folder / "other.parquet")

    with pytest.raises(AuditorError):
        data_table(folder)


def test_a_bundle_with_a_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(_in_zip(_linked("manifest.json")))

    with listening() as opened, pytest.raises(BadBundle):
        read_bundle(path)

    assert not any(NAME in name for name in opened)
