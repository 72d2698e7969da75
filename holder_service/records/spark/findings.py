"""What workers found in the parts of a source, as faults of its files: counted in each file's own lines and records."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from holder_service.domain.errors import Unavailable
from holder_service.records.encoded import CHUNK_RECORDS_MAX, said_too_many
from holder_service.records.faults import Faults
from holder_service.records.sources import MEDIA_TYPES, FilePart
from shared.contract.schema import Schema

_LINE: Final = re.compile(r"line ([0-9]+)(.*)", re.DOTALL)


class Findings:
    """What stands in the rows that were encoded, about the parts of a source in their order."""

    def __init__(self, rows: pa.Table, splits: Sequence[FilePart]) -> None:
        self._splits = splits
        self._rows: list[Mapping[str, Any]] = rows.to_pylist()
        lines = dict.fromkeys(range(len(splits)), 0)
        for row in self._rows:
            lines[row["split"]] += row["lines"]
        self._lines_before = [
            sum(lines[other] for other in range(number) if splits[other].url == split.url)
            for number, split in enumerate(splits)
        ]

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return sum(row["records"] > 0 for row in self._rows)

    def require_sound(self, schema: Schema, *, records_max: int) -> None:
        """Refuse a source that is not as it should be.

        Args:
            schema: The dataset's declared columns.
            records_max: How many people the dataset admits.

        Raises:
            InvalidRecords: For all faults, up to a bound.
            Unavailable: A part is missing.
        """
        faults = Faults()
        for where, what in dict.fromkeys(self._faults()):
            faults.add(where, what)
        faults.check()
        if {row["split"] for row in self._rows} != set(range(len(self._splits))):
            raise Unavailable("The cluster lost a part of the records: nothing was changed. Load them again.")
        if sum(row["people"] for row in self._rows) > records_max:
            raise faults.refusal("", said_too_many(schema, records_max))

    def require_each_key_once(self, again: Iterable[tuple[int, int, int]], person_key: str) -> None:
        """Refuse a source in which keys come again: split, chunk and index of such records.

        Raises:
            InvalidRecords: For all of them, up to a bound.
        """
        faults = Faults()
        for number, chunk, index in sorted(again):
            split = self._splits[number]
            if split.media_type == MEDIA_TYPES[".csv"]:
                unit, first = "line", 2 if split.begin == 0 else 1
            else:
                unit, first = "record", 1
            at = self._first(number) + first + chunk * CHUNK_RECORDS_MAX + index
            faults.add(
                f"{_called(split)}{unit} {at}, column {person_key!r}",
                f"the key of an earlier {unit}; everybody has exactly one.",
            )
        faults.check()

    def _first(self, number: int) -> int:
        return self._lines_before[number] if self._splits[number].media_type == MEDIA_TYPES[".csv"] else 0

    def _faults(self) -> Iterable[tuple[str, str]]:
        found = sorted((row["split"], row["faults"]) for row in self._rows if row["faults"] is not None)
        for number, said in found:
            split = self._splits[number]
            for fault in json.loads(said):
                where, what = fault["field"], fault["detail"]
                line = _LINE.fullmatch(where)
                if line and split.begin > 0:
                    if int(line[1]) == 1:  # the header, which the file's first part has
                        continue
                    where = f"line {self._first(number) + int(line[1]) - 1}{line[2]}"
                yield ("" if where == "file" and not split.file else f"{_called(split)}{where}"), what


def _called(split: FilePart) -> str:
    """Return how people find a part: the file, if there may be several, and the row group."""
    if not split.file:
        return ""
    return f"{split.file}, " + ("" if split.media_type == MEDIA_TYPES[".csv"] else f"row group {split.begin + 1}, ")
