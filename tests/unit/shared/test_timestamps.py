"""A time is kept in UTC, whatever its zone, and refused where UTC has no name for it."""

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from shared.wire.timestamps import Timestamp

ADAPTER: TypeAdapter[datetime] = TypeAdapter(Timestamp)


def test_a_zone_becomes_utc() -> None:
    timestamp = ADAPTER.validate_python("2030-01-31T12:00:00+02:00")

    assert timestamp.isoformat() == "2030-01-31T10:00:00+00:00"
    assert timestamp.tzinfo is UTC


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2030-01-31T12:00:00"])
def test_what_utc_cannot_name_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(text)
