"""Plans that race for one limit, on both stores, over one process and four (issue 3).

`python -m benchmarks.races` runs 20 races each: 1 600 plans by 16 clients where 333 fit, in turn into an
auditor's budget and under the population's cap. Exactly 333 have to be released and the others refused
for want of budget; any other status, "database is locked" for one, shows in its own column.
"""

import argparse
import itertools
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.holders import running_holder, serving
from tests.postgres import running_server
from tests.races import LIMITS, Outcome, Racecourse

PLANS = 1600
FIT = 333


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
