"""Declarations as people write them: an example, JSON with a column on each line, and the lines that faults are on."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from holder_service.domain.errors import fault_text
from shared.contract.datasets import DatasetDeclaration
from shared.contract.metadata import ColumnWords

EXAMPLE: Final = DatasetDeclaration.model_validate(
    {
        "person_key": "id",
        "relation": "add_remove",
        "cap": {"epsilon": "10", "delta": "0"},
        "records_max": 1_000_000,
        "columns": [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
            {"name": "hours", "type": "number", "nullable": True},
            {"name": "education", "type": "category", "categories": ["low", "middle", "high"]},
            {"name": "granted", "type": "boolean"},
            {"name": "repaid", "type": "boolean", "label": True},
            {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
        ],
    }
)
"""A declaration with a column of each type; administrators begin from it."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def declaration_text(document: Mapping[str, Any]) -> str:
    """A declaration, or a draft of one, as JSON for people: its columns behind all else, a line each.

    Args:
        document: Its fields; what they are worth where nothing is declared is left out.
    """
    fields = [f"  {_json(name)}: {_json(value)}" for name, value in document.items() if name != "columns"]
    columns = ",\n".join(f"    {_json(column)}" for column in document["columns"])
    return "{\n" + "".join(f"{field},\n" for field in fields) + '  "columns": [\n' + columns + "\n  ]\n}\n"


def declared_text(declaration: DatasetDeclaration) -> str:
    """A declaration as `declaration_text` writes it."""
    return declaration_text(
        {
            **declaration.model_dump(mode="json", exclude={"columns"}, exclude_none=True),
            "columns": declaration.columns,
        }
    )


def column_words_text(columns: Mapping[str, ColumnWords]) -> str:
    """Return what people read of columns as JSON for people, a column on each line."""
    lines = ",\n".join(f"  {_json(name)}: {_json(words)}" for name, words in columns.items())
    return f"{{\n{lines}\n}}" if lines else "{}"


def located(text: str, field: str, detail: str) -> str:
    """What is wrong with a field of a JSON document, behind its line there; of one that it lacks, what it lacks in.

    Args:
        text: The document, which is valid JSON.
        field: The path of the field, such as "columns[2].type". What is not in the document, such as a name that was
            sent beside it, has no line, nor has "body", which is all of it.
        detail: What is wrong.
    """
    lines, path = _lines_of_paths(text), field
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    said = fault_text(field, detail)
    return f"line {lines[path]}, {said}" if path else said


def _lines_of_paths(text: str) -> dict[str, int]:
    """The line of every field and item of a JSON document, by its path."""
    lines: dict[str, int] = {}
    around: list[str] = []  # the paths of the objects and lists that a token is in
    here: int | str | None = None  # the index in the innermost list, or the name in the innermost object
    outside: list[int | str | None] = []
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        kind = token[0][0]
        in_object = bool(around) and not isinstance(here, int)
        if kind in "]}":
            around.pop()
            here = outside.pop()
        elif kind == ",":
            here = here + 1 if isinstance(here, int) else None
        elif in_object and here is None and kind == '"':
            here = json.loads(token[0])
            lines[_inside(around[-1], here)] = line
        elif kind != ":":
            path = _inside(around[-1], here) if around else ""
            lines.setdefault(path, line)
            if kind in "[{":
                around.append(path)
                outside.append(here)
                here = 0 if kind == "[" else None
    return lines


def _inside(path: str, here: int | str | None) -> str:
    return f"{path}[{here}]" if isinstance(here, int) else f"{path}.{here}".lstrip(".")


def _json(value: Any) -> str:
    document = value.model_dump(mode="json", exclude_defaults=True) if isinstance(value, BaseModel) else value
    return json.dumps(document, ensure_ascii=False)
