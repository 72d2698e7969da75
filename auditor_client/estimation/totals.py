"""Noisy totals per group: all that the posterior sees of an answer, and how likely they make true totals.

Axes: T independent releases (a simulation has many, an audit one), K groups, M draws.

Exact numbers of people over all groups together (`KnownTotals`), if they are known, fix the margins of the table of
true totals: what one group has, another has not. They are the sums of the rules' supports. Each rule's own support is
left unused: with Gaussian noise it would add nothing to the sums, with Laplace noise little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.exponential_likelihood import ExponentialAnswers, ExponentialDifference, ExponentialSum
from auditor_client.estimation.joined_answers import JoinedAnswers, joined
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.measurements import (
    ONLY_ADDED_NOISE,
    ComplementKind,
    IntArray,
    Members,
    SizeBounds,
    Supports,
)
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.privacy.noise import AdditiveNoise

TotalsT = TypeVar("TotalsT")
BoolArray = NDArray[np.bool_]
NoisyCount = AdditiveAnswers | JoinedAnswers
"""Counts to which noise was added: once, or in several independent answers."""
CountLikelihood = NoisyCount | ExponentialAnswers
"""The likelihood of true counts of K groups, given what was answered about them in T releases."""
NoisyEstimate = CountLikelihood | ExponentialDifference
"""Estimates of K groups' true counts in T releases."""
NoisySizes = NoisyCount | ExponentialSum
"""Noisy numbers of all people of K groups in T releases."""


@dataclass(frozen=True, slots=True, eq=False)
class TrueTotals:
    """Supposed true totals of some groups: accepted and refused people, shape (T, K, M) each."""

    accepted: IntArray
    refused: IntArray

    def of(self, groups: IntArray) -> "TrueTotals":
        """Some groups alone, shape (T, G, M) each; `groups` are their G indices."""
        return TrueTotals(self.accepted[:, groups], self.refused[:, groups])


@dataclass(frozen=True, slots=True, eq=False)
class KnownTotals:
    """Exact numbers of people over all groups together, shape (T,) each.

    `counted` is how many groups' answers carry noise of their own: K, or 1 where the second of two groups' answers is
    what the first leaves of the people.
    """

    accepted: IntArray
    refused: IntArray
    counted: int

    @classmethod
    def of(cls, supports: Supports, complement_is: ComplementKind, *, counted: int) -> Self:
        """The sums of the supports of one release's cells."""
        accepted, complement = (np.array([sum(part)], np.int64) for part in (supports.favourable, supports.complement))
        return cls(accepted, complement - accepted if complement_is == "everybody" else complement, counted)


@dataclass(frozen=True, slots=True, eq=False)
class FinerTotals(Generic[TotalsT]):
    """The totals of finer groups, and which of them each coarser group has."""

    totals: TotalsT
    members: Members


@dataclass(frozen=True, slots=True, eq=False)
class CountedTotals:
    """Totals of groups that the holder counted, so that each group's answers have a likelihood of their own.

    `refused` is what the answers say about the refused: the complement, or everybody minus the accepted. `sizes` is
    what they say about both together, and `bounds` what was known of that beforehand. `balance` is the accepted minus
    the refused, where noise was added to either; None elsewhere. `confusion` is as a `Measurement` has it. `finer`
    are totals of finer groups that these add up.
    """

    accepted: CountLikelihood
    complement: CountLikelihood
    refused: NoisyEstimate
    sizes: NoisySizes
    complement_is: ComplementKind
    known: KnownTotals | None = None
    bounds: SizeBounds | None = None
    balance: NoisyCount | None = None
    confusion: ConfusionCounts | None = None
    finer: "FinerTotals[CountedTotals] | None" = None

    @classmethod
    def with_noise(
        cls,
        accepted: IntArray,
        complement: IntArray,
        noises: tuple[AdditiveNoise, AdditiveNoise],
        *,
        cells: tuple[int, int],
        complement_is: ComplementKind,
        known: KnownTotals | None = None,
        bounds: SizeBounds | None = None,
    ) -> Self:
        """Totals of answers to which noise was added: noisy numbers of accepted and complement, shape (T, K) each.

        `noises` are on each count of a favourable cell and of one of the complement, `cells` how many counts either
        total adds up.
        """
        answers = AdditiveAnswers(accepted, noise_sum(noises[0], cells[0]))
        other = AdditiveAnswers(complement, noise_sum(noises[1], cells[1]))
        # Sum and difference carry both noises. A plan's two halves differ in scale by an odd nano at most.
        both = noise_sum(max(noises, key=lambda noise: noise.scale), sum(cells))
        if complement_is == "everybody":
            refused = AdditiveAnswers(complement - accepted, both)
            return cls(answers, other, refused, other, complement_is, known, bounds)
        sizes, balance = AdditiveAnswers(accepted + complement, both), AdditiveAnswers(accepted - complement, both)
        return cls(answers, other, other, sizes, complement_is, known, bounds, balance)

    @classmethod
    def of_exponential(
        cls,
        accepted: ExponentialAnswers,
        complement: ExponentialAnswers,
        *,
        complement_is: ComplementKind,
        known: KnownTotals | None = None,
        bounds: SizeBounds | None = None,
    ) -> Self:
        """Totals of the exponential mechanism's answers."""
        everybody = complement_is == "everybody"
        refused = ExponentialDifference(complement, accepted) if everybody else complement
        sizes = ExponentialSum((complement,) if everybody else (accepted, complement))
        return cls(accepted, complement, refused, sizes, complement_is, known, bounds)

    def joined(self, others: "Sequence[CountedTotals]") -> "CountedTotals":
        """The same with further, independent answers about the same people, of the same kind of complement.

        What is known beforehand is this one's.

        Raises:
            EstimationRefused: Some answers are the exponential mechanism's, whose cells share how they are spread.
        """
        parts = [self, *others]

        def together(name: str) -> NoisyCount:
            answers = [getattr(part, name) for part in parts]
            if all(isinstance(answer, AdditiveAnswers) for answer in answers):
                return joined(answers)
            raise EstimationRefused(ONLY_ADDED_NOISE)

        return replace(
            self,
            accepted=together("accepted"),
            complement=together("complement"),
            refused=together("refused"),
            sizes=together("sizes"),
            balance=None if self.balance is None else together("balance"),
        )

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Estimates of the accepted and of the refused, shape (T, K) each, in people; may be negative."""
        return self.accepted.estimate, self.refused.estimate

    @property
    def deviations(self) -> tuple[float, float]:
        """Their standard deviations, in people."""
        return self.accepted.deviation, self.refused.deviation

    def tail_probabilities(self) -> tuple[FloatArray, FloatArray]:
        """How likely noise alone answers with at least as many accepted, and refused, of nobody; shape (T, K) each.

        Of a group whose size is known, nobody is accepted only if all of it are refused, which both answers tell.
        """
        accepted, refused = self.accepted.tail_probability(), self.refused.tail_probability()
        if self.bounds is None or self.balance is None:
            return accepted, refused
        least, most = self.bounds.arrays()
        known = most - least <= self.accepted.deviation  # better than the one answer, unless the range blurs it
        return (
            np.where(known, self.balance.tail_probability(-least), accepted),
            np.where(known, self.balance.lower_tail_probability(least), refused),
        )

    def size_tails(self, least: FloatArray) -> FloatArray:
        """Return how likely noise alone makes groups of so many people look as large as they do, shape (T, K).

        `least` has shape (T, 1), in people; of smaller groups it is less likely still.
        """
        return self.sizes.tail_probability(np.ceil(least).astype(np.int64))

    def log_ratio(self, totals: TrueTotals, changed: TrueTotals, groups: IntArray) -> FloatArray:
        """The log-likelihood of all groups' totals after some have changed, minus that before, shape (T, M).

        `changed` has the totals of the changed groups alone, whose G indices are `groups`.
        """
        return self._log_likelihood(changed, groups) - self._log_likelihood(totals.of(groups), groups)

    def _log_likelihood(self, totals: TrueTotals, groups: IntArray) -> FloatArray:
        """Of some groups' totals, shape (T, M); a group without noise of its own adds nothing."""
        everybody = self.complement_is == "everybody"
        complement = totals.accepted + totals.refused if everybody else totals.refused
        likelihood = self.accepted.log_likelihood(totals.accepted, groups) + self.complement.log_likelihood(
            complement, groups
        )
        if self.known is not None:
            likelihood = likelihood[:, groups < self.known.counted]
        of_groups: FloatArray = likelihood.sum(axis=1)
        return of_groups
