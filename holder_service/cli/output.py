"""What commands print: tables for people, JSON for machines."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

_errors = Console(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def show(document: Any, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], as_json: bool) -> None:
    """Print a document, as JSON or as a table of its rows."""
    if as_json:
        print(json.dumps(document))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def show_fields(document: dict[str, Any], as_json: bool) -> None:
    """Print a small document, as JSON or as a table of one row."""
    show(document, tuple(document), [tuple(map(_word, document.values()))], as_json)


def show_verification(found: dict[str, Any], as_json: bool) -> None:
    """Print what recomputing a ledger found; ends the command with 1 if something does not follow."""
    if as_json:
        print(json.dumps(found))
    elif found["intact"]:
        print(f"Intact: {found['entries']} entries, head {found['head']}.")
    else:
        tell(f"Broken at entry {found['broken_at']}: {found['reason']}.")
    if not found["intact"]:
        raise typer.Exit(1)


def tell(text: str) -> None:
    """Say something on standard error."""
    _errors.print(text, markup=False, highlight=False, soft_wrap=True)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
