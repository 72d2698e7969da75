"""Attacks on the counts themselves: isolating rules, differencing, overlap, averaging and collusion.

Each guesses the group of targets of whom either group was equally likely before, with everything that it may spend on
a target, and says how often it was right. The holder releases the first group's counts under `sensitive_attribute`, and
both groups' under the other relations.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.attacks.people import Holder, People, all_but, cell, only, plan, share
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.amounts import parse_nano


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack got.

    Attributes:
        right: The share of guesses that were right.
        spent: What it was charged for it, ε.
    """

    right: float
    spent: float


def isolating_rules(holder: Holder, people: People, epsilon: str, *, draws: int = 1) -> Outcome:
    """A cell for each person that nobody else is in; all of them disjoint, so they cost ε together."""
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    right = []
    for draw in range(1, draws + 1):
        answers = holder.ask(people, epsilon, cells, draw=draw)
        right += [_guess(counts) == group for counts, group in zip(answers, people.groups, strict=True)]
    return Outcome(_share(right), holder.spent(people) / draws)


def differencing(holder: Holder, people: People, epsilon: str, targets: Sequence[int]) -> Outcome:
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
    answers = holder.ask(people, share(epsilon, copies), cells)
    summed = [
        [sum(column) for column in zip(*answers[first : first + copies], strict=True)]
        for first in range(0, len(answers), copies)
    ]
    right = [_guess(counts, of=copies) == group for counts, group in zip(summed, people.groups, strict=True)]
    return Outcome(_share(right), holder.spent(people))


def replay(holder: Holder, people: People, epsilon: str, *, times: int) -> tuple[Outcome, int]:
    """The same plan again and again, written in other ways; gives also how many different answers came."""
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    answers = [holder.ask(people, epsilon + "0" * (time % 3), cells) for time in range(times)]
    means = [[sum(answer[person][0] for answer in answers)] for person in range(len(people.groups))]
    right = [_guess(mean, of=times) == group for mean, group in zip(means, people.groups, strict=True)]
    return Outcome(_share(right), holder.spent(people)), len({str(answer) for answer in answers})


def averaging_without_ledger(people: People, epsilon: str, *, times: int) -> Outcome:
    """What averaging gets where each question is answered anew and nothing is added up."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    truth = [int(group == 0) for group in people.groups]
    answers = [mechanism.release(truth) for _ in range(times)]
    right = [
        _guess([sum(column)], of=times) == group
        for column, group in zip(zip(*answers, strict=True), people.groups, strict=True)
    ]
    return Outcome(_share(right), parse_nano(epsilon) / 1e9)


def collusion(holder: Holder, people: People, epsilon: str, *, auditors: int) -> tuple[Outcome, int]:
    """Auditors who each have a budget of ε ask the same and add their answers; gives also how many got one.

    The population's cap decides how many of them do.
    """
    tested = holder.tested
    cells = [cell(f"only-{person}", only([person])) for person in range(len(people.groups))]
    answers = []
    for number in range(auditors):
        key = tested.open_auditor(f"{people.name}-{number}", epsilon=epsilon, dataset=people.name)
        answer = tested.release(plan(epsilon, cells), dataset=people.name, key=key)
        if answer.status_code == 201:
            answers.append([one["counts"][0] for one in answer.json()["batches"][0]["cells"]])
    right = [
        _guess([sum(column)], of=len(answers)) == group
        for column, group in zip(zip(*answers, strict=True), people.groups, strict=True)
    ]
    return Outcome(_share(right), float(epsilon) * len(answers)), len(answers)


def _guess(counts: Sequence[int], *, of: int = 1) -> int:
    """The group of a person from counts that are 1 for it, summed over so many answers."""
    if len(counts) == 1:
        return int(2 * counts[0] < of or (2 * counts[0] == of and random.random() < 0.5))
    first, second = counts
    return int(first < second or (first == second and random.random() < 0.5))


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)
