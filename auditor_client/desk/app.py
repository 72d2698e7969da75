"""The desk's application: its pages behind its door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from auditor_client.desk import asking, audits, holders
from auditor_client.desk.desk import Desk
from auditor_client.desk.pages import STATIC_FOLDER, fault_page
from auditor_client.errors import AuditorError, ReceiptsDamaged
from shared import look

_ROOMS: Final = (audits.router, asking.router, holders.router)


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
    static = StaticFiles(directory=STATIC_FOLDER, packages=[(look.__name__, look.STATIC)])
    app.mount(f"{desk.door.root}/static", static)
    app.add_exception_handler(AuditorError, _refused)
    app.add_exception_handler(HTTPException, _no_page)
    app.add_exception_handler(RequestValidationError, _no_page)
    return desk.door.guard(app)


def _refused(request: Request, error: Exception) -> Response:
    return fault_page(request.app.state.desk, error)


def _no_page(request: Request, _: Exception) -> Response:
    return fault_page(request.app.state.desk, ReceiptsDamaged("There is no such page."))
