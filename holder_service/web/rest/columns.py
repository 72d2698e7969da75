"""What auditors call about derived columns of their own: made, given linked values, shown, deleted (5-decisions §1)."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import TooSlow
from holder_service.services.columns import columns
from holder_service.services.datasets import datasets
from holder_service.storage.columns import StoredColumn
from holder_service.web.edge.bodies import StrictRoute, read_bounded
from holder_service.web.edge.dependencies import PathColumn, PathDataset, TheColumnSlots, TheHolder
from holder_service.web.edge.roles import Auditor
from holder_service.web.edge.uploads import body_of, received
from holder_service.web.rest.answers import ColumnList
from holder_service.web.rest.column_documents import read_column
from holder_service.web.rest.contract import COLUMN_BODY, FILE_BODY, refusals
from shared.scores.columns import ColumnDescription
from shared.wire import limits

LINKED_READ_S: Final = 1800.0
"""How long a file of linked values may take to come."""


def _own_column(holder: TheHolder, caller: Auditor, dataset: PathDataset, column: PathColumn) -> StoredColumn:
    return columns.require_own(holder.store, auditor=caller.name, dataset=dataset, identity=column)


OwnColumn = Annotated[StoredColumn, Depends(_own_column)]
"""The caller's own derived column of the path's id; 404 for another's as for none."""

router = APIRouter(prefix="/v1/datasets/{dataset}/columns", tags=["auditor"], route_class=StrictRoute)


@router.post(
    "",
    status_code=201,
    response_model=ColumnDescription,
    responses={200: {"model": ColumnDescription, "description": "The column was made before: the same"}},
    openapi_extra={
        **COLUMN_BODY,
        **refusals("not-found", "invalid-plan", "unknown-column", "sensitive-column", "conflict", "restore-unrecorded"),
    },
)
async def make_column(
    holder: TheHolder, slots: TheColumnSlots, caller: Auditor, dataset: PathDataset, request: Request
) -> Response:
    """Make a derived column: a score, or one whose linked values follow. It costs nothing; its values take a while."""
    async with slots.taken(caller.name):
        declared = await run_in_threadpool(datasets.read_dataset, holder.store, dataset)
        body = await read_bounded(request, bytes_max=limits.COLUMN_BODY_BYTES_MAX, media_type="application/json")
        # A document of many megabytes is read apart: nothing else would be answered meanwhile.
        asked = await run_in_threadpool(
            holder.reading.for_account(caller.name).run,
            read_column,
            body,
            caller.name,
            dataset,
            declared.schema,
            holder.files.secret,
        )
        if isinstance(asked, list):
            raise RequestValidationError(asked)
        made = await run_in_threadpool(
            columns.make, holder.store, holder.files, holder.pace, auditor=caller.name, dataset=dataset, asked=asked
        )
    holder.preparation.wake()
    described = made.description
    location = {"Location": f"/v1/datasets/{dataset}/columns/{described.id}"} if made.new else None
    return Response(described.model_dump_json(), 201 if made.new else 200, location, "application/json")


@router.put(
    "/{column}/values",
    openapi_extra={**FILE_BODY, **refusals("not-found", "invalid-records", "conflict", "restore-unrecorded")},
)
async def link_values(holder: TheHolder, slots: TheColumnSlots, own: OwnColumn, request: Request) -> ColumnDescription:
    """Send the values of a linked column, CSV or Parquet with the person key and `value`: all are taken, or none.

    Keys that the holder does not know are passed over without a word, and whoever is not sent is missing.
    """
    receive = body_of(request)
    async with slots.taken(own.auditor):
        try:
            async with (
                asyncio.timeout(LINKED_READ_S),
                received(holder, receive, bytes_max=limits.LINKED_BYTES_MAX) as (upload, came, _),
            ):
                described = await run_in_threadpool(
                    columns.link, holder.store, holder.files, holder.pace, column=own, source=upload,
                    media_type=came.media_type, apart=holder.linking.for_account(own.auditor),
                )  # fmt: skip
        except TimeoutError:
            raise TooSlow(limit_s=LINKED_READ_S) from None
    holder.preparation.wake()
    return described


@router.get("", openapi_extra=refusals("not-found"))
def list_columns(holder: TheHolder, caller: Auditor, dataset: PathDataset) -> ColumnList:
    """The caller's own derived columns about a dataset, oldest first."""
    found = columns.every(holder.store, holder.files, dataset=dataset, auditor=caller.name)
    if any(column.state == "preparing" for column in found):
        holder.preparation.wake()  # the process that was at it may have been ended
    return ColumnList(columns=tuple(found))


@router.get("/{column}", openapi_extra=refusals("not-found"))
def show_column(holder: TheHolder, own: OwnColumn) -> ColumnDescription:
    """One of the caller's own derived columns."""
    found = columns.describe(holder.store, holder.files, own)
    if found.state == "preparing":
        holder.preparation.wake()
    return found


@router.delete("/{column}", status_code=204, openapi_extra=refusals("not-found", "restore-unrecorded"))
def delete_column(holder: TheHolder, own: OwnColumn) -> None:
    """Delete a derived column with its values; what was released about it stays, and is answered again."""
    columns.take_away(
        holder.store, holder.files, actor=own.auditor, dataset=own.dataset, identity=own.id, auditor=own.auditor
    )  # fmt: skip
