"""The sparse vector technique: whether a number has crossed a threshold, asked until it has (8-time §3)."""

from dataclasses import dataclass, field

from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import Loss
from shared.privacy.noise import DiscreteLaplaceNoise


@dataclass(frozen=True, slots=True)
class SparseVectorMechanism:
    """Say of one number after another whether it is still above a threshold, until one is not: *AboveThreshold*.

    The threshold t gets noise ρ once, of loss ε₁. Each number f_i gets fresh noise ν_i, of loss ε₂ for a change of 2Δ.
    The answer is "changed" if f_i + ν_i ≤ t + ρ, else "unchanged"; the first "changed" is the last answer, and no noisy
    number leaves. Δ is how far one person moves each number, in whatever number of them the person has a part.

    Loss: pure ε = ε₁ + ε₂, however many are answered. Proof, for discrete noise. Let f and f′ be the numbers of two
    neighbours, |f_i − f′_i| ≤ Δ for every i, and let answers end with "changed" at k. Given the numbers' noise of those
    before is fresh and independent, the probability of the answers is

        Σ_ρ P(ρ) · Π_{i<k} P[f_i + ν_i > t + ρ] · P[f_k + ν_k ≤ t + ρ].

    Put ρ′ = ρ − Δ in each term. P(ρ) ≤ e^ε₁ · P(ρ′), as ρ is discrete Laplace of scale Δ/ε₁. For i < k: f_i + ν_i > t +
    ρ implies f′_i + ν_i > t + ρ′, since f′_i ≥ f_i − Δ: these factors do not fall, and cost nothing, however many they
    are. For k: f_k + ν_k ≤ t + ρ says ν_k ≤ t + ρ − f_k, and t + ρ′ − f′_k ≥ t + ρ − f_k − 2Δ; the chance that discrete
    Laplace noise of scale 2Δ/ε₂ is at most x is at most e^ε₂ times the chance that it is at most x − 2Δ. So each term
    is at most e^(ε₁ + ε₂) times that of f′, and ρ′ runs over all whole numbers as ρ does. If no answer is "changed" the
    last factor is missing, and the loss is at most ε₁. Questions may be chosen by the answers before: the proof takes
    each f_i as it is then asked.

    What has to be as it is, or the loss has no bound, or another one (Lyu, Su, Li 2017, figure 1): numbers have noise
    (not algorithm 5), for 2Δ (not 4), the noisy number does not leave (not 3), nothing is answered after the first
    "changed" (not 6); and the noise on the threshold is drawn once, before the first answer, and never again.

    Two fifths of ε are for the threshold: the difference of the two noises is nearly the least spread then.

    Source: Dwork, Roth (2014), algorithm 1 and theorem 3.23; Lyu, Su, Li (2017), algorithm 1 and theorem 2.

    Attributes:
        of_threshold: Draws ρ.
        of_number: Draws ν.
    """

    of_threshold: LaplaceMechanism = field(repr=False)
    of_number: LaplaceMechanism = field(repr=False)

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, sensitivity: int) -> "SparseVectorMechanism":
        """The mechanism that costs exactly ε for numbers that one person moves by at most `sensitivity`."""
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
    def threshold_noise(self) -> DiscreteLaplaceNoise:
        """Of ρ."""
        return self.of_threshold.noise

    @property
    def number_noise(self) -> DiscreteLaplaceNoise:
        """Of each ν."""
        return self.of_number.noise

    def begun(self, threshold: int) -> "SparseVectorState":
        """Draw the noise on the threshold, once for all answers."""
        [noisy] = self.of_threshold.release([threshold])
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
