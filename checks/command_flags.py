"""The flags of every command of both programs, as JSON files beside the commands.

`python -m checks.command_flags` exits with 1 if a file is not as the commands' functions say; `--write` writes them.
Help, typos and completion read these files instead of importing what the commands need.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_group

import auditor_client.cli
import holder_service.cli
from shared.wire.deferred_commands import Deferred, deferred_of
from shared.wire.described_commands import FILE, described

PROGRAMS: Final = {"auditor": auditor_client.cli, "holder": holder_service.cli}


def commands(program: str) -> Iterator[tuple[str, Deferred]]:
    """Return each command of a program that is a function, by its words: "admin grant"."""
    yield from _below(get_group(PROGRAMS[program].app), "")


def _below(group: Any, before: str) -> Iterator[tuple[str, Deferred]]:
    for name, command in deferred_of(group).items():
        words = f"{before} {name}".strip()
        real = command.load()
        if hasattr(real, "commands"):
            yield from _below(command.command(), words)
        else:
            yield words, command


def files() -> dict[Path, str]:
    """Return the text that each file should have."""
    texts = {}
    for program, package in PROGRAMS.items():
        flags = {
            f"{command.module}:{command.attribute}": described(inspect.unwrap(command.function))
            for _, command in commands(program)
        }
        texts[Path(package.__file__ or "").with_name(FILE)] = _written(flags)
    return texts


def _written(flags: dict[str, list[dict[str, Any]]]) -> str:
    """Return the JSON with a line for each flag, so that a changed flag is one changed line."""
    commands = []
    for command, parameters in flags.items():
        lines = ",\n".join(json.dumps(flag, ensure_ascii=False) for flag in parameters)
        commands.append(f"{json.dumps(command)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(commands) + "\n}\n"


def main() -> None:
    """Compare or write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files")
    if parser.parse_args().write:
        for path, text in files().items():
            path.write_text(text, encoding="utf-8")
        return
    other = [path for path, text in files().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in other:
        print(f"{path.name} of {path.parent.parent.name} differs: run `python -m checks.command_flags --write`.")
    sys.exit(1 if other else 0)


if __name__ == "__main__":
    main()
