"""Times and texts of a release that an auditor can see, on two registers that look alike from outside (2-privacy §7).

A release is asked of a running holder with a quantum, and observed on a second connection. What is seen is numbers:
seconds from the request until it was seen, or a checksum of a text whose noise, nonces, digests and times are
written alike.
"""

import random
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx

from holder_service.privacy_audit.over_http import AUDITOR, AuditFailed, HolderUnderAudit
from shared.contract.relations import Relation
from shared.kinds.plans import Plan

ASKED: Final = ("latency", "created", "text")
"""What the answer itself shows: when it comes, the time that it carries, and all else but its noise."""
OBSERVED: Final = ("stored", "listed", "head", "budget")
"""What a second connection shows: when the release can be fetched, is listed, and moves the head and the budget."""
EPSILON: Final = 0.001
_BUDGET: Final = {"epsilon": "999"}
_OBSERVED_S_MAX: Final = 60.0
_FREQUENT: Final = 1e6
_OTHERS: Final = 2**16 - 1
_BY_CHANCE: Final = {
    r'"counts":\[[-0-9,]*\]': '"counts":[]',
    r"sha256:[0-9a-f]{64}": "sha256:",
    r"ed25519:[A-Za-z0-9+/=]+": "ed25519:",
    r"\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|\+00:00)": "time",
    r'"(id|nonce|sequence|epsilon|dataset|draw)":("[^"]*"|[0-9]+)': r'"\1":',
}
_HEADERS_BY_CHANCE: Final = ("date", "content-length", "x-request-id")

Seen = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimedPair:
    """Two registers of one declaration, and the rule that is asked of both.

    Attributes:
        label: By what they differ.
        people: How many are in the one and in the other.
        columns: How many columns of numbers there are, which the rule all names.
        epsilons: At which either is asked.
        cells: How often the plan has the rule: overlapping cells, each of a class of its own.
        together: All who ask at once ask about the same register, so that a crowd of plans weighs on it.
    """

    label: str
    people: tuple[int, int]
    columns: int
    epsilons: tuple[float, float] = (EPSILON, EPSILON)
    cells: int = 1
    together: bool = False
    relation: Relation = "add_remove"
    sensitive: tuple[str, ...] = ("sex",)

    @property
    def declaration_document(self) -> dict[str, Any]:
        sex = {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True}
        return {
            "person_key": "id", "relation": self.relation, "records_max": max(self.people), "cap": _BUDGET,
            "columns": [*({"name": f"x{column}", "type": "number"} for column in range(self.columns)), sex],
        }  # fmt: skip

    def register(self, side: int) -> bytes:
        """One of them as CSV; side is 0 or 1.

        The people that both have share one value in each column, the rule's threshold, but for some, all different; the
        others have another value. Where there are enough people, one person more makes 65 537 different values of
        65 536.
        """
        people, shared = self.people[side], min(self.people)
        numbers = [float(number) for number in range(min(_OTHERS, shared // 2))]
        numbers += [_FREQUENT] * (shared - len(numbers))
        columns = []
        for column in range(self.columns):
            shuffled = list(numbers)
            random.Random(column).shuffle(shuffled)  # noqa: S311 - invented people
            columns.append(shuffled + [2 * _FREQUENT] * (people - shared))
        lines = [",".join(["id", *(f"x{column}" for column in range(self.columns)), "sex"])]
        for person, values in enumerate(zip(*columns, strict=True)):
            lines.append(f"p{person},{','.join(map(str, values))},{('Female', 'Male')[person % 2]}")
        return "\n".join([*lines, ""]).encode()

    def plan(self, side: int, number: int) -> dict[str, Any]:
        """The plan of a number about one of them, as JSON."""
        rule = [{"column": f"x{column}", "op": "lt", "value": _FREQUENT} for column in range(self.columns)]
        cells = [{"id": f"cell-{number}-{copy}", "all_of": rule} for copy in range(self.cells)]
        epsilon = str(self.epsilons[side])
        batch = {"name": "batch", "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": cells}
        return {"sensitive": list(self.sensitive), "batches": [batch]}


ONE_RECORD: Final = TimedPair("250 000 or one more", (250_000, 250_001), columns=24)
EVERYTHING: Final = TimedPair("1 000 or 200 000", (1000, 200_000), columns=3)
CROWD: Final = TimedPair("the same, by a crowd", (1000, 200_000), columns=3, cells=16, together=True)
TIMED_PAIRS: Final = (ONE_RECORD, EVERYTHING)


class Observer:
    """An auditor who asks on one connection and looks on another."""

    def __init__(self, holder: HolderUnderAudit, pair: TimedPair) -> None:
        self._holder = holder
        self._pair = pair
        self._key = holder.administer("POST", "/auditors", json={"name": AUDITOR})["key"]
        for side in (0, 1):
            holder.declare(f"register-{side}", pair.declaration_document, pair.register(side), _BUDGET)

    def observe(self, *, runs: int, observed: bool, clients: int = 1, first: int = 0) -> tuple[list[Seen], list[Seen]]:
        """Ask so many releases of either register, in random order, and note what is seen of each.

        Args:
            observed: Look on a second connection too.
            clients: Who ask at once; one alone if others' releases would be taken for its own.
            first: The number of the first plan; no plan is asked twice.
        """
        if observed and clients > 1:
            raise ValueError("Who observes the head and the budget asks alone.")
        if runs % clients:
            raise ValueError("Every client asks as many releases as any other.")
        start = threading.Barrier(clients if self._pair.together else 1)

        def ask(client: int) -> list[tuple[int, Seen]]:
            found: list[tuple[int, Seen]] = []
            with self._client() as asking, self._client() as looking:
                for turn, number in enumerate(range(first + client, first + runs, clients)):
                    order = random.Random(turn if self._pair.together else None)  # noqa: S311 - an order to ask in
                    for side in order.sample((0, 1), 2):
                        start.wait()
                        found.append((side, self._ask(asking, looking if observed else None, side, number)))
            return found

        with ThreadPoolExecutor(clients) as pool:
            asked = [one for found in pool.map(ask, range(clients)) for one in found]
        return [seen for side, seen in asked if side == 0], [seen for side, seen in asked if side == 1]

    def _client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self._key}"}
        return httpx.Client(base_url=self._holder.client.base_url, timeout=60, headers=headers, trust_env=False)

    def _ask(self, asking: httpx.Client, looking: httpx.Client | None, side: int, number: int) -> Seen:
        dataset = f"register-{side}"
        path = f"/v1/datasets/{dataset}"
        body = self._pair.plan(side, number)
        plan = Plan.model_validate({**body, "version": 1})
        name = plan.identity(auditor=AUDITOR, dataset=dataset)
        looks = _Looks(looking, path, name) if looking is not None else None
        with ThreadPoolExecutor(1) as observing:
            sent_s, sent_at = time.monotonic(), time.time()
            observed = None if looks is None else observing.submit(looks.changed_s, sent_s)
            answer = asking.post(f"{path}/releases", json=body)
            latency_s = time.monotonic() - sent_s
        if answer.status_code != 201:
            raise AuditFailed(f"The holder answered a plan with {answer.status_code}: {answer.text}")
        created_s = datetime.fromisoformat(answer.json()["created"]).timestamp() - sent_at
        found = {"latency": latency_s, "created": created_s, "text": _checksum(answer)}
        return found if observed is None else {**found, **observed.result()}


class _Looks:
    """Looks at everything that a release changes, in turn, until all of it has changed."""

    def __init__(self, client: httpx.Client, path: str, name: str) -> None:
        after = client.get("/v1/ledger/head").json()["sequence"]
        self._looks: dict[str, Callable[[], str]] = {
            "stored": lambda: str(client.get(f"{path}/releases/{name}").status_code),
            "listed": lambda: client.get(f"{path}/releases", params={"after": after}).text,
            "head": lambda: client.get("/v1/ledger/head").text,
            "budget": lambda: client.get(f"{path}/budget").text,
        }
        self._before = {what: look() for what, look in self._looks.items()}

    def changed_s(self, sent_s: float) -> Seen:
        """When each of them was seen to have changed, in seconds after the request."""
        changed_s: dict[str, float] = {}
        while time.monotonic() < sent_s + _OBSERVED_S_MAX and len(changed_s) < len(self._looks):
            for what, look in self._looks.items():
                if what not in changed_s and look() != self._before[what]:
                    changed_s[what] = time.monotonic() - sent_s
        if len(changed_s) < len(self._looks):
            raise AuditFailed("A release did not change all that it has to change.")
        return changed_s


def _checksum(answer: httpx.Response) -> float:
    text = answer.text
    for pattern, alike in _BY_CHANCE.items():
        text = re.sub(pattern, alike, text)
    headers = sorted((name, value) for name, value in answer.headers.items() if name not in _HEADERS_BY_CHANCE)
    return float(zlib.crc32(repr((headers, text)).encode()))


def values_of(what: str, sides: Sequence[Sequence[Seen]]) -> tuple[list[float], list[float]]:
    """One of the things that are seen, of either register."""
    first, second = ([seen[what] for seen in side] for side in sides)
    return first, second
