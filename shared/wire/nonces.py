"""Nonces: 128 random bits in every release and every ledger entry, so that their hashes hide (2-privacy §6).

A hash that others may read confirms a guess of all that it is over: a few small counts, a round limit, a plan
that follows from a published model. With a nonce among it nobody who lacks the nonce can test a guess, and whoever
was given the whole document can still recompute the hash (docs/adr/0016).
"""

import secrets
from typing import Annotated, Final

from pydantic import StringConstraints

NONCE_BYTES: Final = 16

Nonce = Annotated[str, StringConstraints(strict=True, pattern=rf"^[0-9a-f]{{{2 * NONCE_BYTES}}}$")]
"""32 lower-case hexadecimal digits."""


def draw_nonce() -> str:
    """A new nonce from the operating system's randomness, never used before but with a chance of 2⁻¹²⁸."""
    return secrets.token_hex(NONCE_BYTES)
