"""Attack the holder, and print what it gets without and with the defence: `python -m checks.attacks`.

Every attack is on the groups of people of whom either group was equally likely before; "at most" is what (ε, 0)
differential privacy allows any attacker: e^ε/(1 + e^ε), ε being all that the attacker was charged for a target. Where
both groups are counted under `add_remove`, another group is two steps away, and it is 2ε.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from checks.attacks import channels, counts, float_noise
from checks.attacks.attribute_conceal import concealed_parity
from checks.attacks.people import Holder, NoDefence, People, accuracy_bound, running_holder, share
from checks.attacks.statistical_parity import (
    Parity,
    balanced_accuracy,
    compressed_sensing,
    exact_parity,
    one_query,
    parity_of_noisy_counts,
    parity_through_holder,
    two_queries,
)
from testing import holders

EPSILONS = ("0.1", "0.5")
PEOPLE = 500
SPARSE_PEOPLE = 200
SPARSE_GROUP = 10
QUERIES = 80
ANSWERS = 200_000
Row = tuple[str, str, str, str, str]
"""Attack, ε for a target, without the defence, with it, and at most."""


def main() -> None:
    """Run every attack and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--targets", type=int, default=2000, help="people attacked by each attack; in steps of 500")
    given = options.parse_args()
    registers = max(given.targets // PEOPLE, 1)
    table = Table("attack", "ε", "without", "with", "at most", title=f"Attacks on {registers * PEOPLE} people")
    for rows in (parity_rows(registers), count_rows(registers * PEOPLE), float_rows(), channel_rows()):
        for row in rows:
            table.add_row(*row)
    Console(width=120).print(table)
    errors = Table("people", "ε", "counts", "AttributeConceal", title="Mean error of the difference in acceptance")
    for errors_row in parity_errors():
        errors.add_row(*errors_row)
    Console(width=120).print(errors)


def parity_rows(registers: int) -> Iterator[Row]:
    """Hamman, Chen and Dutta's attacks."""
    with running_holder() as holder:
        for epsilon in EPSILONS:
            many = _registers("many", epsilon, registers, PEOPLE, PEOPLE // 2)
            few = _registers("few", epsilon, registers * PEOPLE // SPARSE_PEOPLE, SPARSE_PEOPLE, SPARSE_GROUP)
            for people in (*many, *few):
                holder.declare(people)
            for name, targets, queries in (
                ("one query", many, 1), ("two queries", many, 2), ("compressed sensing", few, QUERIES)
            ):  # fmt: skip
                each = share(epsilon, queries)
                exact = [_attack(queries, people, exact_parity(people)) for people in targets]
                concealed = [_attack(queries, people, concealed_parity(people, float(each))) for people in targets]
                defended = [_attack(queries, one, parity_through_holder(holder, one, each)) for one in targets]
                yield _row(f"parity, {name}", epsilon, fmean(exact), fmean(defended))
                yield _row(f"parity, {name}: AttributeConceal", epsilon, fmean(exact), fmean(concealed))


def _registers(name: str, epsilon: str, number: int, people: int, of_first_group: int) -> list[People]:
    names = [f"{name}-{epsilon}-{one}".replace(".", "-") for one in range(number)]
    return [People.drawn(one, people, of_first_group=of_first_group) for one in names]


def _attack(queries: int, people: People, parity: Parity) -> float:
    everybody = len(people.groups)
    if queries == 1:
        guesses = one_query(parity, range(everybody))
    elif queries == 2:
        guesses = two_queries(parity, range(everybody), everybody)
    else:
        guesses = compressed_sensing(parity, everybody, people.groups.count(0), queries)
    return balanced_accuracy(guesses, people.groups)


def count_rows(people: int) -> Iterator[Row]:
    """Attacks on the counts."""
    exact = People.drawn("exact", PEOPLE, of_first_group=PEOPLE // 2)
    with running_holder() as holder:
        for epsilon in EPSILONS:
            register = partial(_declared, holder, epsilon)
            for relation, steps in (("sensitive_attribute", 1), ("add_remove", 2)):
                found = counts.isolating_rules(holder, register(relation, people, relation=relation), epsilon, draws=4)
                free = counts.isolating_rules(NoDefence(), exact, epsilon)
                yield _row(f"isolating rules, {relation}", epsilon, free.right, found.right, steps * found.spent)
            found = counts.differencing(holder, register("differencing", PEOPLE), epsilon, range(PEOPLE))
            free = counts.differencing(NoDefence(), exact, epsilon, range(PEOPLE))
            yield _row("differencing", epsilon, free.right, found.right, found.spent)
            overlapped = register("overlap", 400)
            free = counts.averaging_without_ledger(overlapped, epsilon, times=10)
            found = counts.overlapping_rules(holder, overlapped, epsilon, copies=10)
            yield _row("overlapping rules, 10 copies", epsilon, free.right, found.right, found.spent)
            replayed = register("replay", people)
            free = counts.averaging_without_ledger(replayed, epsilon, times=1000)
            found, answers = counts.replay(holder, replayed, epsilon, times=20)
            yield _row(f"averaging: {answers} answer to 20 replays", epsilon, free.right, found.right, found.spent)
            free, _ = counts.collusion(holder, register("no-cap", people), epsilon, auditors=10)
            found, admitted = counts.collusion(holder, register("capped", people, cap=epsilon), epsilon, auditors=10)
            yield _row(f"collusion of 10: cap admits {admitted}", epsilon, free.right, found.right, found.spent)


def _declared(
    holder: Holder, epsilon: str, name: str, people: int, *, relation: str = "sensitive_attribute", cap: str = "999"
) -> People:
    made = People.drawn(f"{name}-{epsilon}".replace(".", "-"), people, of_first_group=people // 2)
    holder.declare(made, relation=relation, cap=cap)
    return made


def float_rows() -> Iterator[Row]:
    """Mironov's attack."""
    for epsilon in EPSILONS:
        holes = float_noise.attack_float_noise(float(epsilon), ANSWERS)
        integers = float_noise.attack_integer_noise(epsilon, ANSWERS)
        yield _row("float noise", epsilon, holes.accuracy, integers.accuracy)
        yield (
            "float noise: answers that are certain evidence",
            epsilon,
            f"{holes.certain:.3f}",
            f"{integers.certain:.3f}",
            "0",
        )


def channel_rows() -> Iterator[Row]:
    """Answers but for their counts, of two holders whose records differ."""
    shown = []
    for people in (300, 299):
        with tempfile.TemporaryDirectory() as folder, holders.running_holder(Path(folder), people=people) as holder:
            shown.append(channels.seen(holder))
    different = sum(one != other for one, other in zip(*shown, strict=True))
    yield f"budget and state: of {len(shown[0])} answers differ", "–", "–", str(different), "0"


def parity_errors() -> Iterator[tuple[str, str, str, str]]:
    """How far answers about the difference in acceptance are off, for models that accept half of the people."""
    for size in (PEOPLE, 10 * PEOPLE):
        people = People.drawn("errors", size, of_first_group=size // 2)
        models = [frozenset(random.sample(range(size), size // 2)) for _ in range(200)]
        truth = [exact_parity(people)(model) for model in models]
        for epsilon in EPSILONS:
            errors = [
                fmean([abs(parity(model) - exact) for model, exact in zip(models, truth, strict=True)])
                for parity in (parity_of_noisy_counts(people, epsilon), concealed_parity(people, float(epsilon)))
            ]
            yield str(size), epsilon, f"{errors[0]:.4f}", f"{errors[1]:.4f}"


def _row(attack: str, epsilon: str, without: float, defended: float, spent: float | None = None) -> Row:
    at_most = accuracy_bound(float(epsilon) if spent is None else spent)
    return attack, epsilon, f"{without:.3f}", f"{defended:.3f}", f"{at_most:.3f}"


if __name__ == "__main__":
    main()
