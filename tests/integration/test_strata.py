"""Conditional parity end to end, in a running holder on either database: one charge, and Simpson's paradox is seen."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import ParityEstimate
from auditor_client.findings.conditional import StratumFigures
from auditor_client.models.tree import Tree
from testing.holders import TestedHolder
from testing.invented.questions import leaf, split

PEOPLE = 6000
COLUMNS: list[dict[str, Any]] = [
    {"name": "points", "type": "integer", "minimum": 0, "maximum": 100},
    {"name": "branch", "type": "category", "categories": ["arts", "engineering"], "nullable": True},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
]
ADMITS = Tree(split("points", 50, leaf("refused", False), leaf("admitted", True)))
ACCEPTED = {"arts": 0.2, "engineering": 0.7, None: 0.5}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Most women apply where few are admitted; within a branch chances do not depend on sex."""
    source = random.Random(18)
    rows = []
    for person in range(PEOPLE):
        sex = source.choice(["Female", "Male"])
        branch = source.choices(["arts", "engineering", None], [80, 15, 5] if sex == "Female" else [20, 75, 5])[0]
        admitted = source.random() < ACCEPTED[branch]
        points = source.randint(51, 100) if admitted else source.randint(0, 50)
        rows.append({"id": f"p{person}", "points": points, "branch": branch, "sex": sex})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def offered(lasting_holders: TestedHolder, people: pd.DataFrame) -> TestedHolder:
    lasting_holders.offer(
        "university", people.to_csv(index=False).encode(), columns=COLUMNS, relation="add_remove", records_max=PEOPLE,
        epsilon="30",
    )  # fmt: skip
    return lasting_holders


def require_rates(found: StratumFigures, people: pd.DataFrame, within: float) -> None:
    """That every group's rate within a stratum is near the true one."""
    assert isinstance(found.estimate, ParityEstimate)
    for group in found.estimate.groups:
        true = (people[people.sex == group.group[0]].points > 50).mean()
        assert group.rate.value == pytest.approx(true, abs=within)


@pytest.mark.statistical
def test_parity_within_every_value_is_seen_at_one_charge(
    offered: TestedHolder, people: pd.DataFrame, tmp_path: Path
) -> None:
    """Each count at ε = 5 is off by more than 5 with a chance below 10⁻¹⁰; some thirty counts."""
    with Auditor(offered.url, offered.auditor_key, receipts=tmp_path) as auditor:
        before = auditor.budget("university").spent.epsilon_nano
        planned = auditor.plan(ADMITS, "university", ["sex"], "5", by="branch", people=PEOPLE)
        found = auditor.audit(ADMITS, "university", ["sex"], "5", by="branch")
        spent = auditor.budget("university").spent.epsilon_nano - before
        alone = auditor.audit(ADMITS, "university", ["sex"], "5", where="branch = arts")
        bundle = write_bundle(tmp_path / "bundle.zip", [found], auditor.receipts)

    of_parity = found.by_stratum["statistical-parity"]
    (same_mix,) = of_parity.standardised
    assert planned.quote.charge == found.release.charge
    assert spent == found.release.charge.epsilon_nano == 5 * 10**9
    assert found.verdict is Verdict.FAILS
    assert same_mix.ratio.low > 0.8
    assert [one.stratum.value for one in of_parity.strata] == ["arts", "engineering", None]
    for of_stratum in of_parity.strata:
        branch = of_stratum.stratum.value
        require_rates(of_stratum, people[people.branch.isna() if branch is None else people.branch == branch], 0.1)
    assert alone.reused
    assert alone.ratio == of_parity.strata[0].estimate.ratio
    assert not check_bundle(bundle).faults


@pytest.mark.statistical
def test_a_linked_column_makes_strata_for_decisions(
    offered: TestedHolder, people: pd.DataFrame, tmp_path: Path
) -> None:
    """Likewise: some sixteen counts."""
    linked = people.assign(half=["first" if branch == "arts" else "second" for branch in people["branch"]])
    with Auditor(offered.url, offered.auditor_key, receipts=tmp_path) as auditor:
        auditor.link(linked[["id", "half"]], "university", name="half")
        found = auditor.audit(
            None, "university", ["sex"], "5", decision="points", above=50, by="half", where="half is not missing"
        )

    strata = found.by_stratum["statistical-parity"].strata
    assert [one.stratum.value for one in strata] == ["first", "second"]
    for of_stratum in strata:
        require_rates(of_stratum, linked[linked.half == of_stratum.stratum.value], 0.05)
    with pytest.raises(AssertionError):
        require_rates(strata[0], linked[linked.half == "second"], 0.05)
