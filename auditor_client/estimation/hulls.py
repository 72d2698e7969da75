"""Two readings of the same figures as one: the first's values, in intervals that hold both readings'."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import JudgedFigures, NamedPair

FiguresT = TypeVar("FiguresT")


def hull_of_figures(figures: FiguresT, other: FiguresT) -> FiguresT:
    """Return figures whose every interval is the hull of its own and of the other reading's.

    Bounds over people of unknown group are the other reading's. The pair of groups that a sentence names keeps its own
    interval where the other reading names another pair.

    Args:
        figures: An estimate, a tuple of figures, or a frozen dataclass of them, as in `results`.
        other: The same figures, of the same groups in the same order.
    """
    hull: FiguresT = _hull(figures, other)
    return hull


def _hull(value: Any, other: Any) -> Any:
    if isinstance(value, Estimate) and isinstance(other, Estimate):
        return value.hull(other)
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
        return tuple(map(_hull, value, other))
    if not is_dataclass(value) or type(value) is not type(other) or _names_another_pair(value, other):
        return value
    changes: dict[str, Any] = {
        field.name: _hull(getattr(value, field.name), getattr(other, field.name)) for field in fields(value)
    }
    if isinstance(other, JudgedFigures):
        changes["unknown"] = other.unknown
    make: Any = replace
    return make(value, **changes)


def _names_another_pair(value: Any, other: Any) -> bool:
    return isinstance(value, NamedPair) and (value.lowest, value.highest) != (other.lowest, other.highest)
