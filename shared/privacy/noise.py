"""The noise on a count: a distribution with a public mass function. No sampler (2-privacy §4).

A release describes its noise with one of these, so that any client can compute honest intervals. They
differ in `distribution`.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from shared.wire.request_model import ContractModel
from shared.wire.text import Text


def _without_point(scale: float) -> float:
    """A whole scale without a decimal point, as RFC 8785 writes it: a release's bytes need no slow canonicalisation."""
    return int(scale) if scale.is_integer() else scale


Scale = Annotated[float, Field(gt=0, allow_inf_nan=False), PlainSerializer(_without_point, when_used="json")]
"""In people."""


Terms = Annotated[Literal[1, 2], Field(exclude_if=lambda terms: terms == 1)]
"""How many independent noises of this kind are added up: 2 in a count that two holders' halves add up to, each with its
own full noise; 1, and left out, in all that a holder answers."""


class DiscreteLaplaceNoise(ContractModel):
    """Integer noise k with probability (1 − q)/(1 + q) · q^|k|, where q = exp(−1/scale).

    Source: Ghosh, Roughgarden, Sundararajan (2009), the two-sided geometric distribution.
    """

    distribution: Literal["discrete_laplace"] = "discrete_laplace"
    """Which distribution it is."""
    scale: Scale
    """In people: exactly the scale that was drawn with, raised by the last digits that keep the loss within ε."""
    terms: Terms = 1
    """How many such noises are added up."""

    def log_mass(self, k: Any) -> Any:
        """The logarithm of the probability of noise k.

        Of two noises together ((1 − q)/(1 + q))² · q^|k| · (|k| + (1 + q²)/(1 − q²)): the convolution, added up.

        Args:
            k: An integer, or a numpy array of integers of any shape, in people.

        Returns:
            Natural logarithm, of the same shape.
        """
        one = math.log(math.tanh(0.5 / self.scale)) - abs(k) / self.scale
        if self.terms == 1:
            return one
        return one + math.log(math.tanh(0.5 / self.scale)) + _log(abs(k) + 1 / math.tanh(1 / self.scale))

    @property
    def variance(self) -> float:
        """In people squared: of each 2q/(1 − q)² = 1/(2 sinh²(1/(2·scale)))."""
        return self.terms * 0.5 / math.sinh(0.5 / self.scale) ** 2


class OneSidedGeometricNoise(ContractModel):
    """Integer noise k = 0, −1, −2, … with probability (1 − q) · q^|k|, where q = exp(−1/scale): never above 0.

    The noise of a watch alone. Counts do not get it: an answer above the count would then be impossible.
    """

    distribution: Literal["one_sided_geometric"] = "one_sided_geometric"
    """Which distribution it is."""
    scale: Scale
    """In people: exactly the scale that was drawn with, raised by the last digits that keep the loss within ε."""

    def log_mass(self, k: int) -> float:
        """Return the natural logarithm of the probability of noise k, in people; −∞ above 0."""
        return math.log(-math.expm1(-1 / self.scale)) + k / self.scale if k <= 0 else -math.inf

    @property
    def variance(self) -> float:
        """In people squared, q/(1 − q)² = 1/(4 sinh²(1/(2·scale))): half of the two-sided noise's."""
        return 0.25 / math.sinh(0.5 / self.scale) ** 2


class DiscreteGaussianNoise(ContractModel):
    """Integer noise k with probability proportional to exp(−k²/(2·scale²)); `scale` is σ.

    Source: Canonne, Kamath, Steinke (2020), *The Discrete Gaussian for Differential Privacy*.
    """

    distribution: Literal["discrete_gaussian"] = "discrete_gaussian"
    """Which distribution it is."""
    scale: Scale
    """σ, in people: exactly the scale that was drawn with, raised by the last digits that keep the loss within ε."""
    terms: Terms = 1
    """How many such noises are added up."""

    def log_mass(self, k: Any) -> Any:
        """The logarithm of the probability of noise k: an integer, or a numpy array of any shape, in people.

        Of two noises together exp(−k²/4σ²) · S, over the square of one's sum, where S is the sum of exp(−(j − k/2)²/σ²)
        over all integers j: it depends on whether k is even or odd alone.
        """
        if self.terms == 1:
            return -math.log(self._sums()[0]) - 0.5 * (k / self.scale) ** 2
        even, odd = (math.log(_shifted_sum(self.scale, shift)) for shift in (0.0, 0.5))
        return even + (odd - even) * (k % 2) - 2 * math.log(self._sums()[0]) - 0.25 * (k / self.scale) ** 2

    @property
    def variance(self) -> float:
        """In people squared: of each at most σ², and next to it from σ = 1 on."""
        mass, squares = self._sums()
        return self.terms * squares / mass

    def _sums(self) -> tuple[float, float]:
        """The sums over all integers of exp(−k²/2σ²) and of k² times that.

        For large σ by Poisson's summation formula, of which a few terms suffice; for small σ directly.
        """
        square = self.scale**2
        if self.scale < 1:
            terms = [(k * k, math.exp(-0.5 * k * k / square)) for k in range(1, 41)]
            return 1 + 2 * sum(mass for _, mass in terms), 2 * sum(k2 * mass for k2, mass in terms)
        waves = [(4 * math.pi**2 * square * m * m, math.exp(-2 * math.pi**2 * square * m * m)) for m in range(1, 4)]
        mass = self.scale * math.sqrt(2 * math.pi)
        return (
            mass * (1 + 2 * sum(wave for _, wave in waves)),
            mass * square * (1 + 2 * sum((1 - angle) * wave for angle, wave in waves)),
        )


def _shifted_sum(scale: float, shift: float) -> float:
    """The sum over all integers j of exp(−(j − shift)²/scale²), shift 0 or ½.

    For large scales by Poisson's summation formula, of which a few terms suffice; for small ones directly.
    """
    if scale < 1:
        return sum(math.exp(-(((j - shift) / scale) ** 2)) for j in range(-40, 42))
    waves = (math.cos(2 * math.pi * m * shift) * math.exp(-((math.pi * scale * m) ** 2)) for m in range(1, 4))
    return scale * math.sqrt(math.pi) * (1 + 2 * sum(waves))


def _log(value: Any) -> Any:
    """The natural logarithm of a number, or of each of an array."""
    if isinstance(value, int | float):
        return math.log(value)
    logarithms = value.copy()
    logarithms.flat = [math.log(one) for one in value.flat]
    return logarithms


class ExponentialNoise(ContractModel):
    """An answer r from 0 to `upper` with probability proportional to exp(−|c − r|/scale).

    c is the true count, clamped to 0..upper. The noise r − c depends on c, so there is no mass of the
    noise alone: an estimator weighs every possible c by `log_likelihood`.

    Source: McSherry, Talwar (2007), with the utility −|c − r|.
    """

    distribution: Literal["exponential"] = "exponential"
    """Which distribution it is."""
    scale: Scale
    """In people: exactly the scale that was drawn with, raised by the last digits that keep the loss within ε."""
    upper: int = Field(ge=1)
    """The largest answer, in people: public, and never the true support."""

    def log_likelihood(self, answer: int, count: int) -> float:
        """The logarithm of the probability of an answer from 0 to `upper`, given a true count of zero or more.

        The sum over all answers is (1 + q − q^(c+1) − q^(upper−c+1))/(1 − q), where q = exp(−1/scale).
        """
        clamped = min(max(count, 0), self.upper)
        above, below = (-math.expm1(-steps / self.scale) for steps in (clamped + 1, self.upper - clamped))
        q = math.exp(-1 / self.scale)
        total = (above + q * below) / -math.expm1(-1 / self.scale)
        return -abs(answer - clamped) / self.scale - math.log(total)


class KeptValue(ContractModel):
    """How likely a sensitive column's value was reported as it is: otherwise one of the others, each as likely."""

    column: Text
    """The column's name."""
    probability: str
    """The probability that a value was kept, as a decimal string."""


class RandomisedResponseNoise(ContractModel):
    """No noise on the counts: every person's own value was perturbed before the holder got it.

    The counts are exact, and of *reported* groups. Each column was perturbed by itself.

    Source: Warner (1965); Kairouz, Bonawitz, Ramage (2016) for more than two values.
    """

    distribution: Literal["randomised_response"] = "randomised_response"
    """Which distribution it is."""
    kept: tuple[KeptValue, ...]
    """How each sensitive column was perturbed."""


Noise = Annotated[
    DiscreteLaplaceNoise | DiscreteGaussianNoise | ExponentialNoise | RandomisedResponseNoise,
    Field(discriminator="distribution"),
]
"""What a release says of the noise on its counts."""

AdditiveNoise = DiscreteLaplaceNoise | DiscreteGaussianNoise
"""Independent integer noise, the same whatever the count is."""


def of_two_holders(noise: AdditiveNoise) -> AdditiveNoise:
    """The noise on a count that two holders' halves add up to, where each holder added this noise to its half."""
    return noise.model_copy(update={"terms": 2})
