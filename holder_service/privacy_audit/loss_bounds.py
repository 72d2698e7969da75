"""A lower confidence bound on the loss of releases, from draws on two neighbouring registers.

The draws are halved. The first half chooses two events of the kind "the log likelihood ratio is at least so much": the
one whose loss seems largest, and the one whose loss seems to exceed most what it would be if the noise is as stated.
The second half, which had no part in the choice, bounds both from below with Clopper and Pearson's limits. An (ε, δ)
guarantee says P(E) ≤ e^ε · P′(E) + δ for every event, so ln((P(E) − δ)/P′(E)) bounds ε.

The second event is there because the mechanisms differ in how much of their charge one person's answer can show: the
Gaussian's is in tails that no test sees, and the exponential's is nearly twice what any pair of counts can show.

Source: 2-privacy §9; Ding, Wang, Wang, Zhang, Kifer (2018); Jagielski, Ullman, Oprea (2020).
"""

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holder_service.privacy_audit.clopper_pearson import lower_limit, upper_limit
from holder_service.privacy_audit.log_likelihood_ratio import Answer, LogLikelihoodRatio, NoiseOnCounts

_LIMITS_PER_BOUND: Final = 4
_THRESHOLDS: Final = 200
_DEVIATIONS: Final = 5.0
"""What the choice reckons with, in standard deviations; the bounds do not depend on it."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Answers to one batch on two neighbouring registers, and what was said of them.

    Attributes:
        noise: As stated by quote and release.
        epsilon, delta: The charge.
        counts: Of each count that the person can change, the true one in either register.
        answers: Of either register, the noisy ones, run by run.
    """

    noise: NoiseOnCounts
    epsilon: float
    delta: float
    counts: tuple[tuple[int, int], ...]
    answers: tuple[Sequence[Answer], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class LossBound:
    """What was seen of a batch's loss.

    Attributes:
        runs: On either register.
        epsilon, delta: The charge.
        stated: The loss at δ that the noise as stated has on this pair, exactly.
        bound: The loss at δ is at least this, with confidence.
        excess: By how much the loss is larger than that of the noise as stated, at least, with confidence.
    """

    runs: int
    epsilon: float
    delta: float
    stated: float
    bound: float
    excess: float

    @property
    def holds(self) -> bool:
        """Whether nothing was seen that the charge, or the noise as stated, does not allow."""
        return self.bound <= self.epsilon and self.excess <= 0


@dataclass(frozen=True, slots=True)
class _Event:
    """An answer whose log likelihood ratio is at least a threshold.

    Attributes:
        ratio: Says which register is the first.
        least: The threshold.
        stated: The event's probabilities on the two registers if the noise is as stated.
        seen: Its cautious shares on the two registers among the runs that choose: rather less, rather more.
    """

    ratio: LogLikelihoodRatio
    least: float
    stated: tuple[float, float]
    seen: tuple[float, float]

    @property
    def excess_seen(self) -> float:
        """By how much its loss seems larger than if the noise is as stated."""
        return _loss(self.seen) - _loss(self.stated) if min(self.stated) > 0 else -math.inf


def examine(drawn: Drawn, *, alpha: float) -> LossBound:
    """Bound the loss of some draws.

    Args:
        drawn: At least two runs on either register.
        alpha: The probability, at most, that the bound of a faultless mechanism does not hold.
    """
    runs = min(map(len, drawn.answers))
    choosing = [answers[: runs // 2] for answers in drawn.answers]
    bounding = [answers[runs // 2 : runs] for answers in drawn.answers]
    first, second = drawn.counts, tuple((there, here) for here, there in drawn.counts)
    events = _events(LogLikelihoodRatio(drawn.noise, first), choosing)
    events += _events(LogLikelihoodRatio(drawn.noise, second), choosing[::-1])
    largest = max(events, key=lambda event: _loss(event.seen, drawn.delta))
    strangest = max(events, key=lambda event: event.excess_seen)

    def shares(event: _Event) -> tuple[float, float]:
        """A lower limit of the event's probability on the first register, and an upper limit on the second."""
        order = bounding if event.ratio.counts == first else bounding[::-1]
        tallies = [event.ratio.tally(side) for side in order]
        hits = [sum(times for loss, times in tally.items() if loss >= event.least) for tally in tallies]
        share = alpha / _LIMITS_PER_BOUND
        return lower_limit(hits[0], len(order[0]), share), upper_limit(hits[1], len(order[1]), share)

    return LossBound(
        runs=runs,
        epsilon=drawn.epsilon,
        delta=drawn.delta,
        stated=max(_loss(event.stated, drawn.delta) for event in events),
        bound=max(0.0, _loss(shares(largest), drawn.delta)),
        excess=_loss(shares(strangest)) - _loss(strangest.stated),
    )


def examine_values(
    values: tuple[Sequence[float], Sequence[float]], *, epsilon: float, delta: float, alpha: float
) -> LossBound:
    """Bound the loss that lies in numbers which should be distributed alike on two registers, such as times.

    The events are "at least so much" and "at most so much"; as in `examine` the first half of the runs chooses, the
    second bounds. Nothing is stated of the numbers, so every loss that they show is an excess.

    Args:
        values: Of either register, run by run, in any unit; at least two.
        epsilon, delta: The charge of a run.
        alpha: The probability, at most, that the bound of numbers that are distributed alike does not hold.
    """
    runs = min(map(len, values))
    choosing = [sorted(side[: runs // 2]) for side in values]
    bounding = [sorted(side[runs // 2 : runs]) for side in values]
    pooled = sorted({value for side in choosing for value in side})
    thresholds = pooled[:: max(len(pooled) // _THRESHOLDS, 1)]

    def seen(event: tuple[int, float, bool]) -> float:
        first, threshold, upper = event
        hits = [_hits(side, threshold, upper=upper) for side in choosing]
        lower_share = _share(hits[first], runs // 2, -_DEVIATIONS)
        return _loss((lower_share, _share(hits[1 - first], runs // 2, _DEVIATIONS)))

    events = itertools.product((0, 1), thresholds, (False, True))
    first, threshold, upper = max(events, key=seen)
    hits = [_hits(side, threshold, upper=upper) for side in bounding]
    rest = runs - runs // 2
    bound = _loss((lower_limit(hits[first], rest, alpha / 2), upper_limit(hits[1 - first], rest, alpha / 2)))
    return LossBound(runs, epsilon, delta, stated=0.0, bound=max(0.0, bound), excess=max(0.0, bound))


def _hits(ascending: Sequence[float], threshold: float, *, upper: bool) -> int:
    """Return how many values are at least a threshold, or at most it."""
    if upper:
        return len(ascending) - bisect.bisect_left(ascending, threshold)
    return bisect.bisect_right(ascending, threshold)


def _events(ratio: LogLikelihoodRatio, answers: Sequence[Sequence[Answer]]) -> list[_Event]:
    """Every event, the largest ratio first, with what was seen of it."""
    stated = ratio.distribution()
    tallies = [ratio.tally(side) for side in answers]
    masses, hits = [0.0, 0.0], [0, 0]
    events = []
    for least in sorted({*stated, *tallies[0], *tallies[1]}, reverse=True):
        for side in (0, 1):
            masses[side] += stated.get(least, (0.0, 0.0))[side]
            hits[side] += tallies[side][least]
        lower_share = _share(hits[0], len(answers[0]), -_DEVIATIONS)
        upper_share = _share(hits[1], len(answers[1]), _DEVIATIONS)
        events.append(_Event(ratio, least, (masses[0], masses[1]), (lower_share, upper_share)))
    return events


def _share(hits: int, runs: int, deviations: float) -> float:
    """Wilson's limit of a probability, so many standard deviations above or below; good enough to choose by."""
    share, square = hits / runs, deviations**2 / runs
    spread = deviations * math.sqrt(share * (1 - share) / runs + square / (4 * runs))
    return min(max((share + square / 2 + spread) / (1 + square), 0.0), 1.0)


def _loss(shares: tuple[float, float], delta: float = 0.0) -> float:
    """ln((P(E) − δ)/P′(E)); −infinity where the event says nothing of ε."""
    more, less = shares
    if not more > delta:
        return -math.inf
    return math.log((more - delta) / less) if less > 0 else math.inf
