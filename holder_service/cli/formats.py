"""The options of commands that read a file of records: how it is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from holder_service.cli.calls import fail
from shared.wire.flags import Flag, Flags


def media_type_of(records: Path) -> str:
    """A file's media type, by the ending of its name."""
    return "application/vnd.apache.parquet" if records.suffix.lower() == ".parquet" else "text/csv"


def _made(kind: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        flag = "".join(f"--{name}: ".replace("_", "-") for name in first["loc"][:1])
        fail(flag + first["msg"].removeprefix("Value error, "))


with_format: Final = Flags(
    _made,
    {name: Flag(split=False) for name in ("missing", "true", "false", "dates", "quasi")}
    | {name: Flag(kind=str) for name in ("delimiter", "decimal", "encoding")}
    | {name: Flag(name=f"--{name}".replace("_", "-")) for name in ("only_declared", "ranges")},
)
"""For a command that reads a file of records: its `RecordFormat`, and other options of its own."""
