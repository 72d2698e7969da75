"""The auditor's flags: those of the fields of what its commands take, as `spelling` has them."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from auditor_client.audits.asking import made
from auditor_client.cli.output import clear_errors
from auditor_client.cli.spelling import PANELS, SPELLED
from shared.wire.flags import Flags


def _make(kind: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    with clear_errors():
        return made(kind, values)


with_flags: Final = Flags(_make, SPELLED, PANELS)
"""Makes a command of a function that takes values."""
