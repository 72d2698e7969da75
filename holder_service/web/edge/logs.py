"""Structured logs, one JSON object a line, that cannot hold a count or a key (2-privacy §7).

Nothing that somebody formatted into a text gets in. A line is made of an *event*, a constant text
that stands in `EVENTS`, and of fields that stand in `FIELDS`, each of which has a form that its
values must have. Of every other message, whichever library it comes from, a line has logger, level
and location in the code, and never its text. Exceptions appear as types and stack frames, without texts and locals.
"""

import json
import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, get_args

from holder_service.identity.tokens import WHY
from holder_service.settings.log_levels import Level
from holder_service.storage.store_faults import REASONS
from holder_service.witnessing.calls import REASONS as NOT_COSIGNED
from shared.contract.notices import NoticeKind
from shared.log.notes import NAME_PATTERN as NOTE_NAME_PATTERN
from shared.wire.problems import TITLES

EVENTS: Final[Mapping[str, str]] = {
    event: event
    for event in (
        "request",
        "release overran its deadline",
        "console log-in",
        "console log-in refused",
        "console log-out",
        "holder starts",
        "token refused",
        "identity provider unavailable",
        "approval requested",
        "approval decided",
        "store unavailable",
        "anchor unavailable",
        "records could not be kept",
        "derived column could not be made",
        "background work failed",
        "the state of a watch cannot be read",
        "notice",
        "notices could not be logged",
        "leftovers of a killed process taken away",
        "leftovers could not be looked for",
        "signing key unavailable",
        "spark session could not begin",
        "spark session could not be ended",
        "spark could not do its work",
        "spark could not be interrupted",
        "a table could not be taken away yet",
        "internal error",
        "witness did not cosign",
        "checkpoint not cosigned",
        "the ledger's log could not be published",
        "the ledger lacks entries of its published log",
    )
} | {
    # The server's own, as its code spells them. Their arguments (process numbers, address) stay out.
    "Started parent process [%d]": "supervisor started",
    "Started server process [%d]": "process started",
    "Uvicorn running on %s://%s:%d (Press CTRL+C to quit)": "listening",
    "Uvicorn running on %s://[%s]:%d (Press CTRL+C to quit)": "listening",
    "Waiting for application startup.": "starting",
    "Application startup complete.": "started",
    "Application startup failed. Exiting.": "start failed",
    "Shutting down": "shutting down",
    "Waiting for connections to close. (CTRL+C to force quit)": "waiting for connections to close",
    "Waiting for background tasks to complete. (CTRL+C to force quit)": "waiting for tasks to complete",
    "Waiting for application shutdown.": "stopping",
    "Application shutdown complete.": "stopped",
    "Finished server process [%d]": "process finished",
    "Received SIGINT, exiting.": "interrupted",
    "Received SIGTERM, exiting.": "terminated",
    "Waiting for child process [%d]": "waiting for worker",
    "Terminated child process [%d]": "worker ended",
    "Child process [%d] died": "worker died",
    "Stopping parent process [%d]": "supervisor stopped",
    "Invalid HTTP request received.": "unreadable request",
    "Exception in ASGI application\n": "exception in application",
}
"""What a message's constant text is called in a line; any other message is called "message"."""
FRAMES_MAX: Final = 6
_PROCESS: Final = re.compile(r"\[[0-9]+\]")
_FRAME: Final = r"[A-Za-z0-9_<>]+ \([A-Za-z0-9_.<>-]+:[0-9]+\)"

# An account's name has the form of a name, and a key has it too.
_NAME: Final = re.compile(r"(?!.*pafer_[0-9a-f]{12}_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

FIELDS: Final[Mapping[str, re.Pattern[str]]] = {
    "request_id": re.compile("[0-9a-f]{16}"),
    "method": re.compile("[A-Z]{3,7}"),
    "route": re.compile("(/[A-Za-z0-9._{}:-]*)+|none"),
    "status": re.compile("[1-5][0-9]{2}"),
    "problem": re.compile("|".join(TITLES)),
    "actor": _NAME,
    "account": _NAME,
    "population": _NAME,
    "notice": re.compile("|".join(get_args(NoticeKind))),
    "client": re.compile("[0-9a-fA-F.:]{2,45}"),
    "key_id": re.compile("[0-9a-f]{12}"),
    "request": re.compile("sha256:[0-9a-f]{64}"),
    "spent_percent": re.compile("[0-9]{1,15}"),
    "until": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\+00:00"),
    "reason": re.compile("|".join([*WHY, *REASONS, *NOT_COSIGNED])),
    "witness": re.compile(NOTE_NAME_PATTERN),
    "fault": re.compile("[A-Z0-9_]{1,40}"),
    "version": re.compile(r"[0-9][0-9A-Za-z.+]{0,40}"),
    "deadline_ms": re.compile("[0-9]{1,9}"),
    "work": re.compile("preparation|watches"),
    "error": re.compile("[A-Za-z_][A-Za-z0-9_]{0,80}"),
    "frames": re.compile(f"{_FRAME}( > {_FRAME})*"),
}
"""What a line may hold in addition to event, time, level, logger and process, and the form it must have, matched whole.

`deadline_ms` is a release's public deadline, a function of the plan and the declaration alone; how long
anything took is in no log. `client` (an address) and `key_id` are in the lines of refused callers alone. `route` is a
template, so no name and no query gets in with it. What a notice's line has says the ledger.
"""


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object of admitted fields, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": _event(record.msg),
            "logger": record.name,
            "process": record.process,
        }
        if line["event"] == "message":
            line["location"] = f"{record.module}:{record.lineno}"
        error = record.exc_info[1] if record.exc_info else None
        values = {**vars(record), **described_error(error)} if error else vars(record)
        for name, shape in FIELDS.items():
            value = values.get(name)
            if value is not None and shape.fullmatch(str(value)):
                line[name] = value
        return json.dumps(line)


def described_error(error: BaseException) -> dict[str, Any]:
    """An exception's type and where it rose: what can be known of it without its text, which may quote a value."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_MAX:]
    shown = [f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames]
    return {"error": type(error).__name__, "frames": " > ".join(shown)}


def configuration(level: Level, *, requests: bool = True) -> dict[str, Any]:
    """Logging for `logging.config.dictConfig`: everybody's records through `JsonLines`, to standard error."""
    loggers: dict[str, Any] = {
        name: {"level": level.upper(), "handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")
    }
    loggers["alembic"] = {"level": "WARNING"}  # its lines say only that a database was opened
    if not requests:
        loggers["holder_service.web.edge.telemetry"] = {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": f"{__name__}.{JsonLines.__name__}"}},
        "handlers": {"stderr": {"()": f"{__name__}.stderr_handler", "formatter": "json"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": loggers,
    }


def stderr_handler() -> logging.Handler:
    """The handler of `configuration`; Python's warnings come this way too, or they would print their own texts."""
    logging.captureWarnings(capture=True)
    return logging.StreamHandler()


def _event(message: object) -> str:
    if not isinstance(message, str):
        return "message"
    return EVENTS.get(message) or EVENTS.get(_PROCESS.sub("[%d]", message), "message")
