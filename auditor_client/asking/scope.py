"""The scope of an audit: the people whom the model decides about, where the register has more (3-estimation §1).

A scope is a conjunction of predicates that restricts every cell. It is written as people write conditions,
`age >= 18 and region in (North, South)`, or as the rule of 4-interface in JSON. What cannot be read in exactly
one way is refused: a scope that is misunderstood would give a wrong figure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from auditor_client.errors import QuestionRefused
from shared.problems import PlanRefused
from shared.rules import Predicate, Rule
from shared.schema import Column, Schema

_TOKEN: Final = re.compile(
    r"""\s* (?:
        "(?P<double>[^"]*)" | '(?P<single>[^']*)'
        | (?P<sign> <= | >= | != | == | [<>=≤≥≠(),])
        | (?P<word> [^\s<>=!≤≥≠(),"']+)
    )""",
    re.VERBOSE,
)
_SIGNS: Final[Mapping[str, str]] = {
    "<": "lt", "<=": "le", "≤": "le", ">": "gt", ">=": "ge", "≥": "ge", "=": "eq", "==": "eq", "!=": "ne", "≠": "ne",
}  # fmt: skip
_TESTS: Final[Mapping[tuple[str, ...], str]] = {
    ("is", "missing"): "is_missing",
    ("is", "not", "missing"): "not_missing",
    ("not", "in"): "not_in",
    ("in",): "in",
}
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "yes": True, "false": False, "no": False}

Token = tuple[str, str]
"""A kind, "sign", "word" or "quoted", and the text."""


def scope_predicates(conditions: Sequence[str], schema: Schema) -> tuple[Predicate, ...]:
    """Read the conditions that restrict an audit; all of them hold for everybody within the scope.

    Args:
        conditions: Texts, for example `age >= 18`, `region in (North, South)`, `hours is not missing`,
            `"marital status" != Divorced or missing`, several joined by `and`; or a rule in JSON,
            `{"all_of": [...]}`. Quote names and values that have other signs than letters.
        schema: The dataset's declared columns: they say what is a number.

    Raises:
        QuestionRefused: A condition cannot be read, or does not fit the dataset; the text quotes it.
    """
    predicates: list[Predicate] = []
    for text in conditions:
        predicates += _json_rule(text) if text.lstrip().startswith("{") else _conditions(text, schema)
    for predicate in predicates:
        try:
            predicate.check(schema, "the scope")
        except PlanRefused as error:
            raise QuestionRefused(str(error)) from error
    return tuple(dict.fromkeys(predicates))


def _json_rule(text: str) -> tuple[Predicate, ...]:
    try:
        return Rule.model_validate_json(text).all_of
    except ValidationError as error:
        raise QuestionRefused(f"The scope {text!r} is not a rule in JSON: {_first(error)}") from error


def _conditions(text: str, schema: Schema) -> Iterator[Predicate]:
    clause: list[Token] = []
    for token in _tokens(text):
        if token == ("word", "and"):
            yield _condition(clause, schema, text)
            clause = []
        else:
            clause.append(token)
    yield _condition(clause, schema, text)


def _tokens(text: str) -> Iterator[Token]:
    start = 0
    while text[start:].strip():
        match = _TOKEN.match(text, start)
        if match is None:
            raise QuestionRefused(f"The scope {text!r} cannot be read from {text[start:].strip()!r} on.")
        kind = match.lastgroup or ""
        yield ("quoted" if kind in ("double", "single") else kind), match[kind]
        start = match.end()


def _condition(clause: Sequence[Token], schema: Schema, text: str) -> Predicate:
    """One condition: a column, a comparison, what it is compared with, and perhaps "or missing"."""
    for index in range(1, len(clause)):
        found = _operator(clause[index:])
        if found is None:
            continue
        operator, length = found
        column = schema.by_name.get(_text(clause[:index], text))
        if column is None:
            raise QuestionRefused(
                f"The scope {text!r} names a column {_text(clause[:index], text)!r} that the dataset does not declare. "
                f"It declares {', '.join(schema.by_name)}."
            )
        rest, or_missing = list(clause[index + length :]), False
        if rest[-2:] == [("word", "or"), ("word", "missing")]:
            rest, or_missing = rest[:-2], True
        return _predicate(column, operator, rest, or_missing, text)
    raise QuestionRefused(
        f'The scope {text!r} has no comparison where one should be. Write conditions such as "age >= 18" or '
        '"region in (North, South)", joined by "and"; put names and values that hold these words into quotes.'
    )


def _operator(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """The operator that some tokens begin with, and how many tokens it takes."""
    kind, sign = tokens[0]
    if kind == "sign":
        return (_SIGNS[sign], 1) if sign in _SIGNS else None
    for words, operator in _TESTS.items():
        if list(tokens[: len(words)]) == [("word", word) for word in words]:
            return operator, len(words)
    return None


def _predicate(column: Column, operator: str, tokens: list[Token], or_missing: bool, text: str) -> Predicate:
    document: dict[str, Any] = {"column": column.name, "op": operator, "or_missing": or_missing}
    if operator in ("in", "not_in"):
        if len(tokens) < 3 or tokens[0] != ("sign", "(") or tokens[-1] != ("sign", ")"):
            raise QuestionRefused(f"The scope {text!r}: {column.name!r} {operator} takes a list in brackets: (a, b).")
        document["values"] = _list(column, tokens[1:-1], text)
    elif operator not in ("is_missing", "not_missing"):
        document["value"] = _value(column, tokens, text)
    elif tokens:
        raise QuestionRefused(f"The scope {text!r}: nothing follows the test for missing.")
    try:
        return Predicate.model_validate(document)
    except ValidationError as error:
        raise QuestionRefused(f"The scope {text!r}: {_first(error)}") from error


def _list(column: Column, tokens: Sequence[Token], text: str) -> list[bool | int | float | str]:
    items: list[list[Token]] = [[]]
    for token in tokens:
        if token == ("sign", ","):
            items.append([])
        else:
            items[-1].append(token)
    return [_value(column, item, text) if column.ordered else _text(item, text) for item in items]


def _value(column: Column, tokens: Sequence[Token], text: str) -> bool | int | float | str:
    """What a column is compared with, as the column's type has it."""
    written = _text(tokens, text)
    if column.type == "category":
        return written
    if column.type == "boolean":
        if written.lower() in _BOOLEANS:
            return _BOOLEANS[written.lower()]
        raise QuestionRefused(f"The scope {text!r}: compare {column.name!r} with true or false.")
    try:
        return int(written) if re.fullmatch(r"[+-]?[0-9]+", written) else float(written)
    except ValueError as error:
        raise QuestionRefused(f"The scope {text!r}: compare {column.name!r} with a number, not {written!r}.") from error


def _text(tokens: Sequence[Token], text: str) -> str:
    """A name or value of one quoted text, or of words with single blanks between them."""
    if len(tokens) == 1 and tokens[0][0] == "quoted":
        return tokens[0][1]
    if tokens and all(kind == "word" for kind, _ in tokens):
        return " ".join(word for _, word in tokens)
    raise QuestionRefused(f"The scope {text!r} cannot be read: a name or a value is missing, or needs quotes.")


def _first(error: ValidationError) -> str:
    return error.errors(include_url=False, include_input=False, include_context=False)[0]["msg"]
