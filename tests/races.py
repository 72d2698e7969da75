"""Many plans that race for one limit: an auditor's budget, or the population's cap over all auditors."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx

from shared.amounts import format_nano, parse_nano
from tests.holders import DECLARATION, plan

EPSILON: Final = "0.003"
EPSILON_NANO: Final = 3_000_000
CLIENTS: Final = 16

Limit = Literal["budget", "cap"]
LIMITS: Final[tuple[Limit, ...]] = ("budget", "cap")


@dataclass(frozen=True)
class Outcome:
    """How a race ended.

    Attributes:
        plans: How many raced.
        fit: For how many of them the limit suffices.
        statuses: How many plans were answered with which status.
        charges: How many the ledger has.
        overspent_nano: By how much more was spent than the limit allowed.
    """

    plans: int
    fit: int
    statuses: Counter[int]
    charges: int
    overspent_nano: int

    @property
    def exact(self) -> bool:
        """Whether all that fitted was released, and everything else refused for want of budget."""
        expected = {201: self.fit, 403: self.plans - self.fit}
        return self.statuses == expected and (self.charges, self.overspent_nano) == (self.fit, 0)


class Racecourse:
    """A holder that serves the small register with a cap of 999, and races one after the other on it."""

    def __init__(self, url: str, admin_key: str) -> None:
        self._url = url
        self._admin = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {admin_key}"}, timeout=120)
        self._races = 0

    def race(self, limit: Limit, *, plans: int, fit: int) -> Outcome:
        """Let a new auditor's plans race where fewer fit."""
        self._races += 1
        name = f"racer-{self._races}"
        key = self._call("POST", "/v1/admin/auditors", {"name": name})["key"]
        before_nano = self._cap_spent_nano()
        limit_nano = fit * EPSILON_NANO
        budget, cap = (
            (format_nano(limit_nano), "999") if limit == "budget" else ("50", format_nano(before_nano + limit_nano))
        )
        self._call("PUT", "/v1/admin/datasets/register", {**DECLARATION, "cap": {"epsilon": cap, "delta": "0"}})
        self._call("PUT", f"/v1/admin/datasets/register/budgets/{name}", {"epsilon": budget})

        with ThreadPoolExecutor(CLIENTS) as pool:
            shares = [range(start, plans, CLIENTS) for start in range(CLIENTS)]
            statuses = Counter(
                status for asked in pool.map(lambda each: self._ask(key, each), shares) for status in asked
            )

        spent_nano = self._cap_spent_nano() - before_nano
        return Outcome(plans, fit, statuses, self._charges(name), max(spent_nano - limit_nano, 0))

    def verify(self) -> bool:
        """Whether the ledger is intact."""
        return bool(self._call("POST", "/v1/admin/ledger/verify", {})["intact"])

    def close(self) -> None:
        """Close the connections."""
        self._admin.close()

    def _ask(self, key: str, places: range) -> list[int]:
        with httpx.Client(base_url=self._url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
            asked = (plan(epsilon=EPSILON, draw=place % 1000 + 1, age=place // 1000) for place in places)
            return [client.post("/v1/datasets/register/releases", json=body).status_code for body in asked]

    def _cap_spent_nano(self) -> int:
        """What all auditors have spent together, read from their accounts."""
        budgets = self._call("GET", "/v1/admin/budgets", None)["budgets"]
        return sum(parse_nano(each["spent"]["epsilon"]) for each in budgets)

    def _charges(self, name: str) -> int:
        count, after = 0, 0
        while after is not None:
            page = self._call("GET", f"/v1/admin/ledger?limit=1000&after={after}", None)
            count += sum(entry["kind"] == "charge" and entry["auditor"] == name for entry in page["entries"])
            after = page["next"]
        return count

    def _call(self, method: str, path: str, body: Any) -> Any:
        answer = self._admin.request(method, path, json=body)
        answer.raise_for_status()
        return answer.json()
