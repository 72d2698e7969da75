"""The sparse vector technique: whether a number has crossed a threshold, asked until it has (8-time §3)."""

from dataclasses import dataclass, field
from fractions import Fraction

from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.one_sided import OneSidedGeometricMechanism
from shared.kinds.watches import WatchNoise
from shared.privacy.amounts import NANO_PER_UNIT, Loss


@dataclass(frozen=True, slots=True)
class SparseVectorMechanism:
    """Say of one number after another whether it is still above a threshold, until one is not: *AboveThreshold*.

    The threshold t gets noise ρ once, of loss ε₁. Each number f_i gets fresh noise ν_i, of loss ε₂ for a change of 2Δ.
    The answer is "changed" if f_i + ν_i ≤ t + ρ, else "unchanged"; the first "changed" is the last answer, and no noisy
    number leaves. Δ is how far one person moves each number, in whatever number of them the person has a part.

    Loss: pure ε = ε₁ + ε₂, however many are answered. Proof, for whole numbers. Let f and f′ be the numbers of two
    neighbours, |f_i − f′_i| ≤ Δ for every i, and let answers end with "changed" at k. Given the numbers' noise of those
    before is fresh and independent, the probability of the answers is

        Σ_ρ P(ρ) · Π_{i<k} P[f_i + ν_i > t + ρ] · P[f_k + ν_k ≤ t + ρ].

    Put ρ′ = ρ − Δ in each term. Of the noises two facts are used, for each ρ and x:

        (1) P(ρ) ≤ e^ε₁ · P(ρ − Δ),        (2) P[ν ≤ x] ≤ e^ε₂ · P[ν ≤ x − 2Δ].

    By (1), P(ρ) ≤ e^ε₁ · P(ρ′). For i < k: f_i + ν_i > t + ρ implies f′_i + ν_i > t + ρ′, since f′_i ≥ f_i − Δ: these
    factors do not fall, and cost nothing, however many they are. For k: f_k + ν_k ≤ t + ρ says ν_k ≤ t + ρ − f_k, and
    t + ρ′ − f′_k ≥ t + ρ − f_k − 2Δ; so by (2) its chance is at most e^ε₂ times that of f′. So each term is at most
    e^(ε₁ + ε₂) times that of f′, and different ρ have different ρ′, each of which is a term of f′. If no answer is
    "changed" the last factor is missing, and the loss is at most ε₁. Questions may be chosen by the answers before: the
    proof takes each f_i as it is then asked. It holds for f and f′ in either order: ρ is shifted down in both.

    **Noise on one side.** (1) and (2) ask for no shift upwards. Geometric noise on 0, −1, −2, … keeps both at the
    scales Δ/ε₁ and 2Δ/ε₂ (`one_sided`), with half the variance of discrete Laplace noise. Its end does not break them:
    below every value that ρ may have there is room for ρ − Δ. Noise on 0, 1, 2, … would break either: P(0) is above 0
    and P(−Δ) is 0, so an answer that is possible about f is impossible about f′. What is lost: given ρ, an "unchanged"
    is no longer deniable: it shows that f_i > t + ρ. So ρ may never be known, to anybody.

    The mean of ρ is about −Δ/ε₁ and that of ν −2Δ/ε₂, each but for the same ½. Their difference, in whole people, is
    added to t: a public constant, so that a number at t has about even chances. Three tenths of ε are for the
    threshold: of the shares it needs nearly the fewest people between no alarm and an alarm (`benchmarks.watches`).

    **Noise on both sides**, discrete Laplace with two fifths of ε for the threshold, is that of watches which were set
    before: they answer with the noise that their release names. A threshold of one kind must not meet numbers of the
    other: their shares do not add up to ε.

    What has to be as it is, or the loss has no bound, or another one (Lyu, Su, Li 2017, figure 1): numbers have noise
    (not algorithm 5), for 2Δ (not 4), the noisy number does not leave (not 3), nothing is answered after the first
    "changed" (not 6); and the noise on the threshold is drawn once, before the first answer, and never again.

    Source: Dwork, Roth (2014), algorithm 1 and theorem 3.23; Lyu, Su, Li (2017), algorithm 1 and theorem 2. One-sided
    noise where bits alone leave: Liu et al. (2024), arXiv 2407.20068, for continuous noise.

    Attributes:
        of_threshold: Draws ρ.
        of_number: Draws ν.
        shift: What is added to t.
    """

    of_threshold: LaplaceMechanism | OneSidedGeometricMechanism = field(repr=False)
    of_number: LaplaceMechanism | OneSidedGeometricMechanism = field(repr=False)
    shift: int = 0

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, sensitivity: int) -> "SparseVectorMechanism":
        """The mechanism that costs exactly ε for numbers that one person moves by at most `sensitivity`."""
        of_threshold_nano = epsilon_nano * 3 // 10
        of_number_nano = epsilon_nano - of_threshold_nano
        means = Fraction(sensitivity, of_threshold_nano) - Fraction(2 * sensitivity, of_number_nano)
        return cls(
            OneSidedGeometricMechanism.calibrated(epsilon_nano=of_threshold_nano, sensitivity=sensitivity),
            OneSidedGeometricMechanism.calibrated(epsilon_nano=of_number_nano, sensitivity=2 * sensitivity),
            round(means * NANO_PER_UNIT),
        )

    @classmethod
    def two_sided(cls, *, epsilon_nano: int, sensitivity: int) -> "SparseVectorMechanism":
        """The mechanism of watches that were set with noise on both sides; it costs exactly ε too."""
        of_threshold_nano = epsilon_nano * 2 // 5
        return cls(
            LaplaceMechanism.calibrated(epsilon_nano=of_threshold_nano, sensitivity=sensitivity),
            LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano - of_threshold_nano, sensitivity=2 * sensitivity),
        )

    @property
    def loss(self) -> Loss:
        """Of all answers together, by OpenDP's map of what draws the two noises."""
        return self.of_threshold.loss + self.of_number.loss

    @property
    def noise(self) -> WatchNoise:
        """The two noises and the shift, as they are published."""
        return WatchNoise(threshold=self.of_threshold.noise, number=self.of_number.noise, shift=self.shift)

    def begun(self, threshold: int) -> "SparseVectorState":
        """Draw the noise on the threshold, once for all answers."""
        [noisy] = self.of_threshold.release([threshold + self.shift])
        return SparseVectorState(noisy)

    def answered(self, state: "SparseVectorState", number: int) -> "SparseVectorState":
        """What is known after one more number: whether that one, with fresh noise, is at most the noisy threshold.

        Raises:
            UsedUp: It was said already that a number has changed.
        """
        if state.is_changed:
            raise UsedUp("A sparse vector is used up by the first number that has changed.")
        [noisy] = self.of_number.release([number])
        return SparseVectorState(state.noisy_threshold, is_changed=noisy <= state.noisy_threshold)


class UsedUp(RuntimeError):
    """Somebody would be answered more than was charged: a fault of the holder's, so nothing is answered."""


@dataclass(frozen=True, slots=True)
class SparseVectorState:
    """Between two answers; printing it shows no noisy threshold.

    Attributes:
        noisy_threshold: A secret.
        is_changed: Whether that was answered: the last answer.
    """

    noisy_threshold: int = field(repr=False)
    is_changed: bool = False
