"""Help, typos, completion and versions start without what the commands themselves need."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest
import typer
from typer.testing import CliRunner

from checks.command_flags import commands
from holder_service.cli import app
from holder_service.cli.times import end_of_day, start_of_day
from shared.wire.deferred_commands import commands_of, deferring, loaded

HEAVY = {
    "alembic", "auditor_client.auditor", "babel", "cryptography", "fastapi", "holder_service.app", "httpx", "jinja2",
    "numba", "numpy", "opendp", "pandas", "pyarrow", "sklearn", "sqlalchemy", "uvicorn",
}  # fmt: skip
PROGRAMS = {"auditor": "auditor_client.cli", "holder": "holder_service.cli"}
SERVER = HEAVY - {"httpx"}


def imported(program: str, *lines: Sequence[str], **environment: str) -> set[str]:
    """The heavy modules that a program imports when it is called with each line, in one process."""
    code = (
        f"import sys\nfrom {PROGRAMS[program]} import app\n"
        f"for line in {[list(line) for line in lines]!r}:\n"
        f"  try: app(line, prog_name={program!r})\n  except SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return HEAVY & set(run.stderr.split())


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("hepl",), ()])
def test_help_versions_and_typos_import_nothing_heavy(program: str, arguments: tuple[str, ...]) -> None:
    assert imported(program, arguments) == set()


@pytest.mark.parametrize("program", PROGRAMS)
def test_completion_of_commands_imports_nothing_heavy(program: str) -> None:
    completion = {f"_{program.upper()}_COMPLETE": "complete_bash", "COMP_WORDS": f"{program} l", "COMP_CWORD": "1"}

    assert imported(program, (), **completion) == set()


GROUPS = {"auditor": ["watch", "bundle"], "holder": ["admin", "admin records", "ledger", "witness"]}


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_of_every_command_imports_nothing_heavy(program: str) -> None:
    every = [*GROUPS[program], *dict(commands(program))]

    assert imported(program, *([*words.split(), "--help"] for words in every)) == set()


def test_typos_behind_a_command_import_nothing_heavy() -> None:
    assert imported("auditor", ["audit", "--metrci", "x"], ["watch", "sett"]) == set()
    assert imported("holder", ["admin", "grnt"], ["serve", "--prt", "1"]) == set()


@pytest.mark.parametrize(
    "line", ["auditor audit --me", "auditor audit --metric stat", "auditor watch s", "holder serve --p"]
)
def test_completion_of_flags_imports_nothing_heavy(line: str) -> None:
    program, *words = line.split()
    completion = {
        f"_{program.upper()}_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))
    }  # fmt: skip

    assert imported(program, (), **completion) == set()


@pytest.mark.slow
def test_a_call_of_a_running_holder_imports_no_server() -> None:
    call = ("admin", "grant", "uni", "reg", "1", "--url", "http://127.0.0.1:9", "--key", "k")

    assert imported("holder", call) & {"fastapi", "numba", "numpy", "holder_service.app"} == set()


def test_a_listed_command_runs_and_has_its_help() -> None:
    """Also the text of a command that is not loaded is its whole docstring."""
    [made] = [one for one in commands_of("holder_service.cli.serving") if one.name == "init"]
    small = typer.Typer(cls=deferring(made))

    @small.callback()
    def group() -> None: ...

    listed = CliRunner().invoke(small, ["--help"])
    own = CliRunner().invoke(small, ["init", "--help"])

    assert "Create the database" in listed.output
    assert "--json" in own.output
    assert loaded(typer.main.get_group(small).commands["init"]).help == made.help


@pytest.mark.parametrize(
    ("given", "expires", "since"),
    [
        ("2027-01-31", "2027-01-31T23:59:59Z", "2027-01-31T00:00:00Z"),
        ("2027-01-31T12:00:00+01:00", "2027-01-31T12:00:00+01:00", "2027-01-31T12:00:00+01:00"),
        ("tomorrow", "tomorrow", "tomorrow"),
        (None, None, None),
    ],
)
def test_a_date_alone_is_a_time(given: str | None, expires: str | None, since: str | None) -> None:
    """Of an end it is the end of the day; of a beginning its start."""
    assert (end_of_day(given), start_of_day(given)) == (expires, since)


def test_help_keeps_words_in_brackets() -> None:
    assert "[this machine's holder]" in " ".join(
        CliRunner().invoke(app, ["admin", "auditors", "--help"], env={"COLUMNS": "300"}).output.split()
    )
