"""The database: one engine, one way to read, and one lane for everything that is written.

Nearly every write changes the ledger's head, so writes are serial by nature. A process queues its own in
one first-in-first-out lane (racing threads would wait far longer at the worst), and processes
exclude each other by `BEGIN IMMEDIATE` on SQLite and by a lock on the head's row on PostgreSQL.
"""

import errno
import logging
import math
import os
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from holder_service.storage.prepared import Prepared
from holder_service.storage.store_faults import LASTING, StoreAddress, StoreFault, StoreUnavailable, fault_of

__all__ = ["Connection", "Database"]

T = TypeVar("T")
Seal = Callable[[str, int, bool], bytes]
"""Seals what is kept of a watch: its id, its noisy threshold, and whether it is used up."""

LOCK_WAIT_S: Final = 10
"""How long a write waits for those before it in its own process, and as long again for other processes."""
STATEMENT_TIMEOUT_S: Final = 30
SILENCE_S_MAX: Final = 30
"""How long PostgreSQL waits for a holder that went silent within a transaction, and a holder for PostgreSQL: a machine
that lost its power closes no connection, and the ledger's lock would be held for hours."""
CONNECT_TIMEOUT_S: Final = 5
TRUSTED_S: Final = 1.0
"""For so long after its use a connection to PostgreSQL is used again without a ping."""
CONNECTIONS_MAX: Final = 16
REMEMBERED_S: Final = 15.0
"""How long after a write that failed for a lasting reason the store counts as one that cannot be written."""
TRIED_BYTES: Final = 64 * 1024
TRIED_WITHIN_S: Final = 0.2
COPIED_AT_ONCE_PAGES: Final = 4096
_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_BEGIN_IMMEDIATE: Final = Prepared(text("BEGIN IMMEDIATE"))
_log = logging.getLogger(__name__)


class Database:
    """Connections to the holder's store; made once a process, closed at its end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _engine(url)
        # To look something up is one statement or a few, each a transaction by itself; `_begin_sqlite` begins none.
        alone = {} if self.kind == "SQLite" else {"isolation_level": "AUTOCOMMIT"}
        self._reading = self._engine.execution_options(**alone)
        self._failed: StoreFault | None = None
        self._failed_s = 0.0
        self._lane = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger-lane")

    @property
    def kind(self) -> str:
        """Which database it is: "SQLite" or "PostgreSQL"."""
        return "SQLite" if self._engine.dialect.name == "sqlite" else "PostgreSQL"

    def close(self) -> None:
        """Finish what is queued, then close every connection."""
        self._lane.shutdown(wait=True)
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection to look things up with; each statement sees what was committed when it began.

        Raises:
            Unavailable: The store does not answer.
        """
        with self._faults(), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection whose statements all see what was committed when the first began.

        Raises:
            Unavailable: The store does not answer.
        """
        alone = {} if self.kind == "SQLite" else {"isolation_level": "REPEATABLE READ"}
        with self._faults(), self._engine.connect().execution_options(**alone) as connection:
            if self.kind == "SQLite":  # `_begin_sqlite` begins no transaction that only reads
                connection.exec_driver_sql("BEGIN")
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run some work as one durable transaction, after all that was queued before it.

        When this returns the commit is on disk.

        Args:
            work: Reads and writes over the connection it is given; any error rolls all of it back. If it
                appends to the ledger it takes the ledger's lock first (`storage.ledger.lock`).

        Raises:
            Unavailable: The store failed, or is busy for too long. Whether the commit happened may then be
                unknown: whoever retries looks for the outcome first.
        """
        queued = self.in_lane(lambda: self.transaction(work))
        try:
            return queued.result(timeout=LOCK_WAIT_S)
        except TimeoutError:
            give_up(queued)
        return queued.result()

    def try_writing(self) -> None:
        """Make a small write, as a release does: of a full or read-only store reading says nothing.

        A store that is busy passes: something is being written.

        Raises:
            StoreUnavailable: It cannot be written.
        """
        with self._faults():
            if self.kind == "PostgreSQL":
                self._try_postgres()
            else:
                self._try_sqlite()

    def require_no_failure(self) -> None:
        """Refuse where the last write failed just now for a lasting reason, whatever a small write says.

        Raises:
            StoreUnavailable: It did.
        """
        if self._failed is not None and time.monotonic() - self._failed_s < REMEMBERED_S:
            raise StoreUnavailable(self._failed, StoreAddress.of(self._engine.url))

    def _try_postgres(self) -> None:
        with self._engine.connect() as connection, connection.begin():
            if connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "on":
                raise self._unavailable(StoreFault("read-only", "25006"), "read-only transaction")
            connection.exec_driver_sql("SELECT pg_logical_emit_message(true, 'pafer', repeat('x', 4096))")

    def _try_sqlite(self) -> None:
        """Write the version that SQLite keeps for applications, which this one does not use, and a file beside it."""
        path = Path(self._engine.url.database or "")
        try:
            with closing(sqlite3.connect(path, timeout=TRIED_WITHIN_S, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA user_version = {secrets.randbelow(1 << 31)}")
                connection.execute("COMMIT")
            try_file(path.parent)
        except (OSError, sqlite3.Error) as error:
            fault = fault_of(error)
            if fault.reason != "busy":
                raise self._unavailable(fault, type(error).__name__) from None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the store's own failures into one error; a broken rule of ours (a constraint, a length) stays a bug."""
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            if isinstance(error, DataError | IntegrityError):
                raise
            fault = fault_of(error)
            if fault.reason in LASTING:
                self._failed, self._failed_s = fault, time.monotonic()
            raise self._unavailable(fault, type(getattr(error, "orig", error)).__name__) from None

    def _unavailable(self, fault: StoreFault, error: str) -> StoreUnavailable:
        """Write a fault into the log, and return the error to raise.

        Args:
            fault: A reason out of a closed list.
            error: The class of the driver's error; its text may quote parameters.
        """
        _log.error("store unavailable", extra={"error": error, **fault.fields})
        return StoreUnavailable(fault, StoreAddress.of(self._engine.url))

    def in_lane(self, job: Callable[[], T]) -> Future[T]:
        """Have something done after all that was queued before it, and before all that is queued after it."""
        return self._lane.submit(job)

    def transaction(self, work: Callable[[Connection], T]) -> T:
        """Run some work as one durable transaction, as `write` does, for whoever is in the lane already."""
        with self._faults(), self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            result = work(connection)
        self._failed = None
        return result

    def migrate(self, *, seal: Seal | None = None) -> None:
        """Bring the tables to the current revision; does nothing if they are.

        Args:
            seal: Seals the secrets of watches that an earlier version kept in clear; `None` where there are none.
        """
        with self._faults(), self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            config = _alembic_config()
            config.attributes["connection"] = connection
            config.attributes["seal"] = seal
            command.upgrade(config, "head")

    def copy_file(self, destination: Path) -> None:
        """Copy an SQLite database into a new file.

        Charges go on meanwhile: what is written between two steps is copied too, and the copy is a state that
        the database was in.

        Raises:
            OSError: It cannot be copied; the text says why, such as that the disk is full.
        """
        source = self._engine.url.database or ""
        try:
            with closing(sqlite3.connect(source, timeout=30)) as live, closing(sqlite3.connect(destination)) as copy:
                live.backup(copy, pages=COPIED_AT_ONCE_PAGES)
        except sqlite3.Error as error:
            raise OSError(errno.EIO, f"The database cannot be copied, {error}", str(destination)) from error

    def is_current(self) -> bool:
        """Whether the tables are at the revision that this code was written for."""
        return self.revision() == ScriptDirectory.from_config(_alembic_config()).get_current_head()

    def revision(self) -> str | None:
        """The revision that the tables are at; None without any."""
        with self.read() as connection:
            return MigrationContext.configure(connection).get_current_revision()


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


def _engine(url: str) -> Engine:
    if url.startswith("sqlite:///"):
        file = URL.create("sqlite", database=url.removeprefix("sqlite:///"))  # a path, whatever signs are in it
        engine = create_engine(
            file, connect_args={"check_same_thread": False, "timeout": LOCK_WAIT_S},
            pool_size=CONNECTIONS_MAX, max_overflow=0,
        )  # fmt: skip
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "options": f"-c lock_timeout={LOCK_WAIT_S}s -c statement_timeout={STATEMENT_TIMEOUT_S}s "
            f"-c idle_in_transaction_session_timeout={SILENCE_S_MAX}s -c synchronous_commit=on",
            "tcp_user_timeout": SILENCE_S_MAX * 1000,
            "keepalives_idle": SILENCE_S_MAX // 2, "keepalives_interval": SILENCE_S_MAX // 6, "keepalives_count": 3,
        },
        pool_size=CONNECTIONS_MAX, max_overflow=0, isolation_level="READ COMMITTED",
    )  # fmt: skip
    _ping_what_rested(engine)
    return engine


def _ping_what_rested(engine: Engine) -> None:
    """Ping a connection before it is used, unless it was used just now and none was lost since.

    A ping takes as long as a statement, and each release takes three connections.
    """
    lost_s = -math.inf

    def came_back(_: Any, record: Any) -> None:
        record.info["back_s"] = time.monotonic()

    def was_lost(*_: Any) -> None:
        nonlocal lost_s
        lost_s = time.monotonic()

    def ping(connection: Any, record: Any, _: Any) -> None:
        back_s = record.info.get("back_s", math.inf)  # a new one has none
        if max(lost_s, time.monotonic() - TRUSTED_S) > back_s:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise InvalidatePoolError from error

    event.listen(engine, "checkin", came_back)
    event.listen(engine, "invalidate", was_lost)
    event.listen(engine, "checkout", ping)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """The driver's own transaction handling is off: `_begin_sqlite` says how a transaction begins."""
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={LOCK_WAIT_S * 1000}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """A write takes the lock at once: a deferred one would fail with "database is locked" when it upgrades."""
    if connection.get_execution_options().get("writes", False):
        _BEGIN_IMMEDIATE.run(connection)


def try_file(folder: Path) -> None:
    """Write a small file to disk, and take it away.

    Raises:
        OSError: It cannot be written.
    """
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".writable-") as file:
        file.write(bytes(TRIED_BYTES))
        file.flush()
        os.fsync(file.fileno())


def give_up(queued: Future[T]) -> None:
    """Take back what waited for `LOCK_WAIT_S`, unless it has begun.

    While one transaction waits for a lock, those behind it would wait for it in turn, each as long again.

    Raises:
        Unavailable: It was taken back.
    """
    if queued.cancel():
        fault = StoreFault("busy")
        _log.error("store unavailable", extra=fault.fields)
        raise StoreUnavailable(fault) from None
