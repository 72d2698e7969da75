"""The auditor's flags: those of the fields of what its commands take, but for the names and types here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from auditor_client.audits.asking import made
from auditor_client.cli.output import clear_errors
from shared.flags import Flag, Flags


def _make(kind: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    with clear_errors():
        return made(kind, values)


with_flags: Final = Flags(
    _make,
    {
        "metrics": Flag("--metric"),
        "where": Flag(split=False),  # a condition may hold commas
        "version": Flag("--records-version"),
        "supports_from": Flag(kind=Path),
        "as_json": Flag("--json"),
        "offline": Flag("--offline"),
    },
)
"""Makes a command of a function that takes values."""
