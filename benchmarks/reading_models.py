"""Measure how long a model's file of 10 MB takes to read, compared with its maker's own loading.

`python -m benchmarks.reading_models [--megabytes 10] [--rounds 3] [--formats lightgbm,xgboost]`

Each file is written by the maker's own library, which is trained on invented people until the file has the size; PMML
is a random forest of scikit-learn written as JPMML writes forests. *Reading* is `read_model`: all that a client does
with a file before it asks, the comparison with the maker on some thousands of invented records included. Below it is
the maker's own loading in the same run (`json.loads` or the XML parser if the maker has no loader), and how many times
as long reading takes. `--command` measures the whole command `auditor check-model` as well, in a process of its own, at
a holder on loopback. Seconds are the best of some rounds; formats whose library is not installed are skipped by name.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring  # written here; defusedxml parses

import defusedxml.ElementTree
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import read_model
from auditor_client.models.readers.frames import installed
from shared.contract.schema import Column, Schema
from testing.holders import TestedHolder, running_holder

RECORDS: Final = 30_000
NAMES: Final = tuple(f"x{number}" for number in range(10))
SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
        *(
            Column(name=name, type="integer", minimum=0, maximum=2000)
            if number % 5 == 0
            else Column(name=name, type="number", minimum=-1000, maximum=1000)
            for number, name in enumerate(NAMES)
        ),
    ),
)
TRIALS_MAX: Final = 6
RESULT_S_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Format:
    """Files of one kind.

    Attributes:
        library: What has to be installed.
        suffix: How the file's name ends.
        write: A model of some number of trees, as its file.
        load: The maker's own loading, from the file's path or from its bytes.
        loads: What that is, in words.
        begin: How many trees to begin with.
    """

    library: str
    suffix: str
    write: Callable[[int], bytes]
    load: Callable[[Path], Any]
    loads: str
    begin: int


def people() -> tuple[pd.DataFrame, Any]:
    """Invented people: whole numbers and numbers of one decimal, and what was decided about them."""
    draw = np.random.default_rng(3)
    numbers = np.round(draw.normal(size=(RECORDS, len(NAMES))) * 100, 1)
    numbers[:, ::5] = np.round(np.abs(numbers[:, ::5]) * 2)
    decided = numbers @ draw.normal(size=len(NAMES)) + draw.normal(size=RECORDS) * 300 > 0
    return pd.DataFrame(np.clip(numbers, -1000, 1000), columns=list(NAMES)), decided.astype(int)


def _skops(kind: str) -> Callable[[int], bytes]:
    def write(trees: int) -> bytes:
        import skops.io  # noqa: PLC0415  # each format imports its own library
        from sklearn import ensemble  # noqa: PLC0415

        table, target = people()
        model = {
            "forest": lambda: ensemble.RandomForestClassifier(trees, min_samples_leaf=8, random_state=0),
            "boosting": lambda: ensemble.GradientBoostingClassifier(
                n_estimators=trees, max_depth=8, subsample=0.3, random_state=0
            ),
            "histogram": lambda: ensemble.HistGradientBoostingClassifier(
                max_iter=trees, max_leaf_nodes=255, min_samples_leaf=5, early_stopping=False, random_state=0
            ),
        }[kind]()
        content: bytes = skops.io.dumps(model.fit(table, target))
        return content

    return write


def _load_skops(path: Path) -> Any:
    import skops.io  # noqa: PLC0415

    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


def _lightgbm(trees: int) -> bytes:
    table, target = people()
    library = installed("lightgbm")
    model = library.LGBMClassifier(
        n_estimators=trees, num_leaves=255, min_child_samples=5, n_jobs=1, verbose=-1, random_state=0
    )
    return str(model.fit(table, target).booster_.model_to_string()).encode()


def _xgboost(kind: str) -> Callable[[int], bytes]:
    def write(trees: int) -> bytes:
        table, target = people()
        model = installed("xgboost").XGBClassifier(n_estimators=trees, max_depth=10, n_jobs=1, learning_rate=0.1)
        return bytes(model.fit(table, target).get_booster().save_raw(kind))

    return write


def _load_xgboost(path: Path) -> Any:
    model = installed("xgboost").Booster()
    model.load_model(str(path))
    return model


def _onnx(trees: int) -> bytes:
    from skl2onnx import to_onnx  # noqa: PLC0415
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415

    table, target = people()
    model = RandomForestClassifier(trees, min_samples_leaf=8, random_state=0)
    model.fit(table.to_numpy(np.float32), target)
    graph = to_onnx(model, table.to_numpy(np.float32)[:1], options={"zipmap": False})
    return bytes(graph.SerializeToString())


def _catboost(trees: int) -> bytes:
    table, target = people()
    model = installed("catboost").CatBoostClassifier(
        iterations=trees, depth=8, verbose=False, thread_count=1, allow_writing_files=False, random_seed=0
    )
    model.fit(table, target)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return path.read_bytes()


def _load_catboost(path: Path) -> Any:
    return installed("catboost").CatBoostClassifier().load_model(str(path), format="json")


def _pmml(trees: int) -> bytes:
    """A forest as JPMML writes one: probabilities of the leaves, averaged."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415

    table, target = people()
    forest = RandomForestClassifier(trees, min_samples_leaf=8, random_state=0).fit(table, target)
    root = Element("PMML", xmlns="http://www.dmg.org/PMML-4_4", version="4.4")
    SubElement(root, "Header")
    dictionary = SubElement(root, "DataDictionary")
    field = SubElement(dictionary, "DataField", name="y", optype="categorical", dataType="integer")
    for value in "01":
        SubElement(field, "Value", value=value)
    for name in NAMES:
        SubElement(dictionary, "DataField", name=name, optype="continuous", dataType="double")
    model = SubElement(root, "MiningModel", functionName="classification")
    schema = SubElement(model, "MiningSchema")
    SubElement(schema, "MiningField", name="y", usageType="target")
    for name in NAMES:
        SubElement(schema, "MiningField", name=name)
    segmentation = SubElement(model, "Segmentation", multipleModelMethod="average")
    for number, estimator in enumerate(forest.estimators_):
        segment = SubElement(segmentation, "Segment", id=str(number + 1))
        SubElement(segment, "True")
        _pmml_tree(segment, estimator.tree_)
    return tostring(root)


def _pmml_tree(segment: Element, tree: Any) -> None:
    model = SubElement(
        segment, "TreeModel", functionName="classification", splitCharacteristic="binarySplit",
        missingValueStrategy="nullPrediction",
    )  # fmt: skip
    schema = SubElement(model, "MiningSchema")
    for name in NAMES:
        SubElement(schema, "MiningField", name=name)
    top = SubElement(model, "Node")
    SubElement(top, "True")
    waiting = [(0, top)]
    while waiting:
        node, element = waiting.pop()
        if tree.children_left[node] == -1:
            shares = tree.value[node][0]
            element.set("score", str(int(np.argmax(shares))))
            for value, share in zip("01", shares, strict=True):
                SubElement(element, "ScoreDistribution", value=value, recordCount=repr(float(share)))
            continue
        for child, operator in (
            (int(tree.children_left[node]), "lessOrEqual"),
            (int(tree.children_right[node]), "greaterThan"),
        ):
            child_element = SubElement(element, "Node")
            SubElement(
                child_element, "SimplePredicate", field=NAMES[tree.feature[node]], operator=operator,
                value=repr(float(tree.threshold[node])),
            )  # fmt: skip
            waiting.append((child, child_element))


FORMATS: Final[Mapping[str, Format]] = {
    "skops forest": Format("skops", "skops", _skops("forest"), _load_skops, "skops.io.load", 50),
    "skops boosting": Format("skops", "skops", _skops("boosting"), _load_skops, "skops.io.load", 250),
    "skops histogram": Format("skops", "skops", _skops("histogram"), _load_skops, "skops.io.load", 200),
    "lightgbm": Format(
        "lightgbm", "txt", _lightgbm, lambda path: installed("lightgbm").Booster(model_file=str(path)),
        "lightgbm.Booster", 300,
    ),
    "xgboost json": Format("xgboost", "json", _xgboost("json"), _load_xgboost, "xgboost.Booster", 150),
    "xgboost ubj": Format("xgboost", "ubj", _xgboost("ubj"), _load_xgboost, "xgboost.Booster", 250),
    "onnx": Format(
        "skl2onnx", "onnx", _onnx, lambda path: installed("onnx").load(str(path)), "onnx.load", 30
    ),
    "catboost": Format("catboost", "json", _catboost, _load_catboost, "catboost.load_model", 800),
    "pmml": Format(
        "sklearn", "pmml", _pmml, defusedxml.ElementTree.parse, "defusedxml", 25
    ),
}  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--command", action="store_true", help="measure `auditor check-model` as well")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the files, and has those of an earlier run")
    options = parser.parse_args()
    table = Table("format", "MB", "reading s", "loading s", "by", "ratio", "check-model s")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.formats.split(","):
            file_format = FORMATS[name]
            if installed(file_format.library) is None:
                print(f"{name}: {file_format.library} is not installed: skipped", file=sys.stderr)
                continue
            path = (options.keep or Path(folder)) / f"{name.replace(' ', '-')}.{file_format.suffix}"
            path.parent.mkdir(exist_ok=True)
            if not path.exists():
                path.write_bytes(_of_size(file_format, round(options.megabytes * 1e6)))
            reading = _best(partial(read_model, str(path), _request(path)), options.rounds)
            loading = _best(partial(file_format.load, path), options.rounds)
            command = f"{_command_s(path, Path(folder)):.2f}" if options.command else "-"
            table.add_row(
                name, f"{path.stat().st_size / 1e6:.1f}", f"{reading:.2f}", f"{loading:.3f}", file_format.loads,
                f"{reading / loading:.1f}", command,
            )  # fmt: skip
            print(f"{name}: {reading:.2f} s", file=sys.stderr)
    Console(width=110).print(table)


def _request(path: Path) -> ModelRequest:
    """ONNX files do not have the columns' names."""
    return ModelRequest(SCHEMA, ["1" if path.suffix == ".pmml" else 1], NAMES if path.suffix == ".onnx" else None)


def _of_size(file_format: Format, size: int) -> bytes:
    """Return a file of about `size` bytes."""
    trees = file_format.begin
    for _ in range(TRIALS_MAX):
        content = file_format.write(trees)
        if abs(len(content) / size - 1) < 0.1:
            break
        trees = max(1, round(trees * size / len(content)))
    return content


def _best(measured: Callable[[], Any], rounds: int) -> float:
    """Seconds, the best of some rounds."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        measured()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def _command_s(path: Path, folder: Path) -> float:
    """Seconds of `auditor check-model`, from its start to its end."""
    with running_holder(Path(tempfile.mkdtemp(dir=folder))) as holder:
        _declare(holder)
        environment = {
            **os.environ, "AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": holder.auditor_key,
            "AUDITOR_RECEIPTS": str(folder / "receipts"),
        }  # fmt: skip
        command = [sys.executable, "-m", "auditor_client.cli", "check-model", str(path), "--dataset", "people"]
        if path.suffix == ".onnx":
            command += [word for name in NAMES for word in ("--columns", name)]
        begin = time.perf_counter()
        subprocess.run(
            [*command, "--favourable", "1"], env=environment, check=True, capture_output=True, timeout=RESULT_S_MAX
        )
        return time.perf_counter() - begin


def _declare(holder: TestedHolder) -> None:
    columns = [column.model_dump(mode="json", exclude_none=True) for column in SCHEMA.columns]
    holder.declare("people", columns=columns).raise_for_status()
    rows = "".join(f"{number},F{',1' * len(NAMES)}\n" for number in range(10))
    holder.load(f"id,sex,{','.join(NAMES)}\n{rows}".encode(), "people").raise_for_status()


if __name__ == "__main__":
    main()
