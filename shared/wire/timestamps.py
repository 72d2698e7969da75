"""Times as callers write them: with their zone, kept in UTC."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime


def in_utc(timestamp: datetime) -> datetime:
    """The same time in UTC, so that whoever shows or compares it need not ask for its zone.

    Raises:
        ValueError: In UTC it lies before the year 1 or after 9999.
    """
    try:
        return timestamp.astimezone(UTC)
    except OverflowError:
        raise ValueError("A time lies between the years 1 and 9999, in UTC.") from None


Timestamp = Annotated[AwareDatetime, AfterValidator(in_utc)]
"""A date and time in ISO 8601, with a zone."""
