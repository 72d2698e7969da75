"""What the times of a release show: noise against noise and data against data, at one public declaration.

`python -m checks.timing --releases 6000`

Releases of two kinds are asked over HTTP of a holder in a process of its own, in turn and in random order: with small
and with large noise, of a register and of one with one person more, of a small and a large one, and of these by a crowd
of plans at once. What is seen of each is when the answer comes, the time in it, and on a second connection when the
stored answer, the list, the head and the budget change. The area under the ROC curve (AUC) says how well that
distinguishes the two kinds: .5 is guessing, 1 is certain. Aim: at most .53 with the quantum; without it the same
comparison shows that there is something to hide.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy import stats

from holder_service.privacy_audit.audit import WARM_UP
from holder_service.privacy_audit.over_http import HolderUnderAudit, holder_under_audit
from holder_service.privacy_audit.timing import CROWD, EVERYTHING, ONE_RECORD, Observer, TimedPair, values_of

NOISE: Final = TimedPair("noise of scale 1 000 or 10", (1000, 1000), columns=3, epsilons=(0.001, 0.1))
PAIRS: Final = {"noise": NOISE, "one-record": ONE_RECORD, "everything": EVERYTHING, "crowd": CROWD}
CROWD_CLIENTS: Final = 16
"""As many plans as one auditor may have under way."""
_LAYOUT: Final = "{:>10}  {:27} {:8} {:>8} {:>6}  {:>15} {:>9}"


def auc(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability that one of the first is larger than one of the second; ties count half."""
    ranks = stats.rankdata(np.concatenate([first, second]))[: len(first)]
    return float((ranks.sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second)))


def compared(pair: TimedPair, *, releases: int, quantum_ms: int, clients: int) -> Iterator[str]:
    """A line of the table for each thing that is seen."""
    with holder_under_audit(quantum_ms=quantum_ms) as holder:
        observer = Observer(holder, pair)
        observer.observe(runs=WARM_UP * clients, observed=False, clients=clients)
        before = overruns(holder)
        runs = releases - releases % clients
        seen = observer.observe(runs=runs, observed=clients == 1, clients=clients, first=WARM_UP * clients)
        overran = overruns(holder) - before
    for what in [name for name in seen[0][0] if name != "text"]:
        first, second = values_of(what, seen)
        medians = " / ".join(f"{1000 * statistics.median(side):.1f}" for side in (first, second))
        figure = f"{auc(first, second):.3f}"
        yield _LAYOUT.format(quantum_ms, pair.label, what, runs, figure, medians, overran)


def overruns(holder: HolderUnderAudit) -> int:
    """How many releases missed their deadline so far."""
    headers = {"Authorization": f"Bearer {holder.admin_key}"}
    text = holder.client.get("/metrics", headers=headers).text
    [line] = (line for line in text.splitlines() if line.startswith("holder_release_overruns_total"))
    return int(float(line.split()[1]))


def main() -> None:
    """Compare with the quantum and without, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--releases", type=int, default=6000, help="of each kind, with the quantum")
    options.add_argument("--without", type=int, default=1000, help="of each kind, without the quantum")
    options.add_argument("--quantum", type=int, default=25, help="in milliseconds")
    options.add_argument(
        "--clients", type=int, default=1, help="who ask at once; one alone looks on a second connection"
    )
    options.add_argument("--only", choices=PAIRS, help="this comparison alone")
    given = options.parse_args()
    print(_LAYOUT.format("quantum ms", "what", "seen", "releases", "AUC", "median ms", "overruns"))
    for quantum_ms, releases in ((given.quantum, given.releases), (0, given.without)):
        for name, pair in PAIRS.items():
            if releases and given.only in (None, name):
                clients = CROWD_CLIENTS if pair.together else given.clients
                for line in compared(pair, releases=releases, quantum_ms=quantum_ms, clients=clients):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
