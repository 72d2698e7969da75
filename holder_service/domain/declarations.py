"""Declarations as people write them: an example, and JSON with a column on each line."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from shared.datasets import DatasetDeclaration

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


def _json(value: Any) -> str:
    document = value.model_dump(mode="json", exclude_defaults=True) if isinstance(value, BaseModel) else value
    return json.dumps(document, ensure_ascii=False)
