"""Declarations in files of this machine, for commands that send nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holder_service.cli.calls import fail

if TYPE_CHECKING:
    from shared.contract.datasets import DatasetDeclaration


def read_declaration(file: Path, *, adding: Mapping[str, Any] | None = None) -> "DatasetDeclaration":
    """Read a declaration, or end the command with all of its faults, each at its line.

    Args:
        file: A JSON file.
        adding: Members that the file may leave out.

    Raises:
        OSError: The file cannot be read.
    """
    from pydantic import ValidationError

    from holder_service.domain.declarations import located
    from holder_service.web.edge.problems import validation_refusal
    from shared.contract.datasets import DatasetDeclaration

    content = file.read_bytes()
    try:
        if not adding:
            return DatasetDeclaration.model_validate_json(content)
        document = json.loads(content)
        return DatasetDeclaration.model_validate_json(json.dumps({**adding, **document}))
    except (ValueError, TypeError) as error:
        if not isinstance(error, ValidationError):
            fail(f"{file} is not a valid declaration: expected a JSON object. Correct the file.")
        _, faults = validation_refusal(error)
        is_json = not any(fault["type"] == "json_invalid" for fault in error.errors())
        text = content.decode() if is_json else ""
        fail("\n".join([f"{file} is not a valid declaration:", *("  " + located(text, **fault) for fault in faults)]))
