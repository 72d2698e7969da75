"""UBJSON, the binary form in which XGBoost keeps the same document as in JSON; read within bounds.

Read is what XGBoost writes: objects with 64-bit lengths of their names, lists with and without a type and a count.
"""

import struct
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.parsing import LISTS_AND_OBJECTS_MAX, VALUES_MAX

_NESTING_MAX: Final = 64
_NUMBERS: Final = {
    b"i": (">b", "i1"), b"U": (">B", "u1"), b"I": (">h", ">i2"), b"l": (">i", ">i4"), b"L": (">q", ">i8"),
    b"d": (">f", ">f4"), b"D": (">d", ">f8"),
}  # fmt: skip
_CONSTANTS: Final = {b"T": True, b"F": False, b"Z": None}


def parsed_ubjson(content: bytes, what: str) -> Any:
    """A UBJSON document as Python values.

    Raises:
        ModelRefused: It is damaged, nested too deeply, or has too many values.
    """
    reader = _Reader(content)
    try:
        document = reader.value(reader.take(1), 0)
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise ModelRefused(f"{what} is not readable as UBJSON: {str(error)[:200]}. Save the model again.") from error
    if reader.at != len(content):
        raise ModelRefused(f"{what} has more behind its end. Save the model again.")
    return document


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0
        self.lists = 0
        self.values = 0

    def take(self, count: int) -> bytes:
        part = self.content[self.at : self.at + count]
        if len(part) != count or count < 0:
            raise ValueError("it ends early")
        self.at += count
        return part

    def number(self, kind: bytes) -> Any:
        if kind not in _NUMBERS:
            raise ValueError(f"no number begins with {kind!r}")
        form = _NUMBERS[kind][0]
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def length(self) -> int:
        length = self.number(self.take(1))
        if not (isinstance(length, int) and 0 <= length <= len(self.content)):
            raise ValueError("a length is wrong")
        return length

    def text(self) -> str:
        return self.take(self.length()).decode()

    def value(self, kind: bytes, depth: int) -> Any:
        self.values += 1
        if depth > _NESTING_MAX or self.values > VALUES_MAX or self.lists > LISTS_AND_OBJECTS_MAX:
            raise ValueError("it has too many values, or is nested too deeply")
        if kind == b"{":
            self.lists += 1
            return self.object(depth)
        if kind == b"[":
            self.lists += 1
            return self.list(depth)
        if kind == b"S":
            return self.text()
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        return self.number(kind)

    def object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while True:
            kind = self.take(1)
            if kind == b"}":
                return members
            self.at -= 1
            name = self.text()
            if name in members:
                raise ValueError("a member stands twice in an object")
            members[name] = self.value(self.take(1), depth + 1)

    def list(self, depth: int) -> list[Any]:
        kind = self.take(1)
        if kind == b"$":
            of = self.take(1)
            if self.take(1) != b"#" or of not in _NUMBERS:
                raise ValueError("a list has a type and no count")
            count, form = self.length(), np.dtype(_NUMBERS[of][1])
            self.values += count
            if self.values > VALUES_MAX:
                raise ValueError("it has too many values")
            numbers: list[Any] = np.frombuffer(self.take(count * form.itemsize), form).tolist()
            return numbers
        if kind == b"#":
            return [self.value(self.take(1), depth + 1) for _ in range(self.length())]
        items = []
        while kind != b"]":
            items.append(self.value(kind, depth + 1))
            kind = self.take(1)
        return items
