"""Read the files that makers wrote in their own versions, and compare; status 1 on a fault."""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from auditor_client.errors import ModelRefused
from auditor_client.models import checking
from auditor_client.models.checking import decisions, documents_of, predicates_of
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import read_model
from checks.foreign_models.environments import ENVIRONMENTS, cache, python_of, run
from checks.foreign_models.refusals import right_refusal
from shared.contract.schema import Column, Schema
from shared.scores.documents import Choice, Layers, Terms

RECORDS_OF_READERS: Final = 300
"""On how many records a reader itself compares, where it has the library: the check compares on many more."""
ROUNDING: Final = 2.0**-18
"""How near to its threshold a decision of rounded numbers may differ, in the maker's own scale."""


@dataclass
class Tally:
    """What came of the files of one format in one environment."""

    files: int = 0
    read: int = 0
    refused: int = 0
    records: int = 0
    differing: int = 0
    near: int = 0
    faults: list[str] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)


def main() -> int:
    """Run the check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environments", nargs="*", help=", ".join(ENVIRONMENTS))
    parser.add_argument("--count", type=int, default=8, help="files of each format in each environment")
    parser.add_argument("--first", type=int, default=0, help="the first file's seed")
    parser.add_argument("--records", type=int, default=10_000, help="records that each file is compared on")
    parser.add_argument("--formats", default="", help="formats, separated by commas; all by default")
    options = parser.parse_args()
    table = Table("environment", "format", "files", "read", "refused", "records", "differing", "near", "faults", "s")
    total = Tally()
    for name in options.environments or ENVIRONMENTS:
        python = python_of(name)
        formats = [one for one in ENVIRONMENTS[name].formats if one in (options.formats or one).split(",")]
        if python is None or not formats:
            continue
        begin, folder = time.perf_counter(), cache() / "corpus" / name
        seeds = ("--count", str(options.count), "--first", str(options.first))
        run(python, "make", str(folder), "--formats", ",".join(formats), *seeds)
        cases = {
            one: [folder / f"{one}-{seed}" for seed in range(options.first, options.first + options.count)]
            for one in formats
        }
        tallies = {one: Tally() for one in formats}
        accepted = {
            case: found
            for one in formats
            for case in cases[one]
            if (found := read_case(case, tallies[one], options.records)) is not None
        }
        run(python, "answer", str(folder))
        for one in formats:
            tally = tallies[one]
            for case in cases[one]:
                if case in accepted:
                    compare_case(case, *accepted[case], tally)
            table.add_row(
                name, one, *map(str, (tally.files, tally.read, tally.refused, tally.records, tally.differing)),
                str(tally.near), str(len(tally.faults)), f"{time.perf_counter() - begin:.0f}",
            )  # fmt: skip
            for fault in tally.faults:
                print(f"FAULT {name} {fault}", file=sys.stderr)
            total.files, total.read, total.refused = (
                total.files + tally.files, total.read + tally.read, total.refused + tally.refused,
            )  # fmt: skip
            total.records, total.faults = total.records + tally.records, [*total.faults, *tally.faults]
            for reason, count in tally.reasons.items():
                total.reasons[reason] = total.reasons.get(reason, 0) + count
    console = Console(width=130)
    console.print(table)
    for reason, count in sorted(total.reasons.items(), key=lambda item: -item[1]):
        console.print(f"{count:4} refused: {reason}", markup=False)
    console.print(
        f"{total.files} files: {total.read} read and compared on {total.records} records, {total.refused} refused, "
        f"{len(total.faults)} faults"
    )
    return int(bool(total.faults) or not total.files)


Accepted = tuple[ReadModel, Schema, Invented]


def read_case(case: Path, tally: Tally, count: int, *, refusals: bool = True) -> Accepted | None:
    """Read one file, and lay down the records that its maker is to decide about."""
    if not (case / "case.json").exists():
        return None
    about = json.loads((case / "case.json").read_text())
    schema = Schema(person_key="id", columns=tuple(Column(**column) for column in about["columns"]))
    request = ModelRequest(
        schema, None if about["favourable"] is None else [about["favourable"]],
        about["inputs"] if about["array"] else None, about["above"],
    )  # fmt: skip
    tally.files += 1
    for old in ("records.npz", "answers.npz", "failed.txt", "begun"):
        (case / old).unlink(missing_ok=True)
    title = f"{case.name} ({about['kind']})"
    try:
        with patch.object(checking, "records_count", lambda _: RECORDS_OF_READERS):
            read, _ = read_model(str(case / about["file"]), request)
    except ModelRefused as refusal:
        tally.refused += 1
        if not refusals:
            return None
        reason = right_refusal(case.name.split("-")[0], about, str(refusal))
        if reason is None:
            tally.faults.append(f"{title}: refused: {refusal}")
        else:
            tally.reasons[reason] = tally.reasons.get(reason, 0) + 1
        return None
    if about["refused"] is not None:
        tally.faults.append(f"{title}: was read, and should have been refused: {about['refused']}")
    tally.read += 1
    predicates = predicates_of(read.tree)
    records = invent(documents_of(read), schema, count, predicates=predicates, seed=1)
    stored: dict[str, Any] = {}
    for column in schema.columns:
        values = records.values.get(column.name)
        if values is None:
            continue
        if column.type == "category":
            index = {value: number for number, value in enumerate([*column.values, None])}
            stored[column.name] = np.array([index[value] for value in values], np.int64)
        elif column.ordered:
            stored[column.name] = values
        else:
            stored[column.name] = np.array([np.nan if value is None else float(value) for value in values])
    np.savez(case / "records.npz", **stored)
    return read, schema, records


def compare_case(case: Path, read: ReadModel, schema: Schema, records: Invented, tally: Tally) -> None:
    """Compare with what the maker decided."""
    kind = json.loads((case / "case.json").read_text())["kind"]
    title = f"{case.name} ({kind})"
    if not (case / "answers.npz").exists():
        failed = case / "failed.txt"
        reason = failed.read_text().strip().splitlines()[-1] if failed.exists() else "nothing"
        tally.faults.append(f"{title}: the maker does not answer: {reason[:300]}")
        return
    with np.load(case / "answers.npz", allow_pickle=False) as stored:
        favourable, near = stored["favourable"], stored["near"]
    unlike = decisions(read, schema, records) != favourable
    rounded = any(isinstance(one, Terms | Layers | Choice) for one in documents_of(read))
    far = unlike & ~(near <= (ROUNDING if rounded else 0.0))
    tally.records += records.count
    tally.differing += int(unlike.sum())
    tally.near += int((unlike & ~far).sum())
    if far.any():
        first = {name: values[far][0] for name, values in records.values.items()}
        tally.faults.append(f"{title}: {int(far.sum())} of {records.count} decisions differ, that of {first}")


if __name__ == "__main__":
    sys.exit(main())
