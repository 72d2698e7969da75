"""What commands print: tables for people, JSON for machines."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

_errors = Console(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def show(
    document: Any, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], as_json: bool, *, title: str | None = None
) -> None:
    """Print a document, as JSON or as a table of its rows."""
    if as_json:
        print(json.dumps(document))
        return
    table = Table(*columns, title=title)
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
        notify(f"Broken at entry {found['broken_at']}: {found['reason']}.")
    if not found["intact"]:
        raise typer.Exit(1)


def show_overlaps(document: Mapping[str, Any], overlaps: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print which populations share people, what looking was charged, if it was, and what was not compared."""
    columns = ("population", "and population", "person key", "people in both", "can be merged")
    charged = ("charged to both, ε",) if "charged" in document else ()
    show(document, columns + charged, [_overlap_row(one) for one in overlaps], as_json)
    if document["not_compared"] and not as_json:
        notify(f"Not compared until they are loaded again: {', '.join(document['not_compared'])}.")


def _overlap_row(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Two populations, their person keys, how many people are in both, whether they can be merged, and the charge."""
    if "people" in found:
        people = str(found["people"])
    else:
        people = f"{found['people_from']} to {found['people_below']}" if found["people_from"] else "few or none"
    keys = " / ".join(dict.fromkeys(found["person_keys"]))
    mergeable = "yes" if found["mergeable"] else "no: relation or person key differ"
    charged = (found["charged"]["epsilon"],) if "charged" in found else ()
    return *found["populations"], keys, people, mergeable, *charged


def notify(text: str) -> None:
    _errors.print(text, markup=False, highlight=False, soft_wrap=True)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
