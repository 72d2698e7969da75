"""What log and metrics may know of a request: nothing of the records, and no time that work on them took.

A request's facts are kept where every layer of its handling can add to them.
"""

import secrets
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestFacts:
    """A request's public side, in addition to method, route and caller."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: int = 0
    problem: str | None = None
    deadline_s: float | None = None
    overran: bool = False


current: ContextVar[RequestFacts] = ContextVar("request_facts")


def note_problem(code: str) -> None:
    """The request is answered with a problem of this code."""
    if facts := current.get(None):
        facts.problem = code


def note_release(*, deadline_s: float, overran: bool) -> None:
    """The request's answer leaves at a public deadline, or at a multiple of it."""
    if facts := current.get(None):
        facts.deadline_s, facts.overran = deadline_s, overran
