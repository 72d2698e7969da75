"""Files of records at a URL, cut into parts that workers read by themselves: stretches of lines, or row groups."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from holder_service.domain.errors import InvalidRecords
from holder_service.records.file_urls import COPIED_BYTES, file_system, local_path
from holder_service.settings.holder import RecordsRoot

SPLIT_BYTES: Final = 2**26
MEDIA_TYPES: Final = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file.

    Attributes:
        file: The file's name, for people.
        url: Where it is.
        media_type: Of the file.
        begin, end: Of CSV the bytes from whose first line on it is, up to the line that the last of them is in; of
            Parquet its row groups.
    """

    file: str
    url: str
    media_type: str
    begin: int
    end: int

    @classmethod
    def of(cls, text: str) -> "FilePart":
        """From the text that `text` gave."""
        return cls(**json.loads(text))

    @property
    def text(self) -> str:
        """It as a line of text."""
        return json.dumps(asdict(self))


class FetchedPart(NamedTuple):
    """A split as a file of this machine.

    Attributes:
        path: A file as whole ones are.
        media_type: Of the file.
        lines: How many lines of the whole file it has, or records; of a file that is one split nobody asks.
    """

    path: Path
    media_type: str
    lines: int = 0


class SourceFile(NamedTuple):
    """A file of records.

    Attributes:
        name: For people.
        url: Where it is.
        media_type: By the ending of its name.
    """

    name: str
    url: str
    media_type: str


def files_of(url: str) -> list[SourceFile]:
    """A file, or all files in a folder by name; what begins with a dot or an underscore is none, as in any lake.

    Raises:
        InvalidRecords: There is no such file, none in the folder, or one that is neither CSV nor Parquet.
    """
    with _readable():
        system, path = file_system(url)
        found = system.get_file_info(path)
        if found.type == pa.fs.FileType.File:
            return [_source_file(found.base_name, url)]
        selected = pa.fs.FileSelector(path, recursive=True)
        inside = system.get_file_info(selected) if found.type == pa.fs.FileType.Directory else []
    names = sorted(one.path[len(path) :].strip("/") for one in inside if one.type == pa.fs.FileType.File)
    files = [
        _source_file(name, f"{url.rstrip('/')}/{quote(name) if url.startswith('file:') else name}")
        for name in names
        if not any(part[0] in "._" for part in name.split("/"))
    ]
    if not files:
        raise InvalidRecords("This URL does not have a file of records. Check the URL.")
    return files


def splits_of(url: str, *, split_bytes: int = SPLIT_BYTES) -> list[FilePart]:
    """All parts of a file, or of all files in a folder, in the order of their names.

    Raises:
        InvalidRecords: As `files_of`; or a file cannot be read as what it says it is.
    """
    with _readable():
        return [split for file in files_of(url) for split in _cut(file, split_bytes)]


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError):  # a text might quote a file
        raise InvalidRecords("The holder cannot read what is at this URL as files of records.") from None


def _source_file(name: str, url: str) -> SourceFile:
    media_type = MEDIA_TYPES.get(Path(name).suffix.lower())
    if media_type is None:
        raise InvalidRecords(f"{name}: files of records end in .csv or .parquet.")
    return SourceFile(name, url, media_type)


def _cut(file: SourceFile, split_bytes: int) -> Iterator[FilePart]:
    system, path = file_system(file.url)
    if file.media_type == MEDIA_TYPES[".csv"]:
        size = system.get_file_info(path).size
        for begin in range(0, max(size, 1), split_bytes):
            yield FilePart(*file, begin, min(begin + split_bytes, size))
        return
    with system.open_input_file(path) as content:
        groups = pa.parquet.ParquetFile(content).metadata.num_row_groups
    for group in range(max(groups, 1)):
        yield FilePart(*file, group, min(group + 1, groups))


def fetched_split(split: FilePart, folder: Path) -> FetchedPart:
    """Read one part into a file of a folder: CSV with the header in front, Parquet with the same columns."""
    path = folder / "part"
    system, name = file_system(split.url)
    with system.open_input_file(name) as source:
        if split.media_type == MEDIA_TYPES[".csv"]:
            return FetchedPart(path, split.media_type, _copy_lines(source, split, path))
        with pa.parquet.ParquetFile(source) as whole:
            table = whole.read_row_groups(list(range(split.begin, split.end)))
        pa.parquet.write_table(table, path, compression="none")
    return FetchedPart(path, split.media_type, len(table))


def _copy_lines(source: Any, split: FilePart, path: Path) -> int:
    """Copy the header, and all lines that begin within a split; how many lines begin there, the header's included.

    A line is that of the split in which its first byte is.
    """
    lines = 0
    with path.open("xb") as file:
        if split.begin:
            source.seek(0)
            header = _line(source)
            file.write(header if header.endswith(b"\n") else header + b"\n")
            source.seek(split.begin - 1)
            _line(source)
        else:
            source.seek(0)
        while (at := source.tell()) < split.end:
            piece = source.read(min(COPIED_BYTES, split.end - at))
            file.write(piece)
            lines += piece.count(b"\n")
            if source.tell() >= split.end and not piece.endswith(b"\n"):
                rest = _line(source)
                file.write(rest)
                lines += 1
    return lines


def _line(source: Any) -> bytes:
    """Return what is left of a line, with its end."""
    parts = []
    while piece := source.read(2**16):
        at = piece.find(b"\n")
        if at >= 0:
            source.seek(source.tell() - len(piece) + at + 1)
            parts.append(piece[: at + 1])
            break
        parts.append(piece)
    return b"".join(parts)


def admitted(url: str, roots: Sequence[RecordsRoot]) -> tuple[str, RecordsRoot] | None:
    """A URL in the form that roots have, and the root that it is under, if there is one.

    A link of this machine leads where it leads. What cannot be a path, such as a text with a NUL, is under no root.
    """

    def plain(one: str) -> str:
        path = local_path(one)
        return (path.resolve().as_uri() if path is not None else one).rstrip("/")

    decoded = unquote(url)
    if ".." in decoded.split("/") or "?" in url or "#" in url or not decoded.isprintable():
        return None
    try:
        asked = plain(url)
    except ValueError:
        return None
    for root in roots:
        if asked == (folder := plain(root.url)) or asked.startswith(f"{folder}/"):
            return asked, root
    return None
