"""Draws of chains of answers, each finer than the one before, seen together (8-time §2).

Whoever refines stops when an answer says enough, so chains are examined that go on to the end and chains that stop at
the first answer from which the person seems absent. Everything that was answered until then is seen. Two numbers of it
are examined: the log likelihood ratio of the last answer, which is all that the chain loses if it is drawn as it has to
be; and the sum of those of all answers, which is what it would lose if they were independent of each other.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.refining import refined as as_refined
from holder_service.privacy_audit.core import TruePair
from holder_service.privacy_audit.core import as_charged as mechanism_charged
from holder_service.privacy_audit.log_likelihood_ratio import Answer, LogLikelihoodRatio
from holder_service.privacy_audit.loss_bounds import LossBound, examine_values
from holder_service.privacy_audit.neighbours import EVERY_PAIR, Neighbours
from shared.contract.relations import Relation
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import DiscreteLaplaceNoise

EPSILONS_NANO: Final = (NANO_PER_UNIT // 2, NANO_PER_UNIT, 2 * NANO_PER_UNIT)
"""Of the answers of a chain; the last is what the whole chain is charged."""

Refining = Callable[[LaplaceMechanism, LaplaceMechanism, tuple[int, ...]], Mechanism]
"""What answers again, finer, by what would answer for the first time, what did, and what it answered."""


def as_charged(fine: LaplaceMechanism, coarse: LaplaceMechanism, answers: tuple[int, ...]) -> Mechanism:
    """The mechanism that the service answers again with."""
    return as_refined(fine, coarse, answers)


def independently(fine: LaplaceMechanism, coarse: LaplaceMechanism, answers: tuple[int, ...]) -> Mechanism:
    """Noise that does not follow the first: the answers lose the sum of what each does."""
    return fine


FAULTS: Final[Mapping[str, Refining]] = {"independent noise": independently}
"""To see that the audit catches them. Nothing that answers anybody can reach them."""


@dataclass(frozen=True, slots=True)
class ChainedPair:
    """Two registers that differ by one person, and chains of answers about them.

    Attributes:
        stopped: Whether a chain stops at the first answer from which the person seems absent.
    """

    pair: Neighbours
    stopped: bool

    @property
    def relation(self) -> Relation:
        return self.pair.relation

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.pair.sensitive

    @property
    def label(self) -> str:
        return self.pair.label

    @property
    def what(self) -> str:
        return "stopped" if self.stopped else "chain"

    def drawn(self, counts: TruePair, *, runs: int, alpha: float, refining: Refining = as_charged) -> LossBound:
        """Draw chains on either register, and bound the loss.

        Args:
            counts: The true ones on both registers.
            runs: On either; two at least.
            alpha: The probability, at most, that the bound of a faultless chain does not hold.
            refining: What draws the finer answers; noise and charge are stated as they have to be all the same.
        """
        mechanisms = [self._mechanism(epsilon_nano) for epsilon_nano in EPSILONS_NANO]
        sides = [tuple(side[index] for index in counts.changed) for side in (counts.here, counts.there)]
        seen = [self._chains(mechanisms, side, counts.pairs, runs, refining) for side in sides]
        found = [
            examine_values(
                ([run[which] for run in seen[0]], [run[which] for run in seen[1]]),
                epsilon=EPSILONS_NANO[-1] / NANO_PER_UNIT, delta=0, alpha=alpha / 2,
            )
            for which in (0, 1)
        ]  # fmt: skip
        largest = max(found, key=lambda bound: bound.bound)
        stated = sum(abs(here - there) for here, there in counts.pairs) / mechanisms[-1].scale
        return replace(largest, stated=stated, excess=largest.bound - stated)

    def _mechanism(self, epsilon_nano: int) -> LaplaceMechanism:
        [batch] = (batch for batch in self.pair.plan().batches if batch.name == "laplace")
        mechanism = mechanism_charged(self.pair, batch.model_copy(update={"epsilon": epsilon_nano}))
        if not isinstance(mechanism, LaplaceMechanism):
            raise TypeError("Chains are of discrete Laplace noise.")
        return mechanism

    def _chains(
        self,
        mechanisms: Sequence[LaplaceMechanism],
        counts: Answer,
        pairs: tuple[tuple[int, int], ...],
        runs: int,
        refining: Refining,
    ) -> list[tuple[float, float]]:
        """Of each run the ratio of the last answer, and the sum of those of all."""
        answers = mechanisms[0].release(counts * runs)
        last = _ratios(answers, pairs, mechanisms[0].noise)
        total = list(last)
        going = list(range(runs))
        for coarse, fine in itertools.pairwise(mechanisms):
            kept = [spot for spot, run in enumerate(going) if not self.stopped or last[run] > 0]
            width = len(counts)
            before = tuple(answers[spot * width + part] for spot in kept for part in range(width))
            going = [going[spot] for spot in kept]
            answers = refining(fine, coarse, before).release(counts * len(going))
            for run, ratio in zip(going, _ratios(answers, pairs, fine.noise), strict=True):
                last[run] = ratio
                total[run] = round(total[run] + ratio, 6)
        return list(zip(last, total, strict=True))


def _ratios(answers: Sequence[int], pairs: tuple[tuple[int, int], ...], noise: DiscreteLaplaceNoise) -> list[float]:
    """The log likelihood ratio of each run's answer."""
    ratio = LogLikelihoodRatio(noise, pairs)
    return [ratio.of(answer) for answer in zip(*[iter(answers)] * len(pairs), strict=True)]


CHAINED_PAIRS: Final = (
    ChainedPair(EVERY_PAIR[0], stopped=False),
    ChainedPair(EVERY_PAIR[0], stopped=True),
    ChainedPair(EVERY_PAIR[1], stopped=False),
)
