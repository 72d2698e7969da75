"""The minimum of a noisy polynomial of degree 2: post-processing, no record is seen (7-training §2)."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
NEGLIGIBLE = 1e-12
"""Eigenvalues smaller than the largest by such a factor are taken for 0: they are what rounding left."""


def minimiser(quadratic: FloatArray, linear: FloatArray, *, ridge: float) -> FloatArray:
    """Return where wᵀMw + bᵀw is smallest, M being a noisy symmetric matrix.

    Noise may leave M indefinite, and then there is no minimum. The repair is that of the functional mechanism: `ridge`
    is added to every eigenvalue, and directions whose eigenvalue is not positive even so are left out
    (*spectral trimming*): w is 0 along them.

    Args:
        quadratic: M, shape (d, d), symmetric.
        linear: b, shape (d,).
        ridge: Not negative.

    Returns:
        w, shape (d,); 0 where no direction is left.

    Source: Zhang, Zhang, Xiao, Yang, Winslett (2012), Functional Mechanism, §6.
    """
    return penalised_minimiser(quadratic, linear, np.zeros_like(linear), ridge=ridge, penalty=0.0, threshold=0.0)


def penalised_minimiser(
    quadratic: FloatArray, linear: FloatArray, against: FloatArray, *, ridge: float, penalty: float, threshold: float
) -> FloatArray:
    """Return where wᵀMw + bᵀw + α|gᵀw − τ| is smallest, M repaired as for `minimiser`.

    In the directions that are left the sum is strictly convex. Its minimum is w(t) = −½ M⁻¹(b + t g) for the one t in
    [−α, α] with t = ±α on its side of gᵀw = τ, or gᵀw(t) = τ. As gᵀw(t) falls with t on a line, t is where that line
    meets τ, brought into [−α, α].

    Args:
        quadratic, linear, ridge: M, b and what is added to eigenvalues.
        against: g, shape (d,).
        penalty: α, not negative.
        threshold: τ.
    """
    values, vectors = np.linalg.eigh(quadratic)
    values = values + ridge
    is_large = values > NEGLIGIBLE * max(float(values.max(initial=0.0)), 0.0)
    values, vectors = values[is_large], vectors[:, is_large]
    along, pushed = vectors.T @ linear, vectors.T @ against
    steepness = float(pushed @ (pushed / values))
    meets = 0.0 if steepness == 0 else -(float(pushed @ (along / values)) + 2 * threshold) / steepness
    pull = min(max(meets, -penalty), penalty)
    minimum: FloatArray = vectors @ (-0.5 * (along + pull * pushed) / values)
    return minimum
