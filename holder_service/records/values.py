"""From a column as a file has it to checked numbers (2-privacy §8).

A category or boolean becomes its index in declared order, and missing the next index. A
number becomes a double, which holds every admitted integer exactly, and missing becomes +infinity,
as in `holder_service.domain.admitted`. Nothing here puts a value into an error.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shared.contract.schema import Column
from shared.wire import limits
from shared.wire.text import normalise

NUMBER: Final = r"^-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""As JSON writes it, or without the zero before the point, as SPSS does."""
WHOLE_NUMBER: Final = r"^-?(0|[1-9][0-9]*)(\.0+)?$"
NOT_A_NUMBER: Final = ("NaN", "nan")
"""The words that are missing in a column of numbers of a CSV file, whatever its form."""

_Numbers = npt.NDArray[np.float64]
_Booleans = npt.NDArray[np.bool_]


class CheckedValues(NamedTuple):
    """One column of some records.

    Attributes:
        values: Indices (unsigned integers) or numbers (doubles), shape (records,).
        fit: Whether each value fits the declaration, shape (records,); what does not fit has some value.
    """

    values: npt.NDArray[Any]
    fit: _Booleans


def checked_values(array: pa.Array, column: Column) -> CheckedValues:
    """Read one column of some records.

    Args:
        array: Texts, as a CSV file has them; or of a type for which `type_fits`. Null is missing.
        column: The declared column.
    """
    if not column.ordered:
        return _indices(array, column)
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())  # so that it becomes the nearest double, as the same number in a CSV file does
    numbers, fit = _parsed(array, column) if pa.types.is_string(array.type) else _converted(array, column)
    missing = np.isnan(numbers)
    within = (numbers >= column.low) & (numbers <= column.high) & np.isfinite(numbers)
    if column.type == "integer":
        within &= numbers == np.floor(numbers)
    fit &= (missing & column.nullable) | within
    numbers += 0.0  # −0.0 becomes 0.0
    numbers[missing] = np.inf
    return CheckedValues(numbers, fit)


def people_column(name: str) -> Column:
    """What an aggregate table's column of people holds: whole numbers from 1, so many that int64 holds any sum."""
    return Column(name=name, type="integer", minimum=1, maximum=limits.RECORDS_MAX_MAX)


def index_type(column: Column) -> np.dtype[Any]:
    """The smallest type that holds the indices of a category or boolean column."""
    return np.min_scalar_type(len(column.values))


def value_type(column: Column) -> np.dtype[Any]:
    """The type of a column's checked values."""
    return np.dtype(np.float64) if column.ordered else index_type(column)


def type_fits(kind: pa.DataType, column: Column) -> bool:
    """Whether a typed column can hold a declared one's values, whatever they are. Null fits all."""
    if pa.types.is_null(kind):
        return True
    if column.type == "category":
        return is_text(kind)
    if column.type == "boolean":
        return bool(pa.types.is_boolean(kind))
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(numeric or _is_days(kind, column))


def _is_days(kind: pa.DataType, column: Column) -> bool:
    """Whether dates are a column's values: the days since 1970-01-01, which is what Arrow keeps of a date."""
    return bool(pa.types.is_date32(kind) and column.type == "integer")


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's kinds of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def expectation(column: Column, *, dated: bool = False) -> str:
    """Return what a value of a column has to be, in words; all of it is declared, that a file has dates in it too."""
    if dated:
        what = "a date such as 2024-12-31"
        if column.minimum is not None or column.maximum is not None:
            what += " whose days since 1970-01-01 are within the declared range"
    elif column.type == "category":
        what = "one of the declared categories"
    elif column.type == "boolean":
        what = "true or false"
    else:
        what = "a whole number" if column.type == "integer" else "a finite number"
        bounds = [
            f"{word} {bound}" for word, bound in (("from", column.minimum), ("to", column.maximum)) if bound is not None
        ]
        what = " ".join([what, *bounds]) if bounds or column.type == "number" else f"{what} within ±2^53"
    return f"{what}, or nothing where it is missing" if column.nullable else f"{what}; the column is not nullable"


def over_marked(texts: pa.Array) -> pa.Array:
    """Whether each text has so many combining marks in a row that NFC would take long; null has not.

    NFC sorts them, in a time that grows with the square of their number: a megabyte of them takes an hour. Thirty are
    more than any language has; source: Unicode's Stream-Safe Text Format (UAX 15).
    """
    if _all(pc.string_is_ascii(texts)):
        return pa.repeat(False, len(texts))
    return pc.match_substring_regex(texts, r"\p{M}{31,}").fill_null(False)


def _indices(array: pa.Array, column: Column) -> CheckedValues:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.string())
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    known: Mapping[str, int] = {"false": 0, "true": 1} if column.type == "boolean" else column.category_indices
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = pc.if_else(over_marked(encoded.dictionary), "", encoded.dictionary)  # which is no category either
    missing = len(column.values) if column.nullable else -1
    of_word = np.array([*(_index(word, known) for word in words.to_pylist()), missing])
    at = encoded.indices.fill_null(len(words)).to_numpy()
    return CheckedValues(of_word.clip(0).astype(index_type(column)).take(at), (of_word >= 0).take(at))


def _index(word: str, known: Mapping[str, int]) -> int:
    try:
        return known.get(normalise(word), -1)
    except ValueError:  # a control character: no declared category has one
        return -1


def _parsed(texts: pa.Array, column: Column) -> tuple[_Numbers, _Booleans]:
    """Numbers, or a word of `NOT_A_NUMBER`; the nearest double to each, NaN for missing."""
    missing = pc.or_(pc.is_in(texts, value_set=pa.array(NOT_A_NUMBER)), pc.is_null(texts))
    proper = whole = pc.match_substring_regex(texts, WHOLE_NUMBER if column.type == "integer" else NUMBER)
    if column.type == "integer" and not _all(pc.or_(missing, whole)):
        proper = pc.match_substring_regex(texts, NUMBER)
    fit = pc.or_(missing, proper.fill_null(False))
    if not _all(pc.or_(pc.is_null(texts), proper)):
        texts = pc.if_else(proper.fill_null(False), texts, "NaN")
    numbers = np.array(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    fits = fit.to_numpy(zero_copy_only=False).copy()
    if column.type == "integer":
        plain = whole.fill_null(False).to_numpy(zero_copy_only=False)
        exact = plain & (np.abs(numbers) < limits.INTEGER_MAX)
        for index in np.flatnonzero(np.isfinite(numbers) & ~exact):
            fits[index] = _says(texts[index].as_py(), numbers[index])
    return numbers, fits


def _all(booleans: pa.Array) -> bool:
    """Whether all are true that are not missing."""
    return bool(pc.all(booleans, min_count=0).as_py())


def _says(text: str, number: float) -> bool:
    """Whether a number's text says exactly that number: the nearest double may be whole where the text is not."""
    try:
        return Decimal(text) == Decimal(number)
    except InvalidOperation:  # an exponent beyond what even a decimal can have
        return False


def _converted(array: pa.Array, column: Column) -> tuple[_Numbers, _Booleans]:
    """Return typed numbers as the nearest doubles, NaN for missing, and which fit: a declared integer is exact."""
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    if not pa.types.is_integer(array.type):
        numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
        return numbers, np.ones(len(array), dtype=bool)
    integers = array.fill_null(0).to_numpy()
    numbers = integers.astype(np.float64)
    fit = (np.abs(numbers) < limits.INTEGER_MAX) | (column.type == "number")
    for index in np.flatnonzero(~fit):
        fit[index] = int(numbers[index]) == int(integers[index])
    numbers[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return numbers, fit
