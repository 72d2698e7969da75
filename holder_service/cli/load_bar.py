"""How far a load is, in a terminal: what was sent of the file, and then what the holder does with it.

Where standard error is no terminal nothing is shown and nobody is asked.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from holder_service.cli.calls import chunks
from holder_service.cli.output import ERRORS

if TYPE_CHECKING:
    import httpx

ASKED_EVERY_S: Final = 1.0
SENDING: Final = "Sending the file"
WORDS: Final[Mapping[str, str]] = {
    "receiving": SENDING,
    "reading": "Reading and checking",
    "comparing-keys": "Looking for equal keys",
    "encoding": "Encoding and writing",
    "joining-keys": "Joining keys",
}


class LoadBar:
    """A bar in a terminal for one load of a dataset.

    Args:
        path: Where the holder lists the loads of the dataset that are under way.
        show: Shows a phase, and how much of it is done, in per cent; `None` if nobody knows.
    """

    def __init__(self, path: str, show: Callable[[str, float | None], None]) -> None:
        self._path = path
        self._show = show
        self._sent = True

    async def sending(self, file: BinaryIO, size: int | None) -> AsyncIterator[bytes]:
        """A file in pieces, to be sent as it is read."""
        self._sent, sent = False, 0
        async for chunk in chunks(file):
            self._show(SENDING, 100 * sent / size if size else None)
            yield chunk
            sent += len(chunk)
        self._sent = True

    async def follow(self, client: "httpx.AsyncClient", headers: dict[str, str]) -> None:
        """Ask again and again how far the holder is, until this is cancelled or there is nobody to ask."""
        import httpx

        while True:
            await asyncio.sleep(ASKED_EVERY_S)
            try:
                answer = await client.get(self._path, headers=headers)
                loads = answer.json()["loads"] if answer.is_success else []
                if answer.status_code == httpx.codes.NOT_FOUND:  # an older holder
                    return
                # Of several at once the one that began last; what was sent is known better here.
                if loads and self._sent:
                    self._show(WORDS[loads[-1]["phase"]], loads[-1]["percent"])
            except (httpx.HTTPError, KeyError, TypeError, ValueError):  # how the load ends is answered elsewhere
                return


def followed(path: str, console: Console = ERRORS) -> AbstractContextManager[LoadBar | None]:
    """A bar until the context ends; `None` where there is no terminal.

    Args:
        path: Where the holder lists the loads of the dataset that are under way.
        console: What is written to.
    """
    return _bar(path, console) if console.is_terminal else nullcontext()


@contextmanager
def _bar(path: str, console: Console) -> Iterator[LoadBar]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Waiting for the holder", total=None)

        def show(phase: str, percent: float | None) -> None:
            known: dict[str, Any] = {} if percent is None else {"completed": percent}
            progress.update(task, description=phase, total=None if percent is None else 100, **known)

        yield LoadBar(path, show)
