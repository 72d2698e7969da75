"""The hand-over of a signing key to the next: whoever trusts the one may then trust the other (docs/adr/0009).

The key in force signs a statement that names the next one, whole, and from when on that one signs. A
statement's bytes name their purpose, which no release has, so neither can be taken for the other.
"""

from typing import Final

from shared.kinds.releases import SigningKey
from shared.wire import canonical

PURPOSE: Final = "pafer: this signing key follows the one that signs this"


class UnvouchedKey(ValueError):
    """A signing key is not vouched for by a trusted key."""


def handover_bytes(successor: SigningKey, *, by: str) -> bytes:
    """The bytes that the key of the id `by` signs to hand over."""
    statement = successor.model_dump(mode="json", include={"id", "algorithm", "public_key", "valid_from"})
    return canonical.canonical_bytes({"purpose": PURPOSE, "by": by, **statement})


def require_vouched(published: tuple[SigningKey, ...], trusted: tuple[SigningKey, ...]) -> None:
    """Check that a chain of hand-overs leads from trusted keys to every published one.

    A key hands over once: a second successor, which a stolen old key could name, is refused.

    Args:
        published: All keys that a holder shows, each id once.
        trusted: Those of them that are trusted already.

    Raises:
        UnvouchedKey: Naming the first key that no chain leads to, or whose predecessor named two.
    """
    known = {key.id: key for key in trusted}
    followed = {key.handover.by for key in trusted if key.handover}
    pending = [key for key in published if key.id not in known]
    while pending:
        following = [key for key in pending if key.handover and key.handover.by in known]
        if not following:
            raise UnvouchedKey(f"No trusted key vouches for the signing key {pending[0].id!r}.")
        for key in following:
            _require_handover(key, known, followed)
            known[key.id] = key
        pending = [key for key in pending if key.id not in known]


def _require_handover(key: SigningKey, known: dict[str, SigningKey], followed: set[str]) -> None:
    """Whether a known key handed over to this one, and to no other; marks it as followed."""
    handover = key.handover
    if handover is None or not known[handover.by].has_signed(handover_bytes(key, by=handover.by), handover.signature):
        raise UnvouchedKey(f"The signing key {key.id!r} names a predecessor that never signed for it.")
    if handover.by in followed:
        raise UnvouchedKey(f"The signing key {handover.by!r} handed over to two others.")
    followed.add(handover.by)
