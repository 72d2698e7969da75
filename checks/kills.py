"""Holders that are killed with SIGKILL, at random times or exactly between two steps of 2-privacy §5.

`python -m checks.kills` kills a holder on SQLite and one on PostgreSQL 200 times each: in turn at every step, and as
often again at random times while four clients ask. Then it compares what the auditor has with what the holder has.
`--asked trainings` has the clients ask trainings, which look at the records several times before one is charged, and
`--asked watches` has them set watches: those answer later, so that the holder dies at steps of an answer too, and what
every watch has answered, and its noisy threshold, is compared after every death.
`--asked refinements` has them ask a plan and then refine its answer.
`--asked approved` has them ask plans that wait for an approval, approve each and ask it again: the holder dies while a
request is written down, while it is decided, and while it is charged. A request that were lost would be entered twice.
`--asked blocks` has them ask about one or all blocks of people, and verification compares the sums by block.
All columns behind "charged" have to be zero.

To die at a step, the holder's process watches its own function calls through the interpreter's profiling
hook, and kills itself when the step's function is entered or left: the service has no part in it.
"""

import argparse
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal
from unittest.mock import patch

import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sqlalchemy import select

from checks.asked_kinds import HUNTED, PLANS, AskedKind
from holder_service.storage.database import Database
from holder_service.storage.tables import releases, watches
from shared.kinds.watches import ANSWER_KIND
from shared.wire import limits
from testing.holders import Served, TestedHolder, forked, running_holder
from testing.postgres import empty_store
from testing.registers import plan
from testing.waits import wait_until

CLIENTS: Final = 4
BEGINS: Final = "holder_service.services.releases.releases.prepare"
COMMIT_S: Final = 0.003
"""Within about this time after it was begun, a commit is on disk."""


@dataclass(frozen=True)
class Step:
    """Where a holder dies.

    Attributes:
        name: In the words of 2-privacy §5.
        function: Whose event it is: module and name; of a builtin the name alone.
        event: As the interpreter's profiling hook names it.
        which: The number of the event among those of a release, from 1.
        charged: Whether the dying release is charged by then; None where it may be or not.
        within_s: Die at a random time within so many seconds after the event.
    """

    name: str
    function: str
    event: Literal["call", "return", "c_call", "c_return"] = "return"
    which: int = 1
    charged: bool | None = False
    within_s: float = 0.0


_SERVICE: Final = "holder_service.services.releases.releases"
_STORAGE: Final = "holder_service.storage"
_COMMIT: Final = "sqlalchemy.engine.default.DefaultDialect.do_commit"
_SEND: Final = "uvicorn.protocols.http.httptools_impl.RequestResponseCycle.send"

_BEFORE: Final = (
    Step("authenticated", "holder_service.services.accounts.access.authenticate"),
    Step("no stored release found", f"{_STORAGE}.releases.find_release"),
    Step("budget checked", "holder_service.services.releases.charging.require_funds"),
)
_PLANNED: Final = (
    Step("validated", "shared.kinds.plans.Plan.check"),
    Step("priced", "holder_service.domain.pricing.price"),
    Step("counted", "holder_service.records.counting.count_cells"),
    Step("noise added", "holder_service.services.releases.priced.PricedPlan._noisy_batches"),
)
_LEARNED: Final = (
    Step("validated", "shared.kinds.trainings.Training.check"),
    Step("priced", "holder_service.learning.fair_tree.steps"),
    Step("counted for the first level", "holder_service.records.counting.count_cells"),
    Step("first level chosen", "holder_service.learning.measuring.Measuring.choices"),
    Step("counted for the second level", "holder_service.records.counting.count_cells", which=2),
    Step("second level chosen", "holder_service.learning.measuring.Measuring.choices", which=2),
    Step("leaves counted", "holder_service.learning.measuring.Measuring.counts"),
    Step("learned", "holder_service.learning.fair_tree.learn"),
)
_WATCHED: Final = (
    Step("validated", "shared.kinds.watches.Watch.check"),
    Step("priced", "holder_service.domain.pricing.price"),
    Step("threshold drawn", "holder_service.mechanisms.sparse_vector.SparseVectorMechanism.begun"),
)
_WATCHING: Final = "holder_service.services.releases.watching"
_ANSWERED: Final = (
    Step("threshold written", f"{_STORAGE}.watches.store"),
    Step("first version to be answered", f"{_WATCHING}.keep"),
    Step("answer begun", f"{_WATCHING}.draw", "call", charged=None),
    Step("distance found", "holder_service.services.releases.priced_watch.PricedWatch.distance", charged=None),
    Step("answer drawn", f"{_WATCHING}.draw", charged=None),
    Step("answer's transaction begun", f"{_WATCHING}.enter", "call", charged=None),
    Step("answer written", f"{_WATCHING}.enter", charged=None),
    Step("answer's commit begins", _COMMIT, "call", which=2, charged=None),
    Step("answer committed", _COMMIT, which=2, charged=None),
    Step("answer anchored", f"{_STORAGE}.anchor.Anchor.advance", which=2, charged=None),
)
_REFINED: Final = (
    Step("refined answer found", "holder_service.services.releases.refining.find"),
    Step("comparable", "shared.kinds.refining.require_refines"),
    Step("finer noise drawn", "holder_service.mechanisms.refining.RefinedLaplaceMechanism.release"),
    Step("found refinable under lock", "holder_service.services.releases.refining.require_refinable", which=2),
)
_ONCE: Final = ("approval-requested", "approval-decided")
"""Entries of which there is one about each plan: if a kill lost one, it was asked or decided again."""
_APPROVALS: Final = "holder_service.services.releases.approvals"
_APPROVED: Final = (
    Step("no approval found", f"{_APPROVALS}.permitted"),
    Step("request's entry written", f"{_STORAGE}.approvals.put", "call"),
    Step("request written", f"{_APPROVALS}.write_down"),
    Step("decision's entry written", f"{_STORAGE}.approvals.change", "call"),
    Step("decision written", f"{_APPROVALS}.decide.<locals>.work"),
    Step("found approved under lock", f"{_APPROVALS}.require_approved"),
    Step("approval to be used", f"{_APPROVALS}.answered", "call"),
    Step("approval used", f"{_APPROVALS}.answered"),
    *(
        Step(f"{step.name}, {number} of request, decision and charge", step.function, step.event, which=number)
        for number in (1, 2, 3)
        for step in (
            Step("commit begins", _COMMIT, "call"),
            Step("committed", _COMMIT),
            Step("anchored", f"{_STORAGE}.anchor.Anchor.advance"),
        )
    ),
)
_AFTER: Final = (
    Step("drawn", f"{_SERVICE}.draw"),
    Step("deadline waited for", f"{_SERVICE}.enter", "call"),
    Step("transaction begun", "holder_service.services.ledger.store.Transaction.__init__"),
    Step("limits checked under lock", "holder_service.services.releases.charging.require_funds", which=2),
    Step("charge and entry written", f"{_STORAGE}.ledger.append"),
    Step("release written", f"{_STORAGE}.releases.store"),
    Step("commit begins", _COMMIT, "call"),
    Step("during the commit", _COMMIT, "call", charged=None, within_s=COMMIT_S),
    Step("committed", _COMMIT, charged=True),
    Step("anchor opened", f"{_STORAGE}.anchor.Anchor.advance", "call", charged=True),
    Step("anchor written, not durable", "pwrite", "c_return", charged=True),
    Step("anchor durable", f"{_STORAGE}.anchor.Anchor.advance", charged=True),
    Step("answer begins to leave", _SEND, "call", charged=True),
    Step("head sent, body not", _SEND, charged=True),
    Step("answer sent", _SEND, which=2, charged=None),
)
STEPS: Final = {
    "plans": (*_BEFORE, *_PLANNED, *_AFTER), "trainings": (*_BEFORE, *_LEARNED, *_AFTER),
    # An answer of the watch before may come to the same steps while the next is being set.
    "watches": (*_BEFORE, *_WATCHED, *(replace(step, charged=None) for step in _AFTER), *_ANSWERED),
    # It may be the plan that is refined which comes to the same steps.
    "refinements": tuple(replace(step, charged=None) for step in (*_BEFORE, *_PLANNED, *_REFINED, *_AFTER)),
    "blocks": (*_BEFORE, *_PLANNED, *_AFTER),
    # It may be the request or the decision which comes to the same steps.
    "approved": tuple(replace(step, charged=None) for step in (*_BEFORE, *_PLANNED, *_APPROVED, *_AFTER)),
}  # fmt: skip
"""By what is asked."""


def die_at(step: Step, after: int) -> None:
    """Have this process kill itself at a step, once it has begun so many releases."""
    begun, seen = itertools.count(1), itertools.count(1)
    last = step.function.rpartition(".")[2]
    armed = False

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal armed
        name = arg.__name__ if event in ("c_call", "c_return") else frame.f_code.co_name
        if armed:
            here = event == step.event and name == last and step.function in (name, _full_name(frame))
            if here and next(seen) == step.which:
                _die(step.within_s)
        elif event == "call" and name == "prepare" and _full_name(frame) == BEGINS:
            armed = next(begun) >= after

    threading.setprofile(watch)
    sys.setprofile(watch)


def _full_name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"


def _die(within_s: float) -> None:
    kill = partial(os.kill, os.getpid(), signal.SIGKILL)
    if within_s == 0:
        kill()
    threading.Timer(random.uniform(0, within_s), kill).start()


@contextmanager
def killed_at(stopped: TestedHolder, step: Step) -> Iterator[TestedHolder]:
    """A holder that dies at a step of what is then done with it; the call that it leaves without an answer is the last.

    Raises:
        RuntimeError: It never came to that step.
    """
    with forked(stopped.settings, first=partial(die_at, step, 1)) as served, stopped.at(served.url) as holder:
        holder.release(plan(), dataset="nope")  # from here on it watches its steps
        try:
            yield holder
        except httpx.TransportError:
            wait_until(lambda: not served.alive)
            return
    raise RuntimeError(f"the holder did not come to the step {step.name!r}")


@dataclass
class Victim:
    """A holder that is killed again and again, and what its auditor saw.

    Attributes:
        kind: What is asked.
        watched: What the watches' auditor and their database had: answers by their id, and noisy thresholds.
        rewritten: How many of these were other ones later.
        answers: Every answer that arrived whole, by its number.
        unanswered: The numbers of plans whose answer did not arrive, with the step where the holder died.
    """

    holder: TestedHolder
    kind: AskedKind = PLANS
    answers: dict[int, bytes] = field(default_factory=dict)
    unanswered: dict[int, Step | None] = field(default_factory=dict)
    kills: int = 0
    watched: dict[str, bytes | int] = field(default_factory=dict)
    rewritten: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def kill_at(self, step: Step) -> None:
        """Start it, ask one plan after the other, and have it die at a step of the second, third or fourth.

        Raises:
            RuntimeError: It never came to that step.
        """
        first = partial(die_at, step, random.randint(2, 4))
        self._look_at_watches()
        with forked(self.holder.settings, first=first) as served, self.holder.at(served.url) as holder:
            for _, number in zip(range(10), self._numbers, strict=False):
                if not self._ask(holder, number, step):
                    self.kills += 1
                    return
        raise RuntimeError(f"the holder did not come to the step {step.name!r}")

    def kill_after(self, alive_s: float) -> None:
        """Start it, let several clients ask, and kill it some seconds after its first answer."""
        answered = threading.Event()
        with forked(self.holder.settings) as served, ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(self._ask_until_it_dies, served, answered) for _ in range(CLIENTS)]
            answered.wait(timeout=30)
            time.sleep(alive_s)
            served.kill()
            for client in clients:
                client.result()
        self.kills += 1

    def examine(self) -> "Findings":
        """Start it once more and compare what it has with what the auditor saw."""
        self._look_at_watches()
        with self.holder.reopened() as after:
            charged = {entry["subject"] for entry in after.entries() if entry["kind"] == "charge"}
            found = Findings(kills=self.kills, answered=len(self.answers), unanswered=len(self.unanswered))
            found.intact = after.is_intact()
            for number, step in self.unanswered.items():
                again = self.kind.ask(after, number)
                found.charged_unanswered += again.status_code == 200
                found.not_retrievable += again.status_code not in (200, 201)
                if step is not None and step.charged is not None and step.charged != (again.status_code == 200):
                    found.unexpected.append(step.name)
            for number, body in self.answers.items():
                again = self.kind.ask(after, number)
                found.uncharged += again.json()["id"] not in charged
                found.changed += again.status_code != 200 or again.content != body
            entered = Counter((entry["kind"], entry.get("subject")) for entry in after.entries())
            found.charged_twice = sum(entered[kind, of] > 1 for kind, of in entered if kind == "charge")
            found.asked_twice = sum(entered[kind, of] > 1 for kind, of in entered if kind in _ONCE)
        self._look_at_watches()
        found.changed += self.rewritten
        return found

    def _look_at_watches(self) -> None:
        """Compare every watch's answers and threshold with what they were before: nothing of them ever changes."""
        database = Database(self.holder.settings.database_url)
        with database.read() as connection:
            rows = connection.execute(select(releases.c.id, releases.c.body).where(releases.c.kind == ANSWER_KIND))
            seen: dict[str, bytes | int] = {row.id: bytes(row.body) for row in rows}
            for row in connection.execute(select(watches.c.id, watches.c.sealed)):
                seen[f"threshold of {row.id}"] = self.holder.holder.seals.opened(row.id, row.sealed).noisy_threshold
        database.close()
        self.rewritten += sum(seen.get(name) != before for name, before in self.watched.items())
        self.watched |= seen

    def _ask(self, holder: TestedHolder, number: int, step: Step | None) -> bool:
        try:
            answer = self.kind.ask(holder, number)
        except httpx.TransportError:
            self.unanswered[number] = step
            return False
        if answer.status_code == 201:
            self.answers[number] = answer.content
        return answer.status_code == 201

    def _ask_until_it_dies(self, served: Served, answered: threading.Event) -> None:
        with self.holder.at(served.url) as holder:
            while self._ask(holder, next(self._numbers), None):
                answered.set()


@dataclass
class Findings:
    """What was found after the kills; but for the first four, all has to be zero.

    Attributes:
        charged_unanswered: Plans charged whose answer did not arrive; it is there for the asking.
        uncharged: Answers that left and that no entry charges.
        changed: Answers that are not there any more, byte for byte.
        not_retrievable: Plans that cannot be asked again.
        charged_twice: Plans that more than one entry charges.
        asked_twice: Requests and decisions that were entered more than once.
        unexpected: Steps at which the dying release was charged too early or not yet.
    """

    kills: int
    answered: int
    unanswered: int
    charged_unanswered: int = 0
    uncharged: int = 0
    changed: int = 0
    not_retrievable: int = 0
    charged_twice: int = 0
    asked_twice: int = 0
    unexpected: list[str] = field(default_factory=list)
    intact: bool = False

    @property
    def faultless(self) -> bool:
        """Whether nothing left uncharged, nothing charged is lost, and the chain verifies."""
        twice = self.charged_twice + self.asked_twice
        faults = self.uncharged + self.changed + self.not_retrievable + twice + len(self.unexpected)
        return self.intact and faults == 0


def main() -> None:
    """Kill, examine, and print the table; the exit status is 1 if anything was found wrong."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200, help="for each store")
    options.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    options.add_argument("--asked", default=PLANS.name, choices=list(HUNTED))
    given = options.parse_args()
    every_step = STEPS[given.asked]
    table = Table(
        "store", "kills", "answers", "cut off", "charged", "uncharged", "lost", "charged twice", "asked twice",
        "at a wrong step", "chain",
        title=f"kill -9 while {given.asked} are asked, half of them at {len(every_step)} steps in turn",
    )  # fmt: skip
    faultless = True
    for store in given.stores:
        steps = [None if number % 2 else every_step[number // 2 % len(every_step)] for number in range(given.kills)]
        with empty_store(store) as (home, url):
            found = hunted(home, url, track(steps, description=store), kind=HUNTED[given.asked])
        faultless = faultless and found.faultless
        table.add_row(
            store, *map(str, (found.kills, found.answered, found.unanswered, found.charged_unanswered)),
            *map(str, (found.uncharged, found.changed + found.not_retrievable, found.charged_twice, found.asked_twice)),
            str(len(found.unexpected)), "intact" if found.intact else "broken",
        )  # fmt: skip
    Console(width=110).print(table)
    raise SystemExit(not faultless)


def hunted(home: Path, database_url: str, steps: Iterable[Step | None], *, kind: AskedKind = PLANS) -> Findings:
    """Kill a new holder at each of some steps, at a random moment for None, and examine what is left.

    One auditor sets all watches, more than a holder allows, so the limit is lifted here and in the forked holders.
    """
    with patch.object(limits, "WATCHES_OPEN_MAX", 10_000):
        with running_holder(home, database_url) as holder:
            kind.offer(holder, epsilon="90")
            victim = Victim(holder, kind)
        for step in steps:
            if step is None:
                victim.kill_after(random.uniform(0.0, 0.1))
            else:
                victim.kill_at(step)
        return victim.examine()


if __name__ == "__main__":
    main()
