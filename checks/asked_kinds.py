"""What a race or a hunt asks: plans or watches about the register, or trainings about one with a label; by number.

A hunt asks refinements too: each is of a plan of its own, which is asked before it. And it asks plans that have to be
approved: each waits, is approved, and is asked again. And plans about one or all of three blocks of people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx

from shared.kinds.plans import Plan
from shared.privacy.amounts import format_nano, parse_nano
from testing.holders import TestedHolder
from testing.registers import (
    DECLARATION,
    LEARNABLE,
    learnable_csv,
    numbered_plan,
    numbered_training,
    numbered_watch,
    register_csv,
)

CAP: Final = "999"
OFFERED: Final = 2
"""The version that `offer` loads of the register: there is one before."""


@dataclass(frozen=True)
class AskedKind:
    """One kind of what auditors ask.

    Attributes:
        name: "plans", "trainings", "watches", "refinements", "approved" or "blocks".
        dataset: What it is about.
        path: Below the dataset's, where it is asked.
        numbered: Another body for each number, of some ε.
        columns: As the dataset declares them.
        records: What is loaded.
        before: What is asked before it, for it to refine.
        approved: Whether everything asked about the dataset has to be approved.
        blocks: The column of blocks by which losses are added up, if they are.
    """

    name: str
    dataset: str
    path: str
    numbered: Callable[..., dict[str, Any]]
    columns: list[dict[str, Any]]
    records: Callable[[], bytes]
    before: Callable[..., dict[str, Any]] | None = None
    approved: bool = False
    blocks: str | None = None

    def offer(self, holder: TestedHolder, *, epsilon: str) -> None:
        """Declare and load the dataset, with a budget for the auditor."""
        holder.offer(self.dataset, self.records(), epsilon=epsilon, cap=cap_of(CAP), **self._declared)
        if self.approved:
            setting = holder.admin("PUT", f"/populations/{self.dataset}/approval", json={"required": True, "days": 14})
            setting.raise_for_status()

    def declare(self, holder: TestedHolder, cap: str) -> None:
        """Set the cap of the dataset's population."""
        holder.declare(self.dataset, cap=cap_of(cap), **self._declared).raise_for_status()

    @property
    def _declared(self) -> dict[str, Any]:
        blocks = {} if self.blocks is None else {"blocks": {"column": self.blocks}}
        return {"columns": self.columns, **blocks}

    def ask(
        self, holder: TestedHolder, number: int, *, epsilon: str = "0.001", key: str | None = None
    ) -> httpx.Response:
        """Ask the one of a number; if it waits for an approval, approve it and ask again."""
        path = f"/datasets/{self.dataset}/{self.path}"
        if self.before is not None:
            holder.auditor("POST", path, key=key, json=self.before(number, epsilon=epsilon))
        body = self.numbered(number, epsilon=epsilon)
        answer = holder.auditor("POST", path, key=key, json=body)
        if answer.status_code != 202:
            return answer
        holder.decide(answer.json()["id"]).raise_for_status()
        return holder.auditor("POST", path, key=key, json=body)


def cap_of(epsilon: str) -> dict[str, str]:
    return {"epsilon": epsilon, "delta": "0"}


def numbered_refinement(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """The plan of a number at twice its ε, of the auditor's answer to that plan about the records that were offered."""
    body = {**numbered_plan(number, epsilon=format_nano(2 * parse_nano(epsilon))), "version": OFFERED}
    coarse = Plan.model_validate(numbered_plan(number, epsilon=epsilon)).pinned(OFFERED)
    return {**body, "refines": coarse.identity(auditor="ADR", dataset="register")}


def numbered_blocks(number: int, *, epsilon: str = "0.001") -> dict[str, Any]:
    """The plan of a number about one block of people; every fourth is about all."""
    body = numbered_plan(number, epsilon=epsilon)
    values = DECLARATION["columns"][2]["categories"]
    if number % 4 < len(values):
        block = {"column": "education", "op": "eq", "value": values[number % 4]}
        for cell in body["batches"][0]["cells"]:
            cell["all_of"] = [block, *(predicate for predicate in cell["all_of"] if predicate["column"] != "education")]
    return body


PLANS: Final = AskedKind("plans", "register", "releases", numbered_plan, DECLARATION["columns"], register_csv)
TRAININGS: Final = AskedKind("trainings", "loans", "trainings", numbered_training, LEARNABLE["columns"], learnable_csv)
WATCHES: Final = AskedKind("watches", "register", "watches", numbered_watch, DECLARATION["columns"], register_csv)
REFINEMENTS: Final = AskedKind(
    "refinements", "register", "releases", numbered_refinement, DECLARATION["columns"], register_csv, numbered_plan
)
APPROVED: Final = AskedKind(
    "approved", "register", "releases", numbered_plan, DECLARATION["columns"], register_csv, approved=True
)
BLOCKS: Final = AskedKind(
    "blocks", "people", "releases", numbered_blocks, DECLARATION["columns"], register_csv, blocks="education"
)
KINDS: Final = {kind.name: kind for kind in (PLANS, TRAININGS, WATCHES)}
"""Of which each is charged once."""
HUNTED: Final = {**KINDS, REFINEMENTS.name: REFINEMENTS, APPROVED.name: APPROVED, BLOCKS.name: BLOCKS}
