"""The bases of all types on the wire; and what a caller may send, refused in bounded time (2-privacy §7).

The text below a field is its description in the OpenAPI document, with its unit.

A validator that reported every error of a hostile document would do work without bound: a few
megabytes hold millions of errors. So a request model refuses an object with too many fields at once, and
every list in one stops at its first bad item (`fail_fast`).
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from shared.wire import limits


def refuse_many_fields(data: Any) -> Any:
    """A validator that runs before a type's own."""
    if isinstance(data, dict) and len(data) > limits.FIELDS_PER_OBJECT_MAX:
        raise ValueError(f"An object here has at most {limits.FIELDS_PER_OBJECT_MAX} fields.")
    return data


class ContractModel(BaseModel):
    """The base of every type that the interface shows."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with other values for some fields; what was worked out of the former ones does not go with it."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields:
            del vars(copied)[name]
        return copied


class RequestModel(ContractModel):
    """The base of every type that a request is made of: without fields that nobody knows."""

    model_config = ConfigDict(extra="forbid")

    _few_fields = model_validator(mode="before")(staticmethod(refuse_many_fields))
