"""What planning foretells, and what it refuses to assume."""

import math
from typing import Any

import numpy as np
import pytest

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.question import Question
from auditor_client.asking.request import OF_DECISIONS, STRATEGIES
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasting import (
    CHANCE_ERROR,
    TRUE_RATIOS,
    chances,
    expectation,
    forecast,
    smallest_epsilon,
)
from auditor_client.planning.forecasts import Expectation, Forecast
from auditor_client.planning.table_forecasts import forecast_tables
from auditor_client.report.widths import planned_curve
from shared.contract.rules import Cell
from shared.contract.schema import Column
from shared.privacy.charges import AccountTerms
from testing.invented.questions import FOUR_LEAVES, question
from testing.registers import LOANS

RULES = FOUR_LEAVES.rules()


def expected(**asked: Any) -> Expectation:
    """A forecast with something changed."""
    seed = asked.pop("seed", 0)
    return expectation(question(**{"epsilon": "0.1", **asked}), seed=seed)


def answered_width(asked: Question, accepted: tuple[int, ...], sizes: tuple[int, ...], releases: int) -> float:
    """The mean width of so many audits, estimated in full; the noise is drawn by the definition of discrete Laplace."""
    rng = np.random.default_rng(8)
    stop = 1 - math.exp(-asked.request.epsilon_nano / 10**9)
    widths = []
    for _ in range(releases):
        counts = np.array([accepted, np.subtract(sizes, accepted)])
        noisy = counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
        from shared.privacy.noise import DiscreteLaplaceNoise

        noise = DiscreteLaplaceNoise(scale=10**9 / asked.request.epsilon_nano)
        parts = [NoisyCounts.of([row.tolist()], noise) for row in noisy]
        widths.append(estimate_parity(Measurement((("a",), ("b",)), parts[0], parts[1], "unfavourable")).ratio.width)
    return float(np.mean(widths))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "accepted", "epsilon"), [((2_090, 12_970), (232, 2_227), "0.15"), ((60, 5_000), (21, 2_500), "0.5")]
)
def test_the_forecast_is_within_15_percent_of_what_audits_give(
    sizes: tuple[int, int], accepted: tuple[int, int], epsilon: str
) -> None:
    """If what is assumed is true: mean width of 60 answers, each estimated as an audit does (fixed seeds)."""
    people, rates = sum(sizes), [some / size for some, size in zip(accepted, sizes, strict=True)]
    assumption = Assumption(
        people=people,
        accepted=sum(accepted) / people,
        shares=tuple(size / people for size in sizes),
        ratio=rates[0] / rates[1],
    )
    asked = question(epsilon=epsilon, assumption=assumption)

    assert expectation(asked).width == pytest.approx(answered_width(asked, accepted, sizes, 60), rel=0.15)


@pytest.mark.slow
def test_half_the_noise_would_be_noticed() -> None:
    """The negative control: a forecast at twice the ε is not within 15 % of the audits."""
    asked = question(epsilon="0.1", assumption=Assumption(people=5_000))
    forged = question(epsilon="0.2", assumption=Assumption(people=5_000))
    accepted, sizes = asked.request.assumption.counts(2)

    assert expectation(forged).width != pytest.approx(answered_width(asked, accepted, sizes, 40), rel=0.15)


def test_less_epsilon_fewer_people_or_a_stricter_relation_widen_the_interval() -> None:
    usual = expected().width

    assert expected(epsilon="0.05").width > usual
    assert expected(dataset=LOANS.model_copy(update={"relation": "replace"})).width > usual
    assert expected(assumption=Assumption(people=2_000)).width > usual
    assert expected(assumption=Assumption(shares=(1, 19))).width > usual
    assert expected(metrics="equal-opportunity").width > usual
    assert expected(mechanism="exponential").width > usual


@pytest.mark.slow
def test_the_strategies_are_ranked_as_their_variances_are() -> None:
    found = {one.strategy: one for one in forecast(question(epsilon="0.1")).strategies}

    assert set(found) == set(STRATEGIES)
    assert found["verdict"].width < found["rules"].width < found["pafer"].width
    assert found["pafer"].error > 1.5 * found["verdict"].error


@pytest.mark.slow
def test_the_curve_falls_with_epsilon_and_has_the_planned_one() -> None:
    found = forecast(question(epsilon="0.1"))

    widths = [one.width for one in found.curve]
    assert widths == sorted(widths, reverse=True)
    assert found.chosen in found.curve


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "exponential"])
@pytest.mark.parametrize("metric", OF_DECISIONS)
def test_every_mechanism_and_figure_has_a_forecast(mechanism: str, metric: str) -> None:
    found = expected(mechanism=mechanism, metrics=metric, epsilon="0.5")

    assert 0 < found.width < 1
    assert 0 <= found.error < 0.5


def test_randomised_response_has_a_forecast_at_no_cost() -> None:
    reported = Column.model_validate(
        {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True,
         "randomised_response": {"kept": "0.75"}}
    )  # fmt: skip
    columns = tuple(reported if column.name == "sex" else column for column in LOANS.columns)
    dataset = LOANS.model_copy(
        update={"columns": columns, "relation": "sensitive_attribute", "mechanisms": ("laplace", "randomised_response")}
    )

    found = expectation(question(dataset=dataset, epsilon=None))
    made = Forecast(found, (found,), (found,), Assumption(), from_supports=False, reading=Reading())

    assert found.asked.is_nothing
    assert 0 < found.width < 1
    assert [point.amount for point in planned_curve(made).points] == ["0"]


def test_an_upper_below_the_counts_forecasts_answers_that_fit_nobody() -> None:
    """Everybody is answered with at most `upper`, and so are the accepted of each rule: together they are more."""
    found = expected(mechanism="exponential", strategy="pafer", epsilon="1.5", upper=2500)

    assert (found.width, found.undecided) == (1, 1)


def test_the_same_forecast_comes_again() -> None:
    assert expected(seed=3) == expected(seed=3)


def test_a_handful_of_people_cannot_be_distinguished_at_all() -> None:
    found = expected(assumption=Assumption(people=3))

    assert found.width > 0.9
    assert found.undecided == 1
    assert math.isfinite(found.error)


def test_the_smallest_epsilon_reaches_the_width_and_a_smaller_one_does_not() -> None:
    found = smallest_epsilon(question(epsilon="1"), 0.1)
    less = found.request.epsilon_nano * 9 // 10

    assert expectation(found).width <= 0.1
    assert expectation(found.at(less)).width > 0.1


@pytest.mark.parametrize(("width", "refusal"), [(0.0, "between"), (math.nan, "between"), (0.0001, "Not even")])
def test_a_width_that_cannot_be_reached_is_refused(width: float, refusal: str) -> None:
    with pytest.raises(QuestionRefused, match=refusal):
        smallest_epsilon(question(epsilon="1", mechanism="gaussian", assumption=Assumption(people=50)), width)


def test_own_data_say_how_many_people_there_are_and_are_accepted() -> None:
    def count(cell: Cell) -> int:
        return {"favourable": 300, "unfavourable": 700}[cell.id]

    assumed = expectation(question(assumption=Assumption(people=1_000, accepted=0.3))).width

    assert expectation(question(), supports=count).width <= assumed * 1.1


def test_own_data_in_which_everybody_is_accepted_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="one decision for everybody"):
        expectation(question(), supports=lambda cell: 10 if cell.id == "favourable" else 0)


def test_the_assumed_counts_have_the_assumed_shares_rate_and_ratio() -> None:
    accepted, sizes = Assumption(people=10_000, accepted=0.3, shares=(3, 1), ratio=0.5).counts(2)

    assert sizes == (7_500, 2_500)
    assert sum(accepted) == pytest.approx(3_000, abs=1)
    assert accepted[1] / sizes[1] == pytest.approx(accepted[0] / sizes[0] / 2, abs=0.001)


@pytest.mark.slow
def test_a_verdict_is_the_likelier_the_farther_the_truth_is_from_the_threshold() -> None:
    found = {chance.ratio: chance for chance in chances(question(epsilon="0.02", assumption=Assumption(people=5_000)))}

    assert tuple(found) == TRUE_RATIOS
    assert found[0.5].fails > 0.9
    assert found[1.0].meets > 0.9
    assert found[0.8].undecided > 0.8
    assert found[0.5].undecided <= found[0.7].undecided <= found[0.8].undecided >= found[0.9].undecided
    assert all(chance.meets + chance.fails + chance.undecided == pytest.approx(1) for chance in found.values())
    assert all(chance.error <= CHANCE_ERROR for chance in found.values())


@pytest.mark.slow
def test_a_forecast_is_of_the_groups_that_would_be_judged() -> None:
    """Of one group in 500 people hardly anything is known; the other five decide."""
    assumption = Assumption(people=30_000, shares=(500, 1, 450, 400, 420, 480), ratio=0.6)
    asked = question(sensitive=("sex", "origin"), epsilon="0.1", assumption=assumption)
    of_all, of_large = (expectation(asked, reading=Reading(threshold=0.8, judged=judged)) for judged in (None, "2%"))

    assert of_large.width < 0.1
    assert of_all.width > 0.5
    assert of_large.error < 0.05  # the five are supposed to be alike
    found = {chance.ratio: chance for chance in chances(asked, reading=Reading(threshold=0.8, judged="2%"))}
    assert tuple(found) == TRUE_RATIOS
    assert found[0.5].fails > 0.9


@pytest.mark.slow
def test_chances_are_those_of_audits_of_another_seed() -> None:
    """Within four standard errors; at half the ε they are not."""
    asked = question(epsilon="0.02", assumption=Assumption(people=5_000))
    one, other, forged = (
        {chance.ratio: chance for chance in chances(put, seed=seed)}[0.7]
        for put, seed in ((asked, 1), (asked, 2), (asked.at(10_000_000), 1))
    )

    assert abs(one.fails - other.fails) < 4 * math.hypot(one.error, other.error)
    assert abs(one.fails - forged.fails) > 4 * math.hypot(one.error, forged.error)


def test_without_a_threshold_there_is_no_chance_of_a_verdict() -> None:
    asked = question(metrics="equal-opportunity")

    assert chances(asked) == ()
    assert expectation(asked).undecided is None
    assert chances(asked, reading=Reading(threshold=0.9))[-1].ratio == 1.0


def test_a_ratio_that_the_accepted_share_does_not_admit_is_left_out() -> None:
    found = chances(question(assumption=Assumption(people=2_000, accepted=0.9)))

    assert [chance.ratio for chance in found] == [0.8, 0.85, 0.9, 1.0]


@pytest.mark.slow
def test_an_unknown_number_of_people_is_said_with_what_others_would_give() -> None:
    unknown, known = (forecast(question(epsilon="0.1", assumption=Assumption(people=n))) for n in (None, 10_000))

    assert unknown.other_people is not None
    assert unknown.chosen == known.chosen
    assert unknown.other_people[1_000].width > 5 * unknown.chosen.width
    assert unknown.rules_from is not None
    assert (known.other_people, known.rules_from) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize(("most", "others"), [(800, []), (1_000, []), (5_000, [1_000])])
def test_no_more_people_are_supposed_than_the_dataset_has_at_most(most: int, others: list[int]) -> None:
    dataset = LOANS.model_copy(update={"records_max": most})

    unknown = forecast(question(epsilon="1", dataset=dataset))
    known = forecast(question(epsilon="1", dataset=dataset, assumption=Assumption(people=most)))

    assert unknown.assumption.people == most
    assert unknown.chosen == known.chosen
    assert unknown.other_people is not None
    assert list(unknown.other_people) == others


def test_an_assumption_says_what_it_is() -> None:
    text = str(Assumption(people=1_234, accepted=0.25))

    assert "1\u202f234 people" in text
    assert "25\u202f%" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"people": 0},
        {"accepted": 0.0},
        {"accepted": math.nan},
        {"ratio": 0.0},
        {"ratio": 1.5},
        {"positive": 1.0},
        {"shares": (0.0, 0.0)},
        {"shares": (-1.0, 2.0)},
    ],
)
def test_an_impossible_assumption_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(QuestionRefused, match="Assume"):
        Assumption(**changes)


def test_other_groups_than_shares_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="as many shares"):
        expected(assumption=Assumption(shares=(1, 2, 3)))


def drawn_again(asked: Question, draw: int = 2) -> Question:
    return asked.changed(draw=draw)


@pytest.mark.slow
def test_a_joined_answer_is_forecast_with_what_is_kept() -> None:
    """Of Gaussian noise four answers are as one at half its deviation; those about other people are left out."""
    asked = question(epsilon="0.1", mechanism="gaussian", delta="0.00001")
    kept = [drawn_again(asked, draw).plan for draw in (2, 3, 4)]
    others = [question(epsilon="0.1", where="age > 30").plan, question(epsilon="0.1", strategy="pafer").plan]

    found = forecast(asked, kept=[*kept, *others]).joined

    assert found is not None
    assert found.now is not None
    assert found.kept == 3
    alone = expectation(asked).width
    assert found.now.width == pytest.approx(alone / math.sqrt(3), rel=0.1)
    assert found.then.width == pytest.approx(alone / 2, rel=0.1)


@pytest.mark.slow
def test_a_question_that_was_asked_before_adds_nothing_to_what_is_kept() -> None:
    """The same plan is the same answer."""
    asked = question(epsilon="0.1")

    found = forecast(asked, kept=[asked.plan, drawn_again(asked).plan]).joined

    assert found is not None
    assert found.now is not None
    assert found.kept == 2
    assert found.then.width == pytest.approx(found.now.width, rel=0.05)


@pytest.mark.slow
def test_nothing_kept_is_said() -> None:
    found = forecast(question(epsilon="0.1"), kept=[]).joined

    assert found is not None
    assert (found.kept, found.now) == (0, None)
    assert found.then.width == pytest.approx(expectation(question(epsilon="0.1")).width, rel=0.05)


@pytest.mark.parametrize(("loss", "larger"), [({"epsilon": "0.9"}, 3.0), ({"rho": "0.01"}, 3**0.5)])
def test_a_plan_compares_every_table_with_separate_audits(loss: dict[str, str], larger: float) -> None:
    """A count by fewer columns adds up those of its finer groups; each of three audits has a third of the loss."""
    in_rho = "rho" in loss
    account = AccountTerms("zcdp", 1_000) if in_rho else None
    dataset = LOANS.model_copy(update={"account": account, "mechanisms": ("laplace", "gaussian")})
    losses: dict[str, Any] = {"epsilon": None, **loss}
    mechanism = "gaussian" if in_rho else "laplace"
    asked = question(sensitive=["sex", "origin"], dataset=dataset, mechanism=mechanism, **losses)
    sexes, origins = (asked.schema.group_count([name]) for name in ("sex", "origin"))

    by_sex, by_origin, by_both = forecast_tables(asked)

    assert [row.sensitive for row in (by_sex, by_origin, by_both)] == [("sex",), ("origin",), ("sex", "origin")]
    assert by_both.times == pytest.approx(1 / larger, rel=0.01)
    assert by_sex.times == pytest.approx(origins**0.5 / larger, rel=0.01)
    assert by_origin.times == pytest.approx(sexes**0.5 / larger, rel=0.01)
    assert forecast_tables(question(sensitive=["sex"])) == ()
