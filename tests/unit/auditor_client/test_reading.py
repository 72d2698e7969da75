"""Model files: skops files of readable trees are opened, and nothing else is."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from auditor_client.errors import ModelRefused, UnsafeModelFile
from auditor_client.models import files, skops_files
from auditor_client.models.files import model_file
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_model, read_object
from auditor_client.models.tree import Tree
from shared.contract.schema import Schema
from testing.invented.models import SCHEMA, as_frame, people

PEOPLE = people(np.random.default_rng(1), 80, unseen=False)
FRAME = as_frame(PEOPLE)
LABELS = [int(person["age"] > 40) for person in PEOPLE]  # type: ignore[operator]  # ages are numbers


def load_model(path: Path | str) -> Any:
    return load_object(model_file(path), Path(path).name)


def read_tree(model: Any, schema: Schema) -> Tree:
    return read_object(model, ModelRequest(schema, [1])).tree


class Bomb:
    """What a pickle from a stranger may hold: opening it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def whole_pipeline() -> Any:
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5, drop="first"), ["city", "owner"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["education"]),
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["income"]),
        (make_pipeline(MinMaxScaler(clip=True), KBinsDiscretizer(3, strategy="uniform")), ["age"]),
        ("drop", make_column_selector(pattern="debt")),
        remainder="passthrough",
    )
    frame = FRAME.drop(columns="insured")
    tree = DecisionTreeClassifier(max_depth=4, random_state=np.random.RandomState(0))
    return make_pipeline(columns, tree).fit(frame, LABELS)


@pytest.fixture(scope="module")
def model() -> Any:
    return whole_pipeline()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.skops"


def rewritten(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A skops file whose schema was changed by hand."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == "schema.json":
                schema = json.loads(data)
                change(schema)
                data = json.dumps(schema).encode()
            archive.writestr(entry.filename, data)
    return target.getvalue()


def zipped(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return target.getvalue()


def test_a_skops_file_gives_the_same_tree_as_the_model_in_memory(model: Any, file: Path) -> None:
    frame = FRAME[["age", "hours"]]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, LABELS)
    tuned = TunedThresholdClassifierCV(tree, cv=2).fit(frame, LABELS)
    fixed = FixedThresholdClassifier(tree, threshold=0.3).fit(frame, LABELS)

    for given in (model, tree, tuned, fixed):
        skops.io.dump(given, file)

        assert read_tree(load_model(file), SCHEMA) == read_tree(given, SCHEMA)
        assert read_tree(load_model(str(file)), SCHEMA).rules()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_without_being_opened(protocol: int, file: Path, tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "exploded")
    for content in (bomb, {"model": bomb}, [bomb], (1, bomb)):
        file.write_bytes(pickle.dumps(content, protocol))

        with pytest.raises(UnsafeModelFile, match=r"skops\.io\.dump"):
            load_model(file)
    assert not bomb.folder.exists()


def test_a_packed_pickle_is_refused_without_being_opened(file: Path, tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "exploded")
    content = pickle.dumps(bomb)
    packers: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, zlib.compress]
    packed = [packer(content) for packer in packers]
    packed += [lzma.compress(content, lzma.FORMAT_ALONE), zipped({"data.pkl": content})]
    for compress in (0, 3, ("gzip", 3), ("xz", 3), ("lzma", 3)):
        joblib.dump(bomb, file, compress=compress)
        packed.append(file.read_bytes())

    for data in packed:
        file.write_bytes(data)
        with pytest.raises(UnsafeModelFile, match=r"skops\.io\.dump"):
            load_model(file)
    assert not bomb.folder.exists()


@pytest.mark.parametrize(
    "untrusted",
    [
        make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier()).fit(FRAME[["age"]], LABELS),
        make_pipeline(FunctionTransformer(os.path.join), DecisionTreeClassifier()),
        os.system,
        {"a": bytes(3)},
    ],
)
def test_a_type_that_is_not_on_the_list_is_refused(untrusted: Any, file: Path) -> None:
    skops.io.dump(untrusted, file)

    with pytest.raises(UnsafeModelFile, match="not on the list"):
        load_model(file)


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
        StackingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())], cv=2),
        SVC(),
        KNeighborsClassifier(1),
        make_pipeline(PCA(1), DecisionTreeClassifier()),
        IsolationForest(n_estimators=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_file_is_refused_in_the_words_that_refuse_the_object(model: Any, file: Path) -> None:
    model.fit(FRAME[["age"]], LABELS)
    with pytest.raises(ModelRefused) as from_memory:
        read_model(model, ModelRequest(SCHEMA, [1]))
    skops.io.dump(model, file)

    with pytest.raises(UnsafeModelFile) as from_file:
        read_model(file, ModelRequest(SCHEMA, [1]))

    said = str(from_memory.value).replace("before the tree", "before the model")
    assert str(from_file.value) == f"{file.name}: {said}"


def test_a_name_that_skops_would_call_is_refused(file: Path) -> None:
    """A random generator's state names its class as a text; skops looks it up in numpy.random, and calls it."""
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features=[0]).fit(FRAME[["age"]], LABELS)

    def renamed(schema: dict[str, Any]) -> None:
        state = schema["content"]["content"]["_feature_subsample_rng"]["content"]["bit_generator"]
        state["content"]["bit_generator"]["content"] = '"seed"'

    def other_function(schema: dict[str, Any]) -> None:
        text = json.dumps(schema).replace('"check_array"', '"accuracy_score"')
        text = text.replace('"sklearn.utils.validation"', '"sklearn.metrics._classification"')
        schema.update(json.loads(text))

    skops.io.dump(model, file)
    content = file.read_bytes()
    load_model(file)
    for change in (renamed, other_function):
        file.write_bytes(rewritten(content, change))

        with pytest.raises(UnsafeModelFile, match="not on the list"):
            load_model(file)


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("FunctionNode", "os", "system"),
        ("TypeNode", "builtins", "eval"),
        ("TypeNode", "os", "system"),
        ("ObjectNode", "subprocess", "Popen"),
        ("ConstructorFromReduceNode", "subprocess", "Popen"),
        ("OperatorFuncNode", "operator", "methodcaller"),
        ("MethodNode", "sklearn.pipeline", "Pipeline"),
        ("PartialNode", "functools", "partial"),
        ("ListNode", "sklearn.tree._classes", "DecisionTreeClassifier"),
        ("NdArrayNode", "numpy", "load"),
        ("JsonNode", "builtins", "eval"),
        ("UnknownNode", "builtins", "list"),
    ],
)
def test_a_forged_node_at_any_depth_is_refused(loader: str, module: str, name: str, model: Any, file: Path) -> None:
    node = {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 1, "content": []}

    def forge(schema: dict[str, Any]) -> None:
        schema["content"]["content"]["memory"] = {**node, "content": [node]}

    file.write_bytes(rewritten(skops.io.dumps(model), forge))

    with pytest.raises(UnsafeModelFile, match=name):
        load_model(file)


def test_a_file_that_is_too_large_or_unpacks_to_too_much_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FILE_BYTES_MAX", 100_000)
    monkeypatch.setattr(skops_files, "UNPACKED_BYTES_MAX", 1_000_000)
    monkeypatch.setattr(skops_files, "ENTRIES_MAX", 100)
    bombs = [
        bytes(100_001),
        zipped({"schema.json": bytes(1_000_001)}, zipfile.ZIP_DEFLATED),
        zipped({"schema.json": b"{}"}, zipfile.ZIP_BZIP2),
        zipped({"schema.json": b"{}"}, zipfile.ZIP_LZMA),
        zipped({"schema.json": b"{}", **{f"entry{number}": b"" for number in range(100)}}),
    ]

    for bomb in bombs:
        file.write_bytes(bomb)
        with pytest.raises(ModelRefused, match="bytes"):
            load_model(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 bytes"),
        (b"PK\x03\x04 and nothing behind it", "damaged"),
        (zipped({"readme.txt": b"hello"}), "not a skops file"),
        (zipped({"schema.json": b"[" * 100_000}), "damaged"),
        (zipped({"schema.json": b"not json"}), "damaged"),
        (zipped({"schema.json": b"[]"}), "damaged"),
        (zipped({"schema.json": b"{}"}), "damaged"),
        (b"age,hours\n1,2\n", "not a skops file"),
        (b'{"columns": []}', "not a skops file"),
        (bytes(range(0, 256, 7)), "not a skops file"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_advice(content: bytes, said: str, file: Path) -> None:
    file.write_bytes(content)

    with pytest.raises(ModelRefused, match=said) as refusal:
        load_model(file)
    assert "skops.io.dump" in str(refusal.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path, tmp_path / "missing.skops", tmp_path / "pipe", tmp_path / ("x" * 5000)):
        with pytest.raises(ModelRefused, match=r"skops\.io\.dump"):
            load_model(path)


def test_a_file_cut_short_or_changed_anywhere_never_gives_another_error(model: Any, file: Path) -> None:
    content = skops.io.dumps(model)
    draw = np.random.default_rng(0)

    for _ in range(60):
        broken = bytearray(content[: draw.integers(1, len(content))] if draw.random() < 0.3 else content)
        for index in draw.integers(0, len(broken), 5):
            broken[index] = draw.integers(256)
        file.write_bytes(broken)
        try:
            tree = read_tree(load_model(file), SCHEMA)
        except ModelRefused:
            continue
        tree.check(SCHEMA)


def test_a_forged_array_in_a_file_is_refused_when_the_tree_is_read(model: Any, file: Path) -> None:
    def shrink(schema: dict[str, Any]) -> None:
        text = json.dumps(schema).replace('"node_count"', '"node_count_"', 1)
        schema.clear()
        schema.update(json.loads(text))

    file.write_bytes(rewritten(skops.io.dumps(model), shrink))

    with pytest.raises(ModelRefused):
        read_tree(load_model(file), SCHEMA)


def test_pandas_categories_and_texts_are_the_same_to_a_model(file: Path) -> None:
    frame = FRAME[["city"]].astype("category")
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    skops.io.dump(model.fit(frame, LABELS), file)

    tree = read_tree(load_model(file), SCHEMA)

    assert [int(tree.decide(person).decision) for person in PEOPLE] == model.predict(frame).tolist()
    assert isinstance(frame, pd.DataFrame)
