"""Flags made of values, for both command lines: a command takes frozen values, and each of their fields is a flag.

The name, the help and the default of a flag are the field's, so an option is written in one file. What differs on a
command line, such as a shorter name, is a `Flag`. Only command lines import this module, which needs typer.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rich.markup import escape

from shared.wire.described_commands import completing
from shared.wire.field_types import described_fields, is_list, listed, plain_type


@dataclass(frozen=True, slots=True)
class Without:
    """Fields that a command has no flags for; they keep their defaults."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """The form of a field on a command line, where its name and type do not say it.

    Attributes:
        name: With its dashes: "--metric".
        kind: The type of the flag's value.
        split: Whether commas separate the values of a list.
        panel: The panel of the help that it stands in; by default that of the value it is a field of.
        completed: The values that a shell offers, or what finds them; the command itself takes others too.
    """

    name: str | None = None
    kind: Any = None
    split: bool = True
    panel: str | None = None
    completed: Sequence[str] | Callable[..., Iterable[str]] = ()


@dataclass(frozen=True, slots=True)
class Flags:
    """The way in which the commands of one command line get their values.

    Attributes:
        make: Makes a value of its fields; where one does not fit it ends the command with a clear text.
        spelled: The fields that are not written as their names and types say.
        panels: The panel of the help for the fields of each value; of others, typer's own.
    """

    make: Callable[[type[BaseModel], Mapping[str, Any]], BaseModel]
    spelled: Mapping[str, Flag]
    panels: Mapping[type[BaseModel], str] | None = None

    def __call__(self, command: Callable[..., None]) -> Callable[..., None]:
        """A command whose parameters that are values become flags, one for each field.

        A parameter annotated with a pydantic model becomes the flags of its fields; `Annotated[Model, Without(...)]`
        leaves some out. A field that is itself a model becomes the flags of that. All other parameters stay as they
        are.
        """
        signature = inspect.signature(command, eval_str=True)
        groups = {name: _group(parameter.annotation) for name, parameter in signature.parameters.items()}
        parameters: list[inspect.Parameter] = []
        for name, parameter in signature.parameters.items():
            group = groups[name]
            parameters += [parameter] if group is None else self._parameters(*group)

        @wraps(command)
        def run(**given: Any) -> None:
            command(
                **{name: given[name] if group is None else self._value(*group, given) for name, group in groups.items()}
            )

        parameters.sort(key=lambda parameter: parameter.kind)
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__
        return run

    def _parameters(self, kind: type[BaseModel], without: tuple[str, ...]) -> list[inspect.Parameter]:
        """The flags of a model's fields that have a description."""
        flags: list[inspect.Parameter] = []
        for name, field in described_fields(kind, without).items():
            inner = _group(field.annotation)
            panel = (self.panels or {}).get(kind)
            flags += [self._parameter(name, field, panel)] if inner is None else self._parameters(*inner)
        return flags

    def _parameter(self, name: str, field: FieldInfo, panel: str | None) -> inspect.Parameter:
        flag = self.spelled.get(name, Flag())
        names = () if flag.name is None else (flag.name,)
        option = typer.Option(
            *names,
            help=escape(field.description or ""),  # brackets would be read as markup
            metavar=("A,B,…" if flag.split else "TEXT") if is_list(field.annotation) else None,
            rich_help_panel=flag.panel or panel,
            autocompletion=flag.completed
            if callable(flag.completed)
            else completing(flag.completed)
            if flag.completed
            else None,
        )
        if is_list(field.annotation):
            annotation: Any = list[str] if field.is_required() else list[str] | None
            default: Any = None
        else:
            annotation, default = flag.kind | None if flag.kind else plain_type(field.annotation), field.default
        if field.is_required():
            default = inspect.Parameter.empty
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
        )

    def _value(self, kind: type[BaseModel], without: tuple[str, ...], given: Mapping[str, Any]) -> BaseModel:
        """A model of the flags that were given."""
        values: dict[str, Any] = {}
        for name, field in described_fields(kind, without).items():
            inner = _group(field.annotation)
            if inner is not None:
                values[name] = self._value(*inner, given)
            elif given[name] is not None and not (given[name] == [] and not field.is_required()):
                split = is_list(field.annotation) and self.spelled.get(name, Flag()).split
                values[name] = listed(given[name]) if split else given[name]
        return self.make(kind, values)


def _group(annotation: Any) -> tuple[type[BaseModel], tuple[str, ...]] | None:
    """The model of a parameter and the fields left out; None if it is no model."""
    kind, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return None
    return kind, tuple(name for one in more if isinstance(one, Without) for name in one.names)
