"""Many releases of some true counts by the holder's own mechanism: for simulations."""

import numpy as np

from auditor_client.estimation.measurements import IntArray
from holder_service.mechanisms.base import Mechanism


def released(mechanism: Mechanism, counts: IntArray, runs: int) -> IntArray:
    """Independent releases of some true counts, shape (runs, R, K)."""
    noisy = mechanism.release(np.tile(counts.ravel(), runs).tolist())
    return np.array(noisy, dtype=np.int64).reshape(runs, *counts.shape)
