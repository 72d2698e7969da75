"""Files that may come from anybody, taken apart within bounds: size first, then nesting, then each value's kind.

A file is refused with a text that names where it is at fault. Nothing in it is executed, and nothing of it is kept.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused

LISTS_AND_OBJECTS_MAX: Final = 1_048_576
VALUES_MAX: Final = 16_777_216
"""A list of numbers takes some 40 bytes in memory for each: so a model takes less than a gigabyte while it is read."""

_TWICE: Final = "a member stands twice in an object"
_OWN_WORDS: Final = {_TWICE: _TWICE}
_NUMBERS: Final = (int, float)
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBERS_OR_TRUTHS: Final = frozenset({int, float, bool})


def parsed_json(content: bytes, what: str) -> Any:
    """A JSON document, with NaN and infinities as Python reads them.

    Raises:
        ModelRefused: It is no JSON, or has too many values; a member stands twice in an object.
    """
    if content.count(b"[") + content.count(b"{") > LISTS_AND_OBJECTS_MAX or content.count(b",") > VALUES_MAX:
        raise ModelRefused(
            f"{what} has more than {LISTS_AND_OBJECTS_MAX} lists and objects or {VALUES_MAX} values: a model that "
            "large is not read."
        )
    try:
        return json.loads(content, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ModelRefused(f"{what} is not valid JSON at {where}: a sign is missing or too much there.") from error
    except UnicodeDecodeError as error:
        raise ModelRefused(f"{what} is not UTF-8, and JSON is. Save the model again.") from error
    except RecursionError as error:
        raise ModelRefused(f"{what} is JSON that is nested too deeply for a model.") from error
    except ValueError as error:  # our own, or a number of too many digits
        raise ModelRefused(
            f"{what} is not readable as JSON: {_OWN_WORDS.get(str(error), 'a number is too long')}."
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError(_TWICE)
    return document


class DocumentPart:
    """A value of a document with the path that leads to it, so that a refusal can name it."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str) -> None:
        self.value = value
        self.path = path

    def refuse(self, expected: str) -> NoReturn:
        """Refuse the document because of this part."""
        text = repr(self.value)
        raise ModelRefused(f"{self.path} is {text[:60]}{'…' if len(text) > 60 else ''}, and has to be {expected}.")

    def __getitem__(self, name: str) -> "DocumentPart":
        """A member that has to be there."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        if name not in self.value:
            raise ModelRefused(f"{self.path} has no member {name!r}.")
        return DocumentPart(self.value[name], f"{self.path}.{name}")

    def get(self, name: str) -> "DocumentPart | None":
        """A member that may be there."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return DocumentPart(self.value[name], f"{self.path}.{name}") if name in self.value else None

    def known(self, *names: str) -> "DocumentPart":
        """The object itself, if it has no other members than these."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        for name in self.value:
            if name not in names:
                raise ModelRefused(f"{self.path} has a member {name[:60]!r}, which is not known here.")
        return self

    def items(self, maximum: int = VALUES_MAX) -> list["DocumentPart"]:
        """The items of a list."""
        if not isinstance(self.value, list) or len(self.value) > maximum:
            self.refuse(f"a list of at most {maximum} items")
        return [DocumentPart(item, f"{self.path}[{index}]") for index, item in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse("a text")
        return self.value

    def one_of(self, *texts: str) -> str:
        """One of some texts."""
        if self.value not in texts:
            self.refuse("one of " + ", ".join(texts))
        return str(self.value)

    def integer(self, low: int = -(2**31), high: int = 2**31 - 1) -> int:
        """A whole number, also as a text, within a range."""
        written = isinstance(self.value, int) or (isinstance(self.value, str) and _WHOLE.fullmatch(self.value))
        number = int(self.value) if written else None
        if number is None or isinstance(self.value, bool) or not low <= number <= high:
            self.refuse(f"a whole number from {low} to {high}")
        return number

    def number(self) -> float:
        """A finite number."""
        if type(self.value) not in _NUMBERS or not math.isfinite(self.value):
            self.refuse("a finite number")
        return float(self.value)

    def truth(self) -> bool:
        """A truth value; 0 and 1 count as one."""
        if self.value not in (0, 1):
            self.refuse("true or false")
        return bool(self.value)

    def integers(self, low: int, high: int, length: int | None = None) -> list[int]:
        """A list of whole numbers within a range; truth values count as 0 and 1."""
        items = self.numbers(length)
        if not (np.all(items == np.floor(items)) and np.all((items >= low) & (items <= high))):
            self.refuse(f"a list of whole numbers from {low} to {high}")
        listed: list[int] = items.astype(np.int64).tolist()
        return listed

    def numbers(self, length: int | None = None) -> NDArray[np.float64]:
        """A list of numbers, which may be infinite or NaN, of shape (length,)."""
        if not isinstance(self.value, list | np.ndarray) or length not in (None, len(self.value)):
            self.refuse("a list of numbers" if length is None else f"a list of {length} numbers")
        if isinstance(self.value, list) and not set(map(type, self.value)) <= _NUMBERS_OR_TRUTHS:
            self.refuse("a list of numbers")
        try:
            return np.array(self.value, np.float64)
        except (OverflowError, TypeError, ValueError):
            self.refuse("a list of numbers")


def texts(part: DocumentPart) -> list[str]:
    """A list of texts."""
    return [item.text() for item in part.items()]


def require_tree(left: Sequence[int], right: Sequence[int], *, what: str) -> None:
    """Refuse nodes that make no tree from node 0: a node that is nobody's child, or several's; −1 is no child."""
    visited = bytearray(len(left))
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if not 0 <= node < len(left) or visited[node]:
            raise ModelRefused(f"{what}: its nodes do not make a tree.")
        visited[node] = 1
        if (left[node] == -1) != (right[node] == -1):
            raise ModelRefused(f"{what}: node {node} has one child.")
        if left[node] != -1:
            waiting += (left[node], right[node])


def tabulated(kinds: Mapping[str, Callable[[DocumentPart], Any]], part: DocumentPart) -> dict[str, Any]:
    """Each of some members of an object, read by its kind."""
    return {name: kind(part[name]) for name, kind in kinds.items()}
