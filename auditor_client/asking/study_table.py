"""A study of misreported groups as auditors have it: a table, a JSON file, or a mapping."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from auditor_client.asking.data_files import data_table
from auditor_client.asking.group_study import GroupStudy
from auditor_client.asking.inquiry import group_named
from auditor_client.asking.totals_table import PEOPLE, value_text
from auditor_client.errors import QuestionRefused
from shared.contract.schema import Group

TRUE: Final = "true"
RECORDED: Final = "recorded"
_FORM: Final = (
    f"Give a table with the columns {TRUE}, {RECORDED} and {PEOPLE}, or JSON of true groups to recorded groups to "
    "numbers of people."
)


def read_group_study(table: Any, source: str | None, groups: Sequence[Group]) -> GroupStudy:
    """Read how many people of each true group a study found recorded as each group.

    Args:
        table: A DataFrame, or the path of a CSV or Parquet file, with the columns `true`, `recorded` and `people`; or
            the path of a JSON file, or a mapping, of true groups to recorded groups to numbers of people. Pairs that
            are left out count as 0.
        source: Where it is from, in words.
        groups: That are compared.

    Raises:
        QuestionRefused: The table cannot be read, or has another group, a pair twice, or no whole numbers.
    """
    numbers: dict[tuple[int, int], int] = {}
    for true, recorded, people in _rows(table):
        names = [(name,) if isinstance(name, bool) else name for name in (true, recorded)]
        pair = groups.index(group_named(names[0], groups)), groups.index(group_named(names[1], groups))
        if pair in numbers:
            raise QuestionRefused(
                f"The study of misreported groups (`misreported`) has people of {true!r} recorded as {recorded!r} "
                "twice. Give each pair once."
            )
        numbers[pair] = _whole(people)
    people_by_pair = (
        tuple(numbers.get((true, recorded), 0) for recorded in range(len(groups))) for true in range(len(groups))
    )
    return GroupStudy(people=tuple(people_by_pair), source=source)


def _rows(table: Any) -> Iterable[tuple[Any, Any, Any]]:
    """Each pair of groups with its number of people."""
    if isinstance(table, str | Path) and Path(table).suffix.lower() == ".json":
        table = _json(Path(table))
    if isinstance(table, Mapping):
        return _pairs(table)
    read, names = data_table(table), (TRUE, RECORDED, PEOPLE)
    for name in names:
        if name not in read.names:
            raise QuestionRefused(
                f"The study of misreported groups (`misreported`) does not have the column {name!r}. {_FORM}"
            )
    rows = zip(*read.columns(names), strict=True)
    return (((value_text(true),), (value_text(recorded),), people) for true, recorded, people in rows)


def _pairs(study: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for true, row in study.items():
        if not isinstance(row, Mapping):
            raise QuestionRefused(
                f"The study of misreported groups (`misreported`) does not have recorded groups for {true!r}. {_FORM}"
            )
        for recorded, people in row.items():
            yield true, recorded, people


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise QuestionRefused(
            f"The study of misreported groups (`misreported`) cannot be read: {path.name}: {error.strerror}. Check the "
            "file's name."
        ) from error
    except ValueError as error:
        raise QuestionRefused(
            f"The study of misreported groups (`misreported`) in {path.name} is not valid JSON. {_FORM}"
        ) from error
    if not isinstance(document, dict):
        raise QuestionRefused(
            f"The study of misreported groups (`misreported`) in {path.name} is not an object of true groups. {_FORM}"
        )
    return document


def _whole(people: Any) -> int:
    try:
        number = float("nan") if isinstance(people, bool) else float(people)
    except (TypeError, ValueError):
        number = float("nan")
    if not (number.is_integer() and number >= 0):
        raise QuestionRefused(
            f"A number of the study of misreported groups (`misreported`) is {people!r}, but must be a whole number of "
            "people: counts, not shares, because they say how exact the study is."
        )
    return int(number)
