"""What attackers get of a person's group out of a running holder: no more than ε allows (docs/attacks.md).

Each attack guesses groups that were equally likely before. A test fails if more guesses are right than ε allows with a
probability of 10⁻⁷ by chance. `python -m checks.attacks` measures the same on 2 000 people.
"""

import math
from collections.abc import Iterator, Sequence

import pytest
from scipy import stats

from checks.attacks import counts
from checks.attacks.attribute_conceal import concealed_parity, smooth_sensitivity
from checks.attacks.people import Holder, NoDefence, People, accuracy_bound, cell, only, running_holder, share
from checks.attacks.statistical_parity import (
    balanced_accuracy,
    compressed_sensing,
    exact_parity,
    one_query,
    parity_through_holder,
    two_queries,
)

FALSE_ALARM = 1e-7


@pytest.fixture(scope="module")
def attacked() -> Iterator[Holder]:
    with running_holder() as holder:
        yield holder


def admissible(epsilon: float, guesses: int) -> float:
    """The share of right guesses that an attacker who gets all that ε allows exceeds once in ten million times."""
    return float(stats.binom.isf(FALSE_ALARM, guesses, accuracy_bound(epsilon)) / guesses)


def members_named(guesses: Sequence[int], groups: Sequence[int]) -> int:
    """How many of the first group were guessed to be of it."""
    return sum(guess == group == 0 for guess, group in zip(guesses, groups, strict=True))


def admissible_members(epsilon: float, members: int, people: int) -> int:
    """How many of a small group an attacker names, who names as many people as it has, but for once in 10⁷ times.

    By lot the number is hypergeometric. A register whose j named members are others, whom nobody named, differs by 2j
    people's groups: what the attacker sees of it is at most e^(2jε) times likelier.
    """
    by_lot = stats.hypergeom(people, members, members)
    odds = [math.exp(2 * number * epsilon) * by_lot.pmf(number) / by_lot.pmf(0) for number in range(members + 1)]
    return next(number for number in range(members + 1) if sum(odds[number + 1 :]) <= FALSE_ALARM)


def declared(holder: Holder, name: str, people: int, **options: str) -> People:
    register = People.drawn(name, people, of_first_group=people // 2)
    holder.declare(register, **options)
    return register


@pytest.mark.parametrize(("relation", "steps"), [("sensitive_attribute", 1), ("add_remove", 2), ("replace", 1)])
def test_a_rule_that_matches_one_person_reveals_what_epsilon_allows(
    attacked: Holder, relation: str, steps: int
) -> None:
    people = declared(attacked, f"isolated-{relation}".replace("_", "-"), 500, relation=relation)

    found = counts.isolating_rules(attacked, people, "0.5")

    assert found.spent == 0.5
    assert found.right <= admissible(0.5 * steps, 500)


def test_exact_counts_give_everybody_away() -> None:
    people = People.drawn("bare", 60, of_first_group=30)

    assert counts.isolating_rules(NoDefence(), people, "0.5").right == 1
    assert counts.differencing(NoDefence(), people, "0.5", range(60)).right == 1


def test_differencing_pays_for_both_questions(attacked: Holder) -> None:
    people = declared(attacked, "differenced", 60)

    found = counts.differencing(attacked, people, "0.5", range(60))

    assert found.spent == pytest.approx(0.5), "two classes at a half each"
    assert found.right <= admissible(0.5, 60)


def test_overlapping_rules_pay_for_every_class(attacked: Holder) -> None:
    people = declared(attacked, "overlapping", 200)

    found = counts.overlapping_rules(attacked, people, "0.5", copies=10)

    assert found.spent == 0.5
    assert found.right <= admissible(0.5, 200)


def test_averaging_replays_averages_one_answer(attacked: Holder) -> None:
    people = declared(attacked, "replayed", 200)

    found, answers = counts.replay(attacked, people, "0.5", times=6)

    assert answers == 1
    assert found.spent == 0.5
    assert found.right <= admissible(0.5, 200)


def test_a_further_draw_is_another_answer_and_pays(attacked: Holder) -> None:
    people = declared(attacked, "drawn", 200)
    cells = [cell(f"only-{person}", only([person])) for person in range(200)]

    answers = [attacked.ask(people, "0.5", cells, draw=draw) for draw in (1, 2, 3)]

    assert answers[0] != answers[1] != answers[2] != answers[0]
    assert attacked.spent(people) == 1.5


def test_averaging_would_work_without_the_ledger() -> None:
    people = People.drawn("unprotected", 200, of_first_group=100)

    assert counts.averaging_without_ledger(people, "0.5", times=400).right > 0.98


def test_the_cap_holds_for_colluding_auditors(attacked: Holder) -> None:
    people = declared(attacked, "conspired", 400, cap="0.5")

    found, admitted = counts.collusion(attacked, people, "0.5", auditors=5)

    assert admitted == 1
    assert found.right <= admissible(0.5, 400)


def test_without_a_cap_colluding_auditors_get_more(attacked: Holder) -> None:
    """So the attack is one: seven votes are right 99.5 % of the time, which is missed less than once in 10¹⁰ times."""
    people = declared(attacked, "uncapped", 400)

    found, admitted = counts.collusion(attacked, people, "2", auditors=7)

    assert admitted == 7
    assert found.right > admissible(2, 400)


def test_exact_answers_about_parity_give_everybody_away() -> None:
    """Hamman, Chen and Dutta's attacks work, so that it says something where they do not.

    The last needs 100 random models to name all ten; 44 sufficed all but once in 400 times, and 40 all but 12 times.
    """
    people = People.drawn("exact", 100, of_first_group=50)
    sparse = People.drawn("sparse", 200, of_first_group=10)

    assert balanced_accuracy(one_query(exact_parity(people), range(100)), people.groups) == 1
    assert balanced_accuracy(two_queries(exact_parity(people), range(100), 100), people.groups) == 1
    assert balanced_accuracy(compressed_sensing(exact_parity(sparse), 200, 10, 100), sparse.groups) == 1


@pytest.mark.slow
def test_parity_through_the_holder_gives_no_more_away_than_epsilon(attacked: Holder) -> None:
    """A register for each attack, which so has a budget of its own."""
    once, twice = declared(attacked, "once", 100), declared(attacked, "twice", 100)
    sparse = People.drawn("sensed", 200, of_first_group=10)
    attacked.declare(sparse)

    one = one_query(parity_through_holder(attacked, once, "0.5"), range(100))
    two = two_queries(parity_through_holder(attacked, twice, "0.25"), range(100), 100)
    sensed = compressed_sensing(parity_through_holder(attacked, sparse, share("0.5", 80)), 200, 10, 80)

    assert balanced_accuracy(one, once.groups) <= admissible(0.5, 100)
    assert balanced_accuracy(two, twice.groups) <= admissible(0.5, 100)
    assert members_named(sensed, sparse.groups) <= admissible_members(0.5, 10, 200) < 10
    assert attacked.spent(sparse) == pytest.approx(0.5)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.1", "0.5"])
def test_two_thousand_targets_are_guessed_as_well_as_epsilon_allows(epsilon: str) -> None:
    """One query for each target, four times: above the bound by 0.03 in 8 000 guesses less than once in 10⁷ times."""
    with running_holder() as holder:
        people = declared(holder, "targets", 2000)
        found = counts.isolating_rules(holder, people, epsilon, draws=4)

    assert found.spent == pytest.approx(float(epsilon))
    assert found.right <= accuracy_bound(float(epsilon)) + 0.03
    assert found.right >= accuracy_bound(float(epsilon)) - 0.03, "the attack is as good as any"


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.1", "0.5"])
def test_two_thousand_targets_of_parity_queries(epsilon: str) -> None:
    """Hamman, Chen and Dutta's one query, a release for each target."""
    with running_holder() as holder:
        registers = [declared(holder, f"targets-{number}", 500) for number in range(4)]
        right = [
            balanced_accuracy(one_query(parity_through_holder(holder, people, epsilon), range(500)), people.groups)
            for people in registers
        ]

    assert sum(right) / 4 <= admissible(float(epsilon), 2000)


def test_smooth_sensitivity_is_the_largest_discounted_step() -> None:
    """AttributeConceal's, by the definition, on a register of seven people."""
    accepted, refused, epsilon, delta = 3, 4, 1.0, 0.01
    beta = epsilon / (2 * 5.298317366548036)

    def parity(first_accepted: int, first_refused: int) -> float:
        first = first_accepted + first_refused
        rate = first_accepted / max(first, 1)
        return rate - (accepted - first_accepted) / max(accepted + refused - first, 1)

    states = [(a, r) for a in range(accepted + 1) for r in range(refused + 1)]
    local = {
        one: max(abs(parity(*one) - parity(*other)) for other in states if _steps(one, other) == 1) for one in states
    }
    expected = max(2.718281828459045 ** (-beta * _steps((1, 2), state)) * local[state] for state in states)

    found = smooth_sensitivity(1, 2, accepted, refused, epsilon=epsilon, delta=delta)

    assert found == pytest.approx(expected)


def _steps(one: tuple[int, int], other: tuple[int, int]) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def test_attribute_conceal_conceals() -> None:
    """The mechanism to compare with is not made worse than it is: one query at 0.5 reveals no more than it may."""
    people = People.drawn("concealed", 500, of_first_group=250)

    guessed = one_query(concealed_parity(people, 0.5), range(500))

    assert balanced_accuracy(guessed, people.groups) <= admissible(0.5, 500)
