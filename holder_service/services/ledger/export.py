"""The ledger as a file, CSV or a JSON document a line: the same from the REST interface and from the console.

An export that broke off would look like a shorter ledger. So its last line says that it is the last, how
many entries there are before it, and what the ledger's head was; a file without that line is not whole.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final, TextIO

from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.ledger.reading import EVERYTHING
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import ledger_views
from holder_service.storage.ledger_views import EntryFilter
from shared.privacy.amounts import format_nano

EXPORT_PAGE_ENTRIES: Final = 1000
END: Final = "end-of-export"
MEDIA_TYPES: Final[Mapping[str, str]] = {"csv": "text/csv", "jsonl": "application/jsonl"}
_AS_LINE: Final = json.JSONEncoder(ensure_ascii=False)
_IN_CELL: Final = json.JSONEncoder(sort_keys=True)
COLUMNS: Final = (
    "sequence", "at", "kind", "actor", "population", "dataset", "auditor", "subject", "answer",
    "epsilon", "delta", "rho", "purpose", "limit", "spent", "left", "cap_limit", "cap_spent", "cap_left",
    "cap", "account", "detail", "nonce", "previous", "hash",
)  # fmt: skip


def csv_pages(
    store: LedgerStore, *, after: int = 0, upto: int | None = None, which: EntryFilter = EVERYTHING
) -> Iterator[str]:
    """A header, the entries, and the last line, whose kind is "end-of-export"; a piece for each page of the store."""
    yield _lines([COLUMNS])
    for page in _pages(store, after=after, upto=upto, which=which):
        yield _lines(map(_row, page))


def json_pages(
    store: LedgerStore, *, after: int = 0, upto: int | None = None, which: EntryFilter = EVERYTHING
) -> Iterator[str]:
    """A line for each entry, and the last one, whose kind is "end-of-export"."""
    for page in _pages(store, after=after, upto=upto, which=which):
        yield "".join(_AS_LINE.encode(document) + "\n" for document in page)


def is_whole(export: BinaryIO) -> bool:
    """Whether a file ends with the last line of an export, which says how many entries are before it."""
    export.seek(0)
    text = io.TextIOWrapper(export, encoding="utf-8", newline="")
    try:
        first = text.readline()
        text.seek(0)
        read = _json_lines if first.startswith("{") else _csv_lines
        *_, (count, last) = enumerate(read(text))
        return bool(last["kind"] == END and last["detail"]["entries"] == count)
    except (KeyError, TypeError, ValueError, csv.Error):
        return False
    finally:
        text.detach()


def _json_lines(text: TextIO) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in text)


def _csv_lines(text: TextIO) -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(text, strict=True):
        if None in row.values():
            raise ValueError("A line that broke off in its last fields, which may be empty.")
        yield {**row, "detail": json.loads(row["detail"] or "{}")}


def _pages(store: LedgerStore, *, after: int, upto: int | None, which: EntryFilter) -> Iterator[list[dict[str, Any]]]:
    """The entries that there are when it begins, page by page, and what the last line says."""
    at = store.clock().isoformat()
    head = ledger_reading.head(store)
    last = head.sequence if upto is None else min(upto, head.sequence)
    count = 0
    while page := store.look_up(
        ledger_views.documents_in_order, which, after=after, upto=last, limit=EXPORT_PAGE_ENTRIES
    ):
        yield page
        count += len(page)
        after = page[-1]["sequence"]
    yield [{"at": at, "kind": END, "detail": {"entries": count, "head": head.model_dump()}}]


def _row(document: Mapping[str, Any]) -> list[Any]:
    amounts = {name: document.get(f"{name}_nano") for name in ("epsilon", "delta", "rho")}
    shown = {
        **document,
        **{name: format_nano(nano) for name, nano in amounts.items() if nano is not None},
        **_amounts("", document.get("account")),
        **_amounts("cap_", document.get("cap")),
        "purpose": document.get("detail", {}).get("purpose"),
    }
    values = (shown.get(name) or "" for name in COLUMNS)
    return [_IN_CELL.encode(value) if isinstance(value, dict) else value for value in values]


def _amounts(prefix: str, balance: Mapping[str, Any] | None) -> dict[str, str]:
    """A balance in plain columns: in ρ where it adds up ρ, else in ε; δ is in the whole balance alone."""
    if balance is None:
        return {}
    amount = "rho" if "limit_rho_nano" in balance else "epsilon"
    limit, spent = balance[f"limit_{amount}_nano"], balance[f"spent_{amount}_nano"]
    nanos = {"limit": limit, "spent": spent, "left": max(0, limit - spent)}
    return {f"{prefix}{name}": format_nano(nano) for name, nano in nanos.items()}


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A value that a spreadsheet would take for a formula is led by an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
