"""Ids of digests as people type them: how they begin is enough where one alone begins so."""

from collections.abc import Sequence
from typing import Final

from holder_service.cli.calls import fail

DIGEST: Final = "sha256:"
SHORT_ID: Final = 12
DIGEST_CHARACTERS: Final = 64


def short(identity: str) -> str:
    """Return how an id begins, as lists show it."""
    return identity.removeprefix(DIGEST)[:SHORT_ID]


def whole_id(begins: str, ids: Sequence[str], otherwise: str) -> str:
    """The one id that begins so; else the command ends with how many do, and what to look at."""
    named = [one for one in ids if one.removeprefix(DIGEST).startswith(begins.removeprefix(DIGEST))]
    if len(named) != 1:
        fail(f"{len(named)} {otherwise}.")
    return named[0]
