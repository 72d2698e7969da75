"""How long the parts of the work on a release take on this machine, next to what the public deadlines suppose.

Measured on a holder of its own with invented records, through the same functions that answer auditors, on the volume
where the real one keeps its home and with the engine that it has. What comes out is a factor for each part
(`domain.deadlines.Work`): it depends on machine and engine alone, so the deadlines that follow from it are as public as
before.
"""

import itertools
import math
import operator
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Final

from holder_service.domain.deadlines import PlanSize, Work
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import Counts, EncodedVersion
from holder_service.records.formats import Upload
from holder_service.services import access, budgets, datasets, loads, releases
from holder_service.services.holder import Holder, initialise
from holder_service.services.priced import PricedPlan
from holder_service.settings import Settings
from holder_service.storage.releases import StoredRelease
from shared.datasets import BudgetGrant, DatasetDeclaration, NewAuditor
from shared.plans import Plan
from shared.rules import Cell

COLUMNS: Final = 12
AUDITOR: Final = "calibration"
MARGIN: Final = 1.5
"""What the middle of the measured times is raised by; what is rarer than that, pauses, is measured apart."""
FREQUENT: Final = 0.5
"""The number that half of the people have; rules cut right below and above it."""
AMPLE: Final = {"epsilon": "999", "delta": "0.9"}


@dataclass(frozen=True, slots=True)
class Measured:
    """What one plan took.

    Attributes:
        took_ms: Each run's parts, in milliseconds; `pauses` is 0, because no part is one, and so is `starting`, which
            cannot be seen apart from `counting`.
    """

    plan: str
    records: int
    size: PlanSize
    took_ms: Sequence[Work]

    def median_ms(self) -> Work:
        return Work(*map(statistics.median, zip(*map(astuple, self.took_ms), strict=True)))

    @property
    def count_varies_ms(self) -> float:
        """How far apart the ends of the middle half of the counts are."""
        counts_ms = [took.counting for took in self.took_ms]
        if len(counts_ms) < 2:
            return 0.0
        first, _, third = statistics.quantiles(counts_ms)
        return third - first

    def modelled_ms(self) -> Work:
        """What the deadlines suppose for a dataset that is declared as large as this one is."""
        return Work.modelled_ms(self.size, records_max=self.records)


def measure(served: Settings, *, records: Sequence[int], runs: int) -> Iterator[Measured]:
    """Measure plans of different sizes and mechanisms, one after the other.

    Args:
        served: Of the real holder: what is made is on the volume of its home, or in its cluster's store, and goes.
    """
    with tempfile.TemporaryDirectory(dir=served.home, prefix="calibration-") as folder:
        root = Path(folder)
        settings = Settings(
            root / "home", f"sqlite:///{root / 'holder.sqlite'}", root / "anchor", engine=served.engine,
            spark_remote=served.spark_remote, spark_master=served.spark_master, spark_store=served.spark_store,
        )  # fmt: skip
        initialise(settings)
        with closing(Holder.open(settings)) as holder:
            access.open_account(holder.store, actor=AUDITOR, new=NewAuditor(name=AUDITOR))
            for index, number in enumerate(records):
                dataset = f"people-{number}"
                _load(holder, dataset, number, root / "people.csv")
                for document in () if index else _plans().values():
                    _run(holder, Plan.model_validate(document), dataset)  # a cluster's first jobs take much longer
                for name, document in _plans().items():
                    plans = (Plan.model_validate({**document, "draw": draw}) for draw in range(1, runs + 2))
                    _, *ran = (_run(holder, plan, dataset) for plan in plans)
                    yield Measured(name, number, ran[0][0], [took_ms for _, took_ms in ran])
                datasets.retire(holder.store, actor=AUDITOR, name=dataset, files=holder.files)
                holder.engine.sweep()


def factors(found: Sequence[Measured]) -> Work:
    """How this machine compares with the model, part by part.

    Each part's factor is the largest ratio of measured median to model over all plans, with a margin; starting and
    counting, of which the sum is measured, are told apart by `_starting_and_counting`. The pauses are what the slowest
    of all runs but one in ten thousand took beyond that.
    """
    ratios = [map(operator.truediv, astuple(one.median_ms()), astuple(one.modelled_ms())) for one in found]
    largest = Work(*(max(of_part) for of_part in zip(*ratios, strict=True)))
    starting, counting = _starting_and_counting(found)
    known = Work(*(MARGIN * factor for factor in astuple(replace(largest, starting=starting, counting=counting))))
    beyond_ms = sorted(
        max(took.total - one.modelled_ms().times(known).total, 0) for one in found for took in one.took_ms
    )
    pause_ms = beyond_ms[-1 - len(beyond_ms) // 10_000]
    return replace(known, pauses=max(pause_ms / found[0].modelled_ms().pauses, 0.1))


def _starting_and_counting(found: Sequence[Measured]) -> tuple[float, float]:
    """The factors of starting and of counting which together cover every plan's median.

    No count takes less than an engine's start, so that is at most what the shortest of all took. What counts of the
    larger register took beyond it is laid to counting, which grows with `records_max`: over all plans together, or of
    the plan for which that is most, as far as it is more than this plan's counts vary. So the deadline of a still
    larger dataset is rather too long than too short. What that does not cover is laid to starting, which is supposed to
    take no less than the shortest count: a dataset may be smaller than both registers.
    """
    modelled_ms = [one.modelled_ms() for one in found]
    took_ms = [one.median_ms().counting for one in found]
    least = min(took / modelled.starting for took, modelled in zip(took_ms, modelled_ms, strict=True))
    most = max(one.records for one in found)
    beyond = [
        (one, took - least * modelled.starting, modelled.counting)
        for one, took, modelled in zip(found, took_ms, modelled_ms, strict=True)
        if one.records == most
    ]
    together = math.fsum(over for _, over, _ in beyond) / math.fsum(supposed for *_, supposed in beyond)
    counting = max(together, *((over - one.count_varies_ms) / supposed for one, over, supposed in beyond))
    starting = max(
        (took - counting * modelled.counting) / modelled.starting
        for took, modelled in zip(took_ms, modelled_ms, strict=True)
    )
    return max(starting, least), counting


@dataclass(slots=True)
class _Timed:
    """An engine whose counts are timed.

    Attributes:
        took_ms: All of them together.
    """

    engine: Counts
    took_ms: float = 0.0

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Count as the engine does."""
        begun_s = time.perf_counter()
        try:
            return self.engine.count(version, cells, classes, sensitive)
        finally:
            self.took_ms += 1000 * (time.perf_counter() - begun_s)


def _run(holder: Holder, plan: Plan, dataset: str) -> tuple[PlanSize, Work]:
    """Prepare and draw; noise is drawn once more for itself, and taken off the whole as the counting is.

    Nothing is entered: what follows the deadline takes no part in it.
    """
    timed = _Timed(holder.engine)
    clock_s = [time.perf_counter()]
    asked = releases.prepare(holder.store, holder.files, auditor=AUDITOR, dataset=dataset, asked=plan)
    if isinstance(asked, StoredRelease) or not isinstance(asked.priced, PricedPlan):
        raise TypeError("Only plans are asked here, and none twice.")
    priced = asked.priced
    clock_s.append(time.perf_counter())
    for batch in priced.batches:
        batch.mechanism.release([0] * (len(batch.batch.cells) * len(priced.groups)))
    clock_s.append(time.perf_counter())
    releases.draw(asked, engine=timed)
    clock_s.append(time.perf_counter())
    pricing, noise, drawing = (1000 * (end - start) for start, end in itertools.pairwise(clock_s))
    writing = max(drawing - timed.took_ms - noise, 0)
    return priced.size, Work(pricing, starting=0, counting=timed.took_ms, noise=noise, writing=writing, pauses=0)


def _load(holder: Holder, name: str, people: int, source: Path) -> None:
    """Invent a register and a budget to ask about it: half of the people have one number, all others one each."""
    columns: list[dict[str, Any]] = [{"name": f"x{column}", "type": "number"} for column in range(COLUMNS)]
    groups = {"name": "group", "type": "category", "categories": list("ABCDEFGH"), "sensitive": True}
    declaration = DatasetDeclaration.model_validate(
        {"person_key": "id", "cap": AMPLE, "records_max": people, "columns": [*columns, groups]}
    )
    datasets.declare(holder.store, actor=AUDITOR, name=name, declaration=declaration, files=holder.files)
    rng = random.Random(people)  # noqa: S311 - invented people
    with source.open("w", encoding="utf-8") as file:
        file.write(",".join(["id", *(column["name"] for column in columns), "group"]) + "\n")
        for person in range(people):
            values = (str(rng.choice((FREQUENT, rng.random()))) for _ in columns)
            file.write(f"{person},{','.join(values)},{rng.choice('ABCDEFGH')}\n")
    with holder.files.in_use():
        loads.load(
            holder.store, actor=AUDITOR, name=name, upload=Upload(source, "text/csv"), engine=holder.engine,
            files=holder.files, pace=holder.pace,
        )  # fmt: skip
    grant = BudgetGrant.model_validate(AMPLE)
    budgets.set_limit(holder.store, actor=AUDITOR, dataset=name, auditor=AUDITOR, grant=grant)


def _plans() -> dict[str, dict[str, Any]]:
    """Plans small and large, a tree and no tree, disjoint and overlapping, by every mechanism that draws noise."""
    laplace: dict[str, Any] = {"name": "laplace"}
    # This range is the smallest for its epsilon: draws are rejected most often.
    mechanisms: Sequence[dict[str, Any]] = (
        laplace, {"name": "gaussian", "delta": "0.000001"}, {"name": "exponential", "upper": 1000},
    )  # fmt: skip
    rng = random.Random(0)  # noqa: S311 - invented rules
    unordered = [
        [{"column": f"x{column}", "op": "le", "value": rng.random()} for column in rng.sample(range(COLUMNS), 6)]
        for _ in range(512)
    ]
    plans = {
        "everybody, laplace": _plan([[]], laplace),
        "1024 leaves, laplace": _plan(_leaves(1024, rng), laplace),
        "48 overlapping cells": _plan([[]] * 48, laplace),
        "512 rules that are no tree": _plan(unordered, laplace, cells=1),
    }
    for leaves, mechanism in itertools.product((2, 64), mechanisms):
        plans[f"{leaves} leaves, {mechanism['name']}"] = _plan(_leaves(leaves, rng), mechanism)
    return plans


def _plan(rules: Sequence[list[dict[str, Any]]], mechanism: dict[str, Any], cells: int | None = None) -> dict[str, Any]:
    """A plan of one batch at the smallest epsilon, whose noise takes longest: a cell for each rule, or so many."""
    dealt: list[list[dict[str, Any]]] = [[] for _ in range(cells or len(rules))]
    for rule, cell in zip(rules, itertools.cycle(dealt), strict=False):
        cell.append({"all_of": rule})
    documents = [{"id": str(index), "any_of": cell} for index, cell in enumerate(dealt)]
    batch = {"name": "batch", "mechanism": mechanism, "epsilon": "0.001", "cells": documents}
    return {"sensitive": ["group"], "batches": [batch]}


def _leaves(number: int, rng: random.Random) -> list[list[dict[str, Any]]]:
    """The paths of a random tree."""
    paths: list[list[dict[str, Any]]] = [[]]
    while len(paths) < number:
        index = rng.randrange(len(paths))
        test = {"column": f"x{rng.randrange(COLUMNS)}", "value": rng.choice((FREQUENT, rng.random(), rng.random()))}
        sides = rng.choice((("le", "gt"), ("lt", "ge")))
        paths[index : index + 1] = [[*paths[index], {**test, "op": op}] for op in sides]
    return paths


def shown(found: Measured) -> tuple[str, ...]:
    """A line for a table: plan, records, then what each part took and was supposed to take, in milliseconds."""
    modelled = found.modelled_ms()
    supposed = replace(modelled, starting=0, counting=modelled.starting + modelled.counting)
    pairs = zip(astuple(found.median_ms()), astuple(supposed), strict=True)
    pricing, _, *parts, _ = (f"{took_ms:.1f} / {supposed_ms:.1f}" for took_ms, supposed_ms in pairs)
    slowest_ms = max(one.total for one in found.took_ms)
    return found.plan, f"{found.records:,}", pricing, *parts, f"{slowest_ms:.1f} / {modelled.total:.1f}"
