"""Draws through a whole holder: a process of its own that is asked over a socket (2-privacy §9).

It lives in a folder of its own and ends with its context. Where noise is examined its quantum is 0, which only a test
may have; it takes any number of requests. An amount ends below 1000, so the register is declared as often as the draws
need budgets.
"""

import itertools
import logging
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import httpx
import uvicorn

from holder_service.app import create_app
from holder_service.privacy_audit.core import TruePair
from holder_service.privacy_audit.log_likelihood_ratio import Answer
from holder_service.privacy_audit.loss_bounds import Drawn
from holder_service.privacy_audit.neighbours import BUDGET, Neighbours
from holder_service.services.running.holder import initialise
from holder_service.settings.holder import Settings
from shared.kinds.releases import Release
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import Noise, RandomisedResponseNoise

AUDITOR: Final = "privacy-audit"
LOAD_S_MAX: Final = 600.0
_START_S_MAX: Final = 120.0
_CLIENTS: Final = 4
RUNS_PER_RELEASE: Final = 5
"""A plan has 16 batches at most."""


class AuditFailed(Exception):
    """The holder under audit did not do what every holder does; the text says what."""


@dataclass(frozen=True, slots=True)
class HolderUnderAudit:
    """A running holder and its administrator's key; a call that is refused raises `AuditFailed`."""

    client: httpx.Client
    admin_key: str

    def administer(self, method: str, path: str, **request: Any) -> Any:
        """Call as the administrator."""
        return self.call(self.admin_key, method, f"/v1/admin{path}", **request)

    def call(self, key: str, method: str, path: str, *, headers: dict[str, str] | None = None, **request: Any) -> Any:
        """Call with a key."""
        answer = self.client.request(
            method, path, headers={"Authorization": f"Bearer {key}", **(headers or {})}, **request
        )
        if not answer.is_success:
            raise AuditFailed(f"The holder answered {method} {path} with {answer.status_code}: {answer.text}")
        return answer.json()

    def declare(self, dataset: str, declaration: dict[str, Any], csv: bytes, budget: dict[str, str]) -> None:
        """Declare and load a register of a population of its own, with a budget for `AUDITOR`."""
        path, as_csv = f"/datasets/{dataset}", {"Content-Type": "text/csv"}
        self.administer("PUT", path, json=declaration)
        self.administer("PUT", f"{path}/records", content=csv, headers=as_csv, timeout=LOAD_S_MAX)
        self.administer("PUT", f"{path}/budgets/{AUDITOR}", json=budget)


@contextmanager
def holder_under_audit(*, quantum_ms: int = 0, fault: Callable[[], None] | None = None) -> Iterator[HolderUnderAudit]:
    """A new holder in a folder that goes with it; its process plants a fault first, if one is given.

    Raises:
        AuditFailed: It does not get ready.
    """
    with tempfile.TemporaryDirectory(prefix="privacy-audit-") as folder:
        home = Path(folder)
        store = f"sqlite:///{home / 'holder.sqlite'}"
        settings = Settings(home / "home", store, home / "anchor", quantum_ms, requests_per_s=0)
        issued = initialise(settings)
        if issued is None:
            raise AuditFailed("A new holder issued no administrator's key.")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            process = multiprocessing.get_context("spawn").Process(target=_serve, args=(settings, listener, fault))
            process.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
                _wait_until_ready(client, process)
                yield HolderUnderAudit(client, issued.text)
        finally:
            process.terminate()
            process.join()


def draw_all(holder: HolderUnderAudit, pair: Neighbours, counts: TruePair, *, runs: int) -> dict[str, Drawn]:
    """Draw so many answers to every batch on either register, several in a release; by the batch's name."""
    key = holder.administer("POST", "/auditors", json={"name": AUDITOR})["key"]
    cost_nano = RUNS_PER_RELEASE * sum(batch.loss.epsilon_nano for batch in pair.plan().batches)
    releases_per_budget = parse_nano(BUDGET["epsilon"]) // cost_nano
    releases = -(-runs // RUNS_PER_RELEASE)

    def ask(question: tuple[str, int]) -> Release:
        dataset, draw = question
        body = pair.plan(draw=draw, runs=RUNS_PER_RELEASE).document()
        return Release.model_validate(holder.call(key, "POST", f"/v1/datasets/{dataset}/releases", json=body))

    sides = []
    for side, content in enumerate(pair.registers):
        datasets = [f"register-{side}-{number}" for number in range(-(-releases // releases_per_budget))]
        for dataset in datasets:
            holder.declare(dataset, pair.declaration_document, content, BUDGET)
        asked = list(itertools.product(datasets, range(1, releases_per_budget + 1)))[:releases]
        with ThreadPoolExecutor(_CLIENTS) as clients:
            sides.append(list(clients.map(ask, asked)))
    return {batch.name: _drawn(batch.name, sides, counts) for batch in pair.plan().batches}


def _drawn(name: str, sides: list[list[Release]], counts: TruePair) -> Drawn:
    """One batch's answers, run by run, and what all releases stated of it."""
    stated: set[tuple[Noise, str, str]] = set()
    answers: tuple[list[Answer], list[Answer]] = ([], [])
    for side, releases in enumerate(sides):
        for release in releases:
            for run in range(RUNS_PER_RELEASE):
                batch = release.batch(f"{name}-{run}")
                stated.add((batch.noise, batch.epsilon, batch.delta))
                noisy = [count for cell in batch.cells for count in cell.counts]
                answers[side].append(tuple(noisy[index] for index in counts.changed))
    if len(stated) != 1:
        raise AuditFailed(f"Releases of batch {name!r} state {len(stated)} different noises or charges.")
    noise, epsilon, delta = stated.pop()
    if isinstance(noise, RandomisedResponseNoise):
        raise AuditFailed(f"Batch {name!r} came without noise.")
    return Drawn(noise, float(epsilon), float(delta), counts.pairs, answers)


def _serve(settings: Settings, listener: socket.socket, fault: Callable[[], None] | None) -> None:
    if fault is not None:
        fault()
    logging.disable()  # its log would come between the lines of whoever examines it
    configuration = uvicorn.Config(create_app(settings), log_level="critical", access_log=False)
    uvicorn.Server(configuration).run([listener])


def _wait_until_ready(client: httpx.Client, process: BaseProcess) -> None:
    until_s = time.monotonic() + _START_S_MAX
    while time.monotonic() < until_s and process.is_alive():
        try:
            if client.get("/readyz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AuditFailed("The holder did not get ready.")
