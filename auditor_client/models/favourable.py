"""Which of a model's classes count as favourable."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from auditor_client.errors import ModelRefused

_SELF_EVIDENT: Final = ({0, 1}, {-1, 1})


def favourable_classes(classes: Sequence[Any], favourable: Collection[Any] | None) -> set[Any]:
    """Those of a model's classes that count as favourable, found by their value or their text.

    Raises:
        ModelRefused: They are not named, or are none or all of the classes.
    """
    if favourable is None:
        if set(classes) in _SELF_EVIDENT:
            return {max(classes)}
        raise ModelRefused(f"Say which of the classes {_shown(classes)} are favourable (`favourable`).")
    asked = [favourable] if isinstance(favourable, str) else list(favourable)
    found = [{label for label in classes if label == wanted or str(label) == str(wanted)} for wanted in asked]
    chosen = set().union(*found)
    if all(found) and 0 < len(chosen) < len(classes):
        return chosen
    raise ModelRefused(f"Name some, but not all, of the classes {_shown(classes)} as `favourable`; not {asked}.")


def _shown(classes: Sequence[Any]) -> str:
    return ", ".join(repr(label) for label in classes[:20]) + (", …" if len(classes) > 20 else "")
