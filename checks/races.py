"""Many plans, or trainings, that race for one limit: an auditor's budget, or the population's cap over all auditors.

`python -m checks.races` runs 20 races each on both stores, over one process and four: 1 600 plans by 16 clients where
333 fit, in turn into an auditor's budget and under the population's cap. Exactly 333 have to be released and the others
refused for want of budget; any other status, "database is locked" for one, shows in its own column. With `--asked
trainings` the same of trainings.
"""

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rich.console import Console
from rich.progress import track
from rich.table import Table

from checks.asked_kinds import KINDS, PLANS, AskedKind
from shared.privacy.amounts import format_nano, parse_nano
from testing.holders import TestedHolder, forked, running_holder
from testing.postgres import empty_store

RACING: Final = 1600
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
    """A holder that serves a small register, and races one after the other on it.

    Args:
        holder: As one of its processes serves it.
        urls: Of all of them; the clients are divided over these.
    """

    def __init__(self, holder: TestedHolder, urls: Sequence[str], kind: AskedKind = PLANS) -> None:
        self._holder = holder
        self._urls = urls
        self._kind = kind
        self._races = 0

    def race(self, limit: Limit, *, plans: int, fit: int) -> Outcome:
        """Let a new auditor's plans race where fewer fit."""
        self._races += 1
        name = f"racer-{self._races}"
        before_nano = self._spent_nano()
        limit_nano = fit * EPSILON_NANO
        budget, cap = (
            (format_nano(limit_nano), "999") if limit == "budget" else ("50", format_nano(before_nano + limit_nano))
        )
        self._kind.declare(self._holder, cap)
        key = self._holder.open_auditor(name, epsilon=budget, dataset=self._kind.dataset)

        with ThreadPoolExecutor(CLIENTS) as pool:
            shares = [range(start, plans, CLIENTS) for start in range(CLIENTS)]
            asked = pool.map(lambda url, share: self._ask(url, key, share), itertools.cycle(self._urls), shares)
            statuses = Counter(itertools.chain.from_iterable(asked))

        charges = sum(entry["kind"] == "charge" and entry["auditor"] == name for entry in self._holder.entries())
        return Outcome(plans, fit, statuses, charges, max(self._spent_nano() - before_nano - limit_nano, 0))

    def _ask(self, url: str, key: str, numbers: range) -> list[int]:
        with self._holder.at(url) as holder:
            return [self._kind.ask(holder, number, epsilon=EPSILON, key=key).status_code for number in numbers]

    def _spent_nano(self) -> int:
        """What all auditors have spent together, read from their accounts."""
        budgets = self._holder.admin("GET", "/budgets").json()["budgets"]
        return sum(parse_nano(each["spent"]["epsilon"]) for each in budgets)


def main() -> None:
    """Race and print the table; the exit status is 1 if anything was not exact."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20, help="for each store and number of processes")
    options.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    options.add_argument("--asked", default=PLANS.name, choices=list(KINDS))
    options.add_argument("--processes", nargs="+", type=int, default=[1, 4])
    given = options.parse_args()
    table = Table(
        "store", "processes", "runs", "released", "refused", "other", "overspent nano", "plans/s", "ledger",
        title=f"{RACING} racing {given.asked} of which {FIT} fit",
    )  # fmt: skip
    exact = True
    for store, processes in itertools.product(given.stores, given.processes):
        began_s = time.perf_counter()
        limits = track([LIMITS[number % 2] for number in range(given.runs)], description=f"{store}, {processes}")
        with empty_store(store) as (home, url):
            outcomes, intact = raced(home, url, limits, processes=processes, kind=KINDS[given.asked])
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


def raced(
    home: Path,
    database_url: str,
    limits: Iterable[Limit],
    *,
    processes: int,
    plans: int = RACING,
    fit: int = FIT,
    kind: AskedKind = PLANS,
) -> tuple[list[Outcome], bool]:
    """Races for some limits on a new holder, and whether its ledger is intact after them."""
    with running_holder(home, database_url) as made:
        kind.offer(made, epsilon="10")
    with ExitStack() as stack:
        urls = [stack.enter_context(forked(made.settings)).url for _ in range(processes)]
        holder = stack.enter_context(made.at(urls[0]))
        racecourse = Racecourse(holder, urls, kind)
        return [racecourse.race(limit, plans=plans, fit=fit) for limit in limits], holder.is_intact()


if __name__ == "__main__":
    main()
