"""The ledger as CSV: the same lines from the REST interface and from the console."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from holder_service.domain.ledger import Entry
from holder_service.services import ledger
from holder_service.services.bookkeeping import Books
from shared.amounts import format_nano

EXPORT_PAGE_ENTRIES: Final = 1000


def csv_lines(books: Books, *, after: int = 0) -> Iterator[str]:
    """A header, then every entry after a sequence number, read from the store a page at a time."""
    columns = ("sequence", "at", "kind", "actor", "population", "dataset", "auditor", "subject", "answer")
    yield _csv_line(*columns, "epsilon", "delta", "cap", "account", "detail", "previous", "hash")
    while page := ledger.page(books, after=after, limit=EXPORT_PAGE_ENTRIES):
        for entry in page:
            yield _csv_line(*(entry.document().get(column, "") for column in columns), *_csv_rest(entry))
        after = page[-1].sequence


def _csv_rest(entry: Entry) -> tuple[str, ...]:
    event = entry.event
    cap, account = (
        "" if balance is None else json.dumps(asdict(balance), sort_keys=True) for balance in (event.cap, event.account)
    )
    detail = json.dumps(event.detail, sort_keys=True) if event.detail else ""
    loss = format_nano(event.epsilon_nano), format_nano(event.delta_nano)
    return (*loss, cap, account, detail, entry.previous, entry.hash)


def _csv_line(*values: Any) -> str:
    """One line; a value that a spreadsheet would take for a formula is led by an apostrophe."""
    line = io.StringIO()
    csv.writer(line).writerow([f"'{value}" if str(value)[:1] in "=+-@\t" and str(value) else value for value in values])
    return line.getvalue()
