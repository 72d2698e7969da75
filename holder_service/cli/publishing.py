"""The command that writes what a holder publishes, as a folder of static pages for any web server."""

import ctypes
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from holder_service.cli.calls import clear_errors, fail, own_holder
from holder_service.cli.output import notify
from holder_service.files.durable import sync_folder

commands = typer.Typer()
LIST: Final = "publication.json"
"""The file by which a folder is known that this command wrote: it lists every other one."""
FORMAT: Final = "pafer-publication/1"
_HERE: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE


@commands.command("publish")
def publish(
    folder: Annotated[
        Path, typer.Argument(help="A new folder, or a folder that this command wrote and nobody changed.")
    ],
    bundles: Annotated[
        list[Path] | None, typer.Argument(help="Folder of evidence bundles that auditors published, to check and show.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Publish only this dataset; repeat for several \\[all datasets, retired ones too]."),
    ] = None,
) -> None:
    """Write every dataset's transparency report as static pages for the public. Replaces the whole folder.

    Adds the bundles that auditors published, after their signatures, figures and ledger entries are checked.
    """
    from holder_service.services.running.publication import publication
    from holder_service.web.console.publication import public_pages

    with clear_errors():
        _require_own(folder)
        with tempfile.TemporaryDirectory() as room, own_holder() as own:
            published = publication(
                own.store, organisation=own.settings.organisation, bundles=tuple(bundles or ()),
                only=tuple(dict.fromkeys(dataset or ())), room=Path(room),
            )  # fmt: skip
            with _replacing(folder) as written:
                _write(written, public_pages(own.store, published))
    shown = f", {len(published.answers)} published by auditors" if published.answers else ""
    notify(f"{len(published.reports)} datasets{shown}: open {folder / 'index.html'}.")


def _require_own(folder: Path) -> None:
    """End the command where there is anything that it did not write."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        fail(f"{folder} is not a folder. Name a new one.")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if not found:
        return
    try:
        listed = json.loads((folder / LIST).read_bytes())
        written = {LIST, *listed["files"]} if listed["format"] == FORMAT else set()
    except (OSError, ValueError, KeyError, TypeError):
        written = set()
    if found - written:
        fail(
            f"{min(found - written)} in {folder} was not written by this command. Name a new folder, or move the "
            "file away."
        )


def _write(folder: Path, pages: Iterable[tuple[str, bytes]]) -> None:
    """Write files that everybody may read, though what a holder writes is otherwise for its owner alone."""
    names = []
    for name, content in pages:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        names.append(name)
    (folder / LIST).write_text(json.dumps({"format": FORMAT, "files": sorted(names)}, indent=1), encoding="utf-8")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A folder to write, which takes the name of another once it is whole; an error before that leaves the other."""
    partial = folder.absolute().with_name(f".{folder.absolute().name}-{secrets.token_hex(8)}")
    partial.mkdir()
    try:
        yield partial
        if not folder.exists():
            partial.rename(folder)
        elif not _exchanged(partial, folder):
            earlier = partial.with_name(f"{partial.name}-earlier")
            folder.rename(earlier)
            partial.rename(folder)
            earlier.rename(partial)
        sync_folder(folder.absolute().parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders were given each other's name in one step, which Linux can do on most file systems."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    return exchange is not None and exchange(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
