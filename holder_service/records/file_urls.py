"""URLs of files that holder and cluster both reach, by pyarrow: on this machine, on HDFS, S3 and others."""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

COPIED_BYTES = 2**22


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it; Spark's name for S3 is understood too.

    Raises:
        pyarrow.ArrowInvalid, OSError: It does not exist.
    """
    if url.startswith(("s3a://", "s3n://")):
        url = "s3" + url[3:]
    if url.startswith("file:"):
        return pa.fs.LocalFileSystem(), unquote(urlsplit(url).path)
    found: tuple[Any, str] = pa.fs.FileSystem.from_uri(url)
    return found


def local_path(url: str) -> Path | None:
    """The path of a URL on this machine; `None` if it is elsewhere."""
    return Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None


def fetched(url: str, destination: Path) -> Path:
    """A file as one on this machine: itself if it is there, else a copy."""
    path = local_path(url)
    if path is not None:
        return path
    system, name = file_system(url)
    with system.open_input_stream(name) as source, destination.open("xb") as file:
        shutil.copyfileobj(source, file, COPIED_BYTES)
    return destination


def put(source: Path, url: str) -> None:
    """Copy a file of this machine to a URL."""
    system, name = file_system(url)
    system.create_dir(name.rpartition("/")[0], recursive=True)
    with source.open("rb") as file, system.open_output_stream(name) as destination:
        shutil.copyfileobj(file, destination, COPIED_BYTES)


def names_in(url: str) -> list[str]:
    """The names in a folder; none if there is no folder."""
    system, name = file_system(url)
    found = system.get_file_info(pa.fs.FileSelector(name, allow_not_found=True))
    return [one.base_name for one in found]


def remove(url: str) -> None:
    """Take a folder or a file away, if it is there."""
    system, name = file_system(url)
    kind = system.get_file_info(name).type
    if kind == pa.fs.FileType.Directory:
        system.delete_dir(name)
    elif kind == pa.fs.FileType.File:
        system.delete_file(name)
