"""How often a watch is wrong: false alarms and missed changes against the distance, as a curve.

`python -m benchmarks.watches` has the real mechanism answer versions at distances of so many people from the margin,
again and again. Before the change the verdict holds at that distance in every version: "changed" is a false alarm.
Behind it the verdict is the other one by as many people: "unchanged" in every version is a miss. Distances are in units
of 1/ε, so that the curve is that of every ε; the counts of versions are those of a month, a year and five years.
"""

import argparse
from typing import Final

from rich.console import Console
from rich.table import Table

from holder_service.mechanisms.sparse_vector import SparseVectorMechanism

EPSILON_NANO: Final = 100_000_000
DISTANCES: Final = (0, 2, 5, 10, 15, 20, 30, 40, 60)
VERSIONS: Final = (1, 12, 60)
BAR: Final = 20


def said_changed(mechanism: SparseVectorMechanism, distance: int, versions: int) -> bool:
    """Whether a watch says "changed" in one of so many versions at the same distance."""
    state = mechanism.begun(0)
    for _ in range(versions):
        state = mechanism.answered(state, distance)
        if state.is_changed:
            return True
    return False


def share(mechanism: SparseVectorMechanism, distance: int, versions: int, runs: int) -> float:
    """How often it does."""
    return sum(said_changed(mechanism, distance, versions) for _ in range(runs)) / runs


def main() -> None:
    """Draw and print the curve."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=400, help="watches for each distance and number of versions")
    runs = options.parse_args().runs
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=EPSILON_NANO, sensitivity=1)
    per_unit = 10**9 // EPSILON_NANO
    table = Table(
        "people · ε", *(f"false alarms, {count}" for count in VERSIONS), *(f"missed, {count}" for count in VERSIONS),
        "false alarms in a year",
        title=f"Of {runs} watches, in so many versions; one person moves the distance by 1",
    )  # fmt: skip
    for distance in DISTANCES:
        alarms = [share(mechanism, distance * per_unit, versions, runs) for versions in VERSIONS]
        missed = [1 - share(mechanism, -distance * per_unit, versions, runs) for versions in VERSIONS]
        table.add_row(
            str(distance), *(f"{one:.1%}" for one in (*alarms, *missed)), "█" * round(BAR * alarms[1])
        )  # fmt: skip
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
