"""The texts that can be typed into a field of a value: read from its type, for command lines and for forms alike."""

import types
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def described_fields(kind: type[BaseModel], without: Iterable[str] = ()) -> dict[str, FieldInfo]:
    """Return the fields of a value that people can give: those with a description."""
    return {
        name: field
        for name, field in kind.model_fields.items()
        if field.description is not None and name not in without
    }


def is_list(annotation: Any) -> bool:
    """Return whether a field holds several values, and nothing simpler."""
    return all(get_origin(kind) is tuple for kind in _alternatives(annotation) if kind is not type(None))


def plain_type(annotation: Any) -> Any:
    """Return a field's type, of several the first: what a text can be."""
    kinds = _alternatives(annotation)
    return kinds[0] | None if type(None) in kinds else kinds[0]


def choices_of(annotation: Any) -> tuple[str, ...]:
    """Return the values that a field's type lists; empty if it lists none."""
    return next((get_args(kind) for kind in _alternatives(annotation) if get_origin(kind) is Literal), ())


def listed(texts: Iterable[str], separator: str = ",") -> list[str]:
    """Return values that were given one by one, or with a separator between them."""
    return [part.strip() for text in texts for part in text.split(separator) if part.strip()]


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """What a field can be, without what is checked of it."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return tuple(get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds)
