"""How the desk's pages are made: templates that escape everything, and what handlers have in common."""

import functools
import hashlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from auditor_client.desk.desk import Desk, SentForm
from auditor_client.desk.fields import in_labels
from auditor_client.errors import (
    AuditorError,
    HolderLied,
    HolderRefused,
    HolderUnavailable,
    NotFound,
    ReceiptsDamaged,
)
from auditor_client.report.rehearsal import charge_words, rehearsal_line
from auditor_client.report.view import without_direction
from auditor_client.text import loss_words, readable
from shared.contract.datasets import DatasetDescription
from shared.look import STYLES
from shared.wire.text import NUL

STATIC_FOLDER: Final = Path(__file__).parent / "static"
FIELD_BYTES_MAX: Final = 64 * 1024
FIELDS_MAX: Final = 200
FILES_MAX: Final = 4
SECTIONS: Final = {
    "Audits": "", "New audit": "/new", "Trainings": "/trainings", "Budgets": "/budgets", "Receipts": "/receipts",
    "Bundles": "/bundles",
}  # fmt: skip
"""The desk's pages, and where they are."""


class FormRefused(AuditorError):
    """A form is not one that this desk gave out."""


class TextRefused(AuditorError):
    """A form has a text that nothing can hold; answered as what cannot be processed."""


class DeskFailed(AuditorError):
    """The desk has a fault of its own."""


def the_desk(request: Request) -> Desk:
    """The process's desk."""
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(the_desk)]


async def sent_form(request: Request, desk: TheDesk) -> AsyncIterator[SentForm]:
    """The form of a request; its files are open until it is answered.

    Raises:
        FormRefused: It is another page's, or cannot be read.
        TextRefused: A text or a file's name has a NUL.
    """
    try:
        form = await request.form(max_files=FILES_MAX, max_fields=FIELDS_MAX, max_part_size=FIELD_BYTES_MAX)
    except HTTPException as error:
        raise FormRefused("The form could not be read: load the page again.") from error
    try:
        if not desk.door.is_own_form(form.get("form_token")):
            raise FormRefused("This form does not come from this desk. Load the page again, and send it from there.")
        if any(NUL in part for name, value in form.multi_items() for part in (name, _name_or_text(value))):
            raise TextRefused("A field or a file's name has a NUL character. Go back and remove it.")
        yield _sent(form)
    finally:
        await form.close()


def _name_or_text(value: UploadFile | str) -> str:
    return value if isinstance(value, str) else value.filename or ""


def _sent(form: FormData) -> SentForm:
    texts = [(name, value) for name, value in form.multi_items() if isinstance(value, str) and name != "form_token"]
    chosen = {name: tuple(value for other, value in texts if other == name) for name, _ in texts}
    files = {name: value for name, value in form.multi_items() if isinstance(value, UploadFile) and value.size}
    return SentForm(dict(texts), chosen, files)


Sent = Annotated[SentForm, Depends(sent_form)]


def section_of(path: str) -> str:
    """The section that a path is in; what is in no other is among the audits."""
    return next(name for name, root in reversed(SECTIONS.items()) if path.startswith(root))


def page(
    desk: Desk, template: str, *, section: str = "", status: int = 200, about: DatasetDescription | None = None,
    **context: Any,
) -> HTMLResponse:  # fmt: skip
    """A page from a template's file; every text is escaped. What is `about` a rehearsal is marked before all else."""
    rehearsal = None if about is None or about.rehearsal is None else rehearsal_line(about.rehearsal)
    made = _environment().get_template(template).render(
        root=desk.door.root, form_token=desk.door.form_token, section=section, sections=SECTIONS,
        holder=desk.settings.holder_url, receipts=desk.kept.receipts.directory, rehearsal=rehearsal,
        signs_in=desk.settings.key is None, **context,
    )  # fmt: skip
    return HTMLResponse(made, status)


def go(desk: Desk, path: str) -> Response:
    """The way to another page, after a form was taken."""
    return RedirectResponse(f"{desk.door.root}{path}", HTTPStatus.SEE_OTHER)


def fault_page(desk: Desk, error: Exception) -> Response:
    """A page that says what went wrong and what to do."""
    return page(desk, "fault.html.j2", status=_status(error), fault=fault_text(error))


def fault_text(error: Exception) -> str:
    """An error's text, with the labels of the fields that it names."""
    return readable(in_labels(str(error)))


def _status(error: Exception) -> HTTPStatus:
    match error:
        case FormRefused():
            return HTTPStatus.FORBIDDEN
        case DeskFailed():
            return HTTPStatus.INTERNAL_SERVER_ERROR
        case NotFound() | ReceiptsDamaged():
            return HTTPStatus.NOT_FOUND
        case HolderUnavailable() | HolderLied() | HolderRefused():
            return HTTPStatus.BAD_GATEWAY
    return HTTPStatus.UNPROCESSABLE_ENTITY


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=without_direction,
    )  # fmt: skip
    environment.filters["in_labels"] = in_labels
    environment.globals.update(
        stylesheets=[_versioned(STYLES), _versioned(STATIC_FOLDER / "desk.css")],
        icon=_versioned(STATIC_FOLDER / "icon.svg"), loss=loss_words, charge_words=charge_words,
    )  # fmt: skip
    return environment


def _versioned(file: Path) -> str:
    """The path of a static file below the desk's root, with its content's digest."""
    return f"/static/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
