"""Commands whose modules are imported when they are called, so that help, typos and completion start at once.

A list of commands shows names and a sentence each. Both are read from the text of a module, without running it. The
flags of a command are read from the description of its package.
Only command lines import this module, which needs typer.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from shared.wire.described_commands import described_command, descriptions


@dataclass(frozen=True, slots=True)
class Deferred:
    """A command or a group of commands, by the place where it is written.

    Attributes:
        module: The module to import when the command is called.
        attribute: The function, or the `typer.Typer` with a help text, in that module.
        name: The name of the command.
        panel: The panel of the help that lists the command.
        epilog: The end of the command's own help page.
    """

    module: str
    attribute: str
    name: str
    panel: str | None = None
    epilog: str | None = None

    @property
    def help(self) -> str:
        """What the command does, from the text of its module."""
        return _texts(self.module)[self.attribute]

    @property
    def function(self) -> Any:
        """The function, or the `typer.Typer`. Imports the module."""
        return getattr(import_module(self.module), self.attribute)

    def command(self) -> Any:
        """Return a command with the described flags, which imports the module when it runs.

        A group has the commands that its module's text adds to it. A command without a description is imported.
        """
        parameters = descriptions(self.module.rpartition(".")[0]).get(f"{self.module}:{self.attribute}")
        if parameters is not None:
            return described_command(
                parameters, self.load, name=self.name, help_text=self.help, panel=self.panel, epilog=self.epilog
            )
        parts = tuple(commands_of(self.module, typer_name=self.attribute))
        if not parts:
            return self.load()
        group = typer.Typer(no_args_is_help=True, help=self.help, cls=deferring(*parts))
        parent = typer.Typer()
        parent.add_typer(group, name=self.name, rich_help_panel=self.panel)
        return get_group(parent).commands[self.name]

    def load(self) -> Any:
        """Import the module and return typer's command or group."""
        written = self.function
        parent = typer.Typer()
        if isinstance(written, typer.Typer):
            parent.add_typer(written, name=self.name, rich_help_panel=self.panel)
        else:
            parent.command(self.name, rich_help_panel=self.panel, epilog=self.epilog)(written)
        return get_group(parent).commands[self.name]


class _Listed(TyperCommand):
    """A command in the list of its group, without its module."""

    def __init__(self, command: Deferred) -> None:
        super().__init__(command.name, help=command.help, rich_help_panel=command.panel)
        self.deferred = command


def deferring(*commands: Deferred) -> type[TyperGroup]:
    """Return the class of a group with these commands, for `typer.Typer(cls=…)`."""

    class Group(TyperGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.commands.update({command.name: _Listed(command) for command in commands})
            self.listing = False

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            command = super().get_command(ctx, cmd_name)
            return command if self.listing else loaded(command)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            self.listing = True
            super().format_help(ctx, formatter)
            self.listing = False

        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            self.listing = True
            found = super().shell_complete(ctx, incomplete)
            self.listing = False
            return found

    return Group


def commands_of(module: str, *, typer_name: str = "commands") -> Iterator[Deferred]:
    """Return the commands that a module's text adds to one `typer.Typer` by decorators, in their order."""
    for node in _syntax(module).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="command")) if name == typer_name:
                    names = [str(ast.literal_eval(one)) for one in decorator.args]
                    yield Deferred(module, node.name, *(names or [node.name.replace("_", "-")]))


def deferred_of(group: Any) -> dict[str, Deferred]:
    """Return the deferred commands of a group, by their names."""
    return {name: each.deferred for name, each in group.commands.items() if isinstance(each, _Listed)}


def loaded(command: Any) -> Any:
    """Return a command with its flags, ready to be called; also of one that is only listed."""
    return command.deferred.command() if isinstance(command, _Listed) else command


@cache
def _texts(module: str) -> dict[str, str]:
    """The docstring of each function of a module, and the `help` of each `typer.Typer`."""
    texts: dict[str, str] = {}
    for node in _syntax(module).body:
        match node:
            case ast.FunctionDef(name=name):
                texts[name] = ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(keywords=keywords)):
                texts[name] = "".join(str(ast.literal_eval(one.value)) for one in keywords if one.arg == "help")
    return texts


@cache
def _syntax(module: str) -> ast.Module:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise LookupError(f"The module {module} does not exist")
    return ast.parse(Path(spec.origin).read_bytes())
