"""A form of the console with a file in it, written to disk as it comes: the records may be larger than memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import InvalidRequest
from holder_service.web.edge.uploads import MEDIA_TYPES, bounded_stream

TOKEN_BYTES_MAX: Final = 200


async def receive_form(request: Request, path: Path, *, bytes_max: int, check: Callable[[str], None]) -> str:
    """Write the file of a form to a new file, and give its media type, by the ending of its name.

    Args:
        check: Is given the form's token, which stands before the file, and refuses a wrong one.

    Raises:
        InvalidRequest: It is not the form of the page, or holds no file.
        TooLargeBody: It is longer than it may be.
    """
    media_type, parameters = parse_options_header(request.headers.get("content-type", ""))
    if media_type != b"multipart/form-data" or b"boundary" not in parameters:
        raise InvalidRequest("Send the form from its page.")
    with path.open("xb") as file:
        reader = _FormReader(file, check)
        try:
            callbacks: Any = {name: getattr(reader, name) for name in vars(_FormReader) if name.startswith("on_")}
            parser = MultipartParser(parameters[b"boundary"], callbacks)
            async for chunk in bounded_stream(request, bytes_max):
                await run_in_threadpool(parser.write, chunk)
        except MultipartParseError:
            raise InvalidRequest("The form could not be read: load the page again.") from None
    if reader.complete and reader.file_name:
        return MEDIA_TYPES[1 if reader.file_name.lower().endswith(b".parquet") else 0]
    raise InvalidRequest("Choose a file with records: .csv or .parquet.")


class _FormReader:
    """Takes a parser's pieces: the field of the token, and after it one file."""

    def __init__(self, file: BinaryIO, check: Callable[[str], None]) -> None:
        self.file_name = b""
        self.complete = False
        self._file = file
        self._check = check
        self._checked = False
        self._header = self._value = self._token = b""
        self._in_file = False

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            options = parse_options_header(self._value)[1]
            self._in_file = b"filename" in options
            if self._in_file and not (self._checked and self.file_name == b""):
                raise InvalidRequest("The form could not be read: load the page again.")
            self.file_name = options.get(b"filename", b"")
        self._header = self._value = b""

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._file.write(data[start:end])
        elif not self._checked and len(self._token) + end - start <= TOKEN_BYTES_MAX:
            self._token += data[start:end]
        else:
            raise InvalidRequest("The form could not be read: load the page again.")

    def on_part_end(self) -> None:
        if not self._in_file:
            self._check(self._token.decode("latin-1"))
            self._checked = True

    def on_end(self) -> None:
        self.complete = True
