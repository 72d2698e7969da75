"""When a derived column is ready: a public time, whatever the records are (5-decisions §1, 2-privacy §7).

How long a score is computed, or linked values are joined, shows how many records there are. So a column is ready at a
time that is a function of public facts alone: the size of its document or file, the dataset's declared `records_max`,
and the same of the columns that are to be made before it. The work itself is done in a process of its own at the
lowest priority; nobody sees when it ends. What overruns its time waits for the double, as releases do.

The figures are about twice the time that was measured on two slow cores with a busy holder at work as well;
`holder calibrate` says how a machine compares, by the factor of its counting.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from holder_service.domain.deadlines import AS_SHIPPED, Work, public_time_s
from shared import limits
from shared.problems import TooLarge
from shared.scores import Choice, Document, Layers, RuleList, Terms, Trees

START_S: Final = 6.0
"""To start the process, and to write and sync a small file."""
COMPILE_S: Final = 24.0
"""For a score, to compile the loops that evaluate documents; a process that stays need not do it again."""
BYTES_S: Final = 1e-6
"""For each byte of a document, to read it again; and for each byte of linked values."""
RECORD_S: Final = 1.5e-6
"""For each record, to open it, to look its person up and to encode its value."""
STEP_S: Final = 2.5e-8
"""For each record and each step of the document's evaluation."""


@dataclass(frozen=True, slots=True)
class ColumnSize:
    """What of a derived column its time depends on.

    Attributes:
        bytes: Of the document, or of the file of linked values.
        steps: Tests, look-ups and products for one record, at most; none for linked values.
    """

    bytes: int
    steps: int

    def work_s(self, *, records_max: int, factors: Work = AS_SHIPPED) -> float:
        """How long making it is supposed to take at most, in seconds."""
        start_s = START_S + (COMPILE_S if self.steps else 0)
        supposed_s = start_s + BYTES_S * self.bytes + records_max * (RECORD_S + STEP_S * self.steps)
        return supposed_s * max(factors.counting, 1)


def require_bounded(size: ColumnSize, *, records_max: int) -> None:
    """Refuse a column that would take hours to make; the same on every machine.

    Raises:
        TooLarge: Naming the limit.
    """
    if not size.work_s(records_max=records_max) <= limits.COLUMN_S_MAX:
        raise TooLarge(
            what="seconds of work for a derived column of a dataset as large as this is declared",
            limit=limits.COLUMN_S_MAX,
        )


def steps_of(document: Document) -> int:
    """How many tests, look-ups and products one record takes at most."""
    match document:
        case Choice():
            return sum(map(steps_of, document.of))
        case Trees():
            return len(document.tests) + sum(_depth(tree.yes, tree.no) for tree in document.trees)
        case Terms():
            return 2 * len(document.terms) + sum(_predicates(term) for term in document.terms)
        case Layers():
            weights = sum(len(layer.weights) * (len(layer.weights[0]) + 1) for layer in document.layers)
            return 2 * len(document.inputs) + sum(_predicates(term) for term in document.inputs) + weights
        case RuleList():
            return len(document.cases) + sum(len(case.rule.all_of) for case in document.cases)


def _predicates(term: object) -> int:
    rule = getattr(term, "rule", None)
    return 0 if rule is None else len(rule.all_of)


def _depth(yes: tuple[int, ...], no: tuple[int, ...]) -> int:
    depths = [0] * len(yes)
    deepest = 1
    for node, children in enumerate(zip(yes, no, strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = max(depths[child], depths[node] + 1)
                deepest = max(deepest, depths[child] + 1)
    return deepest


def due_after(begun: datetime, work_s: float, *, quantum_ms: int) -> datetime:
    """When work that begins at a time is public: whole seconds later; at once without a quantum, for tests alone."""
    return begun if quantum_ms == 0 else begun + timedelta(seconds=math.ceil(work_s))


def public_end(*, begun: datetime, due: datetime, ended: datetime) -> datetime:
    """The public time of work that ended, or goes on, at a time: when it is due, or the double of that, and so on."""
    period_s = (due - begun).total_seconds()
    at_s, _ = public_time_s(begun_s=0.0, period_s=period_s, now_s=(ended - begun).total_seconds())
    return begun + timedelta(seconds=at_s)
