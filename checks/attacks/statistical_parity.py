"""Hamman, Chen and Dutta's attacks (2022): a person's group out of answers about statistical parity.

One query: of a model that accepts nobody but the target; the sign of the difference in acceptance is the group. Two
queries: of two models that differ on the target alone. Compressed sensing: of O(k log(n/k)) random models, from which
the groups of all n people follow where the smaller group has only k.

The attacks ask for nothing but the statistical parity difference; who answers is an argument.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from checks.attacks.people import Holder, People, all_but, cell, only
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano

Model = frozenset[int]
"""The people whom a model accepts."""
Parity = Callable[[Model], float]
"""Answers a model's acceptance rate in the first group minus that in the second."""

_CLIENTS = 4


def exact_parity(people: People) -> Parity:
    """Who answers as it is."""
    sizes = [people.groups.count(group) for group in (0, 1)]

    def answer(model: Model) -> float:
        accepted = [sum(people.groups[person] == group for person in model) for group in (0, 1)]
        return accepted[0] / sizes[0] - accepted[1] / sizes[1]

    return answer


def parity_through_holder(holder: Holder, people: People, epsilon: str) -> Parity:
    """What the holder's release on a model's two cells makes of it, at so much ε a query.

    Under `sensitive_attribute` the first group alone is counted; the auditor knows how many people a rule applies to.
    """
    everybody = len(people.groups)

    def answer(model: Model) -> float:
        accepted = sorted(model)
        cells = [cell("favourable", only(accepted)), cell("unfavourable", all_but(accepted))]
        [[first_accepted], [first_refused]] = holder.ask(people, epsilon, cells)
        return _parity([first_accepted, first_refused], len(accepted), everybody)

    return answer


def parity_of_noisy_counts(people: People, epsilon: str) -> Parity:
    """The same from the holder's own sampler, without a holder."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    everybody = len(people.groups)

    def answer(model: Model) -> float:
        accepted = sum(people.groups[person] == 0 for person in model)
        return _parity(mechanism.release([accepted, people.groups.count(0) - accepted]), len(model), everybody)

    return answer


def one_query(parity: Parity, targets: Iterable[int]) -> list[int]:
    """The guessed group of each target."""

    def guess(target: int) -> int:
        return int(parity(frozenset([target])) <= 0)

    with ThreadPoolExecutor(_CLIENTS) as clients:
        return list(clients.map(guess, targets))


def two_queries(parity: Parity, targets: Iterable[int], everybody: int) -> list[int]:
    """The same, from realistic models: one accepts half of the people, the other all of those but the target."""

    def guess(target: int) -> int:
        others = [person for person in range(everybody) if person != target]
        model = frozenset(random.sample(others, everybody // 2))
        return int(parity(model | {target}) - parity(model) <= 0)

    with ThreadPoolExecutor(_CLIENTS) as clients:
        return list(clients.map(guess, targets))


def compressed_sensing(parity: Parity, everybody: int, of_first_group: int, queries: int) -> list[int]:
    """The group of everybody, where the sizes of the groups are known and the first is small.

    An answer says how many of the first group a model accepts. Of all shares between 0 and 1 that add up to the first
    group's size, those are taken that fit the answers best in the sum of absolute errors: a linear programme.
    """
    models = [frozenset(random.sample(range(everybody), everybody // 2)) for _ in range(queries)]
    with ThreadPoolExecutor(_CLIENTS) as clients:
        answers = np.array(list(clients.map(parity, models)))
    accepted = np.array([[float(person in model) for person in range(everybody)] for model in models])
    rest = everybody - of_first_group
    first_accepted = (answers + accepted.sum(axis=1) / rest) / (1 / of_first_group + 1 / rest)
    shares = _fitted(accepted, first_accepted, of_first_group)
    members = set(np.argsort(-shares, kind="stable")[:of_first_group].tolist())
    return [int(person not in members) for person in range(everybody)]


def _fitted(
    accepted: npt.NDArray[np.float64], first_accepted: npt.NDArray[np.float64], of_first_group: int
) -> npt.NDArray[np.float64]:
    """Shares, shape (people,), in [0, 1]."""
    queries, everybody = accepted.shape
    identity = np.eye(queries)
    found = linprog(
        np.concatenate([np.zeros(everybody), np.ones(2 * queries)]),
        A_eq=np.vstack(
            [
                np.hstack([accepted, identity, -identity]),
                np.concatenate([np.ones(everybody), np.zeros(2 * queries)])[None, :],
            ]
        ),
        b_eq=np.append(first_accepted, of_first_group),
        bounds=[(0, 1)] * everybody + [(0, None)] * (2 * queries),
    )
    if found.x is None:
        raise RuntimeError(f"the linear programme has no solution: {found.message}")
    return found.x[:everybody]


def _parity(noisy: Sequence[int], accepted: int, everybody: int) -> float:
    """The difference in acceptance from the first group's counts: accepted, and refused."""
    first = min(max(sum(noisy), 1), everybody - 1)
    return noisy[0] / first - (accepted - noisy[0]) / (everybody - first)


def balanced_accuracy(guesses: Iterable[int], truth: Iterable[int]) -> float:
    """The mean over both groups of how many of it are guessed right: as if both were equally likely before."""
    pairs = list(zip(guesses, truth, strict=True))
    rates = [
        float(np.mean([guess == group for guess, group in pairs if group == of]))
        for of in sorted({g for _, g in pairs})
    ]
    return float(np.mean(rates))
