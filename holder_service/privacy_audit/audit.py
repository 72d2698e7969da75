"""The whole audit: every relation with every mechanism, in the core and over HTTP; time; and faults, if asked."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from holder_service.privacy_audit import refined, timing, trained
from holder_service.privacy_audit.core import Calibration, TruePair, as_charged, draw, true_counts
from holder_service.privacy_audit.faults import FAULTS, SLIGHT, count_large_registers_slowly
from holder_service.privacy_audit.loss_bounds import LossBound, examine, examine_values
from holder_service.privacy_audit.neighbours import EVERY_PAIR, Neighbours
from holder_service.privacy_audit.over_http import draw_all, holder_under_audit
from holder_service.settings.holder import QUANTUM_MS_DEFAULT

DRAWS_PER_CHAIN: Final = 4
"""A chain of three takes as long as some ten draws of a count."""
WARM_UP: Final = 20
"""The first releases open files and fill caches."""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """What was found of one mechanism under one relation, or of one timing.

    Attributes:
        through: "core", "HTTP" or "time".
        what: The mechanism's name, or the algorithm's, or what was seen of releases (`timing`); of finer answers
            "chain" or "stopped".
    """

    through: str
    pair: Neighbours | timing.TimedPair | trained.TrainedPair | refined.ChainedPair
    what: str
    fault: str | None
    bound: LossBound

    @property
    def as_expected(self) -> bool:
        """Whether the charge holds, or the planted fault was found."""
        return self.bound.holds == (self.fault is None)


def audit(
    *, core_runs: int, http_runs: int, time_runs: int, alpha: float, with_faults: bool = False
) -> Iterator[AuditLine]:
    """Draw and examine, line by line.

    Args:
        core_runs: On either register of a pair, four times as many to find a slight fault, a quarter of a chain, and of
            trainings fewer (`trained.DRAWS_PER_MODEL`); 0 leaves the core out.
        http_runs: The same of releases over HTTP.
        time_runs: The same of releases whose timing and texts are examined, at the default quantum.
        alpha: The probability, at most, that a faultless service has a line that does not hold.
        with_faults: Draw with planted faults too, through the core; and without the quantum.

    Raises:
        AuditFailed: The holder under audit did not work.
    """
    with tempfile.TemporaryDirectory(prefix="privacy-audit-") as folder:
        counted = [(pair, true_counts(pair, Path(folder) / str(number))) for number, pair in enumerate(EVERY_PAIR)]
    lines = len(EVERY_PAIR[0].batches) * len(EVERY_PAIR) * (core_runs > 0)
    lines += len(EVERY_PAIR[0].plan().batches) * len(EVERY_PAIR) * (http_runs > 0)
    lines += (len(trained.EVERY_TRAINED_PAIR) + len(refined.CHAINED_PAIRS)) * (core_runs > 0)
    share = alpha / (lines + len(timing.TIMED_PAIRS) * len(timing.ASKED + timing.OBSERVED) * (time_runs > 0))
    planted: list[Mapping[Any, Calibration]] = [{None: as_charged}, FAULTS] if with_faults else [{None: as_charged}]
    if core_runs:
        for calibrations, (pair, counts) in itertools.product(planted, counted):
            yield from _through_core(pair, counts, core_runs, share, calibrations)
        for chained in refined.CHAINED_PAIRS:
            for fault in (None, *refined.FAULTS) if with_faults else (None,):
                yield _chained(chained, dict(counted)[chained.pair], max(core_runs // DRAWS_PER_CHAIN, 2), share, fault)
        for trained_pair in trained.EVERY_TRAINED_PAIR:
            yield from _trained(trained_pair, core_runs, share, with_faults=with_faults)
    if http_runs:
        for pair, counts in counted:
            with holder_under_audit() as holder:
                drawn = draw_all(holder, pair, counts, runs=http_runs)
            for name, answers in drawn.items():
                yield AuditLine("HTTP", pair, name, None, examine(answers, alpha=share))

    if time_runs:
        for timed in timing.TIMED_PAIRS:
            yield from _timed(timed, time_runs, share, quantum_ms=QUANTUM_MS_DEFAULT)
    if time_runs and with_faults:
        for line in _timed(timing.EVERYTHING, time_runs, share, quantum_ms=0, fault=count_large_registers_slowly):
            if line.what in ("latency", "created"):
                yield replace(line, fault="no quantum, slow counts")


def _chained(chained: refined.ChainedPair, counts: TruePair, runs: int, alpha: float, fault: str | None) -> AuditLine:
    """The line of chains of finer answers, drawn as charged or with a fault."""
    refining = refined.as_charged if fault is None else refined.FAULTS[fault]
    bound = chained.drawn(counts, runs=runs, alpha=alpha, refining=refining)
    return AuditLine("core", chained, chained.what, fault, bound)


def _trained(pair: trained.TrainedPair, core_runs: int, alpha: float, *, with_faults: bool) -> Iterator[AuditLine]:
    """The lines of a training, drawn as charged and with each fault that it can have."""
    faults = {name: fault for name, fault in trained.FAULTS.items() if with_faults and fault.concerns(pair)}
    for name, fault in ((None, trained.NONE), *faults.items()):
        with tempfile.TemporaryDirectory(prefix="privacy-audit-") as folder:
            bound = pair.drawn(Path(folder), runs=pair.runs(core_runs), alpha=alpha, fault=fault)
        yield AuditLine("core", pair, pair.algorithm, name, bound)


def _timed(
    pair: timing.TimedPair, runs: int, alpha: float, *, quantum_ms: int, fault: Callable[[], None] | None = None
) -> Iterator[AuditLine]:
    with holder_under_audit(quantum_ms=quantum_ms, fault=fault) as holder:
        observer = timing.Observer(holder, pair)
        observer.observe(runs=WARM_UP, observed=False)
        seen = observer.observe(runs=runs, observed=True, first=WARM_UP)
    for what in timing.ASKED + timing.OBSERVED:
        bound = examine_values(timing.values_of(what, seen), epsilon=timing.EPSILON, delta=0, alpha=alpha)
        yield AuditLine("time", pair, what, None, bound)


def _through_core(
    pair: Neighbours, counts: TruePair, runs: int, alpha: float, calibrations: Mapping[Any, Calibration]
) -> Iterator[AuditLine]:
    """The lines of every batch, drawn as charged or with each of some faults."""
    several = len(counts.changed) > 1
    for batch in pair.batches:
        for fault, calibration in calibrations.items():
            # Where one count changes, sensitivity 1 is no fault.
            if several or fault != "sensitivity 1":
                times = 4 if several and fault == SLIGHT else 1
                drawn = draw(pair, batch, counts, runs=times * runs, calibration=calibration)
                yield AuditLine("core", pair, batch.name, fault, examine(drawn, alpha=alpha))
