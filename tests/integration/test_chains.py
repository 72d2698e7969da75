"""Chains of decisions end to end, in a running holder on either database: one charge, and every stage is right."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from testing.holders import TestedHolder

PEOPLE = 6000
COLUMNS: list[dict[str, Any]] = [
    {"name": "points", "type": "integer", "minimum": 0, "maximum": 100},
    {"name": "selected", "type": "boolean"},
    {"name": "visited", "type": "boolean", "nullable": True},
    {"name": "origin", "type": "category", "categories": ["far", "near"], "sensitive": True},
]
CHAIN = ("selected", "visited", "unduly")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """People of far origin are selected four times as often; among those selected, visits and findings are alike.

    Some people were visited without being selected, and some of those selected have no value for the visit.
    """
    source = random.Random(30)
    rows = []
    for person in range(PEOPLE):
        origin = source.choice(["far", "near"])
        points = source.randint(0, 100)
        selected = source.random() < (0.4 if origin == "far" else 0.1)
        visited = source.choices([True, False, None], [60, 30, 10] if selected else [2, 98, 0])[0]
        unduly = bool(visited) and source.random() < 0.5
        rows.append(
            {"id": f"p{person}", "points": points, "selected": selected, "visited": visited, "origin": origin,
             "unduly": unduly}
        )  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def offered(lasting_holders: TestedHolder, people: pd.DataFrame) -> TestedHolder:
    register = people.drop(columns="unduly")
    for name in ("selected", "visited"):
        register[name] = [None if value is None else str(value).lower() for value in people[name]]
    lasting_holders.offer(
        "grants", register.to_csv(index=False).encode(), columns=COLUMNS, relation="add_remove", records_max=PEOPLE,
        epsilon="60",
    )  # fmt: skip
    return lasting_holders


def reached(people: pd.DataFrame, chain: tuple[str, ...], origin: str) -> list[int]:
    """How many people of an origin reach each stage, everybody first."""
    left = people[people.origin == origin]
    found = [len(left)]
    for stage in chain:
        left = left[left[stage] == True]  # noqa: E712 - a stage may be missing
        found.append(len(left))
    return found


@pytest.mark.statistical
def test_every_stage_is_answered_at_one_charge(offered: TestedHolder, people: pd.DataFrame, tmp_path: Path) -> None:
    """Each count at ε = 5 is off by more than 8 with a chance below 10⁻¹⁷; some thirty counts."""
    asked: dict[str, Any] = {"chain": CHAIN, "intervention": "punitive"}
    with Auditor(offered.url, offered.auditor_key, receipts=tmp_path) as auditor:
        auditor.link(people[["id", "unduly"]], "grants", name="unduly")
        before = auditor.budget("grants").spent.epsilon_nano
        planned = auditor.plan(None, "grants", ["origin"], "5", **asked)
        found = auditor.audit(None, "grants", ["origin"], "5", **asked)
        spent = auditor.budget("grants").spent.epsilon_nano - before
        again = auditor.audit(None, "grants", ["origin"], "5", **asked, level=0.9)
        assert auditor.budget("grants").spent.epsilon_nano == before + spent
        bundle = write_bundle(tmp_path / "bundle.zip", [found], auditor.receipts)

    assert planned.quote.charge == found.release.charge
    assert spent == 5 * 10**9
    assert again.release.id == found.release.id
    assert not check_bundle(bundle).faults
    figures = found.chain
    assert figures is not None
    for index, (origin,) in enumerate(figures.groups):
        true = reached(people, CHAIN, str(origin))
        for step, (before_it, after) in zip(figures.steps, pairwise(true), strict=True):
            assert step.people[index].value == pytest.approx(after, abs=24)
            assert step.rates[index].low <= after / before_it <= step.rates[index].high
