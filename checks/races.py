"""Many plans that race for one limit: an auditor's budget, or the population's cap over all auditors.

`python -m checks.races` runs 20 races each on both stores, over one process and four: 1 600 plans by 16 clients where
333 fit, in turn into an auditor's budget and under the population's cap. Exactly 333 have to be released and the others
refused for want of budget; any other status, "database is locked" for one, shows in its own column.
"""

import argparse
import itertools
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from shared.amounts import format_nano, parse_nano
from testing.holders import running_holder, serving
from testing.postgres import running_server
from testing.registers import DECLARATION, numbered_plan

PLANS: Final = 1600
FIT: Final = 333
EPSILON: Final = "0.003"
EPSILON_NANO: Final = 3_000_000
CLIENTS: Final = 16

Limit = Literal["budget", "cap"]
LIMITS: Final[tuple[Limit, ...]] = ("budget", "cap")


@dataclass(frozen=True)
class Outcome:
    """How a race ended.

    Attributes:
        plans: How many raced.
        fit: For how many of them the limit suffices.
        statuses: How many plans were answered with which status.
        charges: How many the ledger has.
        overspent_nano: By how much more was spent than the limit allowed.
    """

    plans: int
    fit: int
    statuses: Counter[int]
    charges: int
    overspent_nano: int

    @property
    def exact(self) -> bool:
        """Whether all that fitted was released, and everything else refused for want of budget."""
        expected = {201: self.fit, 403: self.plans - self.fit}
        return self.statuses == expected and (self.charges, self.overspent_nano) == (self.fit, 0)


class Racecourse:
    """A holder that serves the small register with a cap of 999, and races one after the other on it."""

    def __init__(self, url: str, admin_key: str) -> None:
        self._url = url
        self._admin = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}, timeout=120)
        self._races = 0

    def race(self, limit: Limit, *, plans: int, fit: int) -> Outcome:
        """Let a new auditor's plans race where fewer fit."""
        self._races += 1
        name = f"racer-{self._races}"
        key = self._call("POST", "/v1/admin/auditors", {"name": name})["key"]
        before_nano = self._cap_spent_nano()
        limit_nano = fit * EPSILON_NANO
        budget, cap = (
            (format_nano(limit_nano), "999") if limit == "budget" else ("50", format_nano(before_nano + limit_nano))
        )
        self._call("PUT", "/v1/admin/datasets/register", {**DECLARATION, "cap": {"epsilon": cap, "delta": "0"}})
        self._call("PUT", f"/v1/admin/datasets/register/budgets/{name}", {"epsilon": budget})

        with ThreadPoolExecutor(CLIENTS) as pool:
            shares = [range(start, plans, CLIENTS) for start in range(CLIENTS)]
            statuses = Counter(
                status for asked in pool.map(lambda each: self._ask(key, each), shares) for status in asked
            )

        spent_nano = self._cap_spent_nano() - before_nano
        return Outcome(plans, fit, statuses, self._charges(name), max(spent_nano - limit_nano, 0))

    def verify(self) -> bool:
        """Whether the ledger is intact."""
        return bool(self._call("POST", "/v1/admin/ledger/verify", {})["intact"])

    def close(self) -> None:
        """Close the connections."""
        self._admin.close()

    def _ask(self, key: str, places: range) -> list[int]:
        with httpx.Client(base_url=self._url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
            asked = (numbered_plan(place, epsilon=EPSILON) for place in places)
            return [client.post("/v1/datasets/register/releases", json=body).status_code for body in asked]

    def _cap_spent_nano(self) -> int:
        """What all auditors have spent together, read from their accounts."""
        budgets = self._call("GET", "/v1/admin/budgets", None)["budgets"]
        return sum(parse_nano(each["spent"]["epsilon"]) for each in budgets)

    def _charges(self, name: str) -> int:
        count, after = 0, 0
        while after is not None:
            page = self._call("GET", f"/v1/admin/ledger?limit=1000&after={after}", None)
            count += sum(entry["kind"] == "charge" and entry["auditor"] == name for entry in page["entries"])
            after = page["next"]
        return count

    def _call(self, method: str, path: str, body: Any) -> Any:
        answer = self._admin.request(method, path, json=body)
        answer.raise_for_status()
        return answer.json()


def main() -> None:
    """Race and print the table; the exit status is 1 if anything was not exact."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20, help="for each store and number of processes")
    options.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    options.add_argument("--processes", nargs="+", type=int, default=[1, 4])
    given = options.parse_args()
    table = Table(
        "store", "processes", "runs", "released", "refused", "other", "overspent nano", "plans/s", "ledger",
        title=f"{PLANS} racing plans of which {FIT} fit",
    )  # fmt: skip
    exact = True
    for store, processes in itertools.product(given.stores, given.processes):
        began_s = time.perf_counter()
        outcomes, intact = raced(store, processes, given.runs)
        took_s = time.perf_counter() - began_s
        statuses = sum((outcome.statuses for outcome in outcomes), Counter[int]())
        exact = exact and intact and all(outcome.exact for outcome in outcomes)
        other = statuses.total() - statuses[201] - statuses[403]
        overspent = sum(outcome.overspent_nano for outcome in outcomes)
        table.add_row(
            store, str(processes), str(given.runs), str(statuses[201]), str(statuses[403]), str(other), str(overspent),
            f"{statuses.total() / took_s:.0f}", "intact" if intact else "broken",
        )  # fmt: skip
    Console(width=110).print(table)
    raise SystemExit(not exact)


def raced(store: str, processes: int, runs: int) -> tuple[list[Outcome], bool]:
    """Some races on a new holder, and whether its ledger is intact after them."""
    with running_server() as postgres, tempfile.TemporaryDirectory() as folder, postgres.database() as postgres_url:
        url = f"sqlite:///{folder}/holder.sqlite" if store == "SQLite" else postgres_url
        with running_holder(Path(folder), url) as holder:
            pass
        with serving(holder.settings, workers=processes) as served:
            numbers = track(range(runs), description=f"{store}, {processes}")
            with closing(Racecourse(served.url, holder.admin_key)) as course:
                outcomes = [course.race(LIMITS[number % 2], plans=PLANS, fit=FIT) for number in numbers]
                return outcomes, course.verify()


if __name__ == "__main__":
    main()
