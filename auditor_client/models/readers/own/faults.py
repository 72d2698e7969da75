"""Where a document of our own does not fit, in our words: path, value, and what was expected."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

FAULTS_SHOWN_MAX: Final = 5
VALUE_CHARACTERS_MAX: Final = 60
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a text",
    "bool_type": "true or false",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object"),
    "none_required": "nothing",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} characters",
    "too_short": "a list of at least {min_length} items",
    "too_long": "a list of at most {max_length} items",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "union_tag_invalid": "an object whose {discriminator} is one of {expected_tags}",
    "union_tag_not_found": "an object with the member {discriminator}",
}
_Path = tuple[str | int, ...]
_Fault = tuple[_Path, str]
_Token = tuple[bool, str | int]
"""Whether it is a member or item of the document, and which; else a kind that a value was compared with."""


def faults_in_words(error: ValidationError, document: Any, path: str) -> str:
    """All that does not fit, each once; a value that could be of several kinds is compared with the nearest.

    Args:
        document: What was validated.
        path: How it is called.
    """
    placed = [(_tokens(fault["loc"], document), _in_words(fault)) for fault in error.errors(include_url=False)]
    lines = list(dict.fromkeys(f"{path}{_written(keys)} {text}" for keys, text in _nearest(placed)))
    more = f" And {len(lines) - FAULTS_SHOWN_MAX} more." if lines[FAULTS_SHOWN_MAX:] else ""
    return " ".join(f"{line}." for line in lines[:FAULTS_SHOWN_MAX]) + more


def _tokens(location: Sequence[str | int], document: Any) -> list[_Token]:
    """The members and items that lead to a fault, and between them the kinds that a value was compared with."""
    tokens: list[_Token] = []
    value, tagged = document, False
    for index, part in enumerate(location):
        is_tag = isinstance(value, dict) and not tagged and value.get("kind") == part
        is_item = isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        if is_item or (isinstance(value, dict) and part in value and not is_tag):
            value, tagged = value[part], False
            tokens.append((True, part))
        elif isinstance(value, dict) and not is_tag and index == len(location) - 1 and str(part).islower():
            tokens.append((True, part))  # a member that is not there
        else:
            tagged |= is_tag
            tokens.append((False, part))
    return tokens


def _nearest(faults: Sequence[tuple[list[_Token], str]]) -> list[_Fault]:
    """The faults, and of a value that was compared with several kinds those of the nearest."""
    faults_found: list[_Fault] = []
    unions: dict[_Path, dict[str | int, list[tuple[list[_Token], str]]]] = defaultdict(lambda: defaultdict(list))
    for tokens, text in faults:
        first = next((index for index, (is_key, _) in enumerate(tokens) if not is_key), len(tokens))
        keys = tuple(part for _, part in tokens[:first])
        if first == len(tokens):
            faults_found.append((keys, text))
        else:
            unions[keys][tokens[first][1]].append((tokens[first + 1 :], text))
    for keys, kinds in unions.items():
        best = min(map(_nearest, kinds.values()), key=_distance)
        faults_found += [((*keys, *more), text) for more, text in best]
    return faults_found


def _distance(faults: Sequence[_Fault]) -> tuple[int, int, int]:
    """How far a value is from a kind: by members that it lacks or has too many first; a number is any number."""
    texts = [text for _, text in faults]
    other = sum(text.startswith(("has to be there", "is a member")) for text in texts)
    return other, len(texts), sum("whole number" in text for text in texts)


def _in_words(fault: Mapping[str, Any]) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing":
        return "has to be there, and is missing"
    if kind == "extra_forbidden":
        return "is a member that is not known here: leave it out"
    text = repr(fault["input"])
    value = text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"
    expected = _EXPECTED.get(kind)
    if expected is not None:
        return f"is {value}, and has to be {expected.format_map(context)}"
    if kind in ("value_error", "assertion_error"):
        return f"does not fit: {fault['msg'].removeprefix('Value error, ').rstrip('.')}"
    return f"is {value}, which does not fit here"


def _written(keys: _Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
