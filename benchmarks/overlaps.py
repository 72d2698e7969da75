"""How long it takes to hash person keys, to join a load with earlier ones, and to count who two populations share.

`python -m benchmarks.overlaps --people 10000000` prints a table; a tenth of the people are in both.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from holder_service.records.person_keys import PersonKeys, PersonSecret, count_shared, join_hashes

HASHED_MAX: Final = 1_000_000
"""At most this many keys are hashed, at a cost that grows with their number; the others are random, as hashes are."""


def main() -> None:
    """Measure once for each number of people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000])
    given = parser.parse_args()
    print(f"{'people':>12} {'hash, s':>10} {'join, s':>10} {'count, s':>10} {'shared':>10}")
    for people in given.people:
        with tempfile.TemporaryDirectory() as name:
            print(row(Path(name), people))


def row(folder: Path, people: int) -> str:
    """One row of the table."""
    hashed = min(people, HASHED_MAX)
    keys = PersonKeys(folder, PersonSecret.forgotten())

    def hash_keys() -> None:
        keys.add(f"person-{number}" for number in range(hashed))
        keys.repeated(1)

    hash_s = taken_s(hash_keys)
    source = np.random.default_rng()
    shared = people // 10
    both = source.integers(0, 2**64, shared, dtype=np.uint64)
    for number in (0, 1):
        others = source.integers(0, 2**64, people - shared, dtype=np.uint64)
        np.sort(np.concatenate([both, others])).tofile(folder / f"population-{number}")
    files = (folder / "population-0", folder / "population-1")
    join_s = taken_s(lambda: join_hashes(files, folder / "joined"))
    found: list[int] = []
    count_s = taken_s(lambda: found.append(count_shared(files[:1], files[1:])))
    return f"{people:>12} {hash_s * people / hashed:>10.2f} {join_s:>10.2f} {count_s:>10.2f} {found[0]:>10}"


def taken_s(work: Callable[[], object]) -> float:
    """How long some work takes, in seconds."""
    begun_s = time.perf_counter()
    work()
    return time.perf_counter() - begun_s


if __name__ == "__main__":
    main()
