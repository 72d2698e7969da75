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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Final

from holder_service.domain.deadlines import PlanSize, Work
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import Counts, EncodedVersion
from holder_service.records.formats import Upload
from holder_service.services.accounts import access
from holder_service.services.datasets import budgets, datasets
from holder_service.services.releases import releases
from holder_service.services.releases.asked import AskedRelease
from holder_service.services.running import loads
from holder_service.services.running.holder import Holder, initialise
from holder_service.services.work.measured_requests import COLUMNS, FREQUENT, of_rows, plans, trainings
from holder_service.settings.holder import Settings
from shared.contract.datasets import BudgetGrant, DatasetDeclaration, NewAuditor
from shared.contract.rules import Cell
from shared.kinds.requests import ReleaseRequest

AUDITOR: Final = "calibration"
RUNS_MIN: Final = 5
"""So often a plan runs, however short the time is, unless fewer runs are asked for."""
MARGIN: Final = 1.5
"""What the middle of the measured times is raised by; what is rarer than that, pauses, is measured apart."""
AMPLE: Final = {"epsilon": "999", "delta": "0.9"}


class TimeShares:
    """Divides a time among plans: what is left, by those that are left; `RUNS_MIN` runs of each in any case."""

    def __init__(self, seconds: float, plans: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end_s = clock() + seconds
        self._plans = plans

    def runs(self) -> Iterator[None]:
        """Yield once for each run of the next plan; its first run, which does not count, is one more."""
        began_s = self._clock()
        share_s = (self._end_s - began_s) / max(self._plans, 1)
        self._plans -= 1
        yield from itertools.repeat(None, 1 + RUNS_MIN)
        while self._clock() < began_s + share_s:
            yield None


@dataclass(frozen=True, slots=True)
class Measured:
    """What one plan or training took.

    Attributes:
        plan: What it is called.
        records: Of the register.
        sizes: Of the plan, or of each step of the training.
        took_ms: Each run's parts, in milliseconds; `pauses` is 0, because no part is one, and so is `starting`, which
            cannot be seen apart from `counting`.
    """

    plan: str
    records: int
    sizes: Sequence[PlanSize]
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
        """Return what the deadlines suppose for a dataset that is declared as large as this one is."""
        return _modelled_ms(self.sizes, self.records)


def _modelled_ms(sizes: Sequence[PlanSize], records: int) -> Work:
    parts = zip(*(Work.modelled_ms(size, records_max=records).parts for size in sizes), strict=True)
    return Work(*map(math.fsum, parts))


def measure(
    served: Settings, *, records: Sequence[int], runs: int, pace: "TimeShares | None" = None
) -> Iterator[Measured]:
    """Measure plans of different sizes and mechanisms, also about an aggregate table, and a training of each kind.

    Args:
        served: Of the real holder: what is made is on the volume of its home, or in its cluster's store, and goes.
        pace: Ends the runs of a plan before there are so many, where time is short.
    """
    pace = pace or TimeShares(math.inf)
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
                for rows in ("people", "rows"):
                    dataset = f"{rows}-{number}"
                    _load(holder, dataset, number, root / "people.csv", aggregates=rows == "rows")
                    asked = {**plans(), **trainings()} if rows == "people" else of_rows(plans())
                    for request in () if index else asked.values():
                        _run(holder, request, dataset)  # a cluster's first jobs take much longer
                    for name, request in asked.items():
                        every = (read_anew(request, draw) for draw in range(1, runs + 2))
                        _, *ran = (_run(holder, one, dataset) for one, _ in zip(every, pace.runs(), strict=False))
                        yield Measured(name, number, ran[0][0], [took_ms for _, took_ms in ran])
                    datasets.retire(holder.store, actor=AUDITOR, name=dataset, files=holder.files)
                    holder.engine.sweep()


def plans_measured(registers: int) -> int:
    """Return how many plans and trainings `measure` yields for some sizes of register."""
    return registers * (len({**plans(), **trainings()}) + len(of_rows(plans())))


def factors(found: Sequence[Measured]) -> Work:
    """Return how this machine compares with the model, part by part.

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


def _run(holder: Holder, request: ReleaseRequest, dataset: str) -> tuple[tuple[PlanSize, ...], Work]:
    """Prepare and draw; noise is drawn once more for itself, and taken off the whole as the counting is.

    Nothing is entered: what follows the deadline takes no part in it. What a learner takes for itself cannot be seen
    apart from pricing and writing: it is laid to both, as the model divides them.
    """
    timed = _Timed(holder.engine)
    clock_s = [time.perf_counter()]
    asked = releases.prepare(holder.store, holder.files, auditor=AUDITOR, dataset=dataset, asked=request)
    if not isinstance(asked, AskedRelease):
        raise TypeError("Nothing is asked here twice, and nothing needs an approval.")
    priced = asked.priced
    clock_s.append(time.perf_counter())
    sizes = priced.draw_noise()
    clock_s.append(time.perf_counter())
    releases.draw(asked, engine=timed, seals=holder.seals)
    clock_s.append(time.perf_counter())
    pricing, noise, drawing = (1000 * (end - start) for start, end in itertools.pairwise(clock_s))
    writing = max(drawing - timed.took_ms - noise, 0)
    if priced.learns:
        modelled = _modelled_ms(sizes, priced.dataset.records_max)
        learning = (pricing + writing) / (modelled.pricing + modelled.writing)
        pricing, writing = learning * modelled.pricing, learning * modelled.writing
    return sizes, Work(pricing, starting=0, counting=timed.took_ms, noise=noise, writing=writing, pauses=0)


def read_anew(request: ReleaseRequest, draw: int) -> ReleaseRequest:
    """Another draw of a request, as it is after it was sent: what it works out of itself once is part of the work."""
    return type(request).model_validate({**request.document(), "draw": draw})


def _load(holder: Holder, name: str, people: int, source: Path, *, aggregates: bool) -> None:
    """Invent a register and a budget to ask about it: half of the people have one number, all others one each.

    Of an aggregate table each row stands for one of them, so that there are as many rows as there may be.
    """
    columns: list[dict[str, Any]] = [{"name": f"x{column}", "type": "number"} for column in range(COLUMNS)]
    groups = {"name": "group", "type": "category", "categories": list("ABCDEFGH"), "sensitive": True}
    halves = {"name": "half", "type": "category", "categories": list("AB"), "sensitive": True}
    label = {"name": "label", "type": "boolean", "label": True}
    rows = {"people": "id"} if aggregates else {"person_key": "id"}
    declaration = DatasetDeclaration.model_validate(
        {**rows, "cap": AMPLE, "records_max": people, "columns": [*columns, groups, halves, label]}
    )
    datasets.declare(holder.store, actor=AUDITOR, name=name, declaration=declaration, files=holder.files, sets_cap=True)
    rng = random.Random(people)  # noqa: S311 - invented people
    with source.open("w", encoding="utf-8") as file:
        file.write(",".join(["id", *(column["name"] for column in columns), "group", "half", "label"]) + "\n")
        for person in range(people):
            values = (str(rng.choice((FREQUENT, rng.random()))) for _ in columns)
            others = rng.choice("ABCDEFGH"), rng.choice("AB"), rng.choice(("true", "false"))
            file.write(",".join([str(1 if aggregates else person), *values, *others]) + "\n")
    with holder.files.in_use():
        loads.load(
            holder.store, actor=AUDITOR, name=name, upload=Upload(source, "text/csv"), engine=holder.engine,
            files=holder.files, pace=holder.pace,
        )  # fmt: skip
    grant = BudgetGrant.model_validate(AMPLE)
    budgets.set_limit(holder.store, actor=AUDITOR, dataset=name, auditor=AUDITOR, grant=grant)


def shown(found: Measured) -> tuple[str, ...]:
    """A line for a table: plan, records, then what each part took and was supposed to take, in milliseconds."""
    modelled = found.modelled_ms()
    supposed = replace(modelled, starting=0, counting=modelled.starting + modelled.counting)
    pairs = zip(astuple(found.median_ms()), astuple(supposed), strict=True)
    pricing, _, *parts, _ = (f"{took_ms:.1f} / {supposed_ms:.1f}" for took_ms, supposed_ms in pairs)
    slowest_ms = max(one.total for one in found.took_ms)
    return found.plan, f"{found.records:,}", pricing, *parts, f"{slowest_ms:.1f} / {modelled.total:.1f}"
