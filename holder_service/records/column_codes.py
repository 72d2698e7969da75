"""How one column's values become codes: small unsigned integers, and what else stands beside them (ADR 0015).

The column's declaration alone decides which codes there are, and `records.encoded` says which are *complete* and which
*ranked*.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.records.values import index_type
from shared.contract.schema import Column

CODES_MAX: Final = 2**16
CODE: Final = "code:"
"""What the field of a column's codes is called begins with this."""
SORTED: Final = "sorted:"
"""What the field of a ranked column's numbers is called does with this."""

_Values = npt.NDArray[Any]


def code_count(column: Column) -> int | None:
    """Return how many codes a column has, missing included; `None` if it is ranked. Its declaration alone decides."""
    if not column.ordered:
        return len(column.values) + column.nullable
    if column.type == "number":
        return None
    codes = int(column.high) - int(column.low) + 1 + column.nullable
    return codes if codes <= CODES_MAX else None


def fields_of(column: Column) -> Iterator[pa.Field]:
    """Yield what a column becomes in the file; the order is that of `encoded_values`."""
    yield pa.field(CODE + column.name, pa.from_numpy_dtype(_code_type(column)))
    if code_count(column) is None:
        yield pa.field(SORTED + column.name, pa.float64())


def encoded_values(column: Column, values: _Values) -> Iterator[_Values]:
    """The codes of a chunk's values, and the values themselves in order if their column is ranked."""
    codes = code_count(column)
    if not column.ordered:
        yield np.asarray(values)
    elif codes is not None:
        yield np.minimum(values - int(column.low), codes - 1).astype(_code_type(column))  # missing, infinity, is last
    else:
        order = np.argsort(values)
        ranks = np.empty(len(values), dtype=_code_type(column))
        ranks[order] = np.arange(len(values), dtype=ranks.dtype)
        yield ranks
        yield values[order]


def fitting(column: Column, values: _Values, records_max: int) -> _Values:
    """A chunk's values if all are the column's, and at most as many as a chunk; −0.0 becomes 0.0.

    Raises:
        ValueError: They are not. No value is in the text.
    """
    if column.ordered:
        values = np.asarray(values, dtype=np.float64) + 0.0
        missing = np.isposinf(values) & column.nullable
        fit = missing | (np.isfinite(values) & (values >= column.low) & (values <= column.high))
        if column.type == "integer":
            fit &= values == np.floor(values)
    else:
        fit = (values >= 0) & (values < len(column.values) + column.nullable)
        values = np.asarray(values).astype(index_type(column))
    if len(values) > records_max or not fit.all():
        raise ValueError(f"What is to be column {column.name!r} holds something else than a chunk of its values.")
    return values


def _code_type(column: Column) -> np.dtype[Any]:
    if not column.ordered:
        return index_type(column)
    return np.min_scalar_type((code_count(column) or CODES_MAX) - 1)
