"""What a browser sends from the console's forms: bounded, UTF-8, no field twice."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import jiter
from fastapi import Request

from holder_service.domain.errors import InvalidRequest
from holder_service.web.edge.addresses import NUL_REFUSED
from holder_service.web.edge.bodies import read_bounded
from shared.wire import limits
from shared.wire.text import NAME_PATTERN, NAME_WORDS, NUL

FORM_TYPE: Final = "application/x-www-form-urlencoded"
FIELDS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form; blanks around a value are the typist's, not the value's.

    Each method raises `InvalidRequest` where the field is not there, or is not what it is read as.
    """

    values: Mapping[str, str]

    def text(self, name: str) -> str:
        """A field that has to be there, and may be empty."""
        if name in self.values:
            return self.values[name].strip()
        raise InvalidRequest(f"The form's field {name!r} is missing. Reload the page and send it again.")

    def name(self, name: str) -> str:
        """A new dataset's or account's name."""
        text = self.text(name)
        if re.fullmatch(NAME_PATTERN, text) and len(text) <= limits.NAME_CHARACTERS_MAX:
            return text
        raise InvalidRequest(NAME_WORDS)

    def whole_number(self, name: str) -> int:
        """A whole number of at most fifteen digits."""
        text = self.text(name)
        if re.fullmatch("[0-9]{1,15}", text):
            return int(text)
        raise InvalidRequest(f"{name} is not a whole number. Enter a whole number.")

    def timestamp(self, name: str) -> datetime | None:
        """A date and time, which the page says is in UTC; None if it is empty."""
        return read_timestamp(name, self.text(name))

    def document(self, name: str) -> Any:
        """A JSON document that somebody typed or pasted, which names no field twice."""
        try:
            return jiter.from_json(self.text(name).encode(), catch_duplicate_keys=True, allow_inf_nan=False)
        except ValueError as error:
            raise InvalidRequest(f"The {name} is not valid JSON: {error}.") from None


def one_kind(form: Form) -> dict[str, str]:
    """A limit in ε or in ρ, whichever of both fields is filled; a page from before there was ρ has none of that name.

    Raises:
        InvalidRequest: Both are, or neither.
    """
    filled = {name: form.values[name].strip() for name in ("epsilon", "rho") if form.values.get(name, "").strip()}
    if len(filled) == 1:
        return filled
    raise InvalidRequest(
        "Enter either ε or ρ, not both and not neither: the one that the population's account adds up."
    )


def read_timestamp(name: str, text: str) -> datetime | None:
    """A date and time that somebody typed where the page says that it is in UTC; None if it is empty.

    Raises:
        InvalidRequest: It is neither.
    """
    if not text:
        return None
    try:
        typed = datetime.fromisoformat(text)
    except ValueError:
        typed = None
    if typed is not None and typed.tzinfo is None:
        return typed.replace(tzinfo=UTC)
    raise InvalidRequest(f"{name} is not a valid date and time. Write it as 2027-01-31T12:00, in UTC.")


async def read_form(request: Request, *, bytes_max: int = limits.BODY_BYTES_MAX) -> Form:
    """Read a form's fields.

    Raises:
        InvalidRequest: It is no form, not UTF-8, has too many fields or one twice.
        TooLargeBody, TooSlow: As `read_bounded`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise InvalidRequest(
            "This request did not come from the form's page. Open the page and send the form from there."
        )
    body = await read_bounded(request, bytes_max=bytes_max)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict")
    except ValueError:
        raise InvalidRequest("The form could not be read. Reload the page and send it again.") from None
    if len(dict(pairs)) != len(pairs):
        raise InvalidRequest("The form contains a field twice. Reload the page and send it again.")
    if any(NUL in part for pair in pairs for part in pair):
        raise InvalidRequest(NUL_REFUSED.format("A field of the form"))
    return Form(dict(pairs))
