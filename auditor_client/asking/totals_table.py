"""Public totals of groups as auditors have them: a table, or a mapping."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from auditor_client.asking.data_files import data_table
from auditor_client.asking.group_totals import UNKNOWN, GroupTotals, Range
from auditor_client.asking.inquiry import group_named
from auditor_client.errors import QuestionRefused
from shared.contract.schema import Group
from shared.wire.text import normalise

PEOPLE: Final = "people"
PEOPLE_MIN: Final = "people_min"
PEOPLE_MAX: Final = "people_max"


def read_group_totals(given: Any, source: str | None, groups: Sequence[Group], sensitive: Sequence[str]) -> GroupTotals:
    """The known totals of some groups.

    Args:
        given: A DataFrame, or the path of a CSV or Parquet file, with a row for each group: its values in columns named
            as the sensitive ones, and `people`, or `people_min` and `people_max`. Or a mapping of groups, by their
            values or names, to a number or to a pair. What is left out or empty is not known.
        source: Where they are from, in words.
        groups: That are compared.
        sensitive: By which columns.

    Raises:
        QuestionRefused: The table cannot be read, or has another group, a group twice, or no whole numbers.
    """
    known: dict[Group, Range] = {}
    for name, people in given.items() if isinstance(given, Mapping) else _rows(given, sensitive):
        group = group_named((name,) if isinstance(name, bool) else name, groups)
        if group in known:
            raise QuestionRefused(f"The group totals (`group_totals`) have the group {name!r} twice.")
        known[group] = _range(people)
    return GroupTotals(people=tuple(known.get(group, UNKNOWN) for group in groups), source=source)


def _rows(given: Any, sensitive: Sequence[str]) -> Iterable[tuple[list[str | None], Any]]:
    """Each row's group, and its number of people or a pair."""
    table = data_table(given)
    names = (*sensitive, *([PEOPLE] if PEOPLE in table.names else [PEOPLE_MIN, PEOPLE_MAX]))
    for name in names:
        if name not in table.names:
            raise QuestionRefused(
                f"The group totals (`group_totals`) do not have the column {name!r}. Give {', '.join(sensitive)} "
                f"and {PEOPLE}, or {PEOPLE_MIN} and {PEOPLE_MAX}."
            )
    for row in zip(*table.columns(names), strict=True):
        people = row[len(sensitive) :]
        yield [value_text(value) for value in row[: len(sensitive)]], people[0] if len(people) == 1 else people


def value_text(value: Any) -> str | None:
    """A group's value as groups are named."""
    if value is None:
        return None
    text = normalise(str(value))
    return text.lower() if text in ("True", "False") else text


def _range(people: Any) -> Range:
    """A number, or a pair of which either may be missing."""
    if isinstance(people, tuple | list) and len(people) == 2:
        least, most = (None if one is None else _whole(one) for one in people)
        return least or 0, most
    return UNKNOWN if people is None else (_whole(people), _whole(people))


def _whole(people: Any) -> int:
    try:
        number = float(people)
    except (TypeError, ValueError):
        number = 0.5
    if not number.is_integer():
        raise QuestionRefused(f"A group total (`group_totals`) is {people!r}, but must be a whole number of people.")
    return int(number)
