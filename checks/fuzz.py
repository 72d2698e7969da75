"""A running holder under bad requests: no failure of its own, memory flat, every answer soon.

`python -m checks.fuzz --requests 20000`

One request in eight is made up by schemathesis from the holder's own OpenAPI document, good ones and bad ones in turn;
the others are sound requests with bytes and JSON values changed at random. Behind them come the ones made by hand
(`checks.hostile_requests`). All go one after the other to a holder in a process of its own, of which the resident
memory is read once it has warmed up and at the end. Its quantum is 0: answers do not wait for a deadline. On a machine
that does other work too, the holder's processor time says more than the time to the answer.
"""

import argparse
import collections
import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis.errors import Unsatisfiable
from rich.console import Console
from rich.table import Table
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.core.result import Ok

from checks.changed_documents import changed
from checks.hostile_requests import HostileRequest, hostile_requests
from holder_service.learning.learners import LEARNERS
from testing.holders import TestedHolder, running_holder, serving
from testing.hostile_plans import SCHEMA
from testing.registers import DECLARATION, LEARNABLE, learnable_csv, plan, register_csv, training

KNOWN: Final = {"dataset": "register", "auditor": "ADR", "population": "register", "code": "not-found"}
"""Names that exist, put into every other request: made up ones are all unknown."""
Operation = APIOperation[Any, Any, Any, Any]
WARM_UP: Final = 100
RESTOCKED_EVERY: Final = 500
MADE_UP_SHARE: Final = 8
LARGE_BYTES: Final = 1_000_000


@dataclass
class Answers:
    """How a kind of requests was answered.

    Attributes:
        statuses: How many of each; 0 for a connection that ended without an answer.
        took_s: How long each took.
        cpu_s: How much processor time the holder spent on each, to a hundredth of a second.
        failures: What was asked where the holder failed.
        dearest: What took the most processor time.
    """

    statuses: collections.Counter[int] = field(default_factory=collections.Counter)
    took_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    dearest: str = ""

    def row(self) -> tuple[str, ...]:
        """How many, how many failed; median, 99th of a hundred, slowest and dearest in milliseconds; the statuses."""
        took = sorted(self.took_s)
        times = (statistics.median(took), took[int(len(took) * 0.99)], took[-1], max(self.cpu_s))
        shown = ", ".join(f"{status}: {number}" for status, number in sorted(self.statuses.items()))
        return str(len(took)), str(len(self.failures)), *(f"{one * 1000:.0f}" for one in times), shown


@dataclass
class Fuzzed:
    """What came of it.

    Attributes:
        answers: By kind of request.
        memory_mb: Resident memory of the holder when it was warm, and at the end.
        intact: Whether its ledger is intact.
    """

    answers: dict[str, Answers]
    memory_mb: tuple[float, float]
    intact: bool

    @property
    def failures(self) -> list[str]:
        """Everything that the holder failed at."""
        return [failure for one in self.answers.values() for failure in one.failures]


class Asked:
    """A running holder, and how its answers are taken down."""

    def __init__(self, holder: TestedHolder, pid: int) -> None:
        self.holder = holder
        self._pid = pid
        self._requests = 0

    def ask(self, answers: Answers, method: str, path: str, *, admin: bool = False, **request: Any) -> None:
        """Send a request with a key."""
        headers = {**request.pop("headers", {}), **self.key(admin=admin)}
        self.note(
            answers, lambda: self.holder.client.request(method, path, headers=headers, **request).status_code,
            f"{method} {path} {str(request)[:200]}",
        )  # fmt: skip

    def key(self, *, admin: bool) -> dict[str, str]:
        """The header that says who calls."""
        return {"Authorization": f"Bearer {self.holder.admin_key if admin else self.holder.auditor_key}"}

    def note(self, answers: Answers, send: Callable[[], int], what: str) -> None:
        """Send a request, and note status and time."""
        self._requests += 1
        if self._requests % RESTOCKED_EVERY == 0:
            self.restock()
        start_s, start_cpu_s = time.perf_counter(), self._cpu_s()
        try:
            status = send()
        except (httpx.TransportError, httpx.InvalidURL, requests.RequestException, UnicodeError):
            status = 0
        answers.took_s.append(time.perf_counter() - start_s)
        answers.cpu_s.append(self._cpu_s() - start_cpu_s)
        if answers.cpu_s[-1] >= max(answers.cpu_s):
            answers.dearest = what
        answers.statuses[status] += 1
        if status >= 500:
            answers.failures.append(f"{status} {what}")

    def memory_mb(self) -> float:
        """Resident memory of the holder."""
        lines = Path(f"/proc/{self._pid}/status").read_text(encoding="ascii").splitlines()
        [line] = (line for line in lines if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def restock(self) -> None:
        """Undo what requests with an administrator's key may have done to register and auditor."""
        self.holder.declare()
        self.holder.load(register_csv())
        self.holder.admin("PATCH", "/auditors/ADR", json={"disabled": False})
        self.holder.declare("loans", columns=LEARNABLE["columns"])
        self.holder.load(learnable_csv(), "loans")
        for dataset in ("register", "loans", "hostile"):
            self.holder.grant("999", delta="0.9", dataset=dataset)


def fuzz(number: int, seed: int, by_hand: Sequence[HostileRequest]) -> Fuzzed:
    """Set up a holder, ask it, and see how it is."""
    made_up, changed, hostile = Answers(), Answers(), Answers()
    with _holder() as (asked, document):
        _warm_up(asked, by_hand)
        before_mb = asked.memory_mb()
        _ask_made_up(asked, made_up, document, number // MADE_UP_SHARE, seed)
        rng = random.Random(seed)
        for _ in range(number - len(made_up.took_s)):
            _ask_changed(asked, changed, rng)
        asked.restock()
        for request in by_hand:
            _ask_hostile(asked, hostile, request)
        answers = {"made up from the schema": made_up, "changed at random": changed, "made by hand": hostile}
        return Fuzzed(
            {kind: one for kind, one in answers.items() if one.took_s},
            (before_mb, asked.memory_mb()),
            asked.holder.is_intact(),
        )


@contextmanager
def _holder() -> Iterator[tuple[Asked, dict[str, Any]]]:
    """A holder in a process of its own, with the small register, one with a label and one for hostile plans."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with running_holder(home, epsilon="90") as holder:
            columns = SCHEMA.model_dump(mode="json", exclude_none=True)["columns"]
            holder.declare("hostile", person_key="person", columns=columns)
            names = ["person", *(column.name for column in SCHEMA.columns)]
            holder.load((",".join(names) + "\n").encode(), "hostile")
            holder.offer("loans", learnable_csv(), epsilon="90", columns=LEARNABLE["columns"])
            document = holder.client.get("/openapi.json").json()
        with serving(holder.settings) as served, holder.at(served.url) as asked:
            yield Asked(asked, served.process.pid or 0), document


def _warm_up(asked: Asked, by_hand: Sequence[HostileRequest]) -> None:
    """Fill caches and thread pools, the largest plans too."""
    for draw in range(1, WARM_UP):
        asked.ask(Answers(), "POST", "/v1/datasets/register/releases", json=plan(epsilon="0.001", draw=draw))
    for request in by_hand:
        if request.path.endswith("quotes") and len(request.content) > LARGE_BYTES:
            _ask_hostile(asked, Answers(), request)


def _ask_made_up(asked: Asked, answers: Answers, document: dict[str, Any], number: int, seed: int) -> None:
    """Requests that schemathesis makes up of every operation."""
    contract = schemathesis.openapi.from_dict(with_short_lists(document))
    operations = [found.ok() for found in contract.get_all_operations() if isinstance(found, Ok)]
    kinds = list(itertools.product(operations, (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)))
    for operation, mode in kinds:
        _ask_operation(asked, answers, operation, mode, number=max(number // len(kinds), 1), seed=seed)


def _ask_operation(
    asked: Asked, answers: Answers, operation: Operation, mode: GenerationMode, *, number: int, seed: int
) -> None:
    admin = "administrator" in (operation.tags or ())

    @hypothesis_seed(seed)
    @settings(
        max_examples=number, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        if len(answers.took_s) % 2 and case.method not in ("DELETE", "PATCH"):
            made_up = case.path_parameters or {}
            known = {**KNOWN, "dataset": "loans"} if "trainings" in case.path else KNOWN
            case.path_parameters = {name: known.get(name, value) for name, value in made_up.items()}
        asked.note(
            answers, lambda: case.call(base_url=asked.holder.url, headers=asked.key(admin=admin)).status_code,
            f"{case.method} {case.path} {str(case.body)[:200]}",
        )  # fmt: skip

    with suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
        ask()


def with_short_lists(node: Any) -> Any:
    """A schema without lists of more than two items: a plan of thousands of rules takes seconds to make up."""
    if isinstance(node, dict):
        return {key: min(value, 2) if key == "maxItems" else with_short_lists(value) for key, value in node.items()}
    return [with_short_lists(item) for item in node] if isinstance(node, list) else node


def _ask_changed(asked: Asked, answers: Answers, rng: random.Random) -> None:
    """A sound plan, training or declaration with some values changed, or some bytes."""
    learned = training(epsilon="0.001", version=1, algorithm={"name": rng.choice(tuple(LEARNERS))})
    method, path, sound, admin = rng.choice(
        (
            ("POST", "/v1/datasets/register/quotes", plan(version=1, draw=2), False),
            ("POST", "/v1/datasets/register/releases", plan(epsilon="0.001", draw=rng.randint(1, 1000)), False),
            ("POST", "/v1/datasets/loans/trainings/quotes", learned, False),
            ("POST", "/v1/datasets/loans/trainings", {**learned, "draw": rng.randint(1, 1000)}, False),
            ("PUT", "/v1/admin/datasets/changed", DECLARATION, True),
        )
    )
    body = changed(sound, rng)
    asked.ask(answers, method, path, admin=admin, content=body, headers={"Content-Type": "application/json"})


def _ask_hostile(asked: Asked, answers: Answers, request: HostileRequest) -> None:
    asked.ask(
        answers, request.method, request.path, admin=request.as_administrator, content=request.content,
        headers={name: value.encode("latin-1") for name, value in request.headers.items()},
    )  # fmt: skip


def main() -> None:
    """Fuzz, and print the table; ends with 1 if the holder failed at anything."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=20_000, help="made up and changed at random, together")
    options.add_argument("--seed", type=int, default=random.randrange(10**9), help="of what is random")
    given_options = options.parse_args()
    found = fuzz(given_options.requests, given_options.seed, list(hostile_requests()))
    table = Table("requests", "number", "failures", "median ms", "p99 ms", "slowest ms", "most CPU ms", "statuses")
    for kind, one in found.answers.items():
        table.add_row(kind, *one.row())
    Console().print(table)
    before_mb, after_mb = found.memory_mb
    print(f"Resident memory: {before_mb:.0f} MB when warm, {after_mb:.0f} MB at the end.")
    print(f"Ledger intact: {found.intact}. Seed {given_options.seed}. A status of 0 is a connection without an answer.")
    for kind, one in found.answers.items():
        print(f"Most processor time, {kind}: {one.dearest}")
    for failure in found.failures:
        print(failure)
    sys.exit(bool(found.failures) or not found.intact)


if __name__ == "__main__":
    main()
