"""What may be said of a loss, held against the exact masses of the noise that the holder draws.

The oracle is a person in three registers that are otherwise alike: of the first group, of the second, and absent (or
another person in their stead). Their counts and the mechanism's own masses give every posterior exactly.
"""

import itertools
import math
from pathlib import Path
from typing import Final, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.mechanisms.exponential import ExponentialMechanism
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.contract.meaning import Bound, figure_up, meaning, percent_up, statements
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.schema import Column
from shared.privacy.amounts import NANO_PER_UNIT, NO_LOSS, Loss
from shared.privacy.noise import DiscreteGaussianNoise

GUARANTEE: Final = Path(__file__).parents[3] / "docs" / "guarantee.md"
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
GROUPS: Final = 3
OTHERS: Final = (4, 7, 0)
"""Everybody else, by group."""
PRESENT: Final = (5, 7, 0)
OTHER_VALUE: Final = (4, 8, 0)
ABSENT: Final = OTHERS
IN_THEIR_STEAD: Final = (4, 7, 1)
UPPER: Final = 60
ROUNDING: Final = 1e-9

each_relation = pytest.mark.parametrize("relation", RELATIONS)
each_epsilon = pytest.mark.parametrize("epsilon_nano", [10**8, 10**9, 4 * 10**9])


def compared(relation: Relation) -> dict[str, tuple[int, ...]]:
    """By question, the counts where the person is another; PRESENT are those where they are as they are."""
    values: dict[str, tuple[int, ...]] = {"values": OTHER_VALUE}
    if relation == "sensitive_attribute":
        return values
    return {**values, "presence": ABSENT if relation == "add_remove" else IN_THEIR_STEAD}


def laplace_loss(epsilon_nano: int, relation: Relation, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The largest logarithm by which an answer changes the odds, all answers within 400 of the counts looked at."""
    sensitivity = NeighbouringRelation(relation).l1(GROUPS, moved=False)
    noise = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity).noise
    answers = np.arange(-400, 401)
    return sum(
        float(np.max(np.abs(noise.log_mass(answers - a) - noise.log_mass(answers - b))))
        for a, b in zip(one, other, strict=True)
    )


def exponential_loss(epsilon_nano: int, relation: Relation, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The same of the exponential mechanism, over all of its answers."""
    changed = NeighbouringRelation(relation).counts_that_change(GROUPS, moved=False)
    noise = ExponentialMechanism.calibrated(epsilon_nano=epsilon_nano, upper=UPPER, counts_that_change=changed).noise
    return sum(
        max(abs(noise.log_likelihood(r, a) - noise.log_likelihood(r, b)) for r in range(UPPER + 1))
        for a, b in zip(one, other, strict=True)
    )


def gaussian(epsilon_nano: int, delta_nano: int, squared_sensitivity: int) -> DiscreteGaussianNoise:
    return GaussianMechanism.calibrated(
        loss=Loss(epsilon_nano, delta_nano), squared_sensitivity=squared_sensitivity
    ).noise


def gaussian_masses(
    noise: DiscreteGaussianNoise, one: tuple[int, ...], other: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Masses of all answers about the counts that differ, from either register; 14 σ leave out less than 10⁻⁴⁰."""
    reach = math.ceil(14 * noise.scale)
    answers = np.arange(-reach, reach + 1)
    first, second = np.ones(1), np.ones(1)
    for a, b in zip(one, other, strict=True):
        if a != b:
            first = np.outer(first, np.exp(noise.log_mass(answers))).ravel()
            second = np.outer(second, np.exp(noise.log_mass(answers - (b - a)))).ravel()
    return first, second


@each_relation
@each_epsilon
def test_no_answer_changes_the_odds_by_more_than_is_said(relation: Relation, epsilon_nano: int) -> None:
    meant = meaning(relation, Loss(epsilon_nano))
    bounds = {"values": meant.values, "presence": meant.presence}

    for question, counts in compared(relation).items():
        bound = bounds[question]
        assert bound is not None
        for loss in (laplace_loss, exponential_loss):
            exact = loss(epsilon_nano, relation, PRESENT, counts)
            assert exact <= bound.epsilon + ROUNDING, question
            assert 1 / (1 + math.exp(-exact)) <= bound.guess + ROUNDING, question
        # Laplace noise takes all that is allowed, so no smaller factor would be true.
        assert laplace_loss(epsilon_nano, relation, PRESENT, counts) == pytest.approx(bound.epsilon, rel=1e-9)


@each_epsilon
def test_under_add_remove_a_value_is_two_steps(epsilon_nano: int) -> None:
    """The negative control: e^ε, which holds for presence, is exceeded for values."""
    epsilon = epsilon_nano / NANO_PER_UNIT

    assert laplace_loss(epsilon_nano, "add_remove", PRESENT, OTHER_VALUE) > 1.99 * epsilon
    assert laplace_loss(epsilon_nano, "add_remove", PRESENT, ABSENT) <= epsilon + ROUNDING


@pytest.mark.parametrize(("epsilon", "percent"), [("0.1", "55.0"), ("1", "88.1")])
def test_what_a_chance_of_one_half_becomes_under_add_remove(epsilon: str, percent: str) -> None:
    nano = round(float(epsilon) * NANO_PER_UNIT)
    exact = laplace_loss(nano, "add_remove", PRESENT, OTHER_VALUE)

    assert f"{100 / (1 + math.exp(-exact)):.1f}" == percent
    assert percent_up(meaning("add_remove", Loss(nano)).values.guess) == f"{percent}\N{NARROW NO-BREAK SPACE}%"


@each_relation
@pytest.mark.parametrize(("epsilon_nano", "delta_nano"), [(10**9, 10**3), (5 * 10**8, 10**6), (8 * 10**9, 10**6)])
def test_any_conclusion_is_as_likely_as_is_said(relation: Relation, epsilon_nano: int, delta_nano: int) -> None:
    """Over all sets of answers at once: the one of all answers with P > e^ε·P′ is the worst."""
    meant = meaning(relation, Loss(epsilon_nano, delta_nano))
    noise = gaussian(epsilon_nano, delta_nano, NeighbouringRelation(relation).l2_squared(GROUPS, moved=False))
    bounds = {"values": meant.values, "presence": meant.presence}

    for question, counts in compared(relation).items():
        bound = bounds[question]
        assert bound is not None
        for p, q in itertools.permutations(gaussian_masses(noise, PRESENT, counts)):
            assert np.maximum(p - bound.factor * q, 0).sum() <= bound.delta
            assert 0.5 * np.maximum(p, q).sum() <= bound.guess + ROUNDING


def exceeded(epsilon_nano: int, delta_nano: int) -> float:
    """How often an answer changes the odds of presence by more than e^ε, in units of δ."""
    p, q = gaussian_masses(gaussian(epsilon_nano, delta_nano, 1), PRESENT, ABSENT)
    return float(p[p > math.exp(epsilon_nano / NANO_PER_UNIT) * q].sum() / (delta_nano / NANO_PER_UNIT))


def test_delta_is_not_the_chance_of_a_larger_factor() -> None:
    assert exceeded(10**9, 10**3) == pytest.approx(2.9, abs=0.05)
    assert exceeded(10**8, 10**3) == pytest.approx(40.7, abs=0.05)
    for relation in RELATIONS:
        said = statements(meaning(relation, Loss(10**8, 10**3)))
        assert "δ is not the chance" in said.delta
        assert "odds" not in said.presence + said.values


def test_two_steps_multiply_delta() -> None:
    """P ≤ e^ε·(e^ε·P₂ + δ) + δ."""
    two = Bound(0.5, 1e-3).after(2)

    assert two.epsilon == 1
    assert two.delta == pytest.approx(1e-3 * (1 + math.exp(0.5)))
    assert Bound(0.5, 1e-3).after(1) == Bound(0.5, 1e-3)
    assert "(1 + e^ε)·δ = 0.00372" in statements(meaning("add_remove", Loss(10**9, 10**6))).values


@given(st.floats(0, 5), st.floats(0, 0.999), st.floats(0, 1))
def test_no_test_of_two_hypotheses_guesses_better(epsilon: float, delta: float, false_alarm: float) -> None:
    """Whatever false alarm is taken, the fewest misses that (ε, δ) allows are no better than `guess`."""
    factor = math.exp(epsilon)
    misses = max(0.0, 1 - delta - factor * false_alarm, (1 - delta - false_alarm) / factor)

    assert 1 - (false_alarm + misses) / 2 <= Bound(epsilon, delta).guess + ROUNDING


def perturbed(kept: str, *categories: str) -> Column:
    return Column.model_validate(
        {
            "name": "origin", "type": "category", "categories": categories, "sensitive": True,
            "randomised_response": {"kept": kept},
        }
    )  # fmt: skip


def channel(column: Column) -> np.ndarray:
    """Chances of each report (second axis) from each true value (first axis), as the declaration says."""
    assert column.randomised_response is not None
    values, kept = len(column.values), column.randomised_response.kept / NANO_PER_UNIT
    return np.where(np.eye(values) == 1, kept, (1 - kept) / (values - 1))


@pytest.mark.parametrize("column", [perturbed("0.75", "a", "b"), perturbed("0.99", "a", "b", "c")])
def test_a_report_says_of_the_true_value_what_its_own_epsilon_allows(column: Column) -> None:
    """Who knows all other reports reads this person's off an exact count, and no more of the value than this."""
    chances = channel(column)
    worst = np.log(chances[:, None, :] / chances[None, :, :]).max()

    (bound,) = meaning("sensitive_attribute", NO_LOSS, {"origin": column}).reports.values()

    assert bound.epsilon == pytest.approx(worst, rel=1e-12)
    assert bound.guess == pytest.approx(1 / (1 + math.exp(-worst)), rel=1e-12)


def test_several_reports_of_one_person_add_up() -> None:
    first, second = perturbed("0.75", "a", "b"), perturbed("0.99", "a", "b", "c")
    both = np.kron(channel(first), channel(second))

    meant = meaning("sensitive_attribute", NO_LOSS, {"sex": first, "origin": second})

    assert meant.all_reports.epsilon == pytest.approx(np.log(both[:, None, :] / both[None, :, :]).max(), rel=1e-12)


def test_reports_are_said_to_have_an_epsilon_of_their_own() -> None:
    said = statements(meaning("sensitive_attribute", NO_LOSS, {"origin": perturbed("0.99", "a", "b", "c")}))

    assert "for origin, with ε = 5.29 of its own, the odds change by a factor of at most e^ε = 198" in said.reports
    assert "not protected" in said.reports
    assert said.values == "", "nothing was charged, and a factor of 1 would be no figure about anything"


def test_a_column_that_was_not_perturbed_has_no_report() -> None:
    plain = Column(name="sex", type="boolean", sensitive=True)

    assert meaning("sensitive_attribute", Loss(10**9), {"sex": plain}).reports == {}


def test_presence_and_values_are_said_apart() -> None:
    both = statements(meaning("add_remove", Loss(10**9)))
    stead = statements(meaning("replace", Loss(10**9)))
    value = statements(meaning("sensitive_attribute", Loss(10**9)))

    assert "e^ε = 2.72" in both.presence
    assert "e^(2ε) = 7.39" in both.values
    assert "in their stead" in stead.presence
    assert "number of people is not protected" in stead.presence
    assert value.presence == "Who is in the data, and everybody’s features and label, are not protected."
    assert "e^ε = 2.72" in stead.values
    assert "e^ε = 2.72" in value.values


@each_relation
def test_nothing_is_said_that_only_sounds_like_a_bound(relation: Relation) -> None:
    huge = statements(meaning(relation, Loss(2000 * NANO_PER_UNIT)))
    empty = statements(meaning(relation, Loss(NANO_PER_UNIT, NANO_PER_UNIT)))

    assert "more than a million" in huge.values
    assert "nothing is bounded" in empty.values
    assert statements(meaning(relation, Loss(2000 * NANO_PER_UNIT, 1))).all


@given(st.floats(1e-15, 1e6), st.floats(0.5, 1))
def test_figures_are_rounded_up(number: float, share: float) -> None:
    shown = float(figure_up(number).replace("\N{NARROW NO-BREAK SPACE}", ""))
    percent = float(percent_up(share).replace("\N{NARROW NO-BREAK SPACE}%", ""))

    assert number * (1 - 1e-11) <= shown <= 1.011 * number
    assert 100 * share * (1 - 1e-11) <= percent <= 100 * share + 0.1 + 1e-9


def test_a_whole_figure_stays_whole() -> None:
    assert [figure_up(number) for number in (198.0000000000001, 3, 2.7182, 22026.5, 1e-6)] == [
        "198", "3", "2.72", "22\N{NARROW NO-BREAK SPACE}027", "0.000001",
    ]  # fmt: skip


def test_the_guarantee_states_these_figures() -> None:
    """docs/guarantee.md is written by hand; its figures are this module's."""
    text = GUARANTEE.read_text(encoding="utf-8")
    table = text.partition("**What it means for a person.**")[2].partition("Of a report")[0]
    rows = [[field.strip(" `") for field in line.split("|")[1:-1]] for line in table.splitlines() if line[:3] == "| `"]

    assert [[row[0], *row[2:]] for row in rows] == [row for relation in RELATIONS for row in expected_rows(relation)]
    assert f"{exceeded(10**9, 10**3):.1f} δ at ε = 1, δ = 10⁻⁶" in " ".join(text.split())
    assert f"{exceeded(10**8, 10**3):.1f} δ at ε = 0.1, δ = 10⁻⁶" in " ".join(text.split())
    (report,) = meaning("sensitive_attribute", NO_LOSS, {"": perturbed("0.75", "a", "b")}).reports.values()
    assert (
        f"the factor is e^ε′, whatever else is asked: {figure_up(report.factor)}, and at most {shown(report)}" in text
    )


def expected_rows(relation: Relation) -> list[list[str]]:
    """Relation, factor, and what 50 % becomes at ε = 0.1 and at 1: for presence, then for values."""
    tenth, one = meaning(relation, Loss(10**8)), meaning(relation, Loss(10**9))
    rows = [[relation, "not protected", "", ""]]
    if tenth.presence is not None and one.presence is not None:
        rows = [[relation, "e^ε", shown(tenth.presence), shown(one.presence)]]
    steps = round(one.values.epsilon / one.charged.epsilon)
    return [*rows, [relation, "e^ε" if steps == 1 else f"e^({steps}ε)", shown(tenth.values), shown(one.values)]]


def shown(bound: Bound) -> str:
    return percent_up(bound.guess).replace("\N{NARROW NO-BREAK SPACE}", " ")
