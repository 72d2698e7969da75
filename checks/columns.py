"""What the times about derived columns show, and what making them does to releases.

`python -m checks.columns --links 2000 --releases 400`

First, files of linked values whose keys the register has all, or none, are sent in turn and in random order. What is
seen of each is how long the holder takes to accept it, to describe the column, to quote a plan and to refuse it because
the column is not ready, all of it while the values are joined. The area under the ROC curve (AUC) says how well that
distinguishes the two kinds: .5 is guessing, 1 is certain. Aim: at most .53. Then, releases while a score is made for
every record of a large register, and while nothing is made: how many overrun their deadline.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from checks.timing import auc
from testing.holders import TestedHolder, serving, stopped_holder
from testing.registers import linked_column, linked_values, numbered_plan, plan, register_csv

QUANTUM_MS: Final = 25
PEOPLE: Final = 5000
LARGE: Final = 500_000
TREES: Final = 200
NODES: Final = 63
SEEN: Final = ("accepted", "described", "quoted", "not ready")
_COLUMNS: Final = "/datasets/register/columns"

Times = Mapping[str, float]


def linked_in_turn(holder: TestedHolder, *, links: int, people: int) -> tuple[list[Times], list[Times]]:
    """What is seen of files whose keys are all known, and of files of which none is; so many of each."""
    records = register_csv(people=people)
    sides: tuple[list[Times], list[Times]] = ([], [])
    for number in range(links):
        for side in random.sample((0, 1), 2):
            sides[side].append(_linked(holder, linked_values(records, known=1 - side), f"c{number}-{side}"))
    return sides


def _linked(holder: TestedHolder, values: bytes, name: str) -> Times:
    column = holder.derive(linked_column(values, name=name)).json()["id"]
    cell = {"id": "one", "all_of": [{"column": name, "op": "eq", "value": "granted"}]}
    asked = plan(cells=[cell], columns={name: column})
    calls: tuple[Callable[[], httpx.Response], ...] = (
        lambda: holder.link(values, column),
        lambda: holder.auditor("GET", f"{_COLUMNS}/{column}"),
        lambda: holder.auditor("POST", "/datasets/register/quotes", json=asked),
        lambda: holder.release(asked),
    )
    found = {}
    for what, status, call in zip(SEEN, (200, 200, 200, 409), calls, strict=True):
        begun_s = time.monotonic()
        answer = call()
        found[what] = time.monotonic() - begun_s
        if answer.status_code != status:
            raise RuntimeError(f"{what}: {answer.status_code} {answer.text}")
    holder.auditor("DELETE", f"{_COLUMNS}/{column}")
    return found


def distinguished(sides: tuple[Sequence[Times], Sequence[Times]]) -> dict[str, float]:
    """The AUC of each thing that is seen."""
    return {what: auc(*([seen[what] for seen in side] for side in sides)) for what in SEEN}


def score_of(trees: int) -> dict[str, Any]:
    """A score of so many invented trees."""
    source = random.Random(0)
    tests = [{"column": "age", "op": "le", "value": age} for age in range(0, 120, 3)]
    tests += [{"column": "hours", "op": "le", "value": hours} for hours in range(60)]
    yes = [2 * node + 1 if 2 * node + 1 < NODES else ~(2 * node + 1 - NODES) for node in range(NODES)]
    no = [2 * node + 2 if 2 * node + 2 < NODES else ~(2 * node + 2 - NODES) for node in range(NODES)]
    return {
        "name": "score", "type": "number",
        "from": {
            "score": {
                "kind": "trees", "precision": "float64", "tests": tests,
                "trees": [
                    {
                        "tests": [source.randrange(len(tests)) for _ in range(NODES)], "yes": yes, "no": no,
                        "values": [source.gauss(0, 1) for _ in range(NODES + 1)],
                    }
                    for _ in range(trees)
                ],
            }
        },
    }  # fmt: skip


def released(holder: TestedHolder, *, releases: int, first: int) -> tuple[list[float], int]:
    """How long releases take, in seconds, and how many of them overran their deadline."""
    before = _overruns(holder)
    took_s = []
    for number in range(first, first + releases):
        begun_s = time.monotonic()
        answer = holder.release(numbered_plan(number))
        took_s.append(time.monotonic() - begun_s)
        if answer.status_code != 201:
            raise RuntimeError(answer.text)
    return took_s, _overruns(holder) - before


def _overruns(holder: TestedHolder) -> int:
    [line] = [one for one in holder.metrics().text.splitlines() if one.startswith("holder_release_overruns_total")]
    return int(float(line.split()[1]))


@contextmanager
def holder_at_work() -> Iterator[TestedHolder]:
    """A holder with the quantum of production, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        stopped = stopped_holder(Path(folder), epsilon="90")
        environment = {"HOLDER_RELEASE_QUANTUM_MS": str(QUANTUM_MS)}
        with serving(stopped.settings, environment=environment) as served, stopped.at(served.url) as holder:
            yield holder


def main() -> None:
    """Compare, and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--links", type=int, default=2000, help="files of each kind")
    options.add_argument("--releases", type=int, default=400, help="with and without a column being made")
    given = options.parse_args()
    with holder_at_work() as holder:
        holder.load(register_csv(people=PEOPLE))
        if given.links:
            linked_in_turn(holder, links=5, people=PEOPLE)
            for what, figure in distinguished(linked_in_turn(holder, links=given.links, people=PEOPLE)).items():
                print(f"{what:12} AUC {figure:.3f} of {given.links} files each", flush=True)
        if given.releases:
            holder.declare(records_max=LARGE)
            holder.load(register_csv(people=LARGE))
            released(holder, releases=20, first=0)
            for number, label in enumerate(("nothing made", "a score made", "nothing made")):
                if label == "a score made":
                    holder.derive(score_of(TREES))
                took_s, overran = released(holder, releases=given.releases, first=1000 * (number + 1))
                median_ms, last_ms = (1000 * one for one in (statistics.median(took_s), sorted(took_s)[-4]))
                made = [one["state"] for one in holder.auditor("GET", _COLUMNS).json()["columns"]]
                print(f"{label:12} {median_ms:7.1f} ms, {last_ms:7.1f} ms but three; overran: {overran}; {made}")


if __name__ == "__main__":
    main()
