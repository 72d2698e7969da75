"""What the time to an answer tells: noise against noise and data against data, at one public declaration.

`python -m benchmarks.timing --releases 6000`

Releases are asked over HTTP of a holder in a process of its own, two kinds in turn and in random order: of one register
with small and with large noise (0.1 and 0.001), and of two registers that are declared alike, with a thousand and with
200 000 people. The area under the ROC curve (AUC) says how well the time tells one kind from the other: .5 is guessing,
1 is certain. Aim: at most .53 with the quantum; without it the same comparison shows that there is something to hide.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import httpx
import numpy as np
from scipy import stats

from tests.holders import TestedHolder, plan, register_csv, running_holder, serving

PEOPLE: Final = {"register": 1000, "enormous": 200_000}
"""Two datasets of one declaration; their names are equally long."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Which releases are asked: of which dataset, at which ε."""

    dataset: str
    epsilon: str


COMPARISONS: Final = {
    "large noise against small": (Kind("register", "0.001"), Kind("register", "0.1")),
    "large data against small": (Kind("enormous", "0.01"), Kind("register", "0.01")),
}


@dataclass(frozen=True, slots=True)
class Compared:
    """What the times of two kinds of releases tell.

    Attributes:
        auc: The probability that a release of the first kind takes longer than one of the second.
        median_ms: Of each kind.
        overruns: How many releases of both missed their deadline.
    """

    auc: float
    median_ms: tuple[float, float]
    overruns: int


@dataclass(frozen=True)
class Stopwatch:
    """A running holder whose answers are timed."""

    holder: TestedHolder
    url: str
    clients: int

    def compare(self, kinds: tuple[Kind, Kind], releases: int) -> Compared:
        """Ask so many releases of each kind, by several clients at once, each in an order of its own."""
        before = self._overruns()
        with ThreadPoolExecutor(self.clients) as pool:
            shares = [releases // self.clients + (place < releases % self.clients) for place in range(self.clients)]
            asked = list(pool.map(lambda share: self._ask(kinds, share), shares))
        first_s, second_s = ([took for one in asked for took in one[place]] for place in (0, 1))
        return Compared(
            auc(first_s, second_s),
            (statistics.median(first_s) * 1000, statistics.median(second_s) * 1000),
            self._overruns() - before,
        )

    def _ask(self, kinds: tuple[Kind, Kind], releases: int) -> tuple[list[float], list[float]]:
        rng = random.SystemRandom()
        took_s: tuple[list[float], list[float]] = ([], [])
        with httpx.Client(base_url=self.url, timeout=60) as client:
            for _ in range(releases):
                for place in rng.sample((0, 1), 2):
                    kind = kinds[place]
                    body = plan(epsilon=kind.epsilon, age=rng.uniform(20, 80), draw=rng.randint(1, 1000))
                    start_s = time.perf_counter()
                    answer = client.post(
                        f"/v1/datasets/{kind.dataset}/releases", json=body,
                        headers={"Authorization": f"Bearer {self.holder.auditor_key}"},
                    )  # fmt: skip
                    took_s[place].append(time.perf_counter() - start_s)
                    answer.raise_for_status()
        return took_s

    def _overruns(self) -> int:
        headers = {"Authorization": f"Bearer {self.holder.admin_key}"}
        text = httpx.get(f"{self.url}/metrics", headers=headers, timeout=60).text
        [line] = (line for line in text.splitlines() if line.startswith("holder_release_overruns_total"))
        return int(float(line.split()[1]))


def auc(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability that one of the first is larger than one of the second; ties count half."""
    ranks = stats.rankdata(np.concatenate([first, second]))[: len(first)]
    return float((ranks.sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second)))


@contextmanager
def stopwatch(*, quantum_ms: int, clients: int) -> Iterator[Stopwatch]:
    """A holder with both registers, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with running_holder(home, f"sqlite:///{home / 'holder.sqlite'}", epsilon="999") as holder:
            for dataset, people in PEOPLE.items():
                holder.declare(dataset, records_max=max(PEOPLE.values()), cap={"epsilon": "999", "delta": "0"})
                loaded = holder.load(register_csv(people=people), dataset)
                loaded.raise_for_status()
                holder.admin("PUT", f"/datasets/{dataset}/budgets/ADR", json={"epsilon": "999"})
        settings = replace(holder.settings, release_quantum_ms=quantum_ms)
        with serving(settings) as served:
            watch = Stopwatch(holder, served.url, clients)
            for kinds in COMPARISONS.values():
                watch.compare(kinds, 20 * clients)  # the first releases open files and fill caches
            yield watch


def main() -> None:
    """Compare with the quantum and without, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--releases", type=int, default=6000, help="of each kind, with the quantum")
    options.add_argument("--without", type=int, default=1000, help="of each kind, without the quantum")
    options.add_argument("--quantum", type=int, default=25, help="in milliseconds")
    options.add_argument("--clients", type=int, default=1, help="who ask at once")
    given = options.parse_args()
    layout = "{:>10}  {:26} {:>8} {:>6}  {:>15} {:>9}"
    print(layout.format("quantum ms", "what", "releases", "AUC", "median ms", "overruns"))
    for quantum_ms, releases in ((given.quantum, given.releases), (0, given.without)):
        with stopwatch(quantum_ms=quantum_ms, clients=given.clients) as watch:
            for what, kinds in COMPARISONS.items():
                found = watch.compare(kinds, releases)
                medians = " / ".join(f"{one:.1f}" for one in found.median_ms)
                line = layout.format(quantum_ms, what, releases, f"{found.auc:.3f}", medians, found.overruns)
                print(line, flush=True)


if __name__ == "__main__":
    main()
