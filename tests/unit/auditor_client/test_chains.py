"""Chains of decisions: what is asked, at what price, what the figures say, and which sentences they carry."""

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditor_client.asking.question import Question, make_question
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.stages import CONTRADICTING, stage_cell
from auditor_client.audits.asking import Asking
from auditor_client.audits.comparing import require_comparable
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import finding
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.chain_figures import ChainFigures, chain_draws, chain_figures
from auditor_client.estimation.measurements import NoisyCounts
from auditor_client.findings.answers import Rate, read_chain
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.reading import Reading
from auditor_client.models.tree import Tree
from auditor_client.planning.chain_forecasts import forecast_chain
from auditor_client.report import languages
from auditor_client.report.chain_data import chain_data, shown_contributions
from auditor_client.report.metric_names import rate_words
from auditor_client.report.outcome import outcome
from checks.coverage_of_chains import sums_exactly
from holder_service.domain.disjointness import disjoint_classes
from holder_service.domain.pricing import price
from shared.contract.datasets import DatasetDescription
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.exact_audits import KEY
from testing.invented.questions import exact_release, leaf, split
from testing.registers import LOANS

STAGES = ("selected", "visited", "unduly")
COLUMNS = [
    {"name": "points", "type": "integer", "minimum": 0, "maximum": 100},
    {"name": "region", "type": "category", "categories": ["North", "South"]},
    {"name": "selected", "type": "boolean", "nullable": True},
    {"name": "visited", "type": "boolean", "nullable": True},
    {"name": "unduly", "type": "boolean"},
    {"name": "sex", "type": "category", "categories": ["F", "M"], "sensitive": True},
]
GRANTS = DatasetDescription.model_validate(
    {**LOANS.model_dump(mode="json", exclude={"columns"}), "name": "grants", "columns": COLUMNS}
)
RISKY = Tree(split("points", 50, leaf("low", True), split("points", 80, leaf("mid", False), leaf("high", False))))


def people(number: int = 400) -> list[dict[str, Any]]:
    """Invented people, with every combination of stages among them, missing ones too."""
    source = random.Random(8)
    return [
        {
            "points": source.randint(0, 100),
            "region": source.choice(["North", "South"]),
            "selected": source.choice([True, True, False, None]),
            "visited": source.choice([True, True, False, None]),
            "unduly": source.choice([True, False]),
            "sex": source.choice(["F", "M"]),
        }
        for _ in range(number)
    ]


PEOPLE = people()


def asked(model: Tree | None = None, **changes: Any) -> Question:
    """A question about a chain; people do not want to reach its end."""
    given = {"sensitive": ["sex"], "epsilon": "0.5", "chain": STAGES, "intervention": "punitive", **changes}
    return make_question(model, GRANTS, AuditRequest(**given))


def reaching(stages: Sequence[str], sex: str) -> list[int]:
    """How many people about whom the first stage decides reach each, everybody first, counted one by one."""

    def reaches(person: dict[str, Any], stage: str) -> bool:
        return person["points"] > 50 if stage == "model" else person[stage] is True

    about = [one for one in PEOPLE if one["sex"] == sex and (stages[0] == "model" or one[stages[0]] is not None)]
    return [
        sum(all(reaches(one, stage) for stage in stages[:number]) for one in about) for number in range(len(stages) + 1)
    ]


def figures_of(counts: Sequence[Sequence[int]], *, scale: float = 0.1, **asking: Any) -> ChainFigures:
    """Figures of nearly exact counts: a row for each number of stages that are reached, a column for each group."""
    return chain_figures(counted(counts, scale=scale), reference=("1",), **asking)


def counted(counts: Sequence[Sequence[int]], *, scale: float = 0.1) -> ChainCounts:
    table = np.array(counts, dtype=np.int64)
    groups = tuple((str(number),) for number in range(table.shape[1]))
    noise = DiscreteLaplaceNoise(scale=scale)
    return ChainCounts(groups, tuple(f"s{number}" for number in range(1, len(table))), (NoisyCounts(table, noise),))


@pytest.mark.parametrize("chain", [STAGES, STAGES[:2], ("unduly", "visited")])
def test_every_stage_is_counted_at_the_whole_loss_of_one_batch(chain: tuple[str, ...]) -> None:
    question = asked(chain=chain)

    (batch,) = question.plan.batches
    assert [cell.id for cell in batch.cells] == [
        *(stage_cell(number) for number in range(len(chain))),
        stage_cell(len(chain)),
    ] or {cell.id for cell in batch.cells} == {stage_cell(number) for number in range(len(chain) + 1)}
    assert price(question.plan, GRANTS.table).charge.epsilon_nano == parse_nano("0.5")
    assert len(disjoint_classes(batch.cells, GRANTS.table)) == 1


@pytest.mark.parametrize(
    ("model", "chain"),
    [
        (None, STAGES),
        (None, ("unduly", "visited")),
        (RISKY, ("model", "selected", "unduly")),
        (RISKY, ("selected", "model", "unduly")),
    ],
)
def test_an_exact_answer_counts_who_reaches_each_stage(model: Tree | None, chain: tuple[str, ...]) -> None:
    question = asked(model, chain=chain)

    counts = read_chain(exact_release(question.plan, PEOPLE, GRANTS), question)

    reached = np.cumsum(counts.counts[::-1], axis=0)[::-1]
    for group, (sex,) in enumerate(counts.groups):
        assert reached[:, group].tolist() == reaching(chain, str(sex))


def test_contradictions_are_counted_in_a_batch_of_their_own_and_only_on_request() -> None:
    question = asked(contradictions="0.1")

    counts = read_chain(exact_release(question.plan, PEOPLE, GRANTS), question)

    assert CONTRADICTING not in [batch.name for batch in asked().plan.batches]
    assert read_chain(exact_release(asked().plan, PEOPLE, GRANTS), asked()).contradicting is None
    assert price(question.plan, GRANTS.table).charge.epsilon_nano == parse_nano("0.6")
    assert counts.contradicting is not None
    true = [
        one
        for one in PEOPLE
        if one["selected"] is not None
        and any(one[late] is True and one[early] is not True for early, late in itertools.combinations(STAGES, 2))
    ]
    assert counts.contradicting.counts.sum() == len(true) > 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"chain": ["selected"]}, "must name 2 to"),
        ({"chain": ["selected", "selected"]}, "each once"),
        ({"chain": ["selected", "region"]}, "boolean"),
        ({"chain": ["selected", "sex"]}, "sensitive"),
        ({"chain": ["selected", "nowhere"]}, "no column"),
        ({"chain": ["selected", "model"]}, "belong together"),
        ({"intervention": None}, "Set `intervention`"),
        ({"favourable": ["false"]}, "`favourable`"),
        ({"decision": "selected"}, "`decision`"),
        ({"by": "region"}, "`by`"),
        ({"strategy": "verdict"}, "`strategy`"),
        ({"metrics": ["equal-opportunity"], "label": "unduly"}, "`label`"),
        ({"metrics": ["predictive-parity"]}, "counts everybody"),
        ({"mechanism": "exponential"}, "a mechanism that adds noise"),
        ({"refines": "sha256:" + "0" * 64}, "`refines`"),
    ],
)
def test_what_does_not_fit_a_chain_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(QuestionRefused, match=named):
        asked(**changes)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"joint": True}, "`joint`"),
        ({"judged": "30"}, "`judged`"),
        ({"join": True}, "`join`"),
        ({"until_decided": True}, "`until_decided`"),
        ({"estimator": "plug-in"}, "plug-in"),
    ],
)
def test_what_is_not_read_of_a_chain_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(QuestionRefused, match=named):
        Asking.of(["sex"], "0.5", None, {"chain": STAGES, "intervention": "punitive", **changes})


@pytest.mark.parametrize("name", ["outcome_test", "contradictions"])
def test_what_belongs_to_a_chain_is_refused_without_one(name: str) -> None:
    with pytest.raises(QuestionRefused, match=f"`{name}`"):
        Asking.of(["sex"], "0.5", None, {name: True if name == "outcome_test" else "0.1"})


def test_two_models_are_not_compared_by_a_chain() -> None:
    with pytest.raises(QuestionRefused, match="`chain`"):
        require_comparable(AuditRequest(sensitive=("sex",), chain=STAGES), Reading())


def test_contributions_add_up_in_every_draw_and_as_they_are_shown() -> None:
    counts = counted([[9000, 30000], [700, 1200], [400, 600], [300, 520]], scale=5)

    figures = chain_figures(counts, reference=("1",))

    assert sums_exactly(chain_draws(counts), reference=1) < 1e-12
    (one,) = figures.comparisons
    assert sum(step.contribution.value for step in one.steps) == pytest.approx(one.log_ratio.value, abs=1e-12)
    assert one.steps[-1].chain.value == pytest.approx(np.exp(one.log_ratio.value))
    shown, total = shown_contributions(one)
    read = [float(text.replace("−", "-")) for text in (*shown, total)]
    assert sum(read[:-1]) == pytest.approx(read[-1], abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "decisive"),
    [
        ([[9000, 29700], [500, 150], [500, 150]], 0),
        ([[5000, 15000], [4000, 14000], [1000, 1000]], 1),
        ([[5000, 15000], [2500, 7500], [2500, 7500]], None),
        ([[9000, 29100], [500, 450], [500, 450]], 0),
        ([[8000, 27000], [1000, 1500], [1000, 1500]], 0),
        ([[8000, 27000], [1000, 2250], [1000, 750]], None),
    ],
)
def test_a_step_makes_the_difference_only_where_the_figures_carry_it(
    counts: list[list[int]], decisive: int | None
) -> None:
    (one,) = figures_of(counts).comparisons

    assert one.decisive == decisive


def test_noise_that_hides_the_order_of_the_steps_names_none() -> None:
    (exact,) = figures_of([[9000, 29700], [500, 160], [500, 140]]).comparisons
    (noisy,) = figures_of([[9000, 29700], [500, 160], [500, 140]], scale=100).comparisons

    assert exact.decisive == 0
    assert noisy.decisive is None


def test_a_stage_that_nobody_may_have_reached_has_no_rate_behind_it() -> None:
    figures = figures_of([[1000, 1000], [3, 200], [0, 100], [0, 100]], scale=10)

    last = figures.steps[-1]
    assert not last.rates[0].defined
    assert last.people[0].low == 0
    assert last.rates[1].defined
    (one,) = figures.comparisons
    assert not one.steps[-1].ratio.defined


def biased(number: int = 8000) -> list[dict[str, Any]]:
    """People of whom women are selected four times as often; those selected are treated alike."""
    source, found = random.Random(9), []
    for _ in range(number):
        sex = source.choice(["F", "M"])
        selected = source.random() < (0.4 if sex == "F" else 0.1)
        visited, unduly = (source.random() < 0.5 for _ in range(2))
        found.append(
            {"points": 1, "region": "North", "sex": sex, "selected": selected, "visited": visited, "unduly": unduly}
        )
    return found


def audited(who: Sequence[dict[str, Any]], reading: Reading | None = None, **changes: Any) -> AuditResult:
    """An audit of a chain whose counts are answered exactly."""
    put = asked(epsilon="10", **changes)
    stored = StoredAnswer(exact_release(put.plan, who, GRANTS), {}, Path("receipts/one.json"), KEY)
    return finding(put, stored, reading or Reading(), holder_url="https://holder.example")


def test_the_sentences_of_a_report_agree_with_the_people() -> None:
    who = biased()
    found = audited(who, reference="M")
    rates = {
        sex: sum(one["sex"] == sex and all(one[stage] for stage in STAGES) for one in who)
        / sum(one["sex"] == sex for one in who)
        for sex in ("F", "M")
    }

    shown = chain_data(found)

    assert shown is not None
    (table,) = shown.comparisons
    of_women, of_men = (f"{100 * rates[sex]:.1f}" for sex in ("F", "M"))
    assert f"{of_women} %" in table.sentence.replace("\u202f", " ").split("of the group")[0]
    assert f"{of_men} %" in table.sentence.replace("\u202f", " ").split("of the group")[1]
    assert f"{rates['F'] / rates['M']:.2f} times as often" in table.sentence
    assert table.cause.startswith("The step to “selected” makes the difference")
    assert [row.decisive for row in table.rows] == [True, False, False]


def test_people_who_are_treated_alike_have_no_decisive_step() -> None:
    who = [{**one, "sex": sex} for one in biased(3000) for sex in ("F", "M")]

    shown = chain_data(audited(who))

    assert shown is not None
    (table,) = shown.comparisons
    assert table.cause == "The answers do not show that these two groups reach “unduly” at different rates."
    assert not any(row.decisive for row in table.rows)


def test_every_form_of_a_result_has_the_chain() -> None:
    found = audited(biased(2000), Reading(outcome_test=True), contradictions="1")

    document, frame = json.loads(found.to_json()), found.chain_frame()

    assert [step["stage"] for step in document["chain"]["steps"]] == list(STAGES)
    assert document["chain"]["contradicting"]["value"] > 0
    assert frame.loc[("selected", "F"), "people"] == document["chain"]["steps"][0]["people"][0]["value"]
    for language in languages.LANGUAGES:
        page = found.to_html(language=language)
        assert 'id="chain"' in page
        assert page.count("funnel") == 2
    for warning in ("inframarginality", "only for people who were selected", "random sample"):
        assert warning in found.summary()
        assert warning not in audited(biased(500)).summary()


def test_a_plan_forecasts_every_step_and_larger_losses_narrow_them() -> None:
    assumed: dict[str, Any] = {"assumption": {"people": 20_000, "passing": [0.1, 0.5, 0.5]}}
    small, large = (forecast_chain(asked(epsilon=epsilon, **assumed), Reading()) for epsilon in ("0.05", "1"))

    assert [step.stage for step in large] == list(STAGES)
    for narrow, wide in zip(large, small, strict=True):
        assert narrow.rate_width < wide.rate_width
        assert 0 < narrow.ratio_low < 1 < narrow.ratio_high
    with pytest.raises(QuestionRefused, match="`passing`"):
        forecast_chain(asked(assumption={"passing": [0.5]}), Reading())


@pytest.mark.parametrize(
    ("changes", "compared", "adverse"),
    [
        ({}, "the outcome “not unduly”", "the outcome “unduly”"),
        ({"intervention": "assistive"}, "the outcome “unduly”", "the outcome “not unduly”"),
        ({"chain": None, "decision": "selected", "favourable": (False,)}, "the decision “no”", "the decision “yes”"),
        ({"chain": None, "decision": "selected", "favourable": (True,)}, "the decision “yes”", "the decision “no”"),
        (
            {"chain": None, "decision": "points", "above": 50},
            "a value above 50",
            "another result than a value above 50",
        ),
    ],
)
def test_the_adverse_outcome_has_a_name_of_its_own(changes: dict[str, Any], compared: str, adverse: str) -> None:
    """A sentence about a burden names the burden, and does not say who goes without its absence."""
    named = outcome(asked(**changes))

    assert (named.name, named.adverse) == (compared, adverse)
    assert rate_words(Rate.ADVERSE, named).name == f"adverse rate (share with {adverse})"
    assert rate_words(Rate.ADVERSE, named).counted == f"With {adverse}"
