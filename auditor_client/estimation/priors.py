"""Two priors of a group's acceptance rate, of which neither is trusted alone (docs/adr/0006-prior.md).

A group's size n is flat on the integers from 0 on; the accepted a | n, p are binomial; p has the prior. Each
function integrates p out, which leaves the mass of (a, n − a), and can draw p where a and n are drawn.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaln, expit, gammaln

from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray

POOLING: Final = 20.0
"""κ: how many people's worth of the pooled rate the pooled prior adds to a group."""
POOLED_SHARE: Final = 0.97
"""How much of the pooled prior is that Beta; the rest is flat, so that clear answers overrule it."""


@dataclass(frozen=True, slots=True)
class FlatPrior:
    """p uniform on (0, 1), so every a from 0 to n is as likely."""

    def __call__(self, accepted: IntArray, refused: IntArray) -> FloatArray:
        """The log prior mass: −log(n + 1) for n people, shape (T, K, M)."""
        log_prior: FloatArray = -np.log(accepted + refused + 1.0)
        return log_prior

    def population_rates(self, accepted: FloatArray, refused: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw p from Beta(a + 1, n − a + 1), shape (T, K, M)."""
        return rng.beta(accepted + 1, refused + 1)


@dataclass(frozen=True, slots=True, eq=False)
class PooledPrior:
    """p ~ Beta(κμ, κ(1 − μ)) around the pooled rate μ, or with a small probability uniform.

    Attributes:
        rates: μ, shape (T,), within (0, 1).
    """

    rates: FloatArray

    def __call__(self, accepted: IntArray, refused: IntArray) -> FloatArray:
        """The log prior mass of the mixture of both parts, shape (T, K, M)."""
        around, flat = self._parts(accepted, refused)
        log_prior: FloatArray = np.logaddexp(around, flat)
        return log_prior

    def population_rates(self, accepted: FloatArray, refused: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw p from the part of the mixture that the people suggest, shape (T, K, M)."""
        around, flat = self._parts(accepted, refused)
        is_around = rng.random(accepted.shape) < expit(around - flat)
        alpha, beta = self._pseudo_people
        return rng.beta(accepted + np.where(is_around, alpha, 1), refused + np.where(is_around, beta, 1))

    @property
    def _pseudo_people(self) -> tuple[FloatArray, FloatArray]:
        """The Beta's parameters, shape (T, 1, 1) each."""
        alpha = (POOLING * self.rates)[:, None, None]
        return alpha, POOLING - alpha

    def _parts(self, accepted: FloatArray | IntArray, refused: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
        """The log mass of the Beta's part and of the flat one, shape (T, K, M) each."""
        alpha, beta = self._pseudo_people
        choose = gammaln(accepted + refused + 1.0) - gammaln(accepted + 1.0) - gammaln(refused + 1.0)
        around = choose + betaln(accepted + alpha, refused + beta) - betaln(alpha, beta)
        return np.log(POOLED_SHARE) + around, np.log1p(-POOLED_SHARE) - np.log(accepted + refused + 1.0)


Prior = FlatPrior | PooledPrior
"""A prior of every group's rate."""
