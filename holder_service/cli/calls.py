"""Calls of the REST interface from a command: of a running holder, or of this machine's own in this process."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, NoReturn, TypeAlias
from urllib.parse import quote

import typer

from holder_service.cli.output import notify
from holder_service.files.durable import durable_file

if TYPE_CHECKING:
    import httpx

    from holder_service.services.running.holder import Holder

Url = Annotated[
    str, typer.Option(envvar="HOLDER_URL", help="The address of a running holder \\[this machine's holder].")
]
AdminKey = Annotated[
    str,
    typer.Option(
        "--key",
        envvar="HOLDER_ADMIN_KEY",
        help="An administrator's key or token. Prefer the environment variable: other users can see arguments.",
    ),
]
Locate = Callable[[str, str], str]
"""From the path of a field and what is wrong with it to what whoever wrote it is told."""
Follow: TypeAlias = "Callable[[httpx.AsyncClient, dict[str, str]], Coroutine[Any, Any, None]]"
"""What is done beside a call, with its client and the headers that show the key."""
UPLOAD_TIMEOUT_S: Final = 3600.0
CALL_TIMEOUT_S: Final = 60.0
UPLOAD_CHUNK_BYTES: Final = 1 << 20
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def call(
    method: str, path: str, url: str, key: str, *,
    media: str | None = None, size: int | None = None, locate: Locate | None = None, follow: "Follow | None" = None,
    **request: Any,
) -> Any:  # fmt: skip
    """Make one call, of a running holder or of this machine's own; a refusal ends the command with its text.

    Of content that is sent as it is read, `size` says how many bytes it has. What follows it is begun with the call, is
    given the client and the key's header, and is cancelled when the call has ended.
    """
    answer = _answer(method, path, url, key, media=media, size=size, follow=follow, **request)
    return _document(answer, url, locate)


def download(path: str, url: str, key: str, into: BinaryIO, **request: Any) -> None:
    """Write what a call answers into a file, as it comes."""
    answer = _answer("GET", path, url, key, into=into, **request)
    if not answer.is_success:
        _document(answer, url)


def path_of(*segments: str) -> str:
    """A path of the administrator's calls, with names in it as they are."""
    return "/v1/admin/" + "/".join(quote(segment, safe="") for segment in segments)


async def chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    """A file in pieces, to be sent as it is read."""
    while chunk := file.read(UPLOAD_CHUNK_BYTES):
        yield chunk


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is there once it is whole: what ends the command before that leaves none."""
    if path.exists():
        fail(f"{path} is there already; name a new file.")
    with durable_file(path) as written:
        yield written


def report_format(file: Path) -> str:
    """Return what a report's file is written as, by the ending of its name; any other ending ends the command."""
    if file.suffix not in (".html", ".json"):
        named = file.suffix or file.name
        fail(f"Name a report's file .html or .json, not {named}. A PDF is printed from the page, by a browser.")
    return file.suffix.removeprefix(".")


def own_holder() -> "AbstractContextManager[Holder]":
    """This machine's own holder, until the context ends."""
    from holder_service.services.running.holder import Holder
    from holder_service.settings.holder import Settings

    return closing(Holder.open(Settings.from_environment()))


@contextmanager
def clear_errors(*own: type[Exception]) -> Iterator[None]:
    """End the command with one line where something is not as it has to be; also on errors of the command's own."""
    import httpx

    from holder_service.domain.errors import HolderError
    from holder_service.files.set_up_errors import SetUpError
    from holder_service.storage.store_faults import StoreUnavailable

    expected: tuple[type[Exception], ...] = (HolderError, SetUpError, *own)
    try:
        yield
    except StoreUnavailable as error:
        fail(error.for_operator)
    except expected as error:
        fail(str(error))
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        fail("HOLDER_URL, or --url, takes the address of a running holder, such as http://127.0.0.1:8080.")
    except httpx.HTTPError as error:
        fail(f"The holder does not answer: {type(error).__name__}. Is it running, and at the address in HOLDER_URL?")
    except OSError as error:
        # Of a copy that failed, the file that could not be written is the second.
        fail(f"{error.strerror or error}: {error.filename2 or error.filename or ''}")


def fail(text: str) -> NoReturn:
    """Say why, and end with 2."""
    notify(text)
    raise typer.Exit(2)


def require_yes(question: str, otherwise: str) -> None:
    """Ask somebody; whatever is not a yes ends the command, and so does nobody's being there."""
    try:
        said = input(f"{question} [y/N]: ")
    except EOFError:  # nobody is there to be asked
        said = ""
    if said.strip().lower() not in ("y", "yes"):
        fail(otherwise)


def _answer(
    method: str, path: str, url: str, key: str, *, media: str | None = None, size: int | None = None, **request: Any
) -> "httpx.Response":
    import httpx

    from holder_service.settings.holder import require_known
    from holder_service.settings.secrets import secret

    with clear_errors():
        require_known(os.environ)
        key = key or secret(os.environ, "HOLDER_ADMIN_KEY") or ""
    if not re.fullmatch("[!-~]+", key):
        fail("Give an administrator's key in HOLDER_ADMIN_KEY or HOLDER_ADMIN_KEY_FILE (holder init prints the first).")
    headers = {"Authorization": f"Bearer {key}", **({"Content-Type": media} if media else {})}
    if size is not None:
        headers["Content-Length"] = str(size)
    with clear_errors():
        if httpx.URL(url).scheme == "http" and httpx.URL(url).host not in LOOPBACK:
            fail(f"{url} would send the administrator's key unencrypted to another machine: use https.")
        return asyncio.run(_request(url, method, path, headers=headers, **request))


def _document(answer: "httpx.Response", url: str, locate: Locate | None = None) -> Any:
    """Return what an answer says; a refusal ends the command."""
    from holder_service.domain.errors import fault_text

    try:
        document = answer.json() if answer.content else {}
        refusal = None if answer.is_success else _said(document, locate or fault_text)
    except (KeyError, TypeError, ValueError):
        refusal = f"The server at {url} is not a holder. Check the address."
    if refusal is not None:
        fail(refusal)
    return document


def _said(document: dict[str, Any], locate: Locate) -> str:
    """Return what a problem document says: all that is wrong, a line each."""
    lines = [locate(one["field"], one["detail"]) for one in document.get("errors", ())]
    if len(lines) < 2:
        return lines[0] if lines else str(document["detail"])
    return "\n".join([f"{document['title']}:", *(f"  {line}" for line in lines)])


async def _request(
    url: str,
    method: str,
    path: str,
    *,
    into: BinaryIO | None = None,
    follow: "Follow | None" = None,
    **request: Any,
) -> "httpx.Response":
    async with (
        _client(url) as client,
        _followed(follow, client, request["headers"]),
        client.stream(method, path, **request) as answer,
    ):
        if into is None or not answer.is_success:
            await answer.aread()
        else:
            async for chunk in answer.aiter_bytes():
                into.write(chunk)
    return answer


@asynccontextmanager
async def _followed(
    follow: "Follow | None", client: "httpx.AsyncClient", headers: dict[str, str]
) -> AsyncIterator[None]:
    if follow is None:
        yield
        return
    following = asyncio.create_task(follow(client, {"Authorization": headers["Authorization"]}))
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


@asynccontextmanager
async def _client(url: str) -> "AsyncIterator[httpx.AsyncClient]":
    import httpx

    timeout = httpx.Timeout(CALL_TIMEOUT_S, read=UPLOAD_TIMEOUT_S)
    if url:
        async with httpx.AsyncClient(base_url=url, timeout=timeout) as client:
            yield client
        return
    from holder_service.app import create_app

    app = create_app()
    transport = httpx.ASGITransport(app)
    with closing(app.state.holder):
        async with httpx.AsyncClient(transport=transport, base_url="http://holder", timeout=timeout) as client:
            yield client
