"""Errors become problem documents (RFC 9457) here, and only here; the one file that knows status numbers."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holder_service.domain.errors import HolderError, fault_text
from holder_service.web.edge.logs import described_error
from holder_service.web.edge.telemetry import note_problem
from shared.contract.declaration_faults import UnfitDeclaration
from shared.contract.metadata import UnfitMetadata
from shared.privacy.amounts import InvalidAmount
from shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEM_TYPE_BASE, TITLES, PlanRefused
from shared.wire.text import NAME_PATTERN, NAME_WORDS

STATUS_BY_CODE: Final[Mapping[str, int]] = {
    "unauthenticated": 401,
    "forbidden": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "unsupported-media-type": 415,
    "invalid-request": 422,
    "invalid-amount": 422,
    "invalid-plan": 422,
    "unknown-column": 422,
    "sensitive-column": 422,
    "too-large": 413,
    "too-slow": 408,
    "budget-exhausted": 403,
    "cap-exhausted": 403,
    "approval-declined": 403,
    "version-gone": 409,
    "no-records": 409,
    "already-charged": 409,
    "conflict": 409,
    "invalid-records": 422,
    "column-not-ready": 409,
    "rate-limited": 429,
    "restore-unrecorded": 503,
    "unavailable": 503,
    "internal": 500,
}
RETRY_AFTER_S: Final = 1
INSTANCE_CHARACTERS_MAX: Final = 400
ERRORS_SHOWN_MAX: Final = 20
TEXT_SHOWN_CHARACTERS_MAX: Final = 600
PLAIN_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), "This field does not exist. Remove it."),
    "missing": "This field is missing. It is required.",
    **dict.fromkeys(
        ("dataclass_type", "model_attributes_type", "model_type"), "This value is not a JSON object. Send an object."
    ),
    "too_long": "This list has too many items; the maximum is {max_length}.",
    "too_short": "This list has too few items; the minimum is {min_length}.",
    **dict.fromkeys(
        ("datetime_parsing", "datetime_from_date_parsing", "datetime_type", "timezone_aware"),
        "This value is not a date and time with a time zone. Write it as 2027-01-31T12:00:00Z.",
    ),
}
"""What to say for the validator's own words, by its kind of error, where those do not say what to do."""
_log = logging.getLogger(__name__)


def problem_response(
    code: str, detail: str, *, instance: str, status: int | None = None, fields: Mapping[str, Any] | None = None
) -> JSONResponse:
    """One problem document as an answer."""
    note_problem(code)
    status = STATUS_BY_CODE[code] if status is None else status
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503) or code == "column-not-ready":
        headers["Retry-After"] = str((fields or {}).get("retry_after_s", RETRY_AFTER_S))
    if status == 408:
        headers["Connection"] = "close"  # the rest of the body may never come
    document = {
        **(fields or {}),
        "type": PROBLEM_TYPE_BASE + code,
        "title": TITLES[code],
        "status": status,
        "detail": _shortened(detail),
        "instance": quote(instance[:INSTANCE_CHARACTERS_MAX], safe="/:"),
    }
    return JSONResponse(document, status, headers, PROBLEM_MEDIA_TYPE)


def holder_problem(request: Request, error: Any) -> Response:
    """A refusal of the holder's own, or of the contract (`HolderError`, `PlanRefused`)."""
    path = {"field": error.path} if isinstance(error, PlanRefused) and error.path else {}
    return problem_response(error.code, str(error), instance=request.url.path, fields={**error.fields, **path})


def validation_problem(request: Request, error: Any) -> Response:
    """A body or parameter that is not of its form: the path of each fault and what would fit, never the value sent."""
    code, shown = _faults(error, is_plan=request.url.path.startswith("/v1/datasets/"))
    first = fault_text(shown[0]["field"], shown[0]["detail"])
    return problem_response(code, first, instance=request.url.path, fields={"errors": shown})


def validation_refusal(error: ValidationError) -> tuple[str, list[dict[str, str]]]:
    """The code of what is not of its form, and field and detail of each fault, for the console's pages."""
    return _faults(error, is_plan=False)


def _faults(error: Any, *, is_plan: bool) -> tuple[str, list[dict[str, str]]]:
    # A list whose first item is bad is also called too short, which only repeats it.
    errors = [one for listed in error.errors() for one in _flattened(listed)]
    found = [one for one in errors if one["type"] != "too_short" or not one["input"]] or errors
    shown = [{"field": _path(location), "detail": why} for one in found for location, why in _each(one)]
    return _validation_code(found[0], is_plan=is_plan), shown[:ERRORS_SHOWN_MAX]


def _flattened(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A fault; of a declaration that does not fit, all of its faults."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, UnfitDeclaration):
        yield from ({**one, "loc": (*error["loc"], *one["loc"])} for one in cause.errors)
    else:
        yield error


def _each(error: Mapping[str, Any]) -> Iterator[tuple[Sequence[Any], str]]:
    """Yield where a fault is, and what would fit; of one that names several, each."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, UnfitMetadata):
        yield from (((*error["loc"], "metadata", path), _shortened(why)) for path, why in cause.faults)
    else:
        yield error["loc"], _detail(error)


def http_problem(request: Request, error: Any) -> Response:
    """Return what the framework refuses itself: unknown paths and methods, and requests that it cannot read."""
    code, detail = {
        404: ("not-found", "This path does not exist. /openapi.json lists the paths."),
        405: ("method-not-allowed", "This path does not support that method. /openapi.json lists the methods."),
    }.get(error.status_code, ("invalid-request", "The request could not be read. Check its method, path and headers."))
    response = problem_response(code, detail, instance=request.url.path, status=error.status_code)
    response.headers.update(error.headers or {})
    return response


class LastResort:
    """Outermost: whatever else fails is one bare 500 whose details stay inside.

    The log names the kind of error and where it rose, never its text, which may quote a value.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or answer for its failure unless the answer began already."""
        began = False

        async def noticing(message: Message) -> None:
            nonlocal began
            began = began or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noticing)
        except ClientDisconnect:
            return  # it hung up in the middle of its request
        except Exception as error:
            if scope["type"] != "http":
                raise
            _log.error("internal error", extra=described_error(error))
            if began:
                return
            detail = (
                "The holder failed unexpectedly. Nothing left it without a charge. Send the request again, "
                "and inform the holder's administrator."
            )
            await problem_response("internal", detail, instance=scope["path"])(scope, receive, send)


def install(app: FastAPI) -> None:
    """Make an application answer with problem documents alone."""
    for kind in (HolderError, PlanRefused):
        app.add_exception_handler(kind, holder_problem)
    app.add_exception_handler(RequestValidationError, validation_problem)
    app.add_exception_handler(HTTPException, http_problem)


def _validation_code(error: Mapping[str, Any], *, is_plan: bool) -> str:
    if isinstance(error.get("ctx", {}).get("error"), InvalidAmount):
        return "invalid-amount"
    if error["type"] == "too_long":
        return "too-large"
    return "invalid-plan" if is_plan and error["loc"][0] == "body" else "invalid-request"


def _detail(error: Mapping[str, Any]) -> str:
    plain = PLAIN_WORDS.get(error["type"])
    if error.get("ctx", {}).get("pattern") == NAME_PATTERN:
        return NAME_WORDS
    return plain.format_map(error.get("ctx", {})) if plain else _shortened(error["msg"].removeprefix("Value error, "))


def _path(location: Sequence[Any]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part != "body"]
    return _shortened("".join(parts).lstrip(".")) or "body"


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN_CHARACTERS_MAX else text[:TEXT_SHOWN_CHARACTERS_MAX] + "…"
