"""The desk's application: its pages behind its door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from auditor_client.desk import approvals, asking, audits, drafts, holders, sign_in, trainings
from auditor_client.desk.desk import Desk
from auditor_client.desk.pages import STATIC_FOLDER, DeskFailed, fault_page, fault_text
from auditor_client.desk.tasks import failed_words
from auditor_client.errors import AuditorError, NotFound, ReceiptsDamaged, SignInNeeded
from shared import look

_ROOMS: Final = (
    audits.router,
    asking.router,
    drafts.router,
    approvals.router,
    holders.router,
    sign_in.router,
    trainings.router,
)


def create_desk(desk: Desk) -> ASGIApp:
    """The application; nothing is sent to the holder before a page needs it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.state.desk = desk
    for router in _ROOMS:
        app.include_router(router, prefix=desk.door.root)
    app.include_router(sign_in.entrance)
    static = StaticFiles(directory=STATIC_FOLDER, packages=[(look.__name__, look.STATIC)])
    app.mount(f"{desk.door.root}/static", static)
    app.add_exception_handler(AuditorError, _refused)
    app.add_exception_handler(SignInNeeded, _sign_in_needed)
    app.add_exception_handler(HTTPException, _no_page)
    app.add_exception_handler(RequestValidationError, _no_page)
    app.add_exception_handler(Exception, _failed)
    return desk.door.guard(app)


def _refused(request: Request, error: Exception) -> Response:
    return fault_page(request.app.state.desk, error)


def _sign_in_needed(request: Request, error: Exception) -> Response:
    """The way to the identity provider; what is wrong, where the holder has none or does not answer.

    A page that was looked at is gone back to; forms and tasks have said themselves where to go on.
    """
    desk: Desk = request.app.state.desk
    if request.method == "GET" and "task" not in request.path_params:
        desk.back = str(request.url.replace(scheme="", netloc="")).removeprefix(desk.door.root)
    try:
        return sign_in.sign_in_page(desk, sign_in.without_command(fault_text(error)))
    except NotFound:
        return fault_page(desk, error)
    except AuditorError as worse:
        return fault_page(desk, worse)


def _no_page(request: Request, _: Exception) -> Response:
    return fault_page(request.app.state.desk, ReceiptsDamaged("This page does not exist."))


def _failed(request: Request, error: Exception) -> Response:
    """A page instead of a bare line; the terminal has the rest."""
    return fault_page(request.app.state.desk, DeskFailed(failed_words(error)))
