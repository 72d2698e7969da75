"""People to attack, and who answers about them: nobody in between, or a running holder.

The attacker has everybody's features, among them one that identifies each person, and knows which model
accepts whom. What it does not have is the group: the setting of Hamman, Chen and Dutta (2022).
"""

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from holder_service.services.running.holder import initialise
from shared.contract.rules import Cell
from shared.privacy.amounts import format_nano, parse_nano
from testing.holders import TestedHolder, opened, settings_in
from testing.registers import plan

GROUPS = ("Female", "Male")
Counts = list[list[int]]
"""Of each cell, the counted groups' numbers of people."""


@dataclass(frozen=True, slots=True)
class People:
    """A register of people, identified by their number.

    Attributes:
        name: The dataset's.
        groups: 0 for the first group, 1 for the second, person by person.
    """

    name: str
    groups: tuple[int, ...]

    @classmethod
    def drawn(cls, name: str, people: int, *, of_first_group: int) -> "People":
        """A register in which so many people, picked by chance, are of the first group."""
        chosen = set(random.sample(range(people), of_first_group))
        return cls(name, tuple(int(person not in chosen) for person in range(people)))

    def declaration(self, relation: str, cap: str) -> dict[str, Any]:
        """The declaration of a population of its own."""
        return {
            "person_key": "id", "relation": relation, "cap": {"epsilon": cap, "delta": "0"}, "records_max": 10_000,
            "columns": [
                {"name": "person", "type": "category", "categories": [_name(i) for i in range(len(self.groups))]},
                {"name": "sex", "type": "category", "categories": list(GROUPS), "sensitive": True},
            ],
        }  # fmt: skip

    @property
    def csv(self) -> bytes:
        """The records."""
        lines = [f"{_name(i)},{_name(i)},{GROUPS[group]}" for i, group in enumerate(self.groups)]
        return "\n".join(["id,person,sex", *lines, ""]).encode()


def only(people: Sequence[int]) -> dict[str, Any]:
    """The predicate that some people satisfy."""
    return {"column": "person", "op": "in", "values": [_name(person) for person in people]}


def all_but(people: Sequence[int]) -> dict[str, Any]:
    """The predicate that all but some people satisfy."""
    return {**only(people), "op": "not_in"}


def cell(name: str, *predicates: dict[str, Any]) -> dict[str, Any]:
    """A cell of one rule."""
    return {"id": name, "all_of": list(predicates)}


def _name(person: int) -> str:
    return f"p{person}"


class Answering(Protocol):
    """Who answers an attacker's questions about counts."""

    def ask(self, people: People, epsilon: str, cells: Sequence[dict[str, Any]], *, draw: int = 1) -> Counts:
        """The counts of some cells."""

    def spent(self, people: People) -> float:
        """What the attacker was charged, ε."""


class NoDefence:
    """Answers the first group's counts as they are, for nothing."""

    def ask(self, people: People, epsilon: str, cells: Sequence[dict[str, Any]], *, draw: int = 1) -> Counts:
        """The counts of some cells."""
        asked = [Cell.model_validate(one) for one in cells]
        records = [{"person": _name(person)} for person, group in enumerate(people.groups) if group == 0]
        return [[sum(one.matches(record) for record in records)] for one in asked]

    def spent(self, people: People) -> float:
        """Nothing."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A running holder, and what an attacker calls it for."""

    tested: TestedHolder

    def declare(self, people: People, *, relation: str = "sensitive_attribute", cap: str = "999") -> None:
        """Declare a register, load it and grant the attacker all of its cap."""
        self.tested.offer(people.name, people.csv, epsilon=cap, **people.declaration(relation, cap))

    def ask(self, people: People, epsilon: str, cells: Sequence[dict[str, Any]], *, draw: int = 1) -> Counts:
        """A release's counts, its charge checked against what the attacker reckons with."""
        answer = self.tested.release(plan(epsilon=epsilon, cells=cells, draw=draw), dataset=people.name)
        answer.raise_for_status()
        [batch] = answer.json()["batches"]
        return [one["counts"] for one in batch["cells"]]

    def spent(self, people: People) -> float:
        """What the attacker was charged, ε."""
        return float(self.tested.spent(dataset=people.name))


@contextmanager
def running_holder() -> Iterator[Holder]:
    """A new holder in a folder of its own, quantum 0, with an attacker who has an account."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        home = Path(folder)
        settings = settings_in(home)
        issued = initialise(settings)
        if issued is None:
            raise RuntimeError("a new holder issued no key")
        with opened(settings, issued.text) as tested:
            tested.auditor_key = tested.admin("POST", "/auditors", json={"name": "ADR"}).json()["key"]
            yield Holder(tested)


def share(epsilon: str, of: int) -> str:
    """A part of a budget, rounded down to what the interface can write."""
    return format_nano(parse_nano(epsilon) // of)


def accuracy_bound(epsilon: float) -> float:
    """How often at most an attacker is right about one of two groups that were equally likely before.

    Source: the definition; 2-privacy §1. Two groups in one person's record are neighbours, at ε.
    """
    return 1 / (1 + math.exp(-epsilon))
