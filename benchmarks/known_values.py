"""How far off a ratio's value is, by the width of its interval: where it says nothing, it is not shown (ADR 0032).

`python -m benchmarks.known_values [--registers 120] [--runs 25]`

On invented registers, half of which have rates near each other, as the pooled prior supposes; and on registers with a
small group of 12 to 60 people beside thousands, accepted at .3, .5 or .7 of the others' rate. A line has the value's
mean error, the same with its sign (positive towards parity), and the mean error of the interval's middle.
"""

import argparse
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import numpy as np

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.many_releases import parity_ranges
from testing.invented.registers import EPSILONS, Register
from testing.many_releases import additive, released_totals

LEVEL: Final = 0.95
DRAWS: Final = 512
WIDTHS: Final = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


def any_register(seed: int) -> Register:
    """2 to 16 groups of 1 to 5 000 people."""
    return Register.invented(seed, groups_max=16, people_min=1)


def unfair_register(seed: int) -> Register:
    """A small group beside one or three of 3 000 people."""
    rng = np.random.default_rng(seed)
    others, ratio, rate = rng.choice([1, 3]), rng.choice([0.3, 0.5, 0.7]), rng.choice([0.2, 0.4, 0.8])
    sizes = np.array([rng.integers(12, 61), *[3_000] * others], dtype=np.int64)
    rates = np.array([ratio * rate, *[rate] * others])
    accepted = np.round(sizes * rates).astype(np.int64)
    return Register(accepted[None], (sizes - accepted)[None], rates, str(rng.choice(EPSILONS)), "verdict")


KINDS: Final[dict[str, Callable[[int], Register]]] = {"any": any_register, "small and unfair": unfair_register}


def errors(register: Register, seed: int, runs: int) -> list[tuple[float, float, float]]:
    """Of every release the width of the interval, the error of the value, and that of the interval's middle."""
    truth, _ = register.parity()
    mechanism = additive(seed, register.epsilon_nano())
    found = []
    for totals in released_totals(register.parts(), mechanism, runs, complement_is=register.complement_is):
        ratios = [one.ratio for one in parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS)) if one.ratio.defined]
        found += [(one.width, one.value - truth, (one.low + one.high) / 2 - truth) for one in ratios]
    return found


def main() -> None:
    """Print a line for each kind of register and width."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--registers", type=int, default=120, help="how many of each kind")
    parser.add_argument("--runs", type=int, default=25, help="releases of each")
    arguments = parser.parse_args()
    print(f"{'registers':<16} {'width':>9} {'of':>5} {'error':>6} {'signed':>6} {'middle':>6}")
    for kind, invented in KINDS.items():
        rows = [row for seed in range(arguments.registers) for row in errors(invented(seed), seed, arguments.runs)]
        width, value, middle = np.array(rows).T
        for low, high in pairwise(WIDTHS):
            here = (width >= low) & (width < high)
            if here.any():
                found = np.abs(value[here]).mean(), value[here].mean(), np.abs(middle[here]).mean()
                shown = " ".join(f"{one:6.3f}" for one in found)
                print(f"{kind:<16} {low:.1f} to {min(high, 1.0):.1f} {here.sum():>5} {shown}", flush=True)


if __name__ == "__main__":
    main()
