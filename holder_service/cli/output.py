"""What commands print: tables for people, JSON for machines."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from holder_service.services.running.drill import RestoreDrill

ERRORS: Final = Console(stderr=True)
"""All that is written to standard error goes through it, so that a line and a bar do not disturb each other."""
TABLE_WIDTH_MAX = 10_000
"""Wider than any table would be if it had the room."""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def show(
    document: Any, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], as_json: bool, *, title: str | None = None
) -> None:
    """Print a document, as JSON or as a table of its rows; where a table is too wide, a list of each row's cells."""
    if as_json:
        print(json.dumps(document))
        return
    console = Console(highlight=False)
    table = Table(*columns, title=title, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    if not rows:
        console.print("There is nothing to list.")
    elif console.measure(table, options=console.options.update(width=TABLE_WIDTH_MAX)).maximum <= console.width:
        console.print(table)
    else:
        names = max(map(len, columns))
        for row in rows:
            cells = [
                textwrap.fill(
                    f"{name:{names}}  {cell}", max(console.width, names + 20), subsequent_indent=" " * (names + 2),
                    break_long_words=False, break_on_hyphens=False,
                )
                for name, cell in zip(columns, row, strict=True)
                if cell
            ]  # fmt: skip
            print("\n".join(cells), end="\n\n" if len(rows) > 1 else "\n")


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


def show_drill(folder: Path, found: "RestoreDrill", as_json: bool) -> None:
    """Print what restoring a back-up showed; ends the command with 1 if something is wrong."""
    if as_json:
        made = None if found.made is None else found.made.isoformat()
        print(json.dumps({"folder": str(folder), "intact": found.intact, **asdict(found), "made": made}))
    else:
        made = f", made at {when(found.made.isoformat())} (UTC) by {found.version}" if found.made else ""
        print(f"Back-up {folder}{made}.")
        if found.head is not None:
            versions = ", ".join(f"{name} (version {number})" for name, number in found.datasets.items())
            print(f"Ledger: {found.entries} entries, head {found.head}. Signing keys: {', '.join(found.signing_keys)}.")
            print(f"Datasets with records: {versions or 'none'}.")
        if found.load_again:
            print(f"Encoded by another version, to be loaded again after a restore: {', '.join(found.load_again)}.")
        for remark in found.remarks:
            notify(remark)
        for fault in found.faults:
            notify(f"Fault: {fault}.")
        print("Intact: it can be restored." if found.intact else "NOT intact.")
    if not found.intact:
        raise typer.Exit(1)


def show_overlaps(document: Mapping[str, Any], overlaps: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print which populations share people, what looking was charged, if it was, and what was not compared."""
    columns = ("population", "and population", "person key", "people in both", "can be merged")
    charged = ("charged to both, ε",) if "charged" in document else ()
    show(document, columns + charged, [_overlap_row(one) for one in overlaps], as_json)
    if document["not_compared"] and not as_json:
        notify(f"Not compared until they are loaded again: {', '.join(document['not_compared'])}.")
    if document.get("without_keys") and not as_json:
        notify(f"Aggregate tables do not have keys to compare: {', '.join(document['without_keys'])}.")


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


def when(at: str) -> str:
    """A time of the interface, which is in UTC, to the minute."""
    return at[:16].replace("T", " ")


def notify(text: str) -> None:
    ERRORS.print(text, markup=False, highlight=False, soft_wrap=True)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
