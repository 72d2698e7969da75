"""Groups from bands of a sensitive age, end to end: declared, counted, audited and reported, on either database."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client import Auditor
from auditor_client.errors import QuestionRefused
from auditor_client.models.tree import Tree
from testing.holders import TestedHolder
from testing.invented.questions import leaf, split
from testing.refusals import refused
from testing.registers import plan

PEOPLE = 4000
BANDS = ["under 25", "25 to 44", "45 and above"]
COLUMNS = [
    {"name": "hours", "type": "integer", "minimum": 0, "maximum": 60},
    {
        "name": "age",
        "type": "integer",
        "minimum": 0,
        "maximum": 120,
        "nullable": True,
        "sensitive": True,
        "bands_from": [25, 45],
    },
    {"name": "retired", "type": "integer", "minimum": 0, "maximum": 120, "sensitive": True, "bands_from": [65]},
]
WORKS = Tree(split("hours", 25, leaf("part", False), leaf("full", True)))


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    source = random.Random(5)
    rows = []
    for person in range(PEOPLE):
        age = source.choice((None, *range(16, 90), 24, 25, 44, 45))
        hours = source.randint(0, 30 if age is None or age < 25 else 60)
        rows.append({"id": f"p{person}", "hours": hours, "age": age, "retired": source.randint(16, 90)})
    return pd.DataFrame(rows).astype({"age": "Int64"})


@pytest.fixture(scope="module")
def banded(lasting_holders: TestedHolder, people: pd.DataFrame) -> TestedHolder:
    content = people.to_csv(index=False).encode()
    for name, relation in (("aged", "add_remove"), ("aged-known", "sensitive_attribute")):
        lasting_holders.offer(name, content, columns=COLUMNS, relation=relation, records_max=PEOPLE, epsilon="30")
    return lasting_holders


def sizes(ages: pd.Series, edges: list[int]) -> dict[Any, int]:
    """How many people each band holds if each ends with an edge, and how many have no age."""
    bins = pd.cut(ages.astype("Float64"), edges, labels=BANDS)
    return {**bins.value_counts().to_dict(), None: ages.isna().sum()}


@pytest.mark.statistical
def test_an_audit_by_bands_gives_their_rates_in_order(
    banded: TestedHolder, people: pd.DataFrame, tmp_path: Path
) -> None:
    """Each count at ε = 5 is off by more than 4 with a chance below 3·10⁻¹¹; sixteen counts.

    Bands to which their first number did not belong would be found: `misplaced`.
    """
    with Auditor(banded.url, banded.auditor_key, receipts=tmp_path) as auditor:
        found = auditor.audit(WORKS, "aged", ["age"], "5")

    assert [group.group for group in found.parity.groups] == [*((band,) for band in BANDS), (None,)]
    true, misplaced = sizes(people["age"], [-1, 24, 44, 120]), sizes(people["age"], [-1, 25, 45, 120])
    for group in found.parity.groups:
        assert abs(group.size.value - true[group.group[0]]) <= 9
    assert max(abs(group.size.value - misplaced[group.group[0]]) for group in found.parity.groups) > 9
    page = found.to_html()
    assert [page.index(band) for band in BANDS] == sorted(page.index(band) for band in BANDS)


@pytest.mark.statistical
def test_of_two_bands_one_is_counted_and_the_other_follows(
    banded: TestedHolder, people: pd.DataFrame, tmp_path: Path
) -> None:
    """Two counts at ε = 5, as above; a band that 65 did not belong to would be found."""
    people[["hours"]].to_csv(tmp_path / "own.csv", index=False)

    with Auditor(banded.url, banded.auditor_key, receipts=tmp_path / "receipts") as auditor:
        found = auditor.audit(WORKS, "aged-known", ["retired"], "5", supports_from=tmp_path / "own.csv")

    under, above = found.parity.groups
    assert (under.group, above.group) == (("under 65",), ("65 and above",))
    assert found.release.batches[0].counted_groups == (("under 65",),)
    assert abs(above.size.value - (people["retired"] >= 65).sum()) <= 9
    assert abs(above.size.value - (people["retired"] > 65).sum()) > 9


def test_bands_and_values_make_groups_together(banded: TestedHolder) -> None:
    asked = plan(cells=[{"id": "everybody", "all_of": []}], sensitive=["retired", "age"])

    answered = banded.release(asked, dataset="aged").json()["batches"][0]

    assert answered["groups"][:2] == [["under 65", "under 25"], ["under 65", "25 to 44"]]
    assert len(answered["groups"]) == len(answered["cells"][0]["counts"]) == 8


def test_a_sensitive_number_without_bands_is_still_no_group(banded: TestedHolder) -> None:
    plain = [{**COLUMNS[1], "bands_from": None}, COLUMNS[0]]
    assert banded.declare("unbanded", columns=plain).status_code == 200

    asked = plan(cells=[{"id": "everybody", "all_of": []}], sensitive=["age"])
    answer = banded.auditor("POST", "/datasets/unbanded/quotes", json=asked)

    assert "bands_from" in refused(answer, "invalid-plan", holder=banded)["detail"]


def test_a_group_is_named_by_its_band(banded: TestedHolder, tmp_path: Path) -> None:
    with Auditor(banded.url, banded.auditor_key, receipts=tmp_path) as auditor:
        found = auditor.audit(WORKS, "aged", ["age"], "0.5", reference="25 to 44")
        with pytest.raises(QuestionRefused, match="under 25, 25 to 44, 45 and above, missing"):
            auditor.audit(WORKS, "aged", ["age"], "0.5", reference="30")

    assert found.question.reference == ("25 to 44",)
