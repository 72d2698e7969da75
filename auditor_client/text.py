"""Texts for people: those from outside made safe to show, and amounts."""

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError

from shared.privacy.amounts import NO_LOSS, Loss, format_nano
from shared.wire.wording import decimal, joined, said

CHARACTERS_MAX: Final = 1000
_NAMES_MAX: Final = 40
_IN_WORDS: Final = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "has to be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "has to be a number"),
}
"""What people read of a fault, by its type, instead of what it says to programmers."""


def readable(text: str) -> str:
    """A text from outside, safe for a terminal: no control, format or direction characters, and not too long."""
    shown = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in text)
    return shown if len(shown) <= CHARACTERS_MAX else f"{shown[:CHARACTERS_MAX]} …"


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Where a document does not fit its type first, as a path ("batches.0"), and why; without the value there."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ".".join(map(str, first["loc"])), _IN_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))


def loss_words(loss: Loss) -> str:
    """A privacy loss, a budget or a balance in words."""
    if loss.rho_nano is not None:
        return said(
            "{rho} (read as {epsilon} at {delta})",
            rho=_amount("ρ", loss.rho_nano),
            epsilon=_amount("ε", loss.epsilon_nano),
            delta=_amount("δ", loss.delta_nano),
        )
    amounts = [("ε", loss.epsilon_nano), *([("δ", loss.delta_nano)] if loss.delta_nano else [])]
    return joined((_amount(symbol, nano) for symbol, nano in amounts), ", ")


def asked_words(loss: Loss) -> str:
    """Return what an answer is asked at, in words: "ε = 0.1", or "ρ = 0.005"."""
    return _amount("ε", loss.epsilon_nano) if loss.rho_nano is None else _amount("ρ", loss.rho_nano)


def amounts_words(losses: Iterable[Loss]) -> str:
    """Several losses of one kind, without a reading of ρ: "ε = 0.1; 0.2; 0.4"."""
    amounts = [("ε", loss.epsilon_nano) if loss.rho_nano is None else ("ρ", loss.rho_nano) for loss in losses]
    values = joined((decimal(format_nano(nano)) for _, nano in amounts), "; ")
    return said("{symbol} = {value}", symbol=amounts[0][0], value=values)


def losses_words(losses: Iterable[Loss]) -> str:
    """Several losses added up; those in ρ by themselves, which are of other people than those in ε and δ."""
    kinds: dict[str, Loss] = {}
    for loss in losses:
        kinds[loss.kind] = kinds.get(loss.kind, NO_LOSS) + loss
    return joined(map(loss_words, kinds.values()), "; ") if kinds else loss_words(NO_LOSS)


def _amount(symbol: str, nano: int) -> str:
    return said("{symbol} = {value}", symbol=symbol, value=decimal(format_nano(nano)))


_IN_PYTHON: Final = (
    ("GET /v1/datasets/{dataset}/columns", "`Auditor.columns`"),
    ("GET /v1/datasets/{dataset}", "`Auditor.dataset`"),
    ("GET /v1/datasets", "`Auditor.datasets`"),
    ("Send a valid key as `Authorization: Bearer <key>`", "Give a valid key (`api_key`, or AUDITOR_API_KEY)"),
)
"""What texts that both parties have call by its name in HTTP, and its name here; the longest first."""


def in_python(text: str) -> str:
    """A text that may name calls of the interface, with the methods and arguments for them in backquotes."""
    for call, name in _IN_PYTHON:
        if call in text:  # else it stays as it was said, so that reports can translate it
            text = text.replace(call, name)
    return text


def no_such(what: str, given: object, known: Iterable[object]) -> str:
    """That something is no name or value of a kind, with the one that was probably meant, and those that there are."""
    names = list(map(str, known))
    close = closest(str(given), names)
    meant = "." if close is None else f": did you mean {close!r}?"
    shown = ("; " if any("," in name for name in names) else ", ").join(names[:_NAMES_MAX])
    more = f" and {len(names) - _NAMES_MAX} more" if names[_NAMES_MAX:] else ""
    return f"{given!r} is no {what}{meant} There {'are' if len(names) > 1 else 'is'} {shown or 'none'}{more}."


def closest(given: str, names: Iterable[str]) -> str | None:
    """The name that is most like a text, whatever its capitals; None if none is like it."""
    folded = {name.casefold(): name for name in names}
    found = difflib.get_close_matches(given.casefold(), folded, n=1)
    return folded[found[0]] if found else None
