"""The problems that both sides know: a stable code, a title and what it means (RFC 9457, 4-interface).

The holder turns each of its errors into a document, and the auditor's client turns it back into an error
of its own; they agree on the code, the last part of `type`. No document holds anything derived from records.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ConfigDict

from shared.wire.request_model import ContractModel

PROBLEM_TYPE_BASE: Final = "/problems/"
PROBLEM_MEDIA_TYPE: Final = "application/problem+json"

TITLES: Final[Mapping[str, str]] = {
    "unauthenticated": "No valid key",
    "forbidden": "Not yours to do",
    "not-found": "Unknown",
    "method-not-allowed": "This path does not take that method",
    "unsupported-media-type": "The body is of another media type than this call takes",
    "invalid-request": "The request is not of the form that this call takes",
    "invalid-amount": "Not an admissible amount",
    "invalid-plan": "Not an admissible plan",
    "unknown-column": "No such column",
    "sensitive-column": "A column that rules about this dataset may not name",
    "too-large": "Larger than the public limits",
    "too-slow": "The request came too slowly",
    "budget-exhausted": "Budget exhausted",
    "cap-exhausted": "The population's cap is exhausted",
    "approval-declined": "The holder declined this",
    "version-gone": "The pinned version of the records is gone",
    "no-records": "The dataset's records are not loaded",
    "already-charged": "This can no longer change",
    "conflict": "In conflict with what is recorded",
    "invalid-records": "The records do not fit the declaration",
    "column-not-ready": "The derived column's values are not there yet",
    "rate-limited": "Too many requests",
    "restore-unrecorded": "The database lacks an entry that the anchor holds",
    "unavailable": "The store is away",
    "internal": "The holder failed",
}
"""Every problem code with its title."""


class Problem(ContractModel):
    """A problem document; fields beyond the known ones (`requested`, `remaining`, …) are kept."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "requested": {"epsilon": "20", "delta": "0"},
                    "remaining": {"epsilon": "10", "delta": "0"},
                    "type": "/problems/budget-exhausted",
                    "title": "Budget exhausted",
                    "status": 403,
                    "detail": (
                        "What you ask costs epsilon 20 and your budget has epsilon 10 left. Lower epsilon, or ask the "
                        "holder's administrator for more."
                    ),
                    "instance": "/v1/datasets/register/releases",
                }
            ]
        },
    )

    type: str
    """A page about it; the last part of the path is the stable code."""
    title: str
    """The code in a few words."""
    status: int
    """The HTTP status again."""
    detail: str
    """What is wrong here, and what to do."""
    instance: str | None = None
    """The path that was called."""

    @property
    def code(self) -> str:
        """The stable code: the last part of `type`."""
        return self.type.rsplit("/", 1)[-1]


class PlanRefused(ValueError):
    """A plan does not fit the contract or the dataset's schema; the same on both sides.

    Attributes:
        code: The problem's code.
        path: Where in the plan the fault is: "batches[0].cells[2]".
    """

    code = "invalid-plan"

    def __init__(self, detail: str, path: str = "", **fields: Any) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.detail = detail
        self.path = path
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        """As pickled by a process that works apart: made without the arguments of its class, which are its own."""
        return _again, (type(self), str(self)), vars(self)


def _again(kind: type[PlanRefused], text: str) -> PlanRefused:
    """An unpickled refusal, before its fields are set."""
    return kind.__new__(kind, text)


class InvalidPlan(PlanRefused):
    """The plan contradicts the contract or the schema."""


class UnknownColumn(PlanRefused):
    """A rule or the list of sensitive columns names a column that the dataset does not declare."""

    code = "unknown-column"

    def __init__(self, *, column: str, path: str) -> None:
        super().__init__(
            f"The dataset declares no column {column!r}; GET /v1/datasets/{{dataset}} lists its columns.",
            path,
            column=column,
        )


class UnknownDerivedColumn(PlanRefused):
    """A plan names a derived column that its auditor does not have about the dataset."""

    code = "unknown-column"

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"This dataset does not have a derived column of yours with that id and the name {name!r}. GET "
            f"/v1/datasets/{{dataset}}/columns lists your columns.",
            f"columns.{name}",
            column=name,
        )


class SensitiveColumn(PlanRefused):
    """A rule or a score names a column that none about this dataset may.

    A sensitive one, one that follows from it, or one that was perturbed at its source.
    """

    code = "sensitive-column"

    def __init__(self, *, column: str, path: str, perturbed: bool = False) -> None:
        super().__init__(
            f"Column {column!r} was perturbed at its source: rules would compare reports, so none may name it. Count "
            "by it, as the plan's `sensitive`."
            if perturbed
            else f"Column {column!r} is sensitive, or follows from a sensitive column, and this dataset's declaration "
            "lets no rule name it. Ask the holder's administrator to declare `sensitive_in_rules`; to count by a "
            "sensitive column, name it in the plan's `sensitive`.",
            path,
            column=column,
        )


class TooLarge(PlanRefused):
    """A plan, or a training, exceeds a public limit."""

    code = "too-large"

    def __init__(
        self, *, what: str, limit: int, path: str = "", asked: str = "plan", remedy: str = "ask in several plans"
    ) -> None:
        super().__init__(f"The {asked} has more than {limit} {what}; {remedy}.", path, limit=limit)
