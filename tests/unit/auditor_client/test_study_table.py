"""Studies of misreported groups as they are read."""

import json
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from auditor_client.asking.study_table import read_group_study
from auditor_client.errors import QuestionRefused
from shared.contract.schema import Group

GROUPS: Final[tuple[Group, ...]] = (("Female",), ("Male",))
NESTED: Final = {"Female": {"Female": 90, "Male": 10}, "Male": {"Female": 4, "Male": 96}}
PEOPLE: Final = ((90, 10), (4, 96))


def table() -> pd.DataFrame:
    rows = [(true, recorded, number) for true, row in NESTED.items() for recorded, number in row.items()]
    return pd.DataFrame(rows[::-1], columns=["true", "recorded", "people"])


@pytest.mark.parametrize("form", ["mapping", "frame", "csv", "json"])
def test_every_form_gives_people_by_true_and_recorded_group(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"study.{form}"
    given: Any = {"mapping": NESTED, "frame": table()}.get(form, path)
    if form == "csv":
        table().to_csv(path, index=False)
    elif form == "json":
        path.write_text(json.dumps(NESTED))

    study = read_group_study(given, "A survey", GROUPS)

    assert study.people == PEOPLE
    assert study.source == "A survey"


def test_truth_values_are_groups_too(tmp_path: Path) -> None:
    groups: tuple[Group, ...] = ((False,), (True,))
    path = tmp_path / "study.json"
    path.write_text('{"true": {"true": 5, "false": 1}, "false": {"false": 7}}')

    assert read_group_study(path, None, groups).people == ((7, 0), (1, 5))
    assert read_group_study({True: {True: 5, False: 1}, False: {False: 7}}, None, groups).people == ((7, 0), (1, 5))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (table().rename(columns={"true": "sex"}), "does not have the column 'true'"),
        (pd.concat([table(), table()]), "twice"),
        ({"Female": 90, "Male": 4}, "does not have recorded groups"),
        ({"Female": {"Female": 0.9}}, "counts, not shares"),
        ({"Female": {"Female": True}}, "counts, not shares"),
        ({"Female": {"Female": -1}}, "counts, not shares"),
        ({"Female": {"Female": "many"}}, "counts, not shares"),
        ({"Women": {"Female": 1}}, "no group"),
        ({"Female": {"Female": 9}}, "somebody of each true group"),
    ],
)
def test_what_is_no_study_is_refused(given: Any, reason: str) -> None:
    with pytest.raises(QuestionRefused, match=reason):
        read_group_study(given, None, GROUPS)


_FORM = r"\. Give a table with the columns true, recorded and people, or JSON"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", f"is not valid JSON{_FORM}"),
        ("[1, 2]", f"is not an object of true groups{_FORM}"),
        (None, r"study\.json: No such file or directory\. Check the file's name"),
    ],
)
def test_an_unreadable_file_is_refused(content: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(QuestionRefused, match=reason):
        read_group_study(path, None, GROUPS)
