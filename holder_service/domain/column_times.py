"""When a derived column is ready: a public time, whatever the records are (5-decisions §1, 2-privacy §7).

How long a score is computed, or linked values are joined, shows how many records there are. So a column is ready at a
time that is a function of public facts alone: the size of its document or file, the dataset's declared `records_max`,
and the same of the columns that are to be made before it. The work itself is done in a process of its own at the
lowest priority; nobody sees when it ends. What overruns its time waits for the double, as releases do.

The figures are about twice the time that was measured on two slow cores with a busy holder at work as well.
`holder calibrate` says how a machine and its engine compare: a beginning by the factor of pricing, which is this
process's, and by what an engine takes to begin; what is done for bytes and records by the factor of counting.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from holder_service.domain.deadlines import AS_SHIPPED, WORD_RULES, Work, public_time_s
from shared.scores.documents import (
    Document,
    Layers,
    Part,
    Product,
    RuleList,
    RuleTerm,
    TableTerm,
    Term,
    Terms,
    Trees,
    parts_of,
    rules_of,
)
from shared.wire import limits
from shared.wire.problems import TooLarge

START_S: Final = 6.0
"""To start the process, and to write and sync a small file."""
STARTS: Final = 4
"""So often an engine begins to read, to make a column."""
COMPILE_S: Final = 24.0
"""For a score, to compile the loops that evaluate documents; a process that stays need not do it again."""
BYTES_S: Final = 1e-6
"""For each byte of a document, to read it again; and for each byte of linked values."""
RECORD_S: Final = 1.5e-6
"""For each record, to open it, to look its person up and to encode its value."""
STEP_S: Final = 2e-9
"""For each record and each step of the document's evaluation: a nanosecond where it was measured."""


@dataclass(frozen=True, slots=True)
class ColumnSize:
    """What of a derived column its time depends on.

    Attributes:
        bytes: Of the document, or of the file of linked values.
        steps: What the document takes for one record (`steps_of`); 0 for linked values.
    """

    bytes: int
    steps: int

    def work_s(self, *, records_max: int, factors: Work = AS_SHIPPED) -> float:
        """Return how long making it is supposed to take at most, in seconds."""
        start_s = START_S + (COMPILE_S if self.steps else 0)
        read_s = BYTES_S * self.bytes + records_max * (RECORD_S + STEP_S * self.steps)
        engine_s = STARTS * factors.starting / 1000
        return start_s * max(factors.pricing, 1) + engine_s + read_s * max(factors.counting, 1)


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
    """Return how many nanoseconds one record took where it was measured, at most (`benchmarks.score_costs`)."""
    return 10 + math.ceil(sum(map(_steps, parts_of(document))))


def _steps(part: Part) -> float:
    rules = rules_of(part)
    words = 2 * -(-len(rules) // WORD_RULES) * len({test.column for rule in rules for test in rule.all_of})
    match part:
        case Trees():
            # A test is a cut to be found in each chunk; one of a list is made for itself (`records.score_trees`).
            tests = sum(0.01 + 0.1 * len(test.values or ()) for test in part.tests)
            return tests + sum(2 + min(0.08 * len(tree.tests), 12 * tree.depth) for tree in part.trees)
        case RuleList():
            return words + 3 * len(rules)
        case Layers():
            weights = sum(len(layer.weights) * len(layer.weights[0]) for layer in part.layers)
            curved = sum(len(layer.bias) for layer in part.layers if layer.activation in ("tanh", "logistic"))
            widest = max(len(part.inputs), *(len(layer.bias) for layer in part.layers))
            return words + sum(map(_term_steps, part.inputs)) + widest / 300 * len(part.inputs) + weights + 80 * curved
        case Terms():
            return words + sum(map(_term_steps, part.terms))


def _term_steps(term: Term) -> float:
    match term:
        case Product():
            return 2.0 * len(term.columns)
        case TableTerm():
            return 4.0 * len(term.axes) + 0.001 * len(term.table)
        case RuleTerm():
            return 4.0


def due_after(begun: datetime, work_s: float, *, quantum_ms: int) -> datetime:
    """When work that begins at a time is public: whole seconds later; at once without a quantum, for tests alone."""
    return begun if quantum_ms == 0 else begun + timedelta(seconds=math.ceil(work_s))


def public_end(*, begun: datetime, due: datetime, ended: datetime) -> datetime:
    """The public time of work that ended, or goes on, at a time: when it is due, or the double of that, and so on."""
    period_s = (due - begun).total_seconds()
    at_s, _ = public_time_s(begun_s=0.0, period_s=period_s, now_s=(ended - begun).total_seconds())
    return begun + timedelta(seconds=at_s)
