"""Flags made of values: a command takes frozen values, and each of their fields is a flag.

The name, the help and the default of a flag are the field's, so an option is written in one file. `_FLAGS` has what
differs on a command line, for example a shorter name.
"""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rich.markup import escape

from auditor_client.audits.asking import made
from auditor_client.cli.output import clear_errors


@dataclass(frozen=True, slots=True)
class Without:
    """Fields that a command has no flags for; they keep their defaults."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """How a field is written on a command line, where its name and type do not say it.

    Attributes:
        name: With its dashes: "--metric".
        kind: The type of the flag's value.
        split: Whether commas separate the values of a list.
    """

    name: str | None = None
    kind: Any = None
    split: bool = True


_FLAGS: Final[Mapping[str, Flag]] = {
    "metrics": Flag("--metric"),
    "where": Flag(split=False),  # a condition may hold commas
    "version": Flag("--records-version"),
    "supports_from": Flag(kind=Path),
    "as_json": Flag("--json"),
    "offline": Flag("--offline"),
}


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a command's parameters that are values into flags, one for each field.

    A parameter annotated with a pydantic model becomes the flags of its fields; `Annotated[Model, Without(...)]` leaves
    some out. A field that is itself a model becomes the flags of that. All other parameters stay as they are.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {name: _group(parameter.annotation) for name, parameter in signature.parameters.items()}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        group = groups[name]
        parameters += [parameter] if group is None else _parameters(*group)

    @wraps(command)
    def run(**given: Any) -> None:
        with clear_errors():
            values = {name: given[name] if group is None else _value(*group, given) for name, group in groups.items()}
        command(**values)

    parameters.sort(key=lambda parameter: parameter.kind)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__
    return run


def listed(texts: Sequence[str]) -> list[str]:
    """Values that were given one by one or separated by commas."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _group(annotation: Any) -> tuple[type[BaseModel], tuple[str, ...]] | None:
    """The model of a parameter and the fields left out; None if it is no model."""
    kind, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return None
    return kind, tuple(name for one in more if isinstance(one, Without) for name in one.names)


def _fields(kind: type[BaseModel], without: tuple[str, ...]) -> dict[str, FieldInfo]:
    return {
        name: field
        for name, field in kind.model_fields.items()
        if name not in without and field.description is not None
    }


def _parameters(kind: type[BaseModel], without: tuple[str, ...]) -> list[inspect.Parameter]:
    """The flags of a model's fields that have a description."""
    flags: list[inspect.Parameter] = []
    for name, field in _fields(kind, without).items():
        inner = _group(field.annotation)
        flags += [_parameter(name, field)] if inner is None else _parameters(*inner)
    return flags


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    flag = _FLAGS.get(name, Flag())
    help_text = escape(field.description or "")  # brackets would be read as markup
    option = typer.Option(help=help_text) if flag.name is None else typer.Option(flag.name, help=help_text)
    if _is_list(field.annotation):
        annotation: Any = list[str] if field.is_required() else list[str] | None
        default: Any = None
    else:
        annotation, default = flag.kind | None if flag.kind else _plain_type(field.annotation), field.default
    if field.is_required():
        default = inspect.Parameter.empty
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
    )


def _value(kind: type[BaseModel], without: tuple[str, ...], given: Mapping[str, Any]) -> BaseModel:
    """A model of the flags that were given.

    Raises:
        QuestionRefused: A value does not fit.
    """
    values: dict[str, Any] = {}
    for name, field in _fields(kind, without).items():
        inner = _group(field.annotation)
        if inner is not None:
            values[name] = _value(*inner, given)
        elif given[name] is not None and not (given[name] == [] and not field.is_required()):
            split = _is_list(field.annotation) and _FLAGS.get(name, Flag()).split
            values[name] = listed(given[name]) if split else given[name]
    return made(kind, values)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _is_list(annotation: Any) -> bool:
    """Whether a field holds several values, and nothing simpler."""
    kinds = [kind for kind in _alternatives(annotation) if kind is not type(None)]
    return all(get_origin(kind) is tuple for kind in kinds)


def _plain_type(annotation: Any) -> Any:
    """A field's type; of several, the first, which a text can have."""
    kinds = _alternatives(annotation)
    return kinds[0] | None if type(None) in kinds else kinds[0]
