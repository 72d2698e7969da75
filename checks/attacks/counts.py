"""Attacks on the counts themselves: isolating rules, differencing, overlap, averaging and collusion.

Each guesses the group of targets of whom either group was equally likely before, with everything that it may spend on
a target, and says how often it was right. The holder releases the first group's counts under `sensitive_attribute`, and
both groups' under the other relations.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from checks.attacks.people import Answering, Holder, People, all_but, cell, only, share
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano
from testing.registers import plan


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack got.

    Attributes:
        right: The share of guesses that were right.
        spent: What it was charged for it, ε.
    """

    right: float
    spent: float


def isolating_rules(holder: Answering, people: People, epsilon: str, *, draws: int = 1) -> Outcome:
    """A cell for each person that nobody else is in; all of them disjoint, so they cost ε together."""
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    right = []
    for draw in range(1, draws + 1):
        answers = holder.ask(people, epsilon, cells, draw=draw)
        right += [_guess(counts) == group for counts, group in zip(answers, people.groups, strict=True)]
    return Outcome(_share(right), holder.spent(people) / draws)


def differencing(holder: Answering, people: People, epsilon: str, targets: Sequence[int]) -> Outcome:
    """Everybody, and everybody but the target: the difference is the target. The two cells overlap."""
    half = share(epsilon, 2)
    right = []
    for target in targets:
        everybody, others = holder.ask(people, half, [cell("everybody"), cell("others", all_but([target]))])
        difference = [one - other for one, other in zip(everybody, others, strict=True)]
        right.append(_guess(difference) == people.groups[target])
    return Outcome(_share(right), holder.spent(people) / len(targets))


def overlapping_rules(holder: Holder, people: People, epsilon: str, *, copies: int) -> Outcome:
    """The cell that isolates a person many times under other names, in one batch."""
    cells = [
        cell(f"only-{person}-{copy}", only([person])) for person in range(len(people.groups)) for copy in range(copies)
    ]
    answers = [first for first, *_ in holder.ask(people, share(epsilon, copies), cells)]
    by_person = [answers[first : first + copies] for first in range(0, len(answers), copies)]
    return Outcome(_voted(by_person, people), holder.spent(people))


def replay(holder: Holder, people: People, epsilon: str, *, times: int) -> tuple[Outcome, int]:
    """The same plan again and again, written in other ways; gives also how many different answers came."""
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    answers = [holder.ask(people, epsilon + "0" * (time % 3), cells) for time in range(times)]
    by_person = [[answer[person][0] for answer in answers] for person in range(len(people.groups))]
    return Outcome(_voted(by_person, people), holder.spent(people)), len({str(answer) for answer in answers})


def averaging_without_ledger(people: People, epsilon: str, *, times: int) -> Outcome:
    """What averaging gets where each question is answered anew and nothing is added up."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    truth = [int(group == 0) for group in people.groups]
    answers = [mechanism.release(truth) for _ in range(times)]
    return Outcome(_voted(list(zip(*answers, strict=True)), people), parse_nano(epsilon) / 1e9)


def collusion(holder: Holder, people: People, epsilon: str, *, auditors: int) -> tuple[Outcome, int]:
    """Auditors who each have a budget of ε ask the same and put their answers together; gives also how many got one.

    The population's cap decides how many of them do.
    """
    tested = holder.tested
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    answers = []
    for number in range(auditors):
        key = tested.open_auditor(f"{people.name}-{number}", epsilon=epsilon, dataset=people.name)
        answer = tested.release(plan(epsilon=epsilon, cells=cells), dataset=people.name, key=key)
        if answer.status_code == 201:
            answers.append([one["counts"][0] for one in answer.json()["batches"][0]["cells"]])
    return Outcome(_voted(list(zip(*answers, strict=True)), people), float(epsilon) * len(answers)), len(answers)


def _voted(by_person: Sequence[Sequence[int]], people: People) -> float:
    """How often several answers about the first group of one person are right together.

    Each reveals as much as any: discrete Laplace noise makes an answer of 1 or more e^ε times likelier from a count
    of 1, and one of 0 or less as much likelier from 0. So the larger number of them decides.
    """
    right = []
    for answers, group in zip(by_person, people.groups, strict=True):
        votes = sum(1 if answer >= 1 else -1 for answer in answers)
        right.append((random.random() < 0.5 if votes == 0 else votes < 0) == bool(group))
    return _share(right)


def _guess(counts: Sequence[int]) -> int:
    """The group of a person from the counts of its groups, or of the first alone."""
    if len(counts) == 1:
        return int(counts[0] < 1)
    first, second = counts
    return int(first < second or (first == second and random.random() < 0.5))


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)
