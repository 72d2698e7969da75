"""Pages made from the code: both command lines, the Python surface, the settings, what an audit is expected to show."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Final

import typer
from typer.core import TyperOption
from typer.main import get_command

import auditor_client
from auditor_client import settings as auditor_settings
from auditor_client.asking.assumption import Assumption
from auditor_client.asking.question import make_question
from auditor_client.asking.request import AuditRequest
from auditor_client.cli import app as auditor_app
from auditor_client.planning.forecasting import expectation
from checks.words import PRODUCT, public_classes, sources_of
from holder_service.cli import app as holder_app
from holder_service.settings import holder as holder_settings
from holder_service.settings import oidc as oidc_settings
from holder_service.settings.secrets import ENDING, SECRETS
from shared.wire.deferred_commands import loaded
from testing.invented.questions import FOUR_LEAVES
from testing.registers import LOANS

PROGRAMS: Final = {"auditor": ("auditor_client.cli", auditor_app), "holder": ("holder_service.cli", holder_app)}
PEOPLE: Final = (500, 2_000, 10_000, 50_000, 250_000)
_LOG_IN: Final = "The password of the user that the database's URL names; better in a file."
EPSILONS: Final = ("0.05", "0.1", "0.25", "0.5", "1", "2")


def commands(program: str) -> str:
    """A program's commands, as Typer documents them; the title is the page's own."""
    module, _ = PROGRAMS[program]
    made = subprocess.run(
        [sys.executable, "-m", "typer", module, "utils", "docs", "--name", program],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return made.stdout.partition("\n")[2]


def python_surface() -> str:
    """A directive for each exported name: the classes that do something first, then all by name."""
    names = sorted(auditor_client.__all__, key=lambda name: (name != "Auditor", name))
    return "\n".join(f"::: auditor_client.{name}\n" for name in names)


def decisions(folder: Path) -> str:
    """List the decisions of a folder by their titles, under the theme that each states below its title."""
    themes: dict[str, list[str]] = {}
    for path in sorted(folder.glob("[0-9]*.md")):
        text = path.read_text()
        theme = re.search(r"^\*Theme: (.+)\.\*$", text, re.MULTILINE)
        title = text.partition("\n")[0].removeprefix("# ")
        themes.setdefault(theme[1] if theme else "Other", []).append(f"- [{title}]({path.name})\n")
    return "\n".join(f"## {theme}\n\n{''.join(lines)}" for theme, lines in sorted(themes.items()))


def class_index() -> str:
    """A table of the product's public classes: name, what it is, and its file."""
    rows = [
        (f"`{name}`", sentence, f"`{path}`")
        for name, sentence, path in public_classes(sources_of([f"{package}/" for package in PRODUCT]))
    ]
    return _table(("class", "what it is", "file"), rows)


def settings_tables() -> str:
    """A table for each party: every environment variable that it reads, what it means, and what holds without it."""
    auditor = [
        *((f"`{one.variable}`", f"`{name}`", one.meaning) for name, one in auditor_settings.SETTINGS.items()),
        (f"`{auditor_settings.CONFIG_VARIABLE}`", "", "The configuration file."),
    ]
    files = [(f"`{name}{ENDING}`", f"A file: {what}.", "") for name, what in SECRETS.items()]
    holder = [*_holder_settings(), *_options(holder_app), ("`HOLDER_DATABASE_PASSWORD`", _LOG_IN, ""), *files]
    return (
        "## The auditor\n\n"
        + _table(("variable", "in the file", "meaning"), auditor)
        + "\n## The holder\n\n"
        + _table(("variable", "meaning", "default"), holder)
    )


def variables_read(package: ModuleType) -> set[str]:
    """Every name of the form of a setting in the texts of a package's source; names of its own values are none."""
    files = Path(inspect.getfile(package)).parent.rglob("*.py")
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {name for text in texts for name in re.findall(r"\b(?:AUDITOR|HOLDER)_[A-Z][A-Z_]*[A-Z]\b", text)}


def expected_widths() -> str:
    """How wide the ratio's interval is expected to be, by the project's own `plan`, for two equal groups."""
    rows = [(f"{people:,}".replace(",", " "), *(_width(people, epsilon) for epsilon in EPSILONS)) for people in PEOPLE]
    return _table(("people", *(f"ε = {epsilon}" for epsilon in EPSILONS)), rows)


def _width(people: int, epsilon: str) -> str:
    request = AuditRequest(
        sensitive=("sex",), epsilon=epsilon, strategy="verdict", assumption=Assumption(people=people)
    )
    width = expectation(make_question(FOUR_LEAVES, LOANS, request)).width
    return f"{Decimal(f'{width:.2g}'):f}"


def _holder_settings() -> list[tuple[str, str, str]]:
    """The rows of `Settings`: its docstring says what each means, and an empty environment what holds without it."""
    here = f"{Path.cwd()}/"
    defaults = holder_settings.Settings.from_environment({}), oidc_settings.OidcSettings("None")
    return [
        (f"`{prefix}{name.upper()}`", text, f"`{getattr(values, name)}`".replace(here, ""))
        for prefix, values in zip(("HOLDER_", oidc_settings.PREFIX), defaults, strict=True)
        for name, text in _described(type(values))
    ]


def _described(kind: type) -> list[tuple[str, str]]:
    """The attributes that a class's docstring names, and what it says of each."""
    found = re.findall(r"^    (\w+): (.+(?:\n        .+)*)", inspect.getdoc(kind) or "", re.MULTILINE)
    return [(name, " ".join(text.split())) for name, text in found]


def _options(app: typer.Typer) -> list[tuple[str, str, str]]:
    """The options of all commands that an environment variable can give."""
    found, left = {}, [get_command(app)]
    while left:
        command = loaded(left.pop())
        left += getattr(command, "commands", {}).values()
        for option in command.params:
            if isinstance(option, TyperOption) and isinstance(option.envvar, str):
                default = f"`{option.default}`" if option.default and not option.required else ""
                help_text = (option.help or "").replace("\\[", "[")  # brackets are markup in a help
                found[option.envvar] = (f"`{option.envvar}`", help_text, default)
    return [found[name] for name in sorted(found)]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(settings_tables())
