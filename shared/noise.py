"""What the noise on a count is: a distribution with a public mass function. No sampler (2-privacy §4).

A release describes its noise with one of these, so that any client can compute honest intervals.
"""

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer


class DiscreteLaplaceNoise(BaseModel):
    """Integer noise k with probability (1 − q)/(1 + q) · q^|k|, where q = exp(−1/scale).

    Source: Ghosh, Roughgarden, Sundararajan (2009), the two-sided geometric distribution.
    """

    model_config = ConfigDict(frozen=True)

    distribution: Literal["discrete_laplace"] = "discrete_laplace"
    scale: float = Field(gt=0, allow_inf_nan=False)
    """In people."""

    @field_serializer("scale", when_used="json")
    def _as_rfc_8785_writes_it(self, scale: float) -> float:
        """A whole scale without a decimal point, so that a release's bytes need no slow canonicalisation."""
        return int(scale) if scale.is_integer() else scale

    def log_mass(self, k: Any) -> Any:
        """The logarithm of the probability of noise k.

        Args:
            k: An integer, or a numpy array of integers of any shape, in people.

        Returns:
            Natural logarithm, of the same shape.
        """
        return math.log(math.tanh(0.5 / self.scale)) - abs(k) / self.scale

    @property
    def variance(self) -> float:
        """In people squared: 2q/(1 − q)² = 1/(2 sinh²(1/(2·scale)))."""
        return 0.5 / math.sinh(0.5 / self.scale) ** 2
