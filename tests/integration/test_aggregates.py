"""A table of how many people each row stands for, from its declaration to an answer, through a running holder.

A count at ε of 5 or more is 7 or more people off by chance once in 10 to the 15th.
"""

from collections import Counter
from typing import Any

import pandas as pd
import pytest

from auditor_client.audits.asking import LinkRequest
from auditor_client.audits.linking import linked_file
from auditor_client.errors import QuestionRefused
from auditor_client.tables import dataset_table
from holder_service.services.datasets.overlaps import find_overlaps
from shared.contract.datasets import DatasetDescription
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import EVERYBODY, linked_column, linked_values, plan, register_csv

AGGREGATE: dict[str, Any] = {"person_key": None, "people": "people"}


def table() -> tuple[bytes, Counter[tuple[str, str]]]:
    """A table of rows that stand for 1 to 30 people; and how many it has, by whether they are 40 at most and sex."""
    head, *lines = register_csv().decode().splitlines()
    rows, counts = [head.replace("id,", "people,")], Counter[tuple[str, str]]()
    for number, line in enumerate(lines):
        people, fields = number % 30 + 1, line.split(",")
        rows.append(",".join([str(people), *fields[1:]]))
        counts["young" if int(fields[1]) <= 40 else "old", fields[5]] += people
    return "\n".join(rows).encode(), counts


def offered(holder: TestedHolder, name: str = "table", **changes: Any) -> Counter[tuple[str, str]]:
    content, counts = table()
    holder.offer(name, content, epsilon="100", **{**AGGREGATE, **changes})
    return counts


def described(holder: TestedHolder, name: str) -> DatasetDescription:
    return DatasetDescription.model_validate(holder.auditor("GET", f"/datasets/{name}").json())


def assert_counted(answer: dict[str, Any], counts: Counter[tuple[str, str]]) -> None:
    for cell in answer["batches"][0]["cells"]:
        for noisy, sex in zip(cell["counts"], ("Female", "Male"), strict=True):
            assert abs(noisy - counts[cell["id"], sex]) <= 6


def test_the_people_of_its_rows_are_counted_and_auditors_see_that_it_is_one(holder: TestedHolder) -> None:
    counts = offered(holder)

    answer = holder.release(plan(epsilon="10"), dataset="table")

    assert_counted(answer.json(), counts)
    found = described(holder, "table")
    assert (found.people, found.person_key) == ("people", None)
    assert "It is an aggregate table" in " ".join(dataset_table(found).sentences)
    assert "people" not in holder.auditor("GET", "/datasets/register").json()
    assert holder.is_intact()


def test_its_column_of_people_is_in_no_question(sqlite_holder: TestedHolder) -> None:
    offered(sqlite_holder)
    rule = {"id": "large", "all_of": [{"column": "people", "op": "gt", "value": 5}]}

    for asked in (plan(cells=[rule]), plan(cells=[EVERYBODY], sensitive=["people"])):
        refused(sqlite_holder.release(asked, dataset="table"), "unknown-column", holder=sqlite_holder)


def test_linked_values_are_refused_by_the_holder_and_before_by_the_client(sqlite_holder: TestedHolder) -> None:
    offered(sqlite_holder)
    spent = sqlite_holder.spent(dataset="table")

    asked = linked_column(linked_values(register_csv()))
    problem = refused(sqlite_holder.derive(asked, "table"), "invalid-plan", holder=sqlite_holder)

    assert "Ask for a score" in problem["detail"]
    data = pd.DataFrame({"id": ["p1"], "decision": ["granted"]})
    with pytest.raises(QuestionRefused, match="aggregate table"):
        linked_file(data, described(sqlite_holder, "table"), LinkRequest(name="decision"))
    assert sqlite_holder.spent(dataset="table") == spent


@pytest.mark.slow
def test_a_score_is_computed_for_its_rows(sqlite_holder: TestedHolder) -> None:
    counts = offered(sqlite_holder)
    terms = [{"columns": ["age"], "slope": 1.0, "missing": 0.0}]
    document = {"kind": "terms", "precision": "float64", "base": 0.0, "terms": terms}
    asked = {"name": "score", "type": "number", "from": {"score": document}}
    column = sqlite_holder.derive(asked, "table").json()
    sqlite_holder.await_columns("table")
    cells = [
        {"id": name, "all_of": [{"column": "score", "op": op, "value": 40}]}
        for name, op in (("young", "le"), ("old", "gt"))
    ]

    answer = sqlite_holder.release(plan(epsilon="10", cells=cells, columns={"score": column["id"]}), dataset="table")

    assert_counted(answer.json(), counts)


def test_a_new_version_has_its_own_people(sqlite_holder: TestedHolder) -> None:
    counts = offered(sqlite_holder)
    content, _ = table()
    head, *rows = content.decode().splitlines()
    twice = "\n".join([head, *rows, *rows]).encode()

    assert sqlite_holder.load(twice, "table").status_code == 200

    answer = sqlite_holder.release(plan(epsilon="10"), dataset="table").json()
    assert_counted(answer, Counter({key: 2 * number for key, number in counts.items()}))
    with sqlite_holder.reopened() as again:
        assert_counted(again.release(plan(epsilon="10", draw=2), dataset="table").json(), counts + counts)


def test_nobody_in_it_is_compared_and_a_look_costs_nothing(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    offered(holder)
    before = len(holder.entries())

    look = holder.admin("POST", "/populations/overlaps", json={"population": "table", "other": "register"})

    assert "merge them" in refused(look, "conflict", holder=holder)["detail"]
    assert len(holder.entries()) == before
    found = find_overlaps(holder.holder.store, holder.holder.engine, holder.holder.files)
    assert (found.not_compared, found.without_keys) == ((), ("table",))


@pytest.mark.parametrize(("into", "source"), [("register", "table"), ("table", "register")])
def test_it_is_merged_with_the_people_it_is_known_to_be_about(holder: TestedHolder, into: str, source: str) -> None:
    offered(holder)
    spent = holder.release(plan(epsilon="1"), dataset="table")

    merged = holder.admin("POST", f"/populations/{into}/merge", json={"population": source})

    assert (spent.status_code, merged.status_code) == (201, 204)
    assert holder.spent(dataset="register") == holder.spent(dataset="table") == "1"
    assert holder.is_intact()
    other_key = holder.declare("third", population=into, person_key="number")
    refused(other_key, "already-charged", holder=holder)


def test_it_shares_the_population_of_a_register_that_keeps_its_key(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    content, counts = table()

    assert holder.declare("table", population="register", **AGGREGATE).status_code == 200
    assert holder.load(content, "table").status_code == 200

    assert_counted(holder.release(plan(epsilon="5"), dataset="table").json(), counts)
    assert holder.spent() == "5"
    assert holder.declare("other", population="register").status_code == 200
    assert holder.is_intact()


def test_whether_rows_are_people_cannot_change_once_something_was_charged(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    offered(holder)
    assert holder.declare("table").status_code == 200, "nothing was charged yet"
    assert holder.declare("table", **AGGREGATE).status_code == 200
    assert holder.load(table()[0], "table").status_code == 200
    assert holder.release(plan(), dataset="table").status_code == 201
    assert holder.release(plan()).status_code == 201

    for name, changes in (("table", {}), ("register", AGGREGATE)):
        problem = refused(holder.declare(name, **changes), "already-charged", holder=holder)
        assert "Declare another dataset" in problem["detail"]


def test_a_file_that_does_not_fit_is_refused_whole(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    counts = offered(holder)
    content, _ = table()

    problem = refused(holder.load(content.replace(b"\n7,", b"\n0,", 1), "table"), "invalid-records", holder=holder)
    many = refused(holder.load(content.replace(b"\n7,", b"\n70000,", 1), "table"), "invalid-records", holder=holder)

    assert problem["errors"][0]["field"] == "line 8, column 'people'"
    assert "at most 10000 people" in many["detail"]
    assert_counted(holder.release(plan(epsilon="10"), dataset="table").json(), counts)
