"""The same decisions with the other class as the favourable one are read from the saved answer, and charged once."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor_client import Auditor
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import four_leaves

pytestmark = pytest.mark.usefixtures("coarse_chances")

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "hours", "type": "number", "nullable": True},
    {"name": "check", "type": "category", "categories": ["control", "none"]},
    {"name": "checked", "type": "boolean", "nullable": True},
    {"name": "repaid", "type": "boolean", "label": True},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
]


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    source = random.Random(11)
    rows = [
        f"p{person},{source.randint(18, 90)},{source.randint(0, 60)},{source.choice(['control', 'none', 'none'])},"
        f"{source.choice(['true', 'false', ''])},{source.choice(['true', 'false'])},{source.choice(['Female', 'Male'])}"
        for person in range(600)
    ]
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="100") as tested:
        assert tested.declare("checks", columns=COLUMNS, cap={"epsilon": "50"}).status_code == 200
        table = "\n".join(["id,age,hours,check,checked,repaid,sex", *rows])
        assert tested.load(f"{table}\n".encode(), "checks").status_code in (200, 201)
        tested.grant("50", dataset="checks")
        yield tested


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"decision": "check", "favourable": ["control"]}, {"decision": "check", "favourable": ["none"]}),
        ({"decision": "checked", "favourable": [True]}, {"decision": "checked", "favourable": [False]}),
        ({"model": four_leaves(True, False, True, False)}, {"model": four_leaves(False, True, False, True)}),
    ],
    ids=["category", "boolean", "tree"],
)
@pytest.mark.parametrize("strategy", ["verdict", "rules"])
def test_the_other_class_is_answered_from_the_receipt(
    first: dict[str, Any], second: dict[str, Any], strategy: str, holder: TestedHolder, tmp_path: Path
) -> None:
    shared: dict[str, Any] = {"dataset": "checks", "sensitive": ["sex"], "epsilon": "1", "strategy": strategy}
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts=tmp_path) as auditor:
        one = auditor.audit(**{"model": None, **first}, **shared, metrics=["statistical-parity"])
        other = auditor.audit(**{"model": None, **second}, **shared, metrics=["statistical-parity"])

    assert not one.stored.reused
    assert other.stored.reused
    assert one.budget is not None
    assert other.budget is not None
    assert one.budget.spent == other.budget.spent
    for group in range(2):
        rates = (one.parity.groups[group].rate.value, other.parity.groups[group].rate.value)
        assert sum(rates) == pytest.approx(1, abs=0.02)


def test_other_decisions_are_charged(holder: TestedHolder, tmp_path: Path) -> None:
    """The negative control."""
    shared: dict[str, Any] = {"dataset": "checks", "sensitive": ["sex"], "epsilon": "1"}
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts=tmp_path) as auditor:
        auditor.audit(None, decision="check", favourable=["control"], **shared)
        other = auditor.audit(None, decision="checked", favourable=[True], **shared)

    assert not other.stored.reused
