"""A store that fails names its cause, out of a closed list."""

import errno
import json
import logging
import sqlite3
from pathlib import Path

import pytest

from holder_service.storage import database
from holder_service.storage.database import Database
from holder_service.storage.store_faults import REASONS, StoreAddress, StoreFault, StoreUnavailable, fault_of
from holder_service.web.edge.logs import FIELDS, JsonLines


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ('FATAL:  password authentication failed for user "pafer"', "password-refused", "28P01"),
        ("fe_sendauth: no password supplied", "password-missing", "28P01"),
        ('FATAL:  database "pafer" does not exist', "database-unknown", "3D000"),
        ('FATAL:  role "pafer" does not exist', "user-refused", "28000"),
        ("FATAL:  sorry, too many clients already", "too-many-connections", "53300"),
        ("FATAL:  the database system is starting up", "starting-or-stopping", "57P03"),
        ("connection to server at h failed: Connection refused", "nobody-listens", "ECONNREFUSED"),
        ("could not translate host name", "host-unknown", "EAI_NONAME"),
        ("connection failed: something in another language", "refused", ""),
    ],
)
def test_words_of_a_failed_connection_become_a_reason(text: str, reason: str, code: str) -> None:
    assert fault_of(RuntimeError(text)) == StoreFault(reason, code)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "disk-full"), (errno.EROFS, "read-only"), (errno.EACCES, "permission"), (errno.EIO, "disk-fails")],
)
def test_an_errno_becomes_a_reason(number: int, reason: str) -> None:
    assert fault_of(OSError(number, "text")) == StoreFault(reason, errno.errorcode[number])


def test_every_reason_may_stand_in_the_log() -> None:
    for reason in REASONS:
        record = logging.LogRecord("store", logging.ERROR, __file__, 1, "store unavailable", (), None)
        vars(record).update(StoreFault(reason, "53100").fields)
        line = json.loads(JsonLines().format(record))
        assert (line["reason"], line["fault"]) == (reason, "53100")
    assert FIELDS["reason"].fullmatch("the count is 4711") is None


def test_every_reason_says_where_and_what_to_do() -> None:
    url = Database("postgresql://pafer:secret@db.example:5432/pafer")
    address = StoreAddress.of(url._engine.url)
    for reason in REASONS:
        error = StoreUnavailable(StoreFault(reason, "X"), address)
        assert "db.example:5432" in error.for_operator
        assert "db.example" not in error.detail
        assert "secret" not in error.for_operator
        assert error.fields == {"reason": reason, "fault": "X"}


def test_a_full_database_is_a_full_disk(tmp_path: Path) -> None:
    """SQLite's own limit of pages fails as a full disk does."""
    store = Database(f"sqlite:///{tmp_path / 'holder.sqlite'}")
    store.transaction(lambda connection: connection.exec_driver_sql("CREATE TABLE filled (text TEXT)"))

    def fill(connection: database.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        for _ in range(100):
            connection.exec_driver_sql("INSERT INTO filled VALUES (hex(randomblob(4096)))")

    with pytest.raises(StoreUnavailable) as failed:
        store.transaction(fill)

    assert failed.value.fault == StoreFault("disk-full", "SQLITE_FULL")
    assert "no space is left on the disk of the database" in failed.value.for_operator.lower()
    with pytest.raises(StoreUnavailable, match="no space is left"):
        store.require_no_failure()
    store.transaction(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1000000"))
    store.require_no_failure()


def test_a_small_write_that_fails_is_named_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = Database(f"sqlite:///{tmp_path / 'holder.sqlite'}")
    store.try_writing()

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(database, "try_file", full)
    with pytest.raises(StoreUnavailable) as failed:
        store.try_writing()
    assert failed.value.fault.reason == "disk-full"
    [record] = caplog.records
    assert (record.message, vars(record)["reason"]) == ("store unavailable", "disk-full")


def test_a_busy_store_passes_a_small_write(tmp_path: Path) -> None:
    path = tmp_path / "holder.sqlite"
    store = Database(f"sqlite:///{path}")
    store.try_writing()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    store.try_writing()

    other.close()


def test_operations_explain_every_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
    for name, reason in REASONS.items():
        assert f"| `{name}` | {reason.text} | {reason.remedy} |" in page
