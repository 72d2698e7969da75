"""What a caller may send: frozen, without fields that nobody knows, and refused in bounded time (2-privacy §7).

A validator that reported every error of a hostile document would do work without bound: a few
megabytes hold millions of errors. So a request model refuses an object with too many fields at once, and
every list in one stops at its first bad item (`fail_fast`).
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from shared import limits


def refuse_many_fields(data: Any) -> Any:
    """A validator that runs before a type's own."""
    if isinstance(data, dict) and len(data) > limits.FIELDS_PER_OBJECT_MAX:
        raise ValueError(f"An object here has at most {limits.FIELDS_PER_OBJECT_MAX} fields.")
    return data


class RequestModel(BaseModel):
    """The base of every type that a request is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    _few_fields = model_validator(mode="before")(staticmethod(refuse_many_fields))
