"""A form of the console with a file in it, written to disk as it comes: the records may be larger than memory."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import InvalidRequest
from holder_service.records.formats import RecordFormat
from holder_service.records.progress import Report
from holder_service.web.edge.uploads import MEDIA_TYPES, Received, bounded_stream

FIELD_BYTES_MAX: Final = 2000
_FILE: Final = "records"
_LISTS: Final = ("missing", "true", "false", "dates")
_SWITCHES: Final = ("only_declared", "check")
_CHOICES: Final = ("delimiter", "decimal", "encoding")


async def receive_form(
    request: Request,
    path: Path,
    *,
    bytes_max: int,
    fields: dict[str, str],
    check: Callable[[str], None],
    report: Report,
) -> Received:
    """Write the file of a form to a new file, and give what came with it: its media type, by the ending of its name.

    Args:
        fields: Empty; takes the form's other fields as they come, which stand before the file.
        check: Is given the form's token, which stands before the file, and refuses a wrong one.
        report: Is called with how much of the form has come.

    Raises:
        InvalidRequest: It is not the form of the page, or holds no file.
        ValidationError: How the file is written is not as a format can be.
        TooLargeBody: It is longer than it may be.
    """
    media_type, parameters = parse_options_header(request.headers.get("content-type", ""))
    if media_type != b"multipart/form-data" or b"boundary" not in parameters:
        raise InvalidRequest(
            "This request did not come from the form's page. Open the page and send the form from there."
        )
    with path.open("xb") as file:
        reader = _FormReader(file, fields, check)
        try:
            callbacks: Any = {name: getattr(reader, name) for name in vars(_FormReader) if name.startswith("on_")}
            parser = MultipartParser(parameters[b"boundary"], callbacks)
            async for chunk in bounded_stream(request, bytes_max, report):
                await run_in_threadpool(parser.write, chunk)
        except MultipartParseError:
            raise _unreadable() from None
    if not (reader.complete and reader.file_name):
        raise InvalidRequest("No file was sent. Choose a file of records: .csv or .parquet.")
    sent = MEDIA_TYPES[1 if reader.file_name.lower().endswith(b".parquet") else 0]
    return Received(sent, format_of(fields), check="check" in fields)


def format_of(fields: Mapping[str, str]) -> RecordFormat:
    """Return how files are written, as the fields of their form say; words stand with blanks between them.

    Raises:
        ValidationError: It is not as a format can be.
    """
    words = {name: fields[name].split() for name in _LISTS if fields.get(name, "").strip()}
    chosen = {name: fields[name] for name in _CHOICES if name in fields}
    return RecordFormat.model_validate({**words, **chosen, "only_declared": "only_declared" in fields})


class _FormReader:
    """Takes a parser's pieces: the field of the token, other short fields, and after them one file."""

    def __init__(self, file: BinaryIO, fields: dict[str, str], check: Callable[[str], None]) -> None:
        self.file_name = b""
        self.complete = False
        self._file = file
        self._fields = fields
        self._check = check
        self._header = self._value = self._name = self._text = b""
        self._in_file = False

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            options = parse_options_header(self._value)[1]
            self._name, self._text = options.get(b"name", b""), b""
            self._in_file = b"filename" in options
            if self.file_name or (self._in_file and not self._fields):
                raise _unreadable()
            self.file_name = options.get(b"filename", b"")
        self._header = self._value = b""

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._file.write(data[start:end])
        elif len(self._text) + end - start <= FIELD_BYTES_MAX:
            self._text += data[start:end]
        else:
            raise _unreadable()

    def on_part_end(self) -> None:
        if self._in_file:
            return
        name = self._name.decode("latin-1")
        if not self._fields:
            self._check(self._text.decode("latin-1"))
            name = "form_token"
        elif name not in (*_LISTS, *_SWITCHES, *_CHOICES, _FILE) or name in self._fields:
            raise _unreadable()
        try:
            self._fields[name] = self._text.decode()
        except UnicodeDecodeError:
            raise _unreadable() from None

    def on_end(self) -> None:
        self.complete = True


def _unreadable() -> InvalidRequest:
    return InvalidRequest("The form could not be read. Reload the page and send it again.")
