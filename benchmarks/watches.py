"""How many people lie between "no alarm" and "alarm", and how often a watch is wrong: old noise and new in one run.

`python -m benchmarks.watches` first compares the noise of new watches with that of watches which were set before, and
with other shares of ε: the people between the distance at which false alarms over all versions are 5 %, and the one at
which a change is missed 5 % of the time, by the exact law (`auditor_client.estimation.watch_rates`). Then the real
mechanism answers versions at distances of so many people from the margin, again and again, beside the exact law. Before
the change the verdict holds at that distance in every version: "changed" is a false alarm. Behind it the verdict is the
other one by as many people: "unchanged" in every version is a miss. Distances are in units of 1/ε, so that the figures
are those of every ε; the counts of versions are those of a month, a year and five years.
"""

import argparse
from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table

from auditor_client.estimation.watch_rates import WatchRates
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism
from shared.kinds.watches import WatchNoise
from shared.privacy.noise import OneSidedGeometricNoise

EPSILON_NANO: Final = 100_000_000
PER_UNIT: Final = 10**9 // EPSILON_NANO
"""People in 1/ε."""
DISTANCES: Final = (0, 2, 5, 10, 15, 20, 30, 40, 60)
VERSIONS: Final = (1, 12, 60)
COMPARED_VERSIONS: Final = (12, 100)
CHANCE: Final = 0.05
SHARES: Final = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Of ε, for the threshold."""


def constructions() -> Mapping[str, WatchNoise]:
    """The noise of watches that were set before, of new ones, and one-sided noise with other shares of ε."""
    one_sided, two_sided = (
        construction(epsilon_nano=EPSILON_NANO, sensitivity=1).noise
        for construction in (SparseVectorMechanism.calibrated, SparseVectorMechanism.two_sided)
    )
    other = {
        f"one-sided, {share:g} of ε": WatchNoise(
            threshold=OneSidedGeometricNoise(scale=PER_UNIT / share),
            number=OneSidedGeometricNoise(scale=2 * PER_UNIT / (1 - share)),
        )
        for share in SHARES
    }
    return {"as before: discrete Laplace, 0.4 of ε": two_sided, "new watches": one_sided, **other}


def people_between(noise: WatchNoise, versions: int) -> float:
    """How many people, times ε, lie between few false alarms in so many versions and few misses in one."""
    rates = WatchRates(noise)
    return (rates.safe_distance(CHANCE, versions) - rates.sure_distance(CHANCE)) / PER_UNIT


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


def compared() -> Table:
    """The table of old and new."""
    table = Table(
        "noise", *(f"people · ε, {count} versions" for count in COMPARED_VERSIONS), "of before",
        title=f"People between {CHANCE:.0%} false alarms and {CHANCE:.0%} misses, exactly",
    )  # fmt: skip
    before = None
    for name, noise in constructions().items():
        found = [people_between(noise, versions) for versions in COMPARED_VERSIONS]
        before = before or found
        of_before = " and ".join(f"{new / old:.0%}" for new, old in zip(found, before, strict=True))
        table.add_row(name, *(f"{one:.1f}" for one in found), of_before)
    return table


def main() -> None:
    """Compute, draw and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=400, help="watches for each distance and number of versions")
    runs = options.parse_args().runs
    console = Console(width=130)
    console.print(compared())
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=EPSILON_NANO, sensitivity=1)
    rates = WatchRates(mechanism.noise)
    table = Table(
        "people · ε", *(f"false alarms, {count}" for count in VERSIONS), *(f"missed, {count}" for count in VERSIONS),
        title=f"Of {runs} watches, in so many versions, and (exactly); one person moves the distance by 1",
    )  # fmt: skip
    for distance in (PER_UNIT * one for one in DISTANCES):
        alarms = [(share(mechanism, distance, one, runs), rates.false_alarm(distance, one)) for one in VERSIONS]
        missed = [(1 - share(mechanism, -distance, one, runs), rates.miss(-distance, one)) for one in VERSIONS]
        shown = (f"{drawn:.1%} ({exact:.1%})" for drawn, exact in (*alarms, *missed))
        table.add_row(f"{distance / PER_UNIT:g}", *shown)
    console.print(table)


if __name__ == "__main__":
    main()
