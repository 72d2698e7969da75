"""What planning foretells, and what it refuses to assume."""

import math
from typing import Any

import numpy as np
import pytest

from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.models.tree import DecisionRule, Leaf
from auditor_client.planning import Assumption, Expectation, expected_width
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.amounts import PrivacyLoss, parse_nano
from shared.noise import DiscreteLaplaceNoise
from shared.plans import BatchQuote, Quote
from shared.rules import Predicate, Rule

BATCHES = {"verdict": {"verdict": 1}, "pafer": {"everybody": 2, "favourable": 2}}
"""Names of a strategy's batches, and by what each divides epsilon."""


def rule(name: str, favourable: bool) -> DecisionRule:
    """A rule; planning looks at its decision alone."""
    return DecisionRule(Rule(id=name, all_of=(Predicate(column="x", op="gt", value=1),)), Leaf(name, "", favourable))


RULES = (rule("a", True), rule("b", True), rule("c", False))


def quote(epsilon: float, *, strategy: str = "verdict", groups: int = 2, sensitivity: int = 1) -> Quote:
    """What a holder answers on the price of a plan."""
    return Quote(
        dataset="adult",
        version=1,
        relation="add_remove",
        charge=PrivacyLoss.of_nano(10**8),
        batches=tuple(
            BatchQuote(
                name=name,
                epsilon="0.1",
                delta="0",
                composition={"classes": 1},
                groups=tuple((str(k),) for k in range(groups)),
                noise=DiscreteLaplaceNoise(scale=sensitivity * parts / epsilon),
            )
            for name, parts in BATCHES[strategy].items()
        ),
    )


def expected(epsilon: float = 0.1, **changes: Any) -> Expectation:
    """A forecast with something changed."""
    quoted = {name: changes.pop(name) for name in ("strategy", "groups", "sensitivity") if name in changes}
    return expected_width(RULES, quote(epsilon, **quoted), strategy=quoted.get("strategy", "verdict"), **changes)


@pytest.mark.parametrize(
    ("sizes", "accepted", "epsilon"), [((2_090, 12_970), (232, 2_227), "0.15"), ((60, 5_000), (21, 2_500), "0.5")]
)
def test_the_forecast_is_within_15_percent_of_what_the_mechanism_gives(
    sizes: tuple[int, int], accepted: tuple[int, int], epsilon: str
) -> None:
    """If what is assumed is true: mean width of 150 real releases, each estimated as an audit does."""
    people, rates = sum(sizes), [some / size for some, size in zip(accepted, sizes, strict=True)]
    assumption = Assumption(
        people=people,
        accepted=sum(accepted) / people,
        shares=tuple(size / people for size in sizes),
        ratio=rates[0] / rates[1],
    )
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    true_counts = np.array([accepted, np.subtract(sizes, accepted)])
    widths = []
    for _ in range(150):
        noisy = np.reshape(mechanism.release(true_counts.ravel().tolist()), (2, 1, 2)).tolist()
        favourable, unfavourable = (NoisyCounts.of(counts, mechanism.noise) for counts in noisy)
        measurement = Measurement((("a",), ("b",)), favourable, unfavourable, "unfavourable")
        widths.append(estimate_parity(measurement).ratio.width)

    forecast = expected_width(RULES, quote(float(epsilon)), strategy="verdict", assumption=assumption)

    assert forecast.width == pytest.approx(float(np.mean(widths)), rel=0.15)


def test_less_epsilon_fewer_people_or_a_stricter_relation_widen_the_interval() -> None:
    usual = expected().width

    assert expected(0.05).width > usual
    assert expected(sensitivity=2).width > usual
    assert expected(assumption=Assumption(people=2_000)).width > usual
    assert expected(assumption=Assumption(shares=(1, 19))).width > usual


def test_the_papers_strategy_is_expected_to_be_less_accurate() -> None:
    verdict, pafer = expected(), expected(strategy="pafer")

    assert pafer.width > 2 * verdict.width
    assert pafer.error > 2 * verdict.error


def test_the_same_forecast_comes_again() -> None:
    assert expected(seed=3) == expected(seed=3)


def test_many_groups_take_no_longer() -> None:
    assert 0 < expected(groups=200).width <= 1


def test_a_handful_of_people_cannot_be_told_apart_at_all() -> None:
    forecast = expected(assumption=Assumption(people=3))

    assert forecast.width > 0.9
    assert forecast.undecided == 1
    assert math.isfinite(forecast.error)


def test_supports_tell_how_many_people_there_are_and_are_accepted() -> None:
    assumption = Assumption.of_supports(RULES, [10, 30, 60])

    assert assumption.people == 100
    assert assumption.accepted == pytest.approx(0.4)


def test_the_assumed_counts_have_the_assumed_shares_rate_and_ratio() -> None:
    accepted, sizes = Assumption(people=10_000, accepted=0.3, shares=(3, 1), ratio=0.5).counts(2)

    assert sizes.tolist() == [7_500, 2_500]
    assert accepted.sum() == pytest.approx(3_000, abs=1)
    assert accepted[1] / sizes[1] == pytest.approx(accepted[0] / sizes[0] / 2, abs=0.001)


def test_a_forecast_says_what_it_assumes() -> None:
    text = str(expected(assumption=Assumption(people=1_234, accepted=0.25)))

    assert "1234 people" in text
    assert "25%" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"people": 0},
        {"accepted": 0.0},
        {"accepted": math.nan},
        {"ratio": 0.0},
        {"ratio": 1.5},
        {"shares": (0.0, 0.0)},
        {"shares": (-1.0, 2.0)},
    ],
)
def test_an_impossible_assumption_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(QuestionRefused, match="Assume"):
        Assumption(**changes)


@pytest.mark.parametrize("supports", [[1, 2], [0, 0, 0], [1, -1, 3]])
def test_supports_that_do_not_fit_the_rules_are_refused(supports: list[int]) -> None:
    with pytest.raises(QuestionRefused, match="support"):
        Assumption.of_supports(RULES, supports)


def test_other_groups_than_shares_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="as many shares"):
        expected(assumption=Assumption(shares=(1, 2, 3)))
