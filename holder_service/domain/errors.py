"""The holder's errors: a code and fields each, no status numbers and nothing derived from records.

`web/edge/problems.py` alone knows what status a code has. Every text says what to do next.
"""

from datetime import datetime
from typing import Any, ClassVar

from shared.privacy.amounts import Loss


class HolderError(Exception):
    """The base of everything that the holder refuses or cannot do.

    Attributes:
        code: The stable problem code (`shared.wire.problems.TITLES`).
        detail: For the caller: what is wrong and what to do.
        fields: Further members of the problem document, JSON values.
    """

    code: ClassVar[str] = "internal"

    def __init_subclass__(cls, code: str | None = None) -> None:
        cls.code = code or cls.code

    def __init__(self, detail: str, **fields: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        """As pickled by a process that works apart: made without the arguments of its class, which are its own."""
        return _again, (type(self), self.detail), vars(self)


def fault_text(field: str, detail: str) -> str:
    """Return what is wrong with a part of what was sent, behind its name; with all of it, what is wrong alone."""
    return detail if field in ("body", "file") else f"{field}: {detail}"


def _again(kind: type[HolderError], detail: str) -> HolderError:
    """An unpickled error, before its fields are set."""
    return kind.__new__(kind, detail)


class Unauthenticated(HolderError, code="unauthenticated"):
    """No key or token, or none that is known, in force and not withdrawn."""

    def __init__(
        self,
        detail: str = "Send a valid key as `Authorization: Bearer <key>`; keys come from the holder's administrator.",
    ) -> None:
        super().__init__(detail)


class Forbidden(HolderError, code="forbidden"):
    """The key's role does not allow the call."""


class NotFound(HolderError, code="not-found"):
    """Nothing of that name, or nothing that the caller may see."""


class InvalidRequest(HolderError, code="invalid-request"):
    """A call's parameters are not of the form that it takes."""


class UnsupportedMediaType(HolderError, code="unsupported-media-type"):
    """A body is of another media type than the call takes."""


class TooLargeBody(HolderError, code="too-large"):
    """A body exceeds its limit; refused before it is read to the end."""

    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(f"The body exceeds {limit_bytes} bytes; send less at once.", limit_bytes=limit_bytes)


class TooManyParts(HolderError, code="too-large"):
    """A body holds more lists and objects than any request needs; refused before it is read as JSON."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"The body holds more than {limit} lists and objects; send less at once.", limit=limit)


class TooSlow(HolderError, code="too-slow"):
    """A body does not come in time."""

    def __init__(self, *, limit_s: float) -> None:
        super().__init__(f"The body did not come within {limit_s:g} seconds; nothing was done. Send it again.")


class _Exhausted(HolderError):
    whose: ClassVar[str]

    def __init__(self, *, requested: Loss, remaining: Loss, blocks: str | None = None) -> None:
        where = "" if blocks is None else f" for people of {blocks}"
        other = "" if blocks is None else ", ask about other blocks"
        super().__init__(
            f"What you ask costs {requested}{where} and {self.whose} has {remaining} left{where and ' there'}. "
            f"Lower epsilon{other}, or ask the holder's administrator for more.",
            requested=requested.document(),
            remaining=remaining.document(),
            **({} if blocks is None else {"blocks": blocks}),
        )
        self.requested = requested
        self.remaining = remaining


class BudgetExhausted(_Exhausted, code="budget-exhausted"):
    """The loss of what is asked exceeds what the auditor's account has left."""

    whose = "your budget"


class CapExhausted(_Exhausted, code="cap-exhausted"):
    """The loss of what is asked exceeds what the population's cap over all auditors has left."""

    whose = "the population's cap over all auditors"


class ApprovalDeclined(HolderError, code="approval-declined"):
    """What is asked needs an approval, and a budget officer declined it: that stands until the request expires."""

    def __init__(self, *, reason: str, decided: datetime, expires: datetime) -> None:
        super().__init__(
            f"The holder declined this: {reason.rstrip('.')}. Nothing was charged. Ask something else, or talk to the "
            f"holder, who can change the decision until {expires:%Y-%m-%d %H:%M} UTC.",
            reason=reason,
            decided=decided.isoformat(),
            expires=expires.isoformat(),
        )


class VersionGone(HolderError, code="version-gone"):
    """A plan or training pins a version of the records that is neither current nor already answered."""


class NoRecords(HolderError, code="no-records"):
    """A dataset is declared but its records are not loaded."""


class AlreadyCharged(HolderError, code="already-charged"):
    """A relation, person key or sensitive column can no longer change, because a loss was charged in its terms."""


class Conflict(HolderError, code="conflict"):
    """What is asked contradicts what is recorded."""


class InvalidRecords(HolderError, code="invalid-records"):
    """A file of records does not fit the declaration; names line and column, never a value."""


class ColumnNotReady(HolderError, code="column-not-ready"):
    """A plan names a derived column before its values are there: a public time."""


class RateLimited(HolderError, code="rate-limited"):
    """Too much was asked in too short a time; waiting helps."""


class RestoreUnrecorded(HolderError, code="restore-unrecorded"):
    """The database lacks the entry that the anchor holds: it was rolled back."""


class Unavailable(HolderError, code="unavailable"):
    """The store does not answer now; nothing was charged that was not answered, and a retry is safe."""
