"""Where the processor time of a release goes, step by step, without a server and other callers.

`python -m benchmarks.release_costs` has one process do the steps of release after release, in the order of a served
one: 16 disjoint cells by two groups, 30 000 records. It prints the processor time of each step, all threads together,
in microseconds (the median) and its share; then what charging, committing and anchoring takes of each release when
several share a transaction. What the framework and its threads take beside is the difference to `processor ms` of
`python -m benchmarks.releases`.
"""

import argparse
import itertools
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from benchmarks.releases import RECORDS, fresh_plan
from holder_service.services.accounts import access
from holder_service.services.releases import releases
from holder_service.services.releases.asked import AskedRelease
from holder_service.services.releases.releases import DrawnRelease
from holder_service.web.edge.documents import strict_document
from shared.kinds.plans import Plan
from shared.wire import limits
from testing.holders import TestedHolder, running_holder
from testing.postgres import empty_store
from testing.registers import register_csv

T = TypeVar("T")
WARM_UP = 30
GROUPS = (1, 2, 4, 8)


class Steps:
    """The processor time of each step, time after time, in microseconds."""

    def __init__(self) -> None:
        self.took_us: defaultdict[str, list[float]] = defaultdict(list)

    def take(self, name: str, work: Callable[[], T]) -> T:
        """Do a step."""
        before_ns = time.process_time_ns()
        result = work()
        self.took_us[name].append((time.process_time_ns() - before_ns) / 1000)
        return result


def draw(holder: TestedHolder, number: int, steps: Steps) -> DrawnRelease:
    """All of a release that comes before the ledger."""
    serving = holder.holder
    body = json.dumps(fresh_plan(number)).encode()
    caller = steps.take("find out who calls", lambda: access.authenticate(serving.store, holder.auditor_key))
    document = steps.take(
        "read the JSON", lambda: strict_document(body, parts_max=limits.LISTS_AND_OBJECTS_PER_BODY_MAX)
    )
    plan = steps.take("validate the plan", lambda: Plan.model_validate(document))
    asked = steps.take(
        "look up, price",
        lambda: releases.prepare(serving.store, serving.files, auditor=caller.name, dataset="register", asked=plan),
    )
    if not isinstance(asked, AskedRelease):
        raise TypeError("The plan was asked before.")
    drawn = partial(releases.draw, asked, engine=serving.engine, seals=serving.seals)
    return steps.take("count, draw, serialise", drawn)


def enter(holder: TestedHolder, drawn: Sequence[DrawnRelease]) -> None:
    """Have some releases entered that wait for the ledger at once."""
    serving = holder.holder

    def together() -> list[object]:
        return [
            releases.enter(
                serving.store, drawn=one, proof=holder.auditor_key_id, signing=serving.signing, pace=serving.pace
            )
            for one in drawn
        ]

    for queued in serving.store.database.in_lane(together).result():
        queued.result()  # type: ignore[attr-defined]


def main() -> None:
    """Measure and print both tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--releases", type=int, default=320, help="how many are measured")
    options.add_argument("--store", default="SQLite", choices=["SQLite", "PostgreSQL"])
    given = options.parse_args()
    with (
        empty_store(given.store) as (home, url),
        running_holder(home, url, epsilon="999", people=1, quantum_ms=0) as holder,
    ):
        holder.declare(cap={"epsilon": "999", "delta": "0"}, records_max=RECORDS)
        holder.load(register_csv(people=RECORDS))
        numbers = itertools.count()
        for number in itertools.islice(numbers, WARM_UP):
            enter(holder, [draw(holder, number, Steps())])
        steps = Steps()
        for number in itertools.islice(numbers, given.releases):
            drawn = draw(holder, number, steps)
            steps.take("charge, commit, anchor", partial(enter, holder, [drawn]))
        shared = Steps()
        for size in GROUPS:
            for _ in range(given.releases // size):
                group = [draw(holder, number, Steps()) for number in itertools.islice(numbers, size)]
                shared.take(str(size), partial(enter, holder, group))
    show(given.store, steps, shared)


def show(store: str, steps: Steps, shared: Steps) -> None:
    """Print what was measured."""
    medians = {name: statistics.median(took) for name, took in steps.took_us.items()}
    table = Table("step", "processor µs", "share", title=f"A release by itself, {store}")
    for name, took_us in medians.items():
        table.add_row(name, f"{took_us:.0f}", f"{took_us / sum(medians.values()):.0%}")
    table.add_row("together", f"{sum(medians.values()):.0f}", "")
    grouped = Table("share a transaction", "processor µs of each to charge, commit, anchor")
    for size, took in shared.took_us.items():
        grouped.add_row(size, f"{statistics.median(took) / int(size):.0f}")
    console = Console(width=100)
    console.print(table)
    console.print(grouped)


if __name__ == "__main__":
    main()
