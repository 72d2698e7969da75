"""Texts for people: those from outside made safe to show, and amounts."""

import unicodedata
from typing import Final

from pydantic import ValidationError

from shared.amounts import Loss, format_nano

CHARACTERS_MAX: Final = 1000


def readable(text: str) -> str:
    """A text from outside, safe for a terminal: no control, format or direction characters, and not too long."""
    shown = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in text)
    return shown if len(shown) <= CHARACTERS_MAX else f"{shown[:CHARACTERS_MAX]} …"


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Where a document does not fit its type first, as a path ("batches.0"), and why; without the value there."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ".".join(map(str, first["loc"])), first["msg"]


def loss_words(loss: Loss) -> str:
    """A privacy loss, a budget or a balance in words."""
    epsilon = f"ε = {format_nano(loss.epsilon_nano)}"
    return f"{epsilon}, δ = {format_nano(loss.delta_nano)}" if loss.delta_nano else epsilon
