"""How much later a small plan is answered beside a crowd that asks for nothing: at most three times as late.

`python -m checks.fair_turns`

A holder in a process of its own has a small register, and the rehearsal of a dataset that is declared for 50 million
people. An auditor with a budget asks a small plan again and again: alone, beside 16 free plans of 1 000 rules at once,
renewed as long as it lasts, and beside these and the answers of 400 free watches. Then the same about real people:
beside another auditor who has a budget and asks plans of 1 000 rules about the register. All is measured in one
run, so the ratios hold on a noisy machine. `--quantum 0` shows what the deadlines cover.

It fails if the median beside the free crowd is more than three times that alone.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from testing.holders import FORKING, TestedHolder, running_holder, serving
from testing.registers import plan, watch

DATASET: Final = "big"
REHEARSAL: Final = "big-rehearsal"
PEOPLE_MAX: Final = 50_000_000
CROWD: Final = 16
RULES: Final = 1000
WATCHES: Final = 400
WATCHERS: Final = 8
TIMES: Final = 3.0
_LAYOUT: Final = "{:52} {:>7} {:>10} {:>8} {:>8} {:>6} {:>9}"


@dataclass(frozen=True, slots=True)
class Client:
    """Where somebody asks, and with which key."""

    url: str
    key: str

    @contextmanager
    def open(self) -> Iterator[httpx.Client]:
        """A connection that sends the key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(base_url=f"{self.url}/v1", headers=headers, timeout=300) as client:
            yield client


def large_plan(number: int) -> dict[str, Any]:
    """A plan of 1 000 cells of a rule each that nobody asked before."""
    cells = [
        {"id": f"l{index}", "all_of": [
            {"column": "age", "op": "eq", "value": index % 120},
            {"column": "hours", "op": "lt", "value": index + number / 1000},
        ]}
        for index in range(RULES)
    ]  # fmt: skip
    return plan(epsilon="0.001", cells=cells)


def crowd(client: Client, dataset: str, first: int, stop: Any, answered: Any) -> None:
    """Ask large plans, one after the other, until told to stop."""
    with client.open() as asking:
        for number in itertools.count(first):
            if stop.is_set():
                return
            status = asking.post(f"/datasets/{dataset}/releases", json=large_plan(number)).status_code
            if status == 201:
                with answered.get_lock():
                    answered.value += 1
            elif status in (409, 429):  # too much at once, or the rehearsal was published again meanwhile
                time.sleep(0.1)
            else:
                raise RuntimeError(f"the holder answered {status}")


@contextmanager
def crowded(clients: Sequence[Client], dataset: str, first: int) -> Iterator[Any]:
    """A crowd at work, of as many processes as there are clients; how many of its plans were answered."""
    stop, answered = FORKING.Event(), FORKING.Value("i", 0)
    processes = [
        FORKING.Process(target=crowd, args=(client, dataset, first + 1000 * number, stop, answered), daemon=True)
        for number, client in enumerate(clients)
    ]
    for process in processes:
        process.start()
    try:
        until_s = time.monotonic() + 120
        while answered.value < len(clients) and time.monotonic() < until_s:
            time.sleep(0.1)
        yield answered
    finally:
        stop.set()
        for process in processes:
            process.join(timeout=300)


def asked_s(client: Client, numbers: Iterator[int], *, plans: int) -> list[float]:
    """How long each of some small plans took."""
    took = []
    with client.open() as asking:
        for number in itertools.islice(numbers, plans):
            body = plan(epsilon="0.001", age=number / 1000)
            started = time.monotonic()
            status = asking.post("/datasets/register/releases", json=body).status_code
            took.append(time.monotonic() - started)
            if status != 201:
                raise RuntimeError(f"the holder answered {status}")
    return took


def set_watches(clients: Sequence[Client], number: int) -> None:
    """Set so many watches about the rehearsal, each client its share at the same time."""

    def set_some(client: Client, draws: range) -> None:
        with client.open() as asking:
            for draw in draws:
                body = watch(margin=-1_000_000, draw=draw)
                if asking.post(f"/datasets/{REHEARSAL}/watches", json=body).status_code != 201:
                    raise RuntimeError("a watch was refused")

    share = number // len(clients)
    threads = [threading.Thread(target=set_some, args=(client, range(1, share + 1))) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def publish(holder: TestedHolder) -> None:
    """Invent the people of the rehearsal anew: all its watches have to be answered."""
    holder.admin("POST", f"/datasets/{DATASET}/rehearsal", json={"people": 100}).raise_for_status()


def overruns(holder: TestedHolder) -> int:
    """How many releases missed their deadline so far."""
    [line] = [one for one in holder.metrics().text.splitlines() if one.startswith("holder_release_overruns_total")]
    return int(float(line.split()[1]))


def measured(holder: TestedHolder, url: str, *, plans: int, watches: int) -> bool:
    """Print the table; whether the free crowd makes the small plan late by no more than is promised."""
    numbers = itertools.count(1)
    paying = Client(url, holder.auditor_key)
    free = [Client(url, holder.open_auditor(f"free-{number}")) for number in range(WATCHERS)]
    other = Client(url, holder.open_auditor("other", epsilon="100"))
    print(_LAYOUT.format("a small plan", "plans", "median ms", "p90 ms", "most ms", "ratio", "overruns"), flush=True)
    medians = []

    def row(what: str) -> None:
        before = overruns(holder)
        took = sorted(1000 * one for one in asked_s(paying, numbers, plans=plans))
        medians.append(statistics.median(took))
        ratio = medians[-1] / medians[0]
        shown = [f"{one:.0f}" for one in (medians[-1], took[int(0.9 * len(took))], took[-1])]
        print(_LAYOUT.format(what, plans, *shown, f"{ratio:.2f}", overruns(holder) - before), flush=True)

    asked_s(paying, numbers, plans=20)
    row("alone")
    with crowded(free * (CROWD // WATCHERS), REHEARSAL, first=1) as answered:
        row("beside 16 free plans of 1 000 rules")
        print(f"   of these {answered.value} were answered")
    set_watches(free, watches)
    with crowded(free * (CROWD // WATCHERS), REHEARSAL, first=100_000) as answered:
        publish(holder)
        row(f"beside these and {watches} free watches")
    result = max(medians[1:]) <= TIMES * medians[0]
    row("alone again, while watches are answered")
    with crowded([other] * CROWD, "register", first=1):
        row("beside 16 such plans of another with a budget")
    return result


def main() -> None:
    """Measure, and fail if the promise does not hold."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--plans", type=int, default=100, help="of each row")
    options.add_argument("--watches", type=int, default=WATCHES, help="about the rehearsal")
    options.add_argument("--quantum", type=int, default=25, help="of the public deadline, in milliseconds")
    given = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as home,
        running_holder(Path(home), quantum_ms=given.quantum, epsilon="100") as holder,
    ):
        holder.declare(DATASET, records_max=PEOPLE_MAX).raise_for_status()
        publish(holder)
        with serving(holder.settings) as served, holder.at(served.url) as reached:
            holds = measured(reached, served.url, plans=given.plans, watches=given.watches)
    if not holds:
        sys.exit(f"A small plan took more than {TIMES:g} times as long beside the free crowd.")


if __name__ == "__main__":
    main()
