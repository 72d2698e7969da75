"""How the console's pages are made: templates that escape everything, and headers that let nothing else in.

The pages hold no script and load nothing from elsewhere; their headers make a browser keep it that way. Nothing on
them is derived from records (2-privacy §7): administrators see policy, not data.
"""

import functools
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holder_service.domain.errors import HolderError, fault_text
from holder_service.web.console.pictures import balance_bar
from holder_service.web.console.words import LOAD_WORDS, beside, loss, notice_words, what_happened
from holder_service.web.edge.problems import RETRY_AFTER_S, STATUS_BY_CODE, validation_refusal
from holder_service.web.edge.telemetry import note_problem
from shared.look import HEADERS, STYLES
from shared.privacy.amounts import format_nano
from shared.wire.problems import TITLES

ROOT: Final = "/console"
LOG_IN: Final = f"{ROOT}/log-in"
LOG_OUT: Final = f"{ROOT}/log-out"
LOGGED_OUT: Final = f"{ROOT}/logged-out"
STATIC: Final = f"{ROOT}/static"
STATIC_FOLDER: Final = Path(__file__).parent / "static"
SECTIONS: Final = {
    "overview": ROOT,
    **{name: f"{ROOT}/{name}" for name in ("datasets", "auditors", "budgets", "approvals", "ledger", "restore")},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done, in the words that the REST interface has for it.

    Attributes:
        faults: Of a document or a file all that is wrong, each with where it is, if that is more than one thing.
    """

    code: str
    detail: str
    faults: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: Exception) -> "Refusal":
        """Return what an error that a service or a type raised says to the caller."""
        if isinstance(error, HolderError):
            return cls._of_faults(error.code, error.fields.get("errors", []), error.detail)
        if isinstance(error, ValidationError):
            return cls._of_faults(*validation_refusal(error))
        raise error

    @classmethod
    def _of_faults(cls, code: str, errors: list[dict[str, str]], detail: str = "") -> "Refusal":
        faults = tuple(fault_text(one["field"], one["detail"]) for one in errors)
        return cls(code, detail or faults[0], faults if len(faults) > 1 else ())

    @property
    def title(self) -> str:
        """What happened, where that is not about what was sent: there the detail alone says what to do."""
        return TITLES[self.code] if self.status >= 429 else ""

    @property
    def status(self) -> int:
        """The status of a page that shows it. A page has no scheme to authenticate by, so 401 becomes 403."""
        return STATUS_BY_CODE["forbidden" if self.code == "unauthenticated" else self.code]


class SecurityHeaders:
    """Puts the console's headers on everything below its path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["Cache-Control"] = "max-age=86400" if path.startswith(f"{STATIC}/") else "no-store"
            await send(message)

        inside = path == ROOT or path.startswith(f"{ROOT}/")
        await self._app(scope, receive, with_headers if inside else send)


def render(template: str, *, status: int = 200, refusal: Refusal | None = None, **context: Any) -> HTMLResponse:
    """A page from a template's file; its status is the refusal's, if it has to say one first."""
    if refusal is not None:
        note_problem(refusal.code)
        status = refusal.status
    page = rendered(template, refusal=refusal, **context)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status in (429, 503) else None
    return HTMLResponse(page, status, headers)


def rendered(template: str, **context: Any) -> str:
    """A template filled in; every text is escaped."""
    return _environment().get_template(template).render(**context)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals.update(
        root=ROOT, log_in=LOG_IN, sections=SECTIONS, stylesheet=_versioned(STYLES),
        icon=_versioned(STATIC_FOLDER / "icon.svg"), balance_bar=balance_bar, what_happened=what_happened,
        loss=loss, beside=beside, version=version("pafer"), notice_words=notice_words, load_words=LOAD_WORDS,
    )  # fmt: skip
    environment.filters.update(amount=format_nano, utc_time=_utc_time, clock=_clock, short=_short)
    environment.tests.update(past=_is_past)
    return environment


def _versioned(file: Path) -> str:
    """The path of a static file with its content's digest, so that a browser never shows an old one."""
    return f"{STATIC}/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"


def _utc_time(at: str | datetime) -> Markup:
    """A time for people, in UTC, and for machines."""
    time = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    machine = time.isoformat(timespec="seconds")
    return Markup('<time datetime="{}">{:%-d %b %Y, %H:%M}</time>').format(machine, time)


def _clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M}"


def _is_past(expires: str | None, now: str) -> bool:
    return expires is not None and datetime.fromisoformat(expires) <= datetime.fromisoformat(now)


def _short(digest: str) -> str:
    """The beginning of a digest, enough to compare by eye."""
    return digest.removeprefix("sha256:")[:10]
