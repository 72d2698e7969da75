"""A copy of an embedded database, whole and consistent, while the holder goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

from holder_service.storage.database import Database

PAGES_AT_ONCE = 4096


def copy_database(database: Database, destination: Path) -> bool:
    """Copy an SQLite database into a new file; whether it is one. A server's database is for its own tools to dump.

    Charges go on meanwhile: what is written between two steps is copied too, and the copy is a state that
    the database was in.
    """
    if database.kind != "SQLite":
        return False
    source = database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(source, timeout=30)) as live, closing(sqlite3.connect(destination)) as copy:
        live.backup(copy, pages=PAGES_AT_ONCE)
    return True
