"""The public deadline of a release: when it is entered, whatever the records and the noise are (2-privacy §7).

Exact samplers take longer for larger noise, and counting time shows how many records there are. So a drawn answer waits
for a time after its work began that is a function of public facts alone: the plan's size, the dataset's declared
`records_max`, and the same of the plans that come before it. It is a multiple of a quantum. Only then is the answer
charged and stored, and it leaves one quantum later. What overruns its deadline waits for the double, and is counted.

The work is modelled as a sum of parts. Their shapes are known from the code, and their figures are about twice the
processor time that was measured on two slow cores. `holder calibrate` measures how a machine and its engine compare,
part by part.
"""

import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from holder_service.domain.pricing import Price
from shared.contract.rules import Predicate
from shared.wire import limits
from shared.wire.problems import TooLarge

WORD_RULES: Final = 64
"""So many rules are looked up together (`records.matching`)."""
NOISE_COUNT_MS: Final[Mapping[str, float]] = {
    "laplace": 0.01, "gaussian": 0.02, "exponential": 0.08, "randomised_response": 0.001, "choice": 0.02,
    "refined": 0.06,
}  # fmt: skip
"""Of each count that gets noise, or finer noise; of a choice, of each cell that is scored, and of eight more for each
choice."""


@dataclass(frozen=True, slots=True)
class PlanSize:
    """What of a plan the deadline depends on, over all batches.

    Attributes:
        values: Of all predicates' lists.
        cuts: At most how many cuts columns of numbers get: two for each different threshold, and one for missing.
        counts: By mechanism, how many counts get its noise: cells times groups.
        gaussians: Batches of Gaussian noise, whose scale has to be searched for.
        words: At most how many words of rules are intersected for each record.
        word_columns: The same, times the columns that each batch's rules name.
        starts: How often an engine begins to read: for each batch the records, and each derived column that it names.
        score_steps: What the scores take for one record that a learner's count works out (`column_times.steps_of`).
        added: At most how many numbers a learner adds up to learn from noisy ones.
        read_again: How many plans like it are read and priced besides: one, where it refines that.
        shared: How many words of a share are added up for each record: its groups, for each class of cells.
    """

    rules: int
    predicates: int
    values: int
    cuts: int
    columns: int
    counts: Mapping[str, int]
    gaussians: int
    classes: int
    words: int
    word_columns: int
    starts: int
    score_steps: int = 0
    added: int = 0
    read_again: int = 0
    shared: int = 0

    @classmethod
    def of(
        cls,
        price: Price,
        groups: int,
        *,
        band_cuts: Sequence[int] = (),
        sensitive: Collection[str] = (),
        derived: Collection[str] = (),
        refining: bool = False,
    ) -> Self:
        """The size of a priced plan that counts so many groups.

        Args:
            price: Of the plan.
            groups: How many.
            band_cuts: Of each column whose bands are groups, how often it is cut: every batch looks its records up.
            sensitive: The columns that the groups are made of.
            derived: The derived columns that the plan names, which lie beside the records.
            refining: Whether it refines another, which is read and priced too.
        """
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for priced in price.batches:
            batch = priced.batch
            rules = sum(len(cell.any_of) for cell in batch.cells)
            predicates = batch.predicates
            named = batch.columns
            columns = len(named)
            words = -(-rules // WORD_RULES)
            counts["refined" if refining else batch.mechanism.name] += len(batch.cells) * groups
            sizes.update(
                rules=rules, predicates=sum(times for _, times in predicates),
                values=sum(times * len(one.values or ()) for one, times in predicates),
                cuts=columns + 2 * len(_thresholds(one for one, _ in predicates)) + sum(band_cuts),
                columns=columns + len(band_cuts),
                classes=len(priced.classes),
                gaussians=int(batch.mechanism.name == "gaussian"), words=words, word_columns=words * columns,
                starts=1 + len(named.union(sensitive).intersection(derived)),
            )  # fmt: skip
        return cls(counts=counts, read_again=int(refining), **sizes)


def _thresholds(predicates: Iterable[Predicate]) -> set[tuple[str, float]]:
    """The different numbers that predicates compare each column with."""
    return {
        (one.column, value)
        for one in predicates
        for value in (one.value, *(one.values or ()))
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


@dataclass(frozen=True, slots=True)
class Work:
    """The parts of the work on a plan; in milliseconds, or as factors of what was modelled.

    Attributes:
        pricing: All that comes before the records: check, look-ups, price, the mechanisms' scales.
        starting: What an engine takes to begin to read, whatever it then reads: next to nothing for files of this
            machine, most of a short count on a cluster.
        counting: One pass over the records.
        noise: Drawing it.
        writing: Documents and digests, but for what follows the deadline: signature, transaction, anchor.
        pauses: What now and then stops a process: collections of garbage, other processes, slow disks.
    """

    pricing: float
    starting: float
    counting: float
    noise: float
    writing: float
    pauses: float

    def __post_init__(self) -> None:
        for name, value in zip(self.__slots__, self.parts, strict=True):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number that is not negative.")

    @classmethod
    def modelled_ms(cls, size: PlanSize, *, records_max: int) -> Self:
        """The time that the parts take at most, all but one in ten thousand times, in milliseconds."""
        millions = records_max / 1e6
        counts = sum(size.counts.values())
        return cls(
            pricing=2 + (1 + 2 * size.read_again) * (0.02 * size.predicates + 0.006 * size.values + 0.01 * size.rules)
            + 0.002 * counts * size.read_again + 5 * size.gaussians + 4e-6 * size.added,
            starting=size.starts,
            counting=(
                0.3 * size.words + 0.015 * size.predicates + 0.003 * size.values + 0.002 * counts
                + millions * (5 + 2 * size.columns + 0.008 * size.cuts)
                + millions * (8 * size.classes + 3 * size.words + 1.4 * size.word_columns + 2 * size.score_steps)
                + millions * 30 * size.shared
            ),
            noise=2 + sum(NOISE_COUNT_MS[name] * number for name, number in size.counts.items()),
            writing=1 + 0.008 * size.predicates + 0.002 * size.values + 0.01 * size.rules + 0.004 * counts,
            pauses=8,
        )  # fmt: skip

    def times(self, factors: "Work") -> "Work":
        return Work(*map(operator.mul, self.parts, factors.parts))

    @property
    def total(self) -> float:
        """All parts together: they follow each other."""
        return math.fsum(self.parts)

    @property
    def parts(self) -> tuple[float, ...]:
        """Each of them, in order."""
        return tuple([getattr(self, name) for name in self.__slots__])


AS_SHIPPED: Final = Work(pricing=1, starting=1, counting=1, noise=1, writing=1, pauses=1)
"""The factors of a machine that nobody calibrated, and whose own files are counted."""
CLUSTER_AS_SHIPPED: Final = replace(AS_SHIPPED, starting=1000, pauses=50)
"""Those of a cluster that nobody calibrated: a job of a second, and now and then half a second more."""


def require_bounded(*sizes: PlanSize, records_max: int) -> None:
    """Refuse a plan, or the steps of a training, whose count would occupy the holder for minutes.

    The same on every machine.

    Raises:
        TooLarge: Naming the limit.
    """
    if not work_s(*sizes, records_max=records_max) <= limits.RELEASE_S_MAX:
        raise TooLarge(what="seconds of work on a dataset as large as this is declared", limit=limits.RELEASE_S_MAX)


def work_s(*sizes: PlanSize, records_max: int, factors: Work = AS_SHIPPED) -> float:
    """How long the work on a plan, or on the steps of a training one after the other, is supposed to take, in seconds.

    It follows from the declared `records_max`, not from the number of records. `factors` compare this machine with the
    model's.
    """
    return work_ms(*sizes, records_max=records_max, factors=factors).total / 1000


def work_ms(*sizes: PlanSize, records_max: int, factors: Work = AS_SHIPPED) -> Work:
    """The same, part by part, in milliseconds."""
    steps = [Work.modelled_ms(size, records_max=records_max).times(factors).parts for size in sizes]
    return Work(*map(math.fsum, zip(*steps, strict=True)))


def reading_s(size: int) -> float:
    """Return how long it is supposed to take to read a plan from so many bytes of JSON, in seconds."""
    return 0.001 + 0.5e-6 * size


def release_deadline_s(work_s: float, *, quantum_ms: int) -> float:
    """Seconds from the beginning of the work to the entry in the ledger: a multiple of the quantum, and at least one.

    The answer leaves a quantum later. A quantum of 0 switches the deadline off, for tests and simulations only.

    Args:
        work_s: On the plan, and on those that come before it.
        quantum_ms: The holder's.
    """
    if quantum_ms == 0:
        return 0.0
    return max(math.ceil(1000 * work_s / quantum_ms), 1) * quantum_ms / 1000


def public_time_s(*, begun_s: float, period_s: float, now_s: float) -> tuple[float, bool]:
    """The next public time of work, by any clock, and whether the work overran.

    What overran its period waits for the double, and for the double of that if need be, so that
    even then its time is one of few public values.
    """
    if period_s == 0:
        return now_s, False
    due_s = period_s
    while now_s - begun_s > due_s:
        due_s *= 2
    return begun_s + due_s, due_s > period_s
