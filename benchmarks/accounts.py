"""How many audits fit under a cap, at an equal width of the interval (docs/time.md).

`python -m benchmarks.accounts [--people 50000] [--widths 0.4,0.2,0.1,0.05]`

One audit asks how a tree treats two groups, by strategy verdict: two disjoint cells. For each width of the
ratio's 95 % interval the client's own forecast gives the ε of Laplace noise that is expected to reach it.
Gaussian noise of the same variance is taken to give the same width. Then it is counted how many such audits,
each charged as the holder charges it, fit under ε 1 at δ 10⁻⁶: where ε and δ are added up, and where ρ is. The
demo's register has 50 000 people. Exits with 1 if ρ takes fewer than ten times as many audits at one of the
widths.
"""

import argparse
import sys
from typing import Final

from auditor_client.planning.forecasting import smallest_epsilon
from pafer_demo.register import PEOPLE
from shared.privacy.amounts import NANO_PER_UNIT, Loss, format_nano
from shared.privacy.capacity import AskedNoise, gaussian_times, laplace_times, rho_nano_read_as
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented.questions import question
from testing.registers import LOANS

EPSILON_NANO: Final = NANO_PER_UNIT
DELTA_NANO: Final = 1000
CAP_RHO_NANO: Final = rho_nano_read_as(EPSILON_NANO, DELTA_NANO)


def fitting(epsilon_nano: int) -> tuple[int, int, int, int]:
    """How many audits fit: Laplace and Gaussian noise under sums, and the same two under ρ."""
    asked = (AskedNoise(DiscreteLaplaceNoise(scale=NANO_PER_UNIT / epsilon_nano).variance),)
    caps = Loss(EPSILON_NANO, DELTA_NANO), Loss.of_rho(CAP_RHO_NANO, DELTA_NANO)
    of_sums, of_rho = ((laplace_times(asked, cap), gaussian_times(asked, cap)) for cap in caps)
    return *of_sums, *of_rho


def main() -> int:
    """Print the table; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--people", type=int, default=PEOPLE)
    options.add_argument("--widths", default="0.4,0.2,0.1,0.05")
    given = options.parse_args()
    dataset = LOANS.model_copy(update={"records_max": max(given.people, LOANS.records_max)})
    print(f"{given.people} people; cap in rho: {format_nano(CAP_RHO_NANO)}, read as epsilon 1 at delta 0.000001")
    columns = ("width", "epsilon", "sum, Laplace", "sum, Gauss", "rho, Laplace", "rho, Gauss", "times")
    print("".join(f"{column:>14}" for column in columns))
    gains = []
    for text in given.widths.split(","):
        asked = question(dataset=dataset, strategy="verdict", epsilon="1", assumption={"people": given.people})
        epsilon_nano = smallest_epsilon(asked, float(text)).request.epsilon_nano
        found = fitting(epsilon_nano)
        gains.append((max(found[2:]), max(found[:2])))
        times = f"{max(found[2:]) / max(*found[:2], 1):.1f}"
        print("".join(f"{cell:>14}" for cell in (text, format_nano(epsilon_nano), *found, times)))
    return int(any(more < 10 * before for more, before in gains))


if __name__ == "__main__":
    sys.exit(main())
