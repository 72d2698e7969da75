"""What the checks of all evidence in a bundle share: its files, and two documents side by side."""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from auditor_client.errors import ReceiptsDamaged

FIGURES_TOLERANCE: Final = 1e-6
"""How far a figure may be off when it is computed again, by other versions of the same libraries."""
_SENTENCES: Final = frozenset({"finding", "explanation", "means", "meaning", "warnings", "attribution_refused"})
"""The members of a document, at any depth, that are prose of the version that made it."""
OTHER_VERSIONS: Final = "Other versions made it: its figures are right, its sentences and page were not compared."


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """What was found about one piece of evidence: a fault; or else what could not be compared, if anything.

    `model` is what the auditor called the model; empty where nothing can be said of it.
    """

    name: str
    dataset: str
    fault: str | None
    remark: str | None = None
    model: str = ""


def require_same_document(made_again: Mapping[str, Any], document: Mapping[str, Any], *, same_versions: bool) -> None:
    """Refuse figures that the receipt does not make.

    Raises:
        ReceiptsDamaged: Naming what differs.
    """
    made = json.loads(json.dumps(made_again, allow_nan=False))
    ignored = {"versions"} | (frozenset() if same_versions else _SENTENCES | {"epsilon_needed"})
    path = _difference(made, document, "", ignored)
    if path is not None:
        because = "" if same_versions else " (other versions of the libraries computed it)"
        raise ReceiptsDamaged(f"Computed again, {path or 'the document'} differs from the bundle{because}.")


def _difference(made: Any, said: Any, path: str, ignored: Set[str]) -> str | None:
    """The path where two JSON values differ by more than rounding; None if they do not.

    The `ignored` members of objects, at any depth, may differ.
    """
    if isinstance(made, dict) and isinstance(said, dict):
        if made.keys() != said.keys():
            return path
        members = ((made[name], said[name], f"{path}.{name}".lstrip(".")) for name in made if name not in ignored)
        return next((found for member in members if (found := _difference(*member, ignored)) is not None), None)
    if isinstance(made, list) and isinstance(said, list):
        if len(made) != len(said):
            return path
        items = ((one, other, f"{path}[{index}]") for index, (one, other) in enumerate(zip(made, said, strict=True)))
        return next((found for item in items if (found := _difference(*item, ignored)) is not None), None)
    if isinstance(made, float) and isinstance(said, int | float):
        return None if abs(made - said) <= FIGURES_TOLERANCE * max(abs(made), 1.0) else path
    return None if made == said else path


def member(files: Mapping[str, bytes], name: str) -> bytes:
    """A file of a bundle.

    Raises:
        ReceiptsDamaged: It has none of that name.
    """
    if name in files:
        return files[name]
    raise ReceiptsDamaged(f"{name} is missing.")


def require(condition: bool, what: str) -> None:
    """Refuse a bundle.

    Raises:
        ReceiptsDamaged: It does not hold, with what is wrong.
    """
    if not condition:
        raise ReceiptsDamaged(f"It does not hold: {what}.")
