"""Pricing: ordinary rules, and plans at the public limits that make it work as hard as it can.

`python -m benchmarks.pricing --rounds 5`

*Parse* reads the JSON into the contract's types, *check* compares it with schema and limits, *price* proves which cells
are disjoint and colours them, *name* hashes the canonical plan: all that comes before the stored release is looked up.
*Compile* is what the count does before it looks at records. *Quote* is a whole quote, from the bytes of the plan to
those of the answer, with parse, check and price in it; *JSON* is `json.loads` of the plan's bytes, and nothing more.
Milliseconds of processor time, the medians of some rounds, all steps of a plan in turn. Aims: a thousand ordinary rules
priced within 75 ms, every plan within the limits under a second, a quote of 1 024 leaves within five times its JSON.
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
from holder_service.services.releases.priced import PricedPlan
from holder_service.storage.datasets import Dataset
from holder_service.web.edge.documents import strict_document
from shared.contract.relations import NeighbouringRelation
from shared.kinds.plans import Plan
from shared.privacy.charges import SUM
from shared.wire import limits
from testing.hostile_plans import HOSTILE, SCHEMA, balanced_tree, tree

DATASET = Dataset(
    name="register", population="register", records_max=limits.RECORDS_MAX_DEFAULT, schema=SCHEMA, retired=False,
    version=1, version_last=1, records_file=None, people_file=None,
)  # fmt: skip
RELATION = NeighbouringRelation("add_remove")
ORDINARY: dict[str, Callable[[], dict[str, Any]]] = {
    "a tree of 64 leaves": lambda: tree(64),
    "a tree of 1 000 leaves": lambda: tree(1000),
    "1 024 leaves, depth 10": lambda: balanced_tree(10),
}
STEPS = ("parse", "check", "price", "name", "compile", "quote", "JSON")


def quoted(body: bytes) -> bytes:
    """A quote, from the bytes of a plan to those of the answer."""
    asked = Plan.model_validate(strict_document(body, parts_max=limits.LISTS_AND_OBJECTS_PER_BODY_MAX))
    asked.require_small()
    priced = PricedPlan.of(asked, DATASET, RELATION, terms=SUM)
    return priced.quote(1).model_dump_json().encode()


def measured(document: dict[str, Any]) -> tuple[Plan, int, list[float]]:
    """A plan, its number of classes, and how long each step took, in milliseconds."""
    body = json.dumps(document).encode()
    times = [time.process_time()]
    asked = Plan.model_validate(jiter.from_json(body, catch_duplicate_keys=True))
    times.append(time.process_time())
    asked.require_small()
    asked.check(SCHEMA)
    times.append(time.process_time())
    # Nothing that the price depends on is larger at a larger epsilon, and this one no number of classes exceeds.
    classes = sum(len(batch.classes) for batch in price(asked, SCHEMA).batches)
    times.append(time.process_time())
    asked.pinned(1).identity(auditor="ADR", dataset="register")
    times.append(time.process_time())
    for batch in asked.batches:
        rules = [rule for cell in batch.cells for rule in cell.any_of]
        DecisionDiagram.rebuilt(*admitted_paths(rules, SCHEMA))
    times.append(time.process_time())
    quoted(body)
    times.append(time.process_time())
    json.loads(body)
    times.append(time.process_time())
    return asked, classes, [(end - start) * 1000 for start, end in itertools.pairwise(times)]


def main() -> None:
    """Print a line for each plan."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many")
    options.add_argument("--ordinary", action="store_true", help="without the plans at the limits")
    given = options.parse_args()
    gc.collect()  # as the holder does when it starts
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    table = Table("plan", "rules", "predicates", "classes", *STEPS, "quote / JSON", title="Before the records, ms")
    for name, make in (ORDINARY if given.ordinary else {**ORDINARY, **HOSTILE}).items():
        document = make()
        rounds = [measured(document) for _ in range(given.rounds)]
        asked, classes, _ = rounds[0]
        rules = [rule for batch in asked.batches for cell in batch.cells for rule in cell.any_of]
        took = [statistics.median(one[2][step] for one in rounds) for step in range(len(STEPS))]
        table.add_row(
            name, str(len(rules)), str(sum(len(rule.all_of) for rule in rules)), str(classes),
            *(f"{ms:.0f}" for ms in took), f"{took[STEPS.index('quote')] / took[STEPS.index('JSON')]:.1f}",
        )  # fmt: skip
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
