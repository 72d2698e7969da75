"""Make model files, or decide about records: `python -m checks.foreign_models.makers make|answer FOLDER ...`."""

import argparse
import importlib
import json
import pickle
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

from checks.foreign_models.makers.changed import of_changed_file
from checks.foreign_models.makers.data import COLUMNS
from checks.foreign_models.makers.made import Made, decided

MAKERS: Final = {
    "skops": ("estimators", "skops_file"),
    "xgboost": ("boosters", "xgboost_file"),
    "lightgbm": ("boosters", "lightgbm_file"),
    "catboost": ("boosters", "catboost_file"),
    "onnx": ("graphs", "onnx_file"),
    "pmml": ("graphs", "pmml_file"),
}


def make(folder: Path, formats: list[str], count: int, first: int) -> None:
    """Make files, each in a folder of its own with what there is to say about it."""
    for name in formats:
        module, function = MAKERS[name]
        maker = getattr(importlib.import_module(f"checks.foreign_models.makers.{module}"), function)
        for seed in range(first, first + count):
            own = folder / f"{name}-{seed}"
            if (own / "case.json").exists():
                continue
            own.mkdir(parents=True, exist_ok=True)
            try:
                made: Made = maker(seed)
            except Exception as error:  # noqa: BLE001  # a converter that cannot convert makes no file
                (own / "none.txt").write_text("".join(traceback.format_exception(error)))
                continue
            (own / f"model{made.suffix}").write_bytes(made.content)
            (own / "maker.pickle").write_bytes(pickle.dumps((made.model, made.table)))
            about: dict[str, Any] = {
                "kind": made.kind, "file": f"model{made.suffix}", "columns": COLUMNS, "classes": made.classes,
                "inputs": list(made.table.columns), "array": made.table.array, "favourable": made.favourable,
                "above": made.above, "refused": made.refused,
            }  # fmt: skip
            (own / "case.json").write_text(json.dumps(about))


def answer(folder: Path) -> None:
    """Decide about the records of every case that has some, and no answers yet."""
    for records in sorted(folder.glob("*/records.npz")):
        own = records.parent
        about = json.loads((own / "case.json").read_text())
        if (own / "answers.npz").exists() or (own / "failed.txt").exists():
            continue
        if (own / "begun").exists():
            (own / "failed.txt").write_text("the maker crashed")
            continue
        (own / "begun").touch()
        model, table = pickle.loads((own / "maker.pickle").read_bytes())  # noqa: S301  # made here, a moment ago
        with np.load(records, allow_pickle=False) as stored:
            values = {name: stored[name] for name in stored.files}
        for column in COLUMNS:
            if column["type"] == "category" and column["name"] in values:
                known = np.array([*column["categories"], None], object)
                values[column["name"]] = known[values[column["name"]]]
        try:
            if about.get("changed"):
                model = of_changed_file(own / about["file"], model)
            favourable, near = decided(about, *model.ask(table.of(values)))
        except Exception as error:  # noqa: BLE001  # said beside the case, and a fault
            (own / "failed.txt").write_text("".join(traceback.format_exception(error)))
            continue
        np.savez(own / "answers.npz", favourable=favourable, near=near)


def main() -> int:
    """Run one of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "answer"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--formats", default="")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "answer":
        answer(options.folder)
    else:
        make(options.folder, options.formats.split(","), options.count, options.first)
    return 0


if __name__ == "__main__":
    sys.exit(main())
