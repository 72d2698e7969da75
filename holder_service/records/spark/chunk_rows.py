"""Encoded chunks as rows of a table: what Spark reads, writes and hands to its Python workers.

A row is a chunk as `records.encoded` makes it, and a cell is one of its arrays, byte by byte. So Spark's own figures
count chunks, never people, and a chunk is the same for ever, however Spark divides the table. Cells are named by
number: no name or text that anybody declared becomes a name for Spark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.records.encoded import PERSON, WEIGHT, column_fields, record_fields
from shared.contract.schema import Column, Schema

DERIVED: Final = "d"
"""How the cells of derived columns are called, behind which stands the number of the column and of the cell."""
CHUNK: Final = (pa.field("split", pa.int32()), pa.field("chunk", pa.int32()), pa.field("records", pa.int32()))
"""What identifies a chunk: the part of the source that it is from, and how many chunks are before it there."""

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ChunkCell:
    """One array of each chunk, as a column of Spark's.

    Attributes:
        name: For Spark.
        field: What `records.encoded` calls it.
        kind: The type of its numbers.
    """

    name: str
    field: str
    kind: np.dtype[Any]

    @property
    def column(self) -> str | None:
        """The column that it is of; `None` for what stands beside all columns."""
        return None if self.field in (PERSON, WEIGHT) else self.field.partition(":")[2]

    def of(self, row: Mapping[str, Any]) -> _Array:
        """The array in a row; a read-only view."""
        return np.frombuffer(row[self.name].as_buffer(), dtype=self.kind)


@dataclass(frozen=True, slots=True)
class ChunkCells:
    """The cells of some columns, in the order of their encoder's arrays."""

    cells: tuple[ChunkCell, ...]

    @classmethod
    def of_records(cls, schema: Schema, only: Iterable[str] | None = None, *, own: bool = False) -> "ChunkCells":
        """The cells of declared columns.

        Args:
            schema: The dataset's.
            only: The columns whose cells are wanted; all cells if `None`.
            own: Whether those of people's hashed keys, or of how many people each row stands for, are wanted besides.
        """
        cells = cls._of(record_fields(schema, ""), "c").cells
        if only is None:
            return cls(cells)
        names = set(only)
        return cls(tuple(cell for cell in cells if (own if cell.column is None else cell.column in names)))

    @classmethod
    def of_derived(cls, column: Column, number: int = 0) -> "ChunkCells":
        """The cells of a derived column, which is the n-th that is asked about."""
        return cls._of(column_fields(column), f"{DERIVED}{number}_")

    @classmethod
    def _of(cls, fields: pa.Schema, prefix: str) -> "ChunkCells":
        return cls(
            tuple(
                ChunkCell(f"{prefix}{index}", field.name, np.dtype(field.type.to_pandas_dtype()))
                for index, field in enumerate(fields)
            )
        )

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The columns of a table that holds them."""
        return tuple(pa.field(cell.name, pa.binary()) for cell in self.cells)

    @property
    def names(self) -> list[str]:
        """What Spark calls them."""
        return [cell.name for cell in self.cells]

    def chunk(self, row: Mapping[str, Any]) -> tuple[int, dict[str, _Array]]:
        """A row's number of records, and its arrays under the names of their fields, for `Records.of_arrays`."""
        return row["records"].as_py(), {cell.field: cell.of(row) for cell in self.cells}

    def bytes_of(self, arrays: Sequence[_Array]) -> dict[str, bytes]:
        """An encoder's arrays as cells."""
        return {
            cell.name: np.ascontiguousarray(array, dtype=cell.kind).tobytes()
            for cell, array in zip(self.cells, arrays, strict=True)
        }


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows of some batches, as Arrow scalars by column."""
    for batch in batches:
        for index in range(len(batch)):
            yield {name: batch.column(name)[index] for name in batch.schema.names}


def batch_of(schema: pa.Schema, **row: Any) -> pa.RecordBatch:
    """One row as a batch; what is not given is null."""
    return pa.record_batch([pa.array([row.get(field.name)], field.type) for field in schema], schema=schema)
