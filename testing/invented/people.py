"""Invented people for the invented dataset of `invented_questions`, and their figures counted one by one."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from auditor_client.findings.answers import Rate
from auditor_client.models.tree import Tree
from testing.invented.questions import FOUR_LEAVES, Person
from testing.registers import LOANS


def invented_people(number: int = 400) -> list[Person]:
    """The same people every time."""
    source = random.Random(5)
    return [
        {
            "age": source.randint(0, 120),
            "hours": None if source.random() < 0.1 else source.uniform(0, 60),
            "region": source.choice(["North", "South", "East"]),
            "citizen": source.random() < 0.8,
            "repaid": source.random() < 0.6,
            "sex": source.choice(["Female", "Male"]),
            "origin": source.choice(["here", "there", None]),
        }
        for _ in range(number)
    ]


PEOPLE = invented_people()


def true_counts(
    rate: Rate, sensitive: Sequence[str], people: Sequence[Person], model: Tree = FOUR_LEAVES
) -> tuple[list[int], list[int]]:
    """Numerator and the rest of a rate for each group; of an adverse rate, the rest and the numerator."""

    def accepted(person: Person) -> bool:
        return model.decide(dict(person)).favourable

    counted: dict[Rate, tuple[Callable[[Person], Any], Callable[[Person], Any]]] = {
        Rate.ACCEPTANCE: (lambda _: True, accepted),
        Rate.TRUE_POSITIVE: (lambda person: person["repaid"], accepted),
        Rate.FALSE_POSITIVE: (lambda person: not person["repaid"], accepted),
        Rate.PRECISION: (accepted, lambda person: person["repaid"]),
        Rate.ADVERSE: (lambda _: True, accepted),
        Rate.ADVERSE_ODDS: (lambda _: True, accepted),
        Rate.ADVERSE_POSITIVE: (lambda person: person["repaid"], accepted),
        Rate.ADVERSE_NEGATIVE: (lambda person: not person["repaid"], accepted),
        Rate.FALSE_DISCOVERY: (lambda person: not accepted(person), lambda person: person["repaid"]),
        Rate.FALSE_OMISSION: (lambda person: not accepted(person), lambda person: not person["repaid"]),
    }
    belongs, succeeds = counted[rate]
    members = [
        [person for person in people if belongs(person) and tuple(person[name] for name in sensitive) == group]
        for group in LOANS.table.groups(sensitive)
    ]
    return (
        [sum(bool(succeeds(person)) for person in group) for group in members],
        [sum(not succeeds(person) for person in group) for group in members],
    )
