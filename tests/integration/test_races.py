"""Many who spend one budget at once, over several processes: never a nano-epsilon over (2-privacy §9)."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.holders import opened, plan, running_holder, serving

PLANS = 1600
FIT = 333
EPSILON = "0.003"
CLIENTS = 16


def ask(url: str, key: str, places: range) -> list[int]:
    """Ask some different plans of one price; gives the statuses."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
        asked = (plan(epsilon=EPSILON, draw=place % 1000 + 1, age=place // 1000) for place in places)
        return [client.post("/v1/datasets/register/releases", json=body).status_code for body in asked]


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["budget", "cap"])
def test_of_1600_racing_plans_exactly_the_333_that_fit_are_released(
    tmp_path: Path, database_url: str, limit: str
) -> None:
    with running_holder(tmp_path, database_url, epsilon="0.999" if limit == "budget" else "50") as holder:
        if limit == "cap":
            holder.declare(cap={"epsilon": "0.999", "delta": "0"})
    with serving(holder.settings, workers=2) as served, ThreadPoolExecutor(CLIENTS) as pool:
        shares = [range(start, PLANS, CLIENTS) for start in range(CLIENTS)]
        answers = pool.map(lambda places: ask(served.url, holder.auditor_key, places), shares)
        statuses = [status for answer in answers for status in answer]

    assert statuses.count(201) == FIT
    assert statuses.count(403) == PLANS - FIT
    with opened(holder.settings, holder.admin_key, holder.auditor_key) as after:
        charges = [entry for entry in after.entries() if entry["kind"] == "charge"]
        assert len(charges) == FIT
        assert sum(charge["epsilon_nano"] for charge in charges) == 999_000_000
        assert after.spent() == "0.999"
        assert after.admin("POST", "/ledger/verify").json()["intact"]
