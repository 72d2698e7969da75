"""The ledger as CSV: the same lines from the REST interface and from the console."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

from holder_service.domain.ledger import Balance, Entry
from holder_service.services import ledger
from holder_service.services.bookkeeping import Books
from shared.amounts import format_nano

EXPORT_PAGE_ENTRIES: Final = 1000
COLUMNS: Final = (
    "sequence", "at", "kind", "actor", "population", "dataset", "auditor", "subject", "answer", "epsilon", "delta",
    "cap", "account", "detail", "previous", "hash",
)  # fmt: skip


def csv_pages(books: Books, *, after: int = 0) -> Iterator[str]:
    """A header, then every entry after a sequence number: each piece holds the lines of one page from the store."""
    yield _lines([COLUMNS])
    while page := ledger.page(books, after=after, limit=EXPORT_PAGE_ENTRIES):
        yield _lines(_row(entry) for entry in page)
        after = page[-1].sequence


def _row(entry: Entry) -> tuple[Any, ...]:
    event = entry.event
    return (
        entry.sequence, entry.at, event.kind, event.actor, event.population, event.dataset, event.auditor,
        event.subject, event.answer, format_nano(event.epsilon_nano), format_nano(event.delta_nano),
        _balance(event.cap), _balance(event.account),
        json.dumps(event.detail, sort_keys=True) if event.detail else "", entry.previous, entry.hash,
    )  # fmt: skip


def _balance(balance: Balance | None) -> str:
    return "" if balance is None else json.dumps(asdict(balance), sort_keys=True)


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A value that a spreadsheet would take for a formula is led by an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
