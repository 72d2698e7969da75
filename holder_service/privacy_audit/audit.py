"""The whole audit: every relation with every mechanism, in the core and over HTTP; and with faults, if asked."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holder_service.privacy_audit.core import TruePair, draw, true_counts
from holder_service.privacy_audit.faults import FAULTS, SLIGHT
from holder_service.privacy_audit.findings import Finding, examine
from holder_service.privacy_audit.neighbours import EVERY_PAIR, Neighbours
from holder_service.privacy_audit.over_http import draw_all, holder_under_audit


@dataclass(frozen=True, slots=True)
class Line:
    """What was found of one mechanism under one relation.

    Attributes:
        through: "core" or "HTTP".
        pair: The registers.
        mechanism: Its name.
        fault: The fault that was planted, if one was.
        finding: What was seen.
    """

    through: str
    pair: Neighbours
    mechanism: str
    fault: str | None
    finding: Finding

    @property
    def as_expected(self) -> bool:
        """Whether nothing was found, or the planted fault was."""
        return self.finding.holds == (self.fault is None)


def audit(*, core_runs: int, http_runs: int, alpha: float, with_faults: bool = False) -> Iterator[Line]:
    """Draw and examine, line by line.

    Args:
        core_runs: On either register of a pair, four times as many to find a slight fault; 0 leaves the core out.
        http_runs: The same of releases over HTTP.
        alpha: The probability, at most, that a faultless service has a line that does not hold.
        with_faults: Draw with planted faults too, through the core.

    Raises:
        AuditFailed: The holder under audit did not work.
    """
    with tempfile.TemporaryDirectory(prefix="privacy-audit-") as folder:
        counted = [(pair, true_counts(pair, Path(folder) / str(place))) for place, pair in enumerate(EVERY_PAIR)]
    mechanisms = len(EVERY_PAIR[0].plan().batches)
    share = alpha / (mechanisms * len(EVERY_PAIR) * ((core_runs > 0) + (http_runs > 0)))
    if core_runs:
        for pair, counts in counted:
            yield from _through_core(pair, counts, core_runs, share)
    if core_runs and with_faults:
        for pair, counts in counted:
            yield from _with_faults(pair, counts, core_runs, share)
    if http_runs:
        for pair, counts in counted:
            with holder_under_audit() as holder:
                drawn = draw_all(holder, pair, counts, runs=http_runs)
            for name, answers in drawn.items():
                yield Line("HTTP", pair, name, None, examine(answers, alpha=share))


def _through_core(pair: Neighbours, counts: TruePair, runs: int, alpha: float) -> Iterator[Line]:
    for batch in pair.plan().batches:
        yield Line("core", pair, batch.name, None, examine(draw(pair, batch, counts, runs=runs), alpha=alpha))


def _with_faults(pair: Neighbours, counts: TruePair, runs: int, alpha: float) -> Iterator[Line]:
    for batch in pair.plan().batches:
        for fault, calibration in FAULTS.items():
            several = len(counts.changed) > 1
            # Where one count changes, sensitivity 1 is no fault.
            if several or fault != "sensitivity 1":
                times = 4 if several and fault == SLIGHT else 1
                drawn = draw(pair, batch, counts, runs=times * runs, calibration=calibration)
                yield Line("core", pair, batch.name, fault, examine(drawn, alpha=alpha))
