"""Files of records as they come in, and are loaded: the same for the REST interface and for the console."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import TooLargeBody, TooSlow, UnsupportedMediaType
from holder_service.records.formats import STRICT, RecordFormat, RecordsUrl, Upload
from holder_service.records.progress import Report, followed, unseen
from holder_service.services.datasets import datasets, url_reads
from holder_service.services.running import loads
from holder_service.services.running.holder import Holder
from holder_service.storage.store_faults import StoreUnavailable, fault_of
from shared.wire import limits

MEDIA_TYPES: Final = ("text/csv", "application/vnd.apache.parquet")
RECORD_BYTES_MAX: Final = 65_536
_log = logging.getLogger(__name__)


class Received(NamedTuple):
    """What came with a file.

    Attributes:
        media_type: One of `MEDIA_TYPES`.
        form: How it is written.
        check: Whether it is only to be checked.
    """

    media_type: str
    form: RecordFormat = STRICT
    check: bool = False


Receive = Callable[[Path, int, Report], Awaitable[Received]]
"""Writes what comes into a new file of at most so many bytes, reports how much that is, and gives what came with it."""


class Arrived(NamedTuple):
    """A file that came in.

    Attributes:
        path: Where it is kept.
        came: What came with it.
        report: Whom further work on it reports to.
    """

    path: Path
    came: Received
    report: Report


async def load_upload(holder: Holder, *, actor: str, dataset: str, receive: Receive) -> int | None:
    """Receive a file and load it as a new version of a dataset; the file is gone afterwards in any case.

    Returns:
        The number of the new version; `None` without one, for the file was only checked.

    Raises:
        NotFound, InvalidRecords, Conflict: As `services.loads.load`.
        TooLargeBody: More comes than so many records can have.
        Unavailable: The file could not be kept.
    """
    declared = await run_in_threadpool(datasets.read_dataset, holder.store, dataset)
    bytes_max = RECORD_BYTES_MAX * declared.records_max
    follow = _followed(holder, actor=actor, dataset=dataset)
    async with received(holder, receive, bytes_max=bytes_max, follow=follow) as (path, came, report):
        upload = Upload(path, came.media_type, came.form)
        if came.check:
            await run_in_threadpool(
                loads.check, holder.store, name=dataset, upload=upload, engine=holder.engine, report=report
            )
            return None
        version = await run_in_threadpool(
            loads.load,
            holder.store,
            actor=actor,
            name=dataset,
            upload=upload,
            engine=holder.engine,
            files=holder.files,
            pace=holder.pace,
            report=report,
        )
    holder.wake()
    return version


async def load_url(holder: Holder, *, actor: str, dataset: str, source: RecordsUrl, check: bool = False) -> int | None:
    """Load files that the holder reads by itself as a new version of a dataset.

    Returns:
        The number of the new version; `None` without one, for the files were only checked.

    Raises:
        NotFound, InvalidRecords, Conflict: As `services.loads.load`.
        InvalidRecords: The files do not fit. What is wrong with them is in the home alone.
        InvalidRequest: The operator does not allow the URL.
        Conflict: There were too many reads within a day.
        Unavailable: The engine cannot load now.
    """
    version = await run_in_threadpool(_load_url, holder, actor=actor, dataset=dataset, source=source, check=check)
    holder.wake()
    return version


def _load_url(holder: Holder, *, actor: str, dataset: str, source: RecordsUrl, check: bool) -> int | None:
    """Enter the read, then check or load; a check and a refusal take a time that tells a size roughly at most."""
    settings, begun_s, version = holder.settings, time.monotonic(), None
    with holder.files.in_use(), _followed(holder, actor=actor, dataset=dataset) as report:
        read = url_reads.begin(
            holder.store, actor=actor, dataset=dataset, source=source, check=check, roots=settings.roots_of_records,
            per_day=settings.records_reads_per_day,
        )  # fmt: skip
        try:
            with url_reads.errors_kept_at_home(read, settings.load_errors, now=holder.store.clock()):
                phases = url_reads.without_sizes(report)
                if check:
                    loads.check(holder.store, name=dataset, upload=read.source, engine=holder.engine, report=phases)
                else:
                    version = loads.load(
                        holder.store, actor=actor, name=dataset, upload=read.source, engine=holder.engine,
                        files=holder.files, pace=holder.pace, report=phases,
                    )  # fmt: skip
        finally:
            if version is None and settings.release_quantum_ms > 0:
                url_reads.wait_for_coarse_time(begun_s)
    return version


def _followed(holder: Holder, *, actor: str, dataset: str) -> AbstractContextManager[Report]:
    """Return whom a load reports to, so that administrators see how far it is."""
    return followed(holder.files.incoming, dataset=dataset, actor=actor, began=holder.store.clock())


@asynccontextmanager
async def received(
    holder: Holder, receive: Receive, *, bytes_max: int, follow: AbstractContextManager[Report] | None = None
) -> AsyncIterator[Arrived]:
    """A file that comes in, and what comes with it, while the holder's files are in use; it is gone afterwards.

    Args:
        holder: Keeps the file among those that come in.
        receive: Writes it.
        bytes_max: As many bytes it may have.
        follow: Gives whom the work reports to, if anybody follows it.

    Raises:
        TooLargeBody: More comes than there may be.
        Unavailable: The file could not be kept.
    """
    upload = holder.files.incoming / secrets.token_hex(16)
    try:
        with ExitStack() as stack:
            await run_in_threadpool(stack.enter_context, holder.files.in_use())
            await run_in_threadpool(upload.parent.mkdir, parents=True, exist_ok=True)
            report = unseen if follow is None else await run_in_threadpool(stack.enter_context, follow)
            try:
                came = await receive(upload, bytes_max, report)
                yield Arrived(upload, came, report)
            finally:
                with suppress(OSError):
                    await run_in_threadpool(upload.unlink)
    except OSError as error:
        fault = fault_of(error)
        _log.error("records could not be kept", extra={"error": type(error).__name__, **fault.fields})
        detail = (
            f"The holder cannot store the file: {fault.text}. Nothing was changed. Send it again after this is fixed."
        )
        raise StoreUnavailable(fault, detail=detail) from None


def body_of(request: Request, form: RecordFormat = STRICT, *, check: bool = False) -> Receive:
    """Receives a request's body, a file of records or of linked values.

    Args:
        request: The request.
        form: How the file is written.
        check: Whether it is only to be checked.

    Raises:
        UnsupportedMediaType: The content type is none of theirs, or the body is compressed.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType(
            "The body has a Content-Encoding, and compressed bodies are not unpacked. Send the file itself, without it."
        )
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise UnsupportedMediaType(
            "The content type is missing or not supported. Send the file with the content type "
            f"{MEDIA_TYPES[0]} or {MEDIA_TYPES[1]}."
        )

    async def receive(path: Path, bytes_max: int, report: Report) -> Received:
        with path.open("xb") as file:
            async for chunk in bounded_stream(request, bytes_max, report):
                await run_in_threadpool(file.write, chunk)
        return Received(media_type, form, check)

    return receive


async def bounded_stream(request: Request, bytes_max: int, report: Report) -> AsyncIterator[bytes]:
    """A body in pieces; how much of it came is reported, of what the request says that it has.

    Raises:
        TooLargeBody: More comes than there may be; nothing beyond is read.
        TooSlow: Nothing more comes for a while.
    """
    received_bytes, length = 0, request.headers.get("content-length", "")
    expected_bytes = int(length) if length.isascii() and length.isdecimal() else 0
    pieces = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(limits.BODY_READ_S):
                chunk = await anext(pieces, None)
        except TimeoutError:
            raise TooSlow(limit_s=limits.BODY_READ_S) from None
        if chunk is None:
            return
        received_bytes += len(chunk)
        if received_bytes > bytes_max:
            raise TooLargeBody(limit_bytes=bytes_max)
        yield chunk
        report("receiving", received_bytes, expected_bytes)
