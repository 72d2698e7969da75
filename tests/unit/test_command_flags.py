"""The described flags of every command are the command's own, and help, typos and completion need nothing else."""

import inspect
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_group

from checks.command_flags import PROGRAMS, commands, files
from shared.wire.deferred_commands import deferred_of
from shared.wire.described_commands import described, described_command

COMMANDS = [(program, words) for program in PROGRAMS for words, _ in commands(program)]
BY_WORDS = {(program, words): command for program in PROGRAMS for words, command in commands(program)}


def test_the_files_are_as_the_commands_say() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m checks.command_flags --write`"


@pytest.mark.parametrize(("program", "words"), COMMANDS)
def test_a_described_command_has_the_help_of_the_command(
    program: str, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    command = BY_WORDS[program, words]

    assert outcome(command.command(), ["--help"], capsys) == outcome(command.load(), ["--help"], capsys)


def test_a_described_group_lists_the_commands_of_the_group() -> None:
    groups = 0
    for package in PROGRAMS.values():
        for name, command in deferred_of(get_group(package.app)).items():
            if hasattr(command.load(), "commands"):
                groups += 1
                assert list(command.command().commands) == list(command.load().commands), name
    assert groups == 5


def test_a_flag_that_is_not_described_changes_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The comparison of the help pages can fail."""
    serve = BY_WORDS["holder", "serve"]
    parameters = described(inspect.unwrap(serve.function))
    fewer = described_command(parameters[1:], serve.load, name="serve", help_text=serve.help, panel=None, epilog=None)

    assert outcome(fewer, ["--help"], capsys) != outcome(serve.load(), ["--help"], capsys)


@pytest.mark.parametrize(
    "line", [["--workers", "many"], ["--workers", "0"], ["--no-such"], ["--log-level", "loud"], ["superfluous"]]
)
def test_a_line_that_does_not_fit_is_refused_alike(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    serve = BY_WORDS["holder", "serve"]

    refused = outcome(serve.command(), line, capsys)

    assert refused[0] == 2
    assert refused == outcome(serve.load(), line, capsys)


def test_a_described_command_runs_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the words of its line: the command reads them, not the description."""
    check = BY_WORDS["auditor", "bundle check"]

    code, _, error = outcome(check.command(), [str(tmp_path / "nowhere.zip")], capsys)

    assert code == 2
    assert "nowhere.zip" in error


def test_a_closed_list_completes_without_the_command() -> None:
    [metric] = (each for each in BY_WORDS["auditor", "audit"].command().params if each.name == "metrics")
    context = typer.Context(BY_WORDS["auditor", "audit"].command())

    assert "equal-opportunity" in [each.value for each in metric.shell_complete(context, "equal")]


def outcome(command: Any, line: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    """The exit code of a command, and what it printed."""
    with pytest.raises(SystemExit) as ended:
        command.main(line, prog_name="it")
    return ended.value.code, *capsys.readouterr()
