"""How often the intervals of conditional parity hold the truth, one by one and together (3-estimation §2).

Part of `checks.coverage`: the figures of `estimation.strata`, and of each stratum, on invented registers in strata.
What holds together counts as held if all of it is held: the ratios of all strata, and the differences.
"""

import numpy as np

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.strata import estimate_strata
from testing.invented.strata import StratifiedRegister
from testing.truths import all_hold, holds, true_parity


def held(
    register: StratifiedRegister, measured: list[Measurement], *, level: float, seed: int
) -> dict[str, list[bool]]:
    """What of a register's truth the intervals of one release hold, by figure."""
    ratios, differences = np.array([true_parity(of_stratum) for of_stratum in register.rates]).T
    figures = estimate_strata([[one] for one in measured], level=level, drawing=Drawing(seed=seed))
    (standardised,) = figures.standardised
    true = register.standardised(standardised.strata_left_out)
    ratio, difference = true_parity(true)
    found = {
        "strata together": [
            all_hold(zip((one.ratio for one in figures.together), ratios, strict=True)),
            all_hold(zip((one.difference for one in figures.together), differences, strict=True)),
        ],
        "every stratum": [
            holds(figures.every.ratio, float(np.fmin.reduce(ratios))),
            holds(figures.every.difference, float(np.fmax.reduce(differences))),
        ],
    }
    if standardised.ratio.defined:
        found["standardised rate"] = [
            holds(one.rate, float(rate)) for one, rate in zip(standardised.groups, true, strict=True)
        ]
        found["standardised ratio"] = [holds(standardised.ratio, ratio), holds(standardised.difference, difference)]
    return found
