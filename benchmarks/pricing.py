"""Pricing: ordinary rules, and plans at the public limits that make it work as hard as it can.

`python -m benchmarks.pricing --rounds 5`

*Parse* reads the JSON into the contract's types, *check* compares it with schema and limits, *price* proves which cells
are disjoint and colours them, *name* hashes the canonical plan: all that comes before the stored release is looked up.
*Compile* is what the count does before it looks at records. Milliseconds of processor time, the medians of some rounds.
Aims: a thousand ordinary rules priced within 75 ms, and every plan within the limits under a second.
"""

import argparse
import gc
import itertools
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jiter
from rich.console import Console
from rich.table import Table

from holder_service.app import GC_THRESHOLD
from holder_service.domain.admitted import admitted_paths
from holder_service.domain.decision_diagram import DecisionDiagram
from holder_service.domain.pricing import price
from shared.plans import Plan, check_size, identity
from testing.hostile_plans import HOSTILE, SCHEMA, tree

ORDINARY: dict[str, Callable[[], dict[str, Any]]] = {
    "a tree of 64 leaves": lambda: tree(64),
    "a tree of 1 000 leaves": lambda: tree(1000),
}
STEPS = ("parse", "check", "price", "name", "compile")


def measured(document: dict[str, Any]) -> tuple[Plan, int, list[float]]:
    """A plan, its number of classes, and how long each step took, in milliseconds."""
    body = json.dumps(document).encode()
    times = [time.process_time()]
    asked = Plan.model_validate(jiter.from_json(body, catch_duplicate_keys=True))
    times.append(time.process_time())
    check_size(asked)
    asked.check(SCHEMA)
    times.append(time.process_time())
    # Nothing that the price depends on is larger at a larger epsilon, and this one no number of classes exceeds.
    classes = sum(len(batch.classes) for batch in price(asked, SCHEMA).batches)
    times.append(time.process_time())
    identity(auditor="ADR", dataset="register", plan=asked.pinned(1))
    times.append(time.process_time())
    for batch in asked.batches:
        rules = [rule for cell in batch.cells for rule in cell.any_of]
        DecisionDiagram.rebuilt(*admitted_paths(rules, SCHEMA))
    times.append(time.process_time())
    return asked, classes, [(end - start) * 1000 for start, end in itertools.pairwise(times)]


def main() -> None:
    """Print a line for each plan."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many")
    given = options.parse_args()
    gc.set_threshold(GC_THRESHOLD)
    table = Table("plan", "rules", "predicates", "classes", *STEPS, title="Before the records, ms")
    for name, make in {**ORDINARY, **HOSTILE}.items():
        document = make()
        rounds = [measured(document) for _ in range(given.rounds)]
        asked, classes, _ = rounds[0]
        rules = [rule for batch in asked.batches for cell in batch.cells for rule in cell.any_of]
        took = (statistics.median(one[2][step] for one in rounds) for step in range(len(STEPS)))
        table.add_row(
            name, str(len(rules)), str(sum(len(rule.all_of) for rule in rules)), str(classes),
            *(f"{ms:.0f}" for ms in took),
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
