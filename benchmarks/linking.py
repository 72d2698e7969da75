"""How long it takes to read values sent by person key and to join them, beside pandas and pyarrow in the same run.

`python -m benchmarks.linking --people 100000 1000000` prints two tables. In the first, half of the people who were sent
have a record; each side reads the same CSV file and attaches its values to the same records, whose keys pandas and
pyarrow hold as texts in memory. The values have to be equal. In the second, everybody, half or nobody who was sent has
a record: the processor time of a join has to be the same, but for what it takes to sort scores.
"""

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from holder_service.records.encoded import Records, load_records
from holder_service.records.linked import LinkedValues, read_linked
from holder_service.records.person_keys import PersonSecret
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn

SCHEMA: Final = Schema(
    person_key="person", columns=(Column(name="sex", type="category", categories=("F", "M"), sensitive=True),)
)
DECISIONS: Final = ("granted", "refused")
SECRET: Final = PersonSecret.forgotten()
RUNS: Final = 7


@dataclass(frozen=True, slots=True)
class Setting:
    """Records of some people, and a folder."""

    folder: Path
    people: int

    def keys(self, first: int = 0) -> npt.NDArray[Any]:
        """As many keys from one on, in random order."""
        return np.char.add(
            "person-", np.random.default_rng(first).permutation(np.arange(first, first + self.people)).astype(str)
        )

    def loaded(self) -> Records:
        """The records as a holder has them."""
        people = pa.table({"person": self.keys(), "sex": np.full(self.people, "F")})
        pa.parquet.write_table(people, self.folder / "upload")
        load_records(
            self.folder / "upload", "application/vnd.apache.parquet", SCHEMA, self.people, self.folder / "records",
            secret=SECRET,
        )  # fmt: skip
        return Records.open(self.folder / "records", SCHEMA)

    def send(self, known: float, *, scores: bool = False) -> tuple[Path, DerivedColumn]:
        """A file about as many people, a share of whom have a record, and its column: decisions, or scores."""
        path = self.folder / "sent.csv"
        keys = self.keys(self.people - round(known * self.people))
        rng = np.random.default_rng(1)
        values = rng.random(self.people) if scores else rng.choice(DECISIONS, self.people)
        pd.DataFrame({"person": keys, "value": values}).to_csv(path, index=False)
        kind: dict[str, Any] = {"type": "number"} if scores else {"type": "category", "categories": DECISIONS}
        document = {
            "name": "linked", "nullable": True, "from": "linked", **kind,
            "values": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
        }  # fmt: skip
        return path, DerivedColumn.model_validate(document)

    def read(self, sent: Path, column: DerivedColumn) -> LinkedValues:
        """What the holder keeps of a file."""
        (self.folder / "values").unlink(missing_ok=True)
        read_linked(sent, "text/csv", column, person_key="person", secret=SECRET, destination=self.folder / "values")
        return LinkedValues.open(self.folder / "values", column.column)

    def join(self, values: LinkedValues, records: Records) -> npt.NDArray[Any]:
        """The column of the records, as a holder makes it; gives the index of each value."""
        values.join(records, self.folder / "derived")
        joined = records.with_column(values.column, self.folder / "derived")
        return np.concatenate([joined.values(chunk, values.column.name) for chunk in joined.chunks])


def with_pandas(sent: Path, frame: pd.DataFrame) -> tuple[float, float, npt.NDArray[Any]]:
    """Seconds of reading and of joining, and the index of each value."""
    read_s, read = taken_s(lambda: pd.read_csv(sent))
    join_s, joined = taken_s(lambda: frame.merge(read, on="person", how="left"))
    codes = pd.Categorical(joined["value"], categories=list(DECISIONS)).codes
    return read_s, join_s, np.where(codes < 0, len(DECISIONS), codes)


def with_pyarrow(sent: Path, table: pa.Table) -> tuple[float, float, npt.NDArray[Any]]:
    """Seconds of reading and of joining, and the index of each value."""
    read_s, read = taken_s(lambda: pyarrow.csv.read_csv(sent))
    join_s, joined = taken_s(lambda: table.join(read, "person", join_type="left outer"))
    codes = pa.compute.index_in(joined["value"], pa.array(DECISIONS)).fill_null(len(DECISIONS)).to_numpy()
    return read_s, join_s, codes[np.argsort(joined["row"].to_numpy())]


def taken_s(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long some work takes, in seconds, and what it gives."""
    begun_s = time.perf_counter()
    result = work()
    return time.perf_counter() - begun_s, result


def compare(setting: Setting, table: Table) -> None:
    """A row for each side."""
    records = setting.loaded()
    sent, column = setting.send(0.5)
    arrow = pa.table({"person": setting.keys(), "row": np.arange(setting.people)})
    frame = arrow.to_pandas()
    read_s, values = taken_s(lambda: setting.read(sent, column))
    join_s, ours = taken_s(lambda: setting.join(values, records))
    table.add_row(f"{setting.people:,}", "holder", f"{read_s:.2f}", f"{join_s:.2f}", f"{read_s + join_s:.2f}")
    for name, (side_read_s, side_join_s, theirs) in (
        ("pandas", with_pandas(sent, frame)),
        ("pyarrow", with_pyarrow(sent, arrow)),
    ):
        if not np.array_equal(ours, theirs):
            raise AssertionError(f"{name} joins otherwise")
        table.add_row("", name, f"{side_read_s:.2f}", f"{side_join_s:.2f}", f"{side_read_s + side_join_s:.2f}")


def processor_ms(setting: Setting, *, scores: bool) -> list[float]:
    """Of a join where everybody, half or nobody who was sent has a record: medians, of runs in turn."""
    records = setting.loaded()
    took: list[list[float]] = []
    sent = []
    for known in (1, 0.5, 0):
        values = setting.read(*setting.send(known, scores=scores))
        (setting.folder / "values").rename(setting.folder / f"values-{known}")
        sent.append(LinkedValues.open(setting.folder / f"values-{known}", values.column))
        took.append([])
    for run in range(RUNS + 1):
        for number, values in enumerate(sent):
            begun_s = time.process_time()
            values.join(records, setting.folder / "derived")
            if run:
                took[number].append(1000 * (time.process_time() - begun_s))
    return [statistics.median(times) for times in took]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[100_000, 1_000_000], help="in the records, and sent")
    given = parser.parse_args()
    sides = Table("people", "side", "read, s", "join, s", "both, s")
    work = Table(
        "people", "values", "everybody known, ms", "half, ms", "nobody, ms", title="Processor time of a join, medians"
    )
    for people in given.people:
        with tempfile.TemporaryDirectory() as name:
            compare(Setting(Path(name), people), sides)
        for kind in ("decisions", "scores"):
            with tempfile.TemporaryDirectory() as name:
                took_ms = processor_ms(Setting(Path(name), people), scores=kind == "scores")
                work.add_row(f"{people:,}", kind, *(f"{ms:.1f}" for ms in took_ms))
    Console(width=120).print(sides, work)


if __name__ == "__main__":
    main()
