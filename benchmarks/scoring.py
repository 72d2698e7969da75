"""How quickly the holder computes scores, against the makers' own prediction and numpy on the same machine.

`python -m benchmarks.scoring --records 1000000,10000000`

Boosted trees are trained by LightGBM and XGBoost, written as score documents, and computed for every record: by the
holder from its encoded file, by each maker from a matrix in memory, by treelite's interpreter (GTIL), and by the C code
that tl2cgen makes of a model, where there is a C compiler. A scorecard is compared with numpy's matrix product. All
values are compared as well, and so are counts about a finished score and about a declared column. Everything runs in
one thread; what is printed is processor time in one run, the best of some repetitions, because other programs may be at
work. Matrices are made before and not counted.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import lightgbm
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
import tl2cgen
import treelite
import xgboost
from rich.console import Console
from rich.table import Table

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, encode_column, load_records
from holder_service.records.scoring import Scores, score_values
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.documents import Document, Product, ScoreTree, Terms, Trees

COLUMNS: Final = 20
TRAINED_ON: Final = 50_000
TREES: Final = 100
DEPTH: Final = 6
RECORDS_PER_PART: Final = 1_000_000
NAMES: Final = tuple(f"x{n}" for n in range(COLUMNS))
SCHEMA: Final = Schema(
    person_key="person",
    columns=(
        *(Column(name=name, type="number") for name in NAMES),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)
SCORE: Final = Column(name="score", type="number")

_Array = npt.NDArray[Any]


def invented(records: int) -> Iterator[_Array]:
    """The columns of a register part by part, shape (records, columns): float32 roundings, which all read alike."""
    rng = np.random.default_rng(records)
    for start in range(0, records, RECORDS_PER_PART):
        size = min(RECORDS_PER_PART, records - start)
        yield rng.normal(size=(size, COLUMNS)).astype(np.float32)


def encoded(folder: Path, records: int) -> tuple[Records, _Array]:
    """The register as the holder keeps it, and as a matrix."""
    source, writer, first = folder / "records.parquet", None, 0
    matrix = np.empty((records, COLUMNS), dtype=np.float32)
    for part in invented(records):
        matrix[first : first + len(part)] = part
        columns = {name: part[:, n].astype(np.float64) for n, name in enumerate(NAMES)}
        table = pa.table({"person": np.arange(first, first + len(part)), **columns, "sex": ["F"] * len(part)})
        writer = writer or pa.parquet.ParquetWriter(source, table.schema)
        writer.write_table(table)
        first += len(part)
    if writer is not None:
        writer.close()
    load_records(source, "application/vnd.apache.parquet", SCHEMA, records, folder / "encoded")
    source.unlink()
    return Records.open(folder / "encoded", SCHEMA), matrix


def training() -> tuple[_Array, _Array]:
    """What both makers learn from."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(TRAINED_ON, COLUMNS)).astype(np.float32)
    label = numbers[:, 0] * numbers[:, 1] + numbers[:, 2:].sum(axis=1) + rng.normal(size=TRAINED_ON) > 0
    return numbers, label.astype(int)


def lightgbm_model() -> lightgbm.Booster:
    """Trees of at most 64 leaves and depth 6."""
    numbers, label = training()
    options = {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "num_threads": 1, "verbose": -1}
    return lightgbm.train(options, lightgbm.Dataset(numbers, label), TREES)


def xgboost_model() -> xgboost.Booster:
    """Trees of depth 6."""
    numbers, label = training()
    options = {"objective": "binary:logistic", "max_depth": DEPTH, "nthread": 1, "base_score": 0.5}
    return xgboost.train(options, xgboost.DMatrix(numbers, label, nthread=1), TREES)


class _Written:
    """A document as it grows, tree by tree."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, str, float], int] = {}
        self.trees: list[ScoreTree] = []

    def add(self, root: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Any]) -> None:
        """Add a tree; `read` gives a leaf's value, or a node's column, comparison, threshold and two children."""
        tests: list[int] = []
        values: list[float] = []
        ways: dict[str, list[int]] = {"yes": [], "no": []}

        def index_of(node: Mapping[str, Any]) -> int:
            found = read(node)
            if isinstance(found, float):
                values.append(found)
                return ~(len(values) - 1)
            column, op, threshold, yes, no = found
            index = len(tests)
            tests.append(self.tests.setdefault((column, op, threshold), len(self.tests)))
            for way in ways.values():
                way.append(0)
            ways["yes"][index], ways["no"][index] = index_of(yes), index_of(no)
            return index

        index_of(root)
        self.trees.append(
            ScoreTree(tests=tuple(tests), yes=tuple(ways["yes"]), no=tuple(ways["no"]), values=tuple(values))
        )

    def document(self, precision: str) -> Trees:
        """All trees."""
        tests = [{"column": column, "op": op, "value": value} for column, op, value in self.tests]
        return Trees.model_validate(
            {"kind": "trees", "precision": precision, "tests": tests, "trees": tuple(self.trees)}
        )


def lightgbm_document(model: lightgbm.Booster) -> Trees:
    """A LightGBM model of numbers without missing values as a document."""

    def read(node: Mapping[str, Any]) -> Any:
        if "leaf_value" in node:
            return float(node["leaf_value"])
        column = NAMES[node["split_feature"]]
        return column, "le", float(node["threshold"]), node["left_child"], node["right_child"]

    written = _Written()
    for tree in model.dump_model()["tree_info"]:
        written.add(tree["tree_structure"], read)
    return written.document("float64")


def xgboost_document(model: xgboost.Booster) -> Trees:
    """An XGBoost model of numbers without missing values as a document."""

    def read(node: Mapping[str, Any]) -> Any:
        if "leaf" in node:
            return float(np.float32(node["leaf"]))
        yes, no = (next(one for one in node["children"] if one["nodeid"] == node[way]) for way in ("yes", "no"))
        return NAMES[int(node["split"][1:])], "lt", float(np.float32(node["split_condition"])), yes, no

    written = _Written()
    for tree in model.get_dump(dump_format="json"):
        written.add(json.loads(tree), read)
    return written.document("float32")


def scorecard() -> Terms:
    """Twenty slopes."""
    slopes = np.random.default_rng(1).normal(size=COLUMNS)
    terms = tuple(Product(columns=(name,), slope=float(slope)) for name, slope in zip(NAMES, slopes, strict=True))
    return Terms(kind="terms", precision="float64", terms=terms)


@dataclass
class Ours:
    """The holder's evaluation: tables first, then chunk by chunk."""

    document: Document
    records: Records

    def __call__(self) -> _Array:
        """All records' values."""
        return np.concatenate(list(score_values(self.document, SCORE, self.records)))

    def warm(self) -> None:
        """Have the loops compiled."""
        Scores.compiled(self.document, self.records).of(self.records.chunks[0])


def best_s(work: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    """The least processor time of some repetitions, in seconds; and what the last one gave."""
    took, found = [], None
    for _ in range(repetitions):
        start = time.process_time()
        found = work()
        took.append(time.process_time() - start)
    return min(took), found


def compiled_by_c(model: treelite.Model, folder: Path) -> tl2cgen.Predictor | None:
    """A model as a library of compiled C code, if there is a compiler and tl2cgen reads this treelite's models."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    path = folder / "model.so"
    try:
        tl2cgen.export_lib(model, toolchain=Path(compiler).name, libpath=path, params={"parallel_comp": 8})
        return tl2cgen.Predictor(path, nthread=1)
    except Exception as error:  # noqa: BLE001 - it is another maker's tool, and only compared with
        Console().print(f"tl2cgen: {error}")
        return None


def trees_rows(records: Records, matrix: _Array, repetitions: int, folder: Path) -> Iterator[tuple[str, ...]]:
    """Boosted trees of both makers."""
    lgb, xgb = lightgbm_model(), xgboost_model()
    xgb.set_param({"nthread": 1})
    wide, handed = matrix.astype(np.float64), xgboost.DMatrix(matrix, nthread=1)
    for name, document, model, rows, makers in (
        ("LightGBM", lightgbm_document(lgb), treelite.frontend.from_lightgbm(lgb), wide, {
            "predict": lambda: lgb.predict(wide, raw_score=True, num_threads=1),
        }),
        ("XGBoost", xgboost_document(xgb), treelite.frontend.from_xgboost(xgb), matrix, {
            "predict": lambda: _afresh(xgb).predict(handed, output_margin=True),
            "inplace_predict": lambda: xgb.inplace_predict(matrix, predict_type="margin"),
        }),
    ):  # fmt: skip
        makers["GTIL"] = partial(treelite.gtil.predict, model, rows, nthread=1, pred_margin=True)
        if (library := compiled_by_c(model, folder)) is not None:
            makers["tl2cgen"] = partial(library.predict, tl2cgen.DMatrix(rows), pred_margin=True)
        ours = Ours(document, records)
        ours.warm()
        took, found = best_s(ours, repetitions)
        theirs = {}
        for way, predict in makers.items():
            slow = way in ("GTIL", "tl2cgen")
            theirs[way], values = best_s(predict, 1 if slow else repetitions)
            same = float(np.mean(np.asarray(values, dtype=np.float64).ravel() == found))
            yield f"{len(found):,}", f"{name}, {way}", f"{theirs[way]:.2f}", "", f"{same:.2%}"
        fastest = min(theirs.values())
        yield f"{len(found):,}", f"{name}, the holder", f"{took:.2f}", f"{took / fastest:.2f}", ""


def _afresh(model: xgboost.Booster) -> xgboost.Booster:
    """The same model without what it remembers of its last prediction."""
    copied = model.copy()
    copied.set_param({"nthread": 1})
    return copied


def scorecard_rows(records: Records, matrix: _Array, repetitions: int) -> Iterator[tuple[str, ...]]:
    """Twenty terms."""
    document = scorecard()
    slopes = np.array([term.slope for term in document.terms if isinstance(term, Product)])
    wide = matrix.astype(np.float64)
    product, numbers = best_s(lambda: wide @ slopes, repetitions)
    took, found = best_s(Ours(document, records), repetitions)
    close = float(np.mean(np.isclose(numbers, found, rtol=1e-12, atol=1e-12)))
    yield f"{len(found):,}", "scorecard of 20 terms, numpy's matrix product", f"{product:.3f}", "", f"{close:.2%}"
    yield f"{len(found):,}", "scorecard of 20 terms, the holder", f"{took:.3f}", f"{took / product:.2f}", ""


def bands(name: str, edges: _Array) -> list[tuple[Predicate, ...]]:
    """The tests of a column's bands, one more than there are edges."""
    above = [(), *((Predicate(column=name, op="gt", value=edge),) for edge in edges.tolist())]
    below = [*((Predicate(column=name, op="le", value=edge),) for edge in edges.tolist()), ()]
    return [(*low, *high) for low, high in zip(above, below, strict=True)]


def counting_rows(records: Records, folder: Path, repetitions: int) -> Iterator[tuple[str, ...]]:
    """Sixteen bands of a declared column, and of a finished score that has the same values."""
    document = Terms(kind="terms", precision="float64", terms=(Product(columns=(NAMES[0],), slope=1.0),))
    encode_column(SCORE, score_values(document, SCORE, records), folder / "score")
    finished = records.with_column(SCORE, folder / "score")
    found = {}
    for name in (NAMES[0], SCORE.name):
        cells = [
            Cell(id=str(band), any_of=(Rule(all_of=tests),))
            for band, tests in enumerate(bands(name, np.linspace(-2, 2, 15)))
        ]
        counted = partial(count_cells, finished, cells, disjoint_classes(cells, finished.schema), ["sex"])
        counted()
        found[name] = best_s(counted, repetitions)
    (declared, counts), (derived, same) = found.values()
    equal = float(np.mean(counts.reveal_to_mechanism() == same.reveal_to_mechanism()))
    number = f"{sum(chunk.records for chunk in records.chunks):,}"
    yield number, "16 bands of a declared column, counted", f"{declared:.4f}", "", ""
    yield number, "16 bands of a finished score, counted", f"{derived:.4f}", f"{derived / declared:.2f}", f"{equal:.2%}"


def main() -> None:
    """Print a line for each number of records and way to compute."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", default="1000000,10000000", help="numbers of records")
    options.add_argument("--repetitions", type=int, default=3, help="each figure is the best of so many")
    given = options.parse_args()
    columns = ("records", "by", "processor s", "to the fastest", "same values")
    table = Table(*columns, title=f"{TREES} trees of depth {DEPTH}, {COLUMNS} columns, one thread")
    for number in map(int, given.records.split(",")):
        with tempfile.TemporaryDirectory() as name:
            records, matrix = encoded(Path(name), number)
            for row in trees_rows(records, matrix, given.repetitions, Path(name)):
                table.add_row(*row)
            for row in scorecard_rows(records, matrix, given.repetitions):
                table.add_row(*row)
            for row in counting_rows(records, Path(name), given.repetitions):
                table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
