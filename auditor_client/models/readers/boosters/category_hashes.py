"""The hash of a category's text as CatBoost computes it: the lower half of CityHash64 in its first version."""

from typing import Final

from auditor_client.errors import ModelRefused

BYTES_MAX: Final = 16
_MASK: Final = 2**64 - 1
_K2, _K3 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MULTIPLIER: Final = 0x9DDFEA08EB382D69


def category_hash(text: str) -> int | None:
    """The hash of a text of at most 16 bytes of UTF-8, from 0 to 2³² − 1; None for a longer one."""
    content = text.encode()
    return _short(content) % 2**32 if len(content) <= BYTES_MAX else None


def require_hash(text: str, stated: int) -> None:
    """Refuse a file whose hash of a category is not the text's.

    Raises:
        ModelRefused: They do not belong together.
    """
    computed = category_hash(text)
    if computed is not None and computed != stated:
        raise ModelRefused(
            f"The hash of the category {text[:40]!r} is not CatBoost's hash of it: save the model again."
        )


def _short(content: bytes) -> int:
    size = len(content)
    if size > 8:
        first, last = _number(content[:8]), _number(content[-8:])
        turned = (last + size) & _MASK
        return _joined(first, ((turned >> size) | (turned << (64 - size))) & _MASK) ^ last
    if size >= 4:
        return _joined((size + (_number(content[:4]) << 3)) & _MASK, _number(content[-4:]))
    if size:
        low, high = content[0] + (content[size >> 1] << 8), size + (content[-1] << 2)
        mixed = (low * _K2 & _MASK) ^ (high * _K3 & _MASK)
        return (mixed ^ (mixed >> 47)) * _K2 & _MASK
    return _K2


def _number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _joined(first: int, second: int) -> int:
    low = ((first ^ second) * _MULTIPLIER) & _MASK
    low ^= low >> 47
    high = ((second ^ low) * _MULTIPLIER) & _MASK
    return (high ^ (high >> 47)) * _MULTIPLIER & _MASK
