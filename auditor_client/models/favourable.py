"""Which of a model's classes count as favourable: those that the auditor names. None is guessed.

A class 1 is as often the bad outcome (default, fraud, rejection) as the good one, and a finding turns round with it. So
classes 0 and 1, −1 and 1 or false and true are asked about like any others.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from auditor_client.errors import ModelRefused, OutcomeNotNamed

_SHOWN_MAX: Final = 20


def favourable_classes(classes: Sequence[Any], favourable: Collection[Any] | None) -> set[Any]:
    """Return those of a model's classes that count as favourable, found by their value or their text.

    Raises:
        OutcomeNotNamed: The auditor did not name them.
        ModelRefused: They are none or all of the classes.
    """
    if favourable is None:
        raise OutcomeNotNamed("The model predicts", [class_text(label) for label in classes])
    names = [favourable] if isinstance(favourable, str) else list(favourable)
    matches = [{label for label in classes if label == name or class_text(label) == class_text(name)} for name in names]
    chosen = set().union(*matches)
    if all(matches) and 0 < len(chosen) < len(classes):
        return chosen
    raise ModelRefused(f"Name some, but not all, of the classes {_shown(classes)} as `favourable`; not {names}.")


def class_text(label: Any) -> str:
    """Return a class as it is typed: a truth value as "true" or "false"."""
    text = str(label)
    return text.lower() if text in ("True", "False") else text


def _shown(classes: Sequence[Any]) -> str:
    return ", ".join(repr(label) for label in classes[:_SHOWN_MAX]) + (", …" if len(classes) > _SHOWN_MAX else "")
