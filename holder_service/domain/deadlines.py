"""The public deadline of a release: when it leaves, whatever the records and the noise are (2-privacy §7).

Exact samplers take longer for larger noise, and counting time shows how many records there are. So
an answer leaves at a time after its arrival that is a function of the plan's size and the dataset's
declared `records_max` alone, a multiple of a quantum. What overruns it waits for the double, and is
counted.
"""

import math
from dataclasses import dataclass
from typing import Final

WORK_BASE_MS: Final = 8.0
WORK_PER_COUNT_MS: Final = 0.02
WORK_PER_RULE_MS: Final = 0.25
WORK_PER_MILLION_RECORDS_MS: Final = 60.0
WORK_PER_MILLION_RECORDS_AND_RULE_MS: Final = 0.25


@dataclass(frozen=True, slots=True)
class PlanSize:
    """What of a plan the deadline depends on."""

    rules: int
    counts: int
    classes: int


def release_deadline_s(size: PlanSize, *, records_max: int, quantum_ms: int) -> float:
    """Seconds from arrival to answer.

    Args:
        size: Of the plan: rules, counts (cells times groups), classes (walks over the records).
        records_max: What the dataset declares, not how many records there are.
        quantum_ms: The holder's quantum; 0 switches the deadline off, for tests and simulations only.

    Returns:
        A multiple of the quantum, in seconds, at least one quantum; 0.0 without a quantum.
    """
    if quantum_ms == 0:
        return 0.0
    millions = records_max / 1e6
    work_ms = (
        WORK_BASE_MS
        + WORK_PER_COUNT_MS * size.counts
        + WORK_PER_RULE_MS * size.rules
        + millions * (WORK_PER_MILLION_RECORDS_MS * size.classes + WORK_PER_MILLION_RECORDS_AND_RULE_MS * size.rules)
    )
    return math.ceil(work_ms / quantum_ms) * quantum_ms / 1000


def wait_s(*, elapsed_s: float, deadline_s: float) -> tuple[float, bool]:
    """How long an answer still has to wait, and whether it overran.

    An overrun waits for the double of the deadline, and for the double of that if need be, so that
    even then its time is one of few public values.
    """
    if deadline_s == 0:
        return 0.0, False
    due_s = deadline_s
    while elapsed_s > due_s:
        due_s *= 2
    return due_s - elapsed_s, due_s > deadline_s
