"""Why the store did not answer, out of a closed list: what an operator needs, and nothing that a driver's text quotes.

A driver's text may quote parameters, so it reaches nobody. What is derived from it is a reason of `REASONS` and a code:
a SQLSTATE, the name of an errno, or SQLite's name of its error. Neither depends on a record.
"""

import errno
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import URL
from sqlalchemy.exc import TimeoutError as PoolTimeout

from holder_service.domain.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason.

    Attributes:
        text: What is wrong, for everybody: it names no machine and no user.
        for_operator: The same for the operator, with `{store}`, `{user}`, `{database}`.
        remedy: What the operator does.
    """

    text: str
    for_operator: str
    remedy: str


_CHECK_URL: Final = "Check HOLDER_DATABASE_URL."
REASONS: Final[Mapping[str, Reason]] = {
    "password-refused": Reason(
        "the database refuses the holder's password",
        "{store} refuses the password of user {user}",
        "Check HOLDER_DATABASE_PASSWORD_FILE.",
    ),
    "password-missing": Reason(
        "the database asks for a password, and the holder has none",
        "{store} asks for a password of user {user}, and none is set",
        "Set HOLDER_DATABASE_PASSWORD_FILE.",
    ),
    "user-refused": Reason(
        "the database does not admit the holder's user",
        "{store} does not admit user {user} to database {database}",
        "Check the user in HOLDER_DATABASE_URL, and pg_hba.conf on the server.",
    ),
    "database-unknown": Reason(
        "the database server does not have a database of that name",
        "{store} does not have a database {database}",
        "Create it, or check the name in HOLDER_DATABASE_URL.",
    ),
    "nobody-listens": Reason(
        "nobody listens at the database's address",
        "{store} does not answer: nobody listens there",
        f"Start the server. {_CHECK_URL}",
    ),
    "host-unknown": Reason(
        "the name of the database's machine cannot be resolved",
        "{store} cannot be found: the name of the machine cannot be resolved",
        _CHECK_URL,
    ),
    "unreachable": Reason(
        "the database's machine cannot be reached",
        "{store} cannot be reached",
        f"Check network and firewall. {_CHECK_URL}",
    ),
    "tls-refused": Reason(
        "the encrypted connection to the database failed",
        "the encrypted connection to {store} failed",
        "Check sslmode and the certificates.",
    ),
    "starting-or-stopping": Reason(
        "the database is starting or stopping", "{store} is starting or stopping", "Wait until it is up."
    ),
    "connection-lost": Reason(
        "the connection to the database was lost", "{store} closed the connection", "See the database's own log."
    ),
    "too-many-connections": Reason(
        "the database does not have a free connection",
        "{store} does not have a free connection",
        "Raise max_connections, or run fewer workers.",
    ),
    "refused": Reason(
        "the database refuses the connection", "{store} refuses the connection", "See the database's own log."
    ),
    "disk-full": Reason(
        "no space is left on a disk",
        "no space is left on the disk of {store}",
        "Free some space; no restart is needed.",
    ),
    "read-only": Reason(
        "the store can only be read",
        "{store} can only be read",
        "Check the mount's options, or whether it is a standby.",
    ),
    "permission": Reason(
        "the holder may not use the store",
        "the holder may not use {store}",
        "Check the owner and mode of the files, or the rights of the database's user.",
    ),
    "file-missing": Reason(
        "a file of the store is not there",
        "{store} is not there or cannot be opened",
        "Check HOLDER_HOME and the mount.",
    ),
    "damaged": Reason(
        "the database is damaged",
        "{store} is damaged or is not a database",
        "Put a back-up back (operations, Restore).",
    ),
    "disk-fails": Reason("a disk fails", "the disk of {store} fails", "See the machine's own log."),
    "busy": Reason(
        "the store is busy for too long",
        "{store} is busy for too long",
        "Look for long transactions, or for a slow disk.",
    ),
    "tables-unknown": Reason(
        "the database lacks a table of the holder", "{store} lacks a table of the holder", "Run `holder init`."
    ),
    "other": Reason(
        "the database failed", "{store} failed for a reason that is not in the list", "See the database's own log."
    ),
}
LASTING: Final = frozenset({"disk-full", "read-only", "permission", "file-missing", "damaged", "disk-fails"})
"""The reasons that no further attempt changes: somebody has to do something first."""
_SQLSTATES: Final[Mapping[str, str]] = {
    "28P01": "password-refused", "28000": "user-refused", "3D000": "database-unknown", "53100": "disk-full",
    "53300": "too-many-connections", "25006": "read-only", "42501": "permission", "42P01": "tables-unknown",
    "57P01": "starting-or-stopping", "57P02": "starting-or-stopping", "57P03": "starting-or-stopping",
    "55P03": "busy", "57014": "busy", "40001": "busy", "40P01": "busy", "25P03": "busy", "58030": "disk-fails",
    "XX001": "damaged", "XX002": "damaged",
}  # fmt: skip
_SQLITE: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_FULL: "disk-full", sqlite3.SQLITE_READONLY: "read-only", sqlite3.SQLITE_CANTOPEN: "file-missing",
    sqlite3.SQLITE_PERM: "permission", sqlite3.SQLITE_AUTH: "permission", sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy", sqlite3.SQLITE_CORRUPT: "damaged", sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_IOERR: "disk-fails",
}  # fmt: skip
_ERRNOS: Final[Mapping[int, str]] = {
    errno.ENOSPC: "disk-full", errno.EDQUOT: "disk-full", errno.EFBIG: "disk-full", errno.EROFS: "read-only",
    errno.EACCES: "permission", errno.EPERM: "permission", errno.ENOENT: "file-missing", errno.EIO: "disk-fails",
    errno.ECONNREFUSED: "nobody-listens", errno.ETIMEDOUT: "unreachable", errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
}  # fmt: skip
_OF_CONNECTING: Final[tuple[tuple[str, str, str], ...]] = (
    ("no password supplied", "password-missing", "28P01"),
    ("password authentication failed", "password-refused", "28P01"),
    (r"database \".*\" does not exist", "database-unknown", "3D000"),
    (r"role \".*\" does not exist|no pg_hba\.conf entry|authentication failed", "user-refused", "28000"),
    ("too many clients|remaining connection slots|too many connections", "too-many-connections", "53300"),
    ("starting up|shutting down|in recovery mode", "starting-or-stopping", "57P03"),
    (
        "could not translate host name|resolve host|Name or service not known|nodename nor servname",
        "host-unknown",
        "EAI_NONAME",
    ),
    ("Connection refused|No such file or directory", "nobody-listens", "ECONNREFUSED"),
    ("No space left", "disk-full", "ENOSPC"),
    ("timeout expired|timed out", "unreachable", "ETIMEDOUT"),
    ("No route to host|unreachable", "unreachable", "EHOSTUNREACH"),
    ("SSL|certificate", "tls-refused", ""),
    ("server closed the connection|connection is lost|consuming input failed|closed", "connection-lost", "08006"),
    ("connection failed|connection to server", "refused", ""),
)
"""What libpq says of a connection that it could not make: it gives no SQLSTATE then. The last one is for the rest."""


@dataclass(frozen=True, slots=True)
class StoreFault:
    """Why the store did not answer.

    Attributes:
        reason: One of `REASONS`.
        code: The SQLSTATE, errno or SQLite's name; empty without one.
    """

    reason: str
    code: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """As fields of a log's line and members of a problem."""
        return {"reason": self.reason, **({"fault": self.code} if self.code else {})}

    @property
    def text(self) -> str:
        """For everybody."""
        return f"{REASONS[self.reason].text}{self._code}"

    def at(self, address: "StoreAddress") -> str:
        """For the operator: with the address and what to do."""
        found = REASONS[self.reason]
        said = found.for_operator.format(store=address.store, user=address.user, database=address.database)
        return f"{said[0].upper()}{said[1:]}{self._code}. {found.remedy}"

    @property
    def _code(self) -> str:
        return f" ({self.code})" if self.code else ""


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where something is kept, in the operator's words."""

    store: str
    user: str = "(none)"
    database: str = "(none)"

    @classmethod
    def of(cls, url: URL) -> "StoreAddress":
        """The database of a URL; without its password."""
        if url.get_backend_name() == "sqlite":
            return cls(f"the database {url.database}")
        host = url.host or url.query.get("host") or "its socket"
        port = f":{url.port}" if url.port else ""
        return cls(f"PostgreSQL at {host}{port}", url.username or "(none)", url.database or "(none)")


class StoreUnavailable(Unavailable):
    """The store did not answer; its problem document has the reason, and a command the address too.

    Attributes:
        fault: Why.
        for_operator: Why, where, and what to do; for those alone who run the holder.
    """

    def __init__(self, fault: StoreFault, address: StoreAddress | None = None, *, detail: str = "") -> None:
        super().__init__(
            detail or f"The holder's store does not answer: {fault.text}. Ask again: nothing is charged twice.",
            **fault.fields,
        )
        self.fault = fault
        self.for_operator = self.detail if address is None else fault.at(address)


def fault_of(error: BaseException) -> StoreFault:
    """The reason of a driver's error, or of an `OSError`."""
    if isinstance(error, PoolTimeout):
        return StoreFault("busy")
    for cause in _causes(error):
        state = getattr(cause, "sqlstate", None)
        if state:
            return StoreFault(_SQLSTATES.get(state) or _of_class(state), state)
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None:
            return StoreFault(_SQLITE.get(code & 0xFF, "other"), str(getattr(cause, "sqlite_errorname", "")))
        if isinstance(cause, OSError) and cause.errno:
            return StoreFault(_ERRNOS.get(cause.errno, "other"), errno.errorcode.get(cause.errno, ""))
    driver = getattr(error, "orig", None) or error
    for pattern, reason, code in _OF_CONNECTING:
        if re.search(pattern, str(driver)):
            return StoreFault(reason, code)
    return StoreFault("other")


def _of_class(state: str) -> str:
    """By the first two characters, which are a SQLSTATE's class."""
    return {"08": "connection-lost", "53": "too-many-connections", "57": "starting-or-stopping"}.get(state[:2], "other")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The driver's own error first, then what it came from."""
    seen: BaseException | None = getattr(error, "orig", None) or error
    for _ in range(5):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__
