"""The scope of an audit: the people whom the model decides about, where the register has more (3-estimation §1).

A scope is a conjunction of predicates that restricts every cell. It is written as people write conditions,
`age >= 18 and region in (North, South)`, or as the rule of 4-interface in JSON. What cannot be read in exactly
one way is refused: a scope that is misunderstood would give a wrong figure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from auditor_client.errors import QuestionRefused
from auditor_client.text import first_fault, no_such
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.wire.problems import PlanRefused
from shared.wire.text import normalise

_TOKEN: Final = re.compile(
    r"""\s* (?:
        "(?P<double>[^"]*)" | '(?P<single>[^']*)'
        | (?P<sign> <= | >= | != | == | [<>=≤≥≠(),])
        | (?P<phrase> (?: is\s+missing | is\s+not\s+missing | not\s+in | in | and
            | or\s+missing (?=\s*$ | \s+and(?:\s|$)) ) (?![^\s<>=!≤≥≠(),"']) )
        | (?P<word> [^\s<>=!≤≥≠(),"']+)
    )""",
    re.VERBOSE,
)
_OPERATORS: Final[Mapping[str, str]] = {
    "<": "lt", "<=": "le", "≤": "le", ">": "gt", ">=": "ge", "≥": "ge", "=": "eq", "==": "eq", "!=": "ne", "≠": "ne",
    "in": "in", "not in": "not_in", "is missing": "is_missing", "is not missing": "not_missing",
}  # fmt: skip
_OR: Final = ("word", "or")
_SAID: Final = ("sign", "phrase")
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "yes": True, "false": False, "no": False}

Token = tuple[str, str]
"""A kind, "sign", "phrase", "word" or "quoted", and the text."""


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
        raise QuestionRefused(f"`where` {text!r} is not a rule in JSON: {first_fault(error)[1]}") from error


def _conditions(text: str, schema: Schema) -> list[Predicate]:
    clauses = _split(_tokens(text), ("phrase", "and"))
    choices = [_alternatives(clause) for clause in clauses]
    if len(clauses) == 1:
        return [_either([_condition(clause, schema, text) for clause in choices[0]], text)]
    if any(len(choice) > 1 for choice in choices):
        raise QuestionRefused(
            f'`where` {text!r} mixes "and" with "or", which is ambiguous. Write "region in (North, South) and age '
            '>= 18", or repeat `where` for each condition.'
        )
    return [_condition(clause, schema, text) for clause in clauses]


def _alternatives(clause: list[Token]) -> list[list[Token]]:
    """What "or" joins in a clause: only where a comparison by a sign follows it; elsewhere the word is of a value."""
    parts: list[list[Token]] = [[]]
    for index, token in enumerate(clause):
        following = clause[index + 1 :]
        until = following.index(_OR) if _OR in following else len(following)
        if token == _OR and any(kind == "sign" and sign in _OPERATORS for kind, sign in following[:until]):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _either(conditions: list[Predicate], text: str) -> Predicate:
    """Several conditions, of which one is to hold, as one: values of one column. A scope is a conjunction."""
    first, *others = conditions
    if not others:
        return first
    same = all(one.column == first.column and one.op in ("eq", "in") and not one.or_missing for one in conditions)
    if not same:
        raise QuestionRefused(
            f'`where` {text!r}: "or" may only join values of one column, as in "region = North or region = '
            'South". Request each part separately.'
        )
    values = tuple(dict.fromkeys(value for one in conditions for value in one.operands))
    return Predicate.model_validate({"column": first.column, "op": "in", "values": values})


def _split(tokens: Iterable[Token], separator: Token) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tokens(text: str) -> Iterator[Token]:
    start = 0
    while text[start:].strip():
        match = _TOKEN.match(text, start)
        if match is None:
            raise QuestionRefused(f"`where` {text!r} cannot be read from {text[start:].strip()!r} on.")
        kind = match.lastgroup or ""
        found = " ".join(match[kind].split()) if kind == "phrase" else match[kind]
        yield ("quoted" if kind in ("double", "single") else kind), found
        start = match.end()


def _condition(clause: Sequence[Token], schema: Schema, text: str) -> Predicate:
    """One condition: a column, a comparison, what it is compared with, and perhaps "or missing"."""
    operators = [index for index, (kind, sign) in enumerate(clause) if kind in _SAID and sign in _OPERATORS]
    first = next((index for index in operators if index > 0), None)
    if first is None:
        raise QuestionRefused(
            f'`where` {text!r} lacks a comparison. Write conditions such as "age >= 18" or "region in (North, '
            'South)", joined by "and". Put names and values that contain these words into quotes.'
        )
    name, rest = _text(clause[:first], text), list(clause[first + 1 :])
    column = schema.by_name.get(name)
    if column is None:
        raise QuestionRefused(
            f"`where` {text!r} names a column that the dataset does not declare. "
            f"{no_such('column', name, schema.by_name)}"
        )
    or_missing = rest[-1:] == [("phrase", "or missing")]
    return _predicate(column, _OPERATORS[clause[first][1]], rest[:-1] if or_missing else rest, or_missing, text)


def _predicate(column: Column, operator: str, tokens: list[Token], or_missing: bool, text: str) -> Predicate:
    document: dict[str, Any] = {"column": column.name, "op": operator, "or_missing": or_missing}
    if operator in ("in", "not_in"):
        if len(tokens) < 3 or tokens[0] != ("sign", "(") or tokens[-1] != ("sign", ")"):
            raise QuestionRefused(f"`where` {text!r}: {column.name!r} {operator} takes a list in brackets: (a, b).")
        items = _split(tokens[1:-1], ("sign", ","))
        document["values"] = [
            _text(item, text) if column.type == "boolean" else _value(column, item, text) for item in items
        ]
    elif operator not in ("is_missing", "not_missing"):
        document["value"] = _value(column, tokens, text)
    elif tokens:
        raise QuestionRefused(f"`where` {text!r}: nothing follows the test for missing.")
    try:
        return Predicate.model_validate(document)
    except ValidationError as error:
        raise QuestionRefused(f"`where` {text!r}: {first_fault(error)[1]}") from error


def _value(column: Column, tokens: Sequence[Token], text: str) -> bool | int | float | str:
    """Return what a column is compared with, as the column's type has it."""
    written = _text(tokens, text)
    if column.type == "category":
        if normalise(written) in column.category_indices:
            return written
        several = " To name several values, write (A, B) behind in." if " or " in f" {written} " else ""
        values = no_such(f"value of column {column.name!r}", written, column.category_indices)
        raise QuestionRefused(f"`where` {text!r}: {values}{several}")
    if column.type == "boolean":
        if written.lower() in _BOOLEANS:
            return _BOOLEANS[written.lower()]
        raise QuestionRefused(f"`where` {text!r}: compare {column.name!r} with true or false.")
    try:
        return int(written) if re.fullmatch(r"[+-]?[0-9]+", written) else float(written)
    except ValueError as error:
        raise QuestionRefused(f"`where` {text!r}: compare {column.name!r} with a number, not {written!r}.") from error


def _text(tokens: Sequence[Token], text: str) -> str:
    """A name or value of one quoted text, or of words with single blanks between them."""
    if len(tokens) == 1 and tokens[0][0] == "quoted":
        return tokens[0][1]
    if tokens and all(kind in ("word", "phrase") for kind, _ in tokens):
        return " ".join(word for _, word in tokens)
    raise QuestionRefused(f"`where` {text!r} cannot be read: a name or a value is missing, or needs quotes.")
