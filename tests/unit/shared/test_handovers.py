"""Hand-overs of signing keys: a chain leads from what is trusted to what is new, or the new is refused."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from holder_service.keys.signing import SigningKeyPair
from shared.kinds.handovers import UnvouchedKey, handover_bytes, require_vouched
from shared.kinds.releases import Handover, SigningKey, signed_bytes
from shared.wire.canonical import canonical_bytes

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Chain:
    """Keys that handed over to each other, oldest first."""

    pairs: list[SigningKeyPair]
    keys: tuple[SigningKey, ...]


def chain(length: int) -> Chain:
    pairs = [SigningKeyPair.of(Ed25519PrivateKey.generate()) for _ in range(length)]
    keys = [pairs[0].public_key(valid_from=BEGIN)]
    for index in range(1, length):
        successor = pairs[index].public_key(valid_from=BEGIN + timedelta(days=index))
        keys.append(pairs[index - 1].hand_over(successor))
    return Chain(pairs, tuple(keys))


@given(st.integers(1, 4), st.data())
def test_whoever_trusts_one_key_may_trust_all_that_follow_it(length: int, data: st.DataObject) -> None:
    made = chain(length)
    trusted = made.keys[: data.draw(st.integers(1, length))]
    published = tuple(data.draw(st.permutations(made.keys)))

    require_vouched(published, trusted)
    require_vouched(over_the_wire(published), trusted)


def over_the_wire(keys: tuple[SigningKey, ...]) -> tuple[SigningKey, ...]:
    """As they come over the wire."""
    return tuple(SigningKey.model_validate_json(key.model_dump_json()) for key in keys)


def test_a_key_that_nobody_handed_over_to_is_refused() -> None:
    first, stranger = chain(1), chain(1)

    with pytest.raises(UnvouchedKey, match="vouches"):
        require_vouched((*first.keys, *stranger.keys), first.keys)


def test_a_missing_link_is_refused() -> None:
    first, _, third = chain(3).keys

    with pytest.raises(UnvouchedKey, match="vouches"):
        require_vouched((first, third), (first,))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "0" * 16},
        {"valid_from": BEGIN},
        {"algorithm": "ed448"},
        {"public_key": chain(1).keys[0].public_key},
        {"handover": Handover(by="?", signature="ed25519:")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_hand_over_is_to_one_key_alone_with_all_that_it_says(change: dict[str, object]) -> None:
    first, second = chain(2).keys
    if "handover" in change:
        change = {"handover": Handover(by=first.id, signature="ed25519:")}

    with pytest.raises(UnvouchedKey, match="never signed"):
        require_vouched((first, second.model_copy(update=change)), (first,))


def test_a_key_hands_over_once_whatever_a_thief_signs_with_it_later() -> None:
    made = chain(2)
    thief = SigningKeyPair.of(Ed25519PrivateKey.generate())
    stolen = made.pairs[0].hand_over(thief.public_key(valid_from=BEGIN + timedelta(days=9)))

    for trusted in (made.keys[:1], made.keys):
        with pytest.raises(UnvouchedKey, match="two others"):
            require_vouched((*made.keys, stolen), trusted)


def test_keys_that_vouch_for_each_other_alone_are_refused() -> None:
    trusted = chain(1)
    one, other = (SigningKeyPair.of(Ed25519PrivateKey.generate()) for _ in range(2))
    circle = (
        other.hand_over(one.public_key(valid_from=BEGIN)),
        one.hand_over(other.public_key(valid_from=BEGIN)),
    )

    with pytest.raises(UnvouchedKey, match="vouches"):
        require_vouched((*trusted.keys, *circle), trusted.keys)


def test_a_statement_is_no_release_and_a_release_no_statement() -> None:
    """Else a holder could be brought to sign the one as the other."""
    key = chain(1).keys[0]

    statement = handover_bytes(key, by="0" * 16)

    assert b'"purpose":"pafer: this signing key follows' in statement
    assert statement != signed_bytes({"id": "sha256:0", "key": key.id})
    assert statement == canonical_bytes(
        {
            "purpose": "pafer: this signing key follows the one that signs this", "by": "0" * 16, "id": key.id,
            "algorithm": "ed25519", "public_key": key.public_key, "valid_from": "2026-01-01T00:00:00Z",
        }
    )  # fmt: skip
