"""Flags of commands as JSON, so that help, typos and completion need none of the modules that a command imports.

Next to the commands of a program lies its `flags.json`, which `python -m checks.command_flags --write` makes of their
functions. Only command lines import this module, which needs typer.
"""

import inspect
import json
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.main import get_group
from typer.models import OptionInfo

FILE: Final = "flags.json"
_TYPES: Final = {"text": str, "yes or no": bool, "integer": int, "number": float, "path": Path}
_WORDS: Final = {kind: word for word, kind in _TYPES.items()}
_FORMS: Final[dict[str, Callable[..., Any]]] = {"option": typer.Option, "argument": typer.Argument}
_COMPLETION: Final = "autocompletion"


def completed(incomplete: str, values: Iterable[str]) -> list[str]:
    """Return the values that complete a text; behind a comma, the next of a list."""
    before, comma, start = incomplete.rpartition(",")
    return [f"{before}{comma}{value}" for value in values if value.startswith(start)]


def completing(values: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes a text with one of the values, or a list of them."""

    def complete(incomplete: str) -> list[str]:
        return completed(incomplete, values)

    return complete


def described(function: Callable[..., None]) -> list[dict[str, Any]]:
    """Describe the parameters of a command's function, as its `flags.json` has them.

    Raises:
        TypeError: If a parameter has a type or a setting that the file cannot express.
    """
    return [_described(each) for each in inspect.signature(function, eval_str=True).parameters.values()]


def _described(parameter: inspect.Parameter) -> dict[str, Any]:
    kind, info = (*_parts(parameter.annotation), None)[:2]
    written: dict[str, Any] = {"name": parameter.name, "type": _type_described(kind)}
    if parameter.default is not inspect.Parameter.empty:
        written["default"] = _plain(parameter.default)
    if info is not None:
        form = "option" if isinstance(info, OptionInfo) else "argument"
        untouched = vars(_FORMS[form]())
        settings = {name: value for name, value in vars(info).items() if value != untouched.get(name)}
        names = [settings.pop("default", None), *settings.pop("param_decls", ())]
        written |= {"form": form, "names": [name for name in names if name is not None]}
        if _COMPLETION in settings:
            settings[_COMPLETION] = _completion_described(settings[_COMPLETION])
        written["settings"] = settings
    return written


def _parts(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)


def _plain(value: Any) -> Any:
    value = value.value if isinstance(value, Enum) else value
    return str(value) if isinstance(value, Path) else value


def _type_described(kind: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        [inside] = (each for each in inner if each is not type(None))
        return {"perhaps": _type_described(inside)}
    if origin is list:
        return {"list": _type_described(*inner)}
    if origin is tuple:
        return {"tuple": [_type_described(each) for each in inner]}
    if origin is Literal:
        return {"choice": list(inner)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"choice": [each.value for each in kind]}
    if kind in _WORDS:
        return _WORDS[kind]
    raise TypeError(f"{kind} cannot be written in {FILE}. Use a type of `_TYPES`, or add one there")


def _completion_described(complete: Callable[..., Any]) -> Any:
    values = inspect.getclosurevars(complete).nonlocals.get("values")
    return f"{complete.__module__}:{complete.__name__}" if values is None else list(values)


@cache
def descriptions(package: str) -> dict[str, list[dict[str, Any]]]:
    """Return the described commands of a package, by "module:function"; an empty mapping without the file."""
    spec = find_spec(package)
    file = Path(spec.origin or "").with_name(FILE) if spec else Path(FILE)
    stored: dict[str, list[dict[str, Any]]] = json.loads(file.read_bytes()) if file.is_file() else {}
    return stored


class _Described(TyperCommand):
    """A command with the flags of its description. The command itself reads its line again and runs it."""

    load: Callable[[], Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.line = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        command = self.load()
        with command.make_context(ctx.info_name, self.line, parent=ctx.parent) as own:
            return command.invoke(own)


def described_command(
    parameters: list[dict[str, Any]],
    load: Callable[[], Any],
    *,
    name: str,
    help_text: str,
    panel: str | None,
    epilog: str | None,
) -> Any:
    """Return a command with described parameters, which loads and runs the command itself when it is called."""

    def unread() -> None: ...

    signature = inspect.Signature([_parameter(each) for each in parameters])
    unread.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    unread.__annotations__ = {}
    parent = typer.Typer()
    parent.command(name, cls=_Described, help=help_text, rich_help_panel=panel, epilog=epilog)(unread)
    command = get_group(parent).commands[name]
    command.load = load  # type: ignore[attr-defined]  # it is `_Described`
    return command


def _parameter(written: dict[str, Any]) -> inspect.Parameter:
    annotation = _type(written["type"])
    if "form" in written:
        settings = dict(written["settings"])
        if _COMPLETION in settings:
            settings[_COMPLETION] = _completion(settings[_COMPLETION])
        annotation = Annotated[annotation, _FORMS[written["form"]](*written["names"], **settings)]
    return inspect.Parameter(
        written["name"],
        inspect.Parameter.KEYWORD_ONLY,
        default=written.get("default", inspect.Parameter.empty),
        annotation=annotation,
    )


def _type(written: Any) -> Any:
    if isinstance(written, str):
        return _TYPES[written]
    [(form, inner)] = written.items()
    match form:
        case "perhaps":
            return _type(inner) | None
        case "list":
            return list[_type(inner)]  # type: ignore[misc]  # a type made of words
        case "tuple":
            return tuple[tuple(map(_type, inner))]  # type: ignore[misc]
        case _:
            return Literal[tuple(inner)]


def _completion(written: Any) -> Callable[..., Any]:
    if isinstance(written, list):
        return completing(written)
    module, _, name = written.partition(":")

    def ask(ctx: typer.Context, incomplete: str) -> Any:
        return getattr(import_module(module), name)(ctx, incomplete)

    return ask
