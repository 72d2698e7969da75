"""Whether a training's answer is what was asked for: every lie that can be known without the records is found out."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.errors import HolderLied
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import TRAININGS
from shared.contract.datasets import DatasetDescription
from shared.kinds.releases import SigningKeys
from shared.kinds.trainings import Training, TrainingQuote, TrainingRelease
from shared.privacy.amounts import format_nano
from testing.documents import change_at as at
from testing.registers import LOANS
from testing.simulated_holder import Document, SimulatedHolder
from testing.simulated_trainings import loans_training


def answer(holder: SimulatedHolder, asked: Training) -> Document:
    document: Document = json.loads(holder.trained(asked)[1])
    return document


def verify(holder: SimulatedHolder, document: Document, asked: Training) -> TrainingRelease:
    honest = SimulatedHolder(dataset=holder.dataset)
    quote = TrainingQuote.model_validate(honest.training_quote(asked))
    priced = TRAININGS.priced(asked, quote, RequestContext.of(holder.dataset, "ADR"))
    return priced.verified(document, SigningKeys.model_validate(holder.keys()))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_an_honest_training_passes(relation: str) -> None:
    holder, asked = SimulatedHolder(dataset=LOANS.model_copy(update={"relation": relation})), loans_training()

    release = verify(holder, answer(holder, asked), asked)

    assert release.counts is not None
    assert len(release.counts.leaves) == 4
    assert release.id == asked.identity(auditor="ADR", dataset="register")


@given(st.integers(min_value=10**6, max_value=10**10), st.sampled_from(["add_remove", "replace"]))
def test_every_honest_division_passes(epsilon_nano: int, relation: str) -> None:
    dataset, asked = LOANS.model_copy(update={"relation": relation}), loans_training(format_nano(epsilon_nano))
    quote = SimulatedHolder(dataset=dataset).training_quote(asked)

    TRAININGS.priced(asked, TrainingQuote.model_validate(quote), RequestContext.of(dataset, "ADR"))


def leaf(document: Document, index: int = 0) -> Document:
    found: Document = document["model"]["leaves"][index]
    return found


def _both(*changes: Callable[[Document], None]) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for one in changes:
            one(document)

    return change


_RULE = "model.leaves.1.cell.any_of.0.all_of"

SIGNED_LIES: dict[str, tuple[Callable[[Document], None], str]] = {
    "another training": (at("training.label", "citizen"), "identity"),
    "a step less": (lambda d: d["steps"].pop(), "steps"),
    "another division": (
        _both(at("steps.1.epsilon", "0.4"), at("steps.2.epsilon", "0.1")),
        "steps",
    ),
    "less noise in a step": (lambda d: d["steps"][3].update(scale=d["steps"][3]["scale"] / 2), "steps"),
    "less noise on the counts": (lambda d: d["counts"]["noise"].update(scale=1.5), "noise on its leaves"),
    "a leaf less": (
        _both(lambda d: d["model"]["leaves"].pop(), lambda d: d["counts"]["leaves"].pop()),
        "leave some people out",
    ),
    "a leaf wider": (lambda d: d["model"]["leaves"][1]["cell"]["any_of"][0]["all_of"].pop(), "overlap"),
    "a leaf twice": (lambda d: d["model"]["leaves"].append(d["model"]["leaves"][0]), "two of one name"),
    "a split between bins": (at(f"{_RULE}.1.value", 30), "elsewhere than where bins begin"),
    "a split that the declaration lacks": (at(f"{_RULE}.1.column", "shoe size"), "not a feature"),
    "a split on a column that was not asked": (
        at(f"{_RULE}.1", {"column": "citizen", "op": "eq", "value": True}),
        "not a feature",
    ),
    "a split on a sensitive column": (
        at(f"{_RULE}.1", {"column": "sex", "op": "eq", "value": "Male"}),
        "not a feature",
    ),
    "a split that means nothing": (at(f"{_RULE}.1", {"column": "education", "op": "lt", "value": 3}), "elsewhere"),
    "a leaf that decides otherwise": (
        lambda d: leaf(d).update(favourable=not leaf(d)["favourable"]),
        "decides different",
    ),
    "counts that decide otherwise": (at("counts.leaves.0.positive", [5000, 5000]), "decides different"),
    "counts of other leaves": (lambda d: d["counts"]["leaves"].reverse(), "not of the model's leaves"),
    "a count less": (lambda d: d["counts"]["leaves"][0]["negative"].pop(), "does not have a count for each"),
    "no counts": (lambda d: d.pop("counts"), "without the counts"),
    "groups in another order": (lambda d: d["counts"]["groups"].reverse(), "groups"),
    "a score instead": (
        at("model", {"kind": "score", "document": {"kind": "linear", "terms": []}, "at_least": 0.5}),
        "another kind|contract",
    ),
}


@pytest.mark.parametrize("lie", sorted(SIGNED_LIES))
def test_a_lie_under_a_good_signature_is_found_out(lie: str) -> None:
    change, refusal = SIGNED_LIES[lie]
    holder, asked = SimulatedHolder(dataset=LOANS, before_signing=change), loans_training()

    with pytest.raises(HolderLied, match=refusal):
        verify(holder, answer(holder, asked), asked)


def test_what_was_changed_behind_the_signature_is_found_out() -> None:
    """Every single value of the answer, even those that nothing else would notice."""
    holder, asked = SimulatedHolder(dataset=LOANS), loans_training()
    document = answer(holder, asked)

    for path in _paths(document):
        changed = copy.deepcopy(document)
        *parents, last = path
        node: Any = changed
        for part in parents:
            node = node[part]
        node[last] = f"{node[last]}x"
        with pytest.raises(HolderLied):
            verify(holder, changed, asked)


def _paths(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(node, dict | list):
        members = node.items() if isinstance(node, dict) else enumerate(node)
        return [found for name, value in members for found in _paths(value, (*path, name))]
    return [path]


_LINEAR: Document = {"algorithm": {"name": "fair_linear"}}
_TERM = "model.scores.label_score.terms"

SCORED_LIES: dict[str, tuple[Callable[[Document], None], str]] = {
    "points in other bins": (at(f"{_TERM}.0.axes.0.cuts.0", 25), "bins of the features"),
    "a column that was not asked": (
        at(f"{_TERM}.1", {"axes": [{"column": "citizen", "values": [False, True]}], "table": [0, 1]}),
        "bins of the features",
    ),
    "a sensitive column": (
        at(f"{_TERM}.1", {"axes": [{"column": "sex", "values": ["Female", "Male"]}], "table": [0, 1]}),
        "bins of the features",
    ),
    "a feature twice": (lambda d: _terms(d).append(_terms(d)[0]), "bins of the features"),
    "features in another order": (lambda d: _terms(d).reverse(), "bins of the features"),
    "no terms": (lambda d: _terms(d).clear(), "bins of the features"),
    "a rule beside the bins": (
        at(f"{_TERM}.1", {"rule": {"all_of": [{"column": "age", "op": "ge", "value": 50}]}, "value": 1}),
        "bins of the features",
    ),
    "another precision": (at("model.scores.label_score.precision", "float32"), "bins of the features"),
    "a base": (at("model.scores.label_score.base", 1), "whole points"),
    "points that are not whole": (at(f"{_TERM}.0.table.1", 0.5), "whole points"),
    "more points than a bin may have": (at(f"{_TERM}.0.table.1", 81), "more points"),
    "a score that is called the name of a column": (
        lambda d: d["model"]["scores"].update({"age": d["model"]["scores"].pop("group_score")}),
        "the name of a column",
    ),
    "a third score": (
        lambda d: d["model"]["scores"].update({"another": d["model"]["scores"]["label_score"]}), "more than two",
    ),
    "a score that leaves name and that is not there": (
        lambda d: d["model"]["scores"].pop("group_score"),
        "not a feature",
    ),
    "leaves that read a feature themselves": (
        at(f"{_RULE}.0", {"column": "age", "op": "lt", "value": 25}),
        "not a feature",
    ),
    "a category of a score": (at(f"{_RULE}.0", {"column": "label_score", "op": "eq", "value": "x"}), "not a score"),
    "leaves that overlap": (at(f"{_RULE}.0.value", 20), "do not divide everybody"),
    "a leaf less": (
        _both(lambda d: d["model"]["leaves"].pop(), lambda d: d["counts"]["leaves"].pop()),
        "do not divide everybody",
    ),
    "the noise of the other step": (lambda d: d["counts"]["noise"].update(d["steps"][0] and {"scale": 5.0}), "noise"),
    "more leaves than were asked for": (
        lambda d: d["model"]["leaves"].extend({**d["model"]["leaves"][0], "cell": {
            **d["model"]["leaves"][0]["cell"], "id": f"more-{index}"}} for index in range(35)),
        "more leaves",
    ),
}  # fmt: skip


def _terms(document: Document) -> list[Any]:
    found: list[Any] = document["model"]["scores"]["label_score"]["terms"]
    return found


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_an_honest_tree_over_scores_passes(relation: str) -> None:
    holder = SimulatedHolder(dataset=LOANS.model_copy(update={"relation": relation}))
    asked = loans_training(**_LINEAR)

    release = verify(holder, answer(holder, asked), asked)

    assert [(step.classes, step.epsilon) for step in release.steps] == [(2, "0.4"), (1, "0.6")]


@pytest.mark.parametrize("lie", sorted(SCORED_LIES))
def test_a_lie_about_scores_is_found_out(lie: str) -> None:
    change, refusal = SCORED_LIES[lie]
    holder, asked = SimulatedHolder(dataset=LOANS, before_signing=change), loans_training(**_LINEAR)

    with pytest.raises(HolderLied, match=refusal):
        verify(holder, answer(holder, asked), asked)


def test_a_tree_of_splits_has_no_scores() -> None:
    asked = loans_training()
    scores = answer(SimulatedHolder(dataset=LOANS), loans_training(**_LINEAR))["model"]["scores"]
    holder = SimulatedHolder(dataset=LOANS, before_signing=at("model.scores", scores))

    with pytest.raises(HolderLied, match="decides by scores"):
        verify(holder, answer(holder, asked), asked)


PUBLISHED: dict[str, Document] = {
    "private_fair_tree": {"depth": 2},
    "pflr": {"penalty": "2"},
    "pflr_star": {"fairness": "0.3", "lowered": 0},
}


def asked_of(name: str, epsilon: str = "1", **changes: Any) -> Training:
    """A training by the learner of a publication."""
    return loans_training(epsilon, algorithm={"name": name, **PUBLISHED[name], **changes})


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_an_honest_published_learner_passes(name: str, relation: str) -> None:
    holder, asked = SimulatedHolder(dataset=LOANS.model_copy(update={"relation": relation})), asked_of(name)

    release = verify(holder, answer(holder, asked), asked)

    assert release.counts is None
    assert release.model.kind == ("tree" if name == "private_fair_tree" else "score")


@given(
    st.sampled_from(
        [
            {"name": "fair_tree", "depth": 3, "groups": "0.07", "splits": "0.31"}, {"name": "fair_linear"},
            {"name": "private_fair_tree", "depth": 3, "splits": "0.37"}, {"name": "pflr"},
            {"name": "pflr", "penalty": "0"}, {"name": "pflr", "penalty": "99.000000001", "threshold": "3"},
            {"name": "pflr_star", "fairness": "0.123456789"},
        ]
    ),
    st.integers(min_value=10**6, max_value=10**10),
    st.sampled_from(["add_remove", "replace"]),
    st.integers(min_value=1, max_value=3),
)  # fmt: skip
def test_every_honest_division_of_every_learner_passes(
    algorithm: Document, epsilon_nano: int, relation: str, features: int
) -> None:
    """Steps of the holder's own code; this side computes them anew from the request."""
    dataset = LOANS.model_copy(update={"relation": relation})
    used = [{"column": "age", "cuts": [25, 35, 60]}, {"column": "education"}, {"column": "citizen"}][:features]
    asked = loans_training(format_nano(epsilon_nano), algorithm=algorithm, features=used)
    quote = SimulatedHolder(dataset=dataset).training_quote(asked)

    TRAININGS.priced(asked, TrainingQuote.model_validate(quote), RequestContext.of(dataset, "ADR"))


_FIRST = "model.document.terms.0"
PUBLISHED_LIES: dict[str, tuple[str, Callable[[Document], None], str]] = {
    "a tree that splits elsewhere": (
        "private_fair_tree", at(f"{_RULE}.1.value", 30), "elsewhere than where bins begin"
    ),
    "a tree that leaves some out": ("private_fair_tree", lambda d: d["model"]["leaves"].pop(), "leave some people out"),
    "a score of a sensitive column": (
        "pflr", at(f"{_FIRST}.rule.all_of", [{"column": "sex", "op": "eq", "value": "Male"}]), "reads inputs other"
    ),
    "a score of another column": (
        "pflr", at(f"{_FIRST}.rule.all_of", [{"column": "citizen", "op": "eq", "value": True}]), "reads inputs other"
    ),
    "a score of two features at once": (
        "pflr_star",
        lambda d: d["model"]["document"]["terms"][0]["rule"]["all_of"].append(
            {"column": "education", "op": "is_missing"}
        ),
        "one feature at a time",
    ),
    "a score of everybody": ("pflr", at(f"{_FIRST}.rule.all_of", []), "reads inputs other"),
    "a score between bins": ("pflr", at(f"{_FIRST}.rule.all_of.0.value", 30), "elsewhere than where bins begin"),
    "a score of a slope": (
        "pflr_star", at(_FIRST, {"columns": ["age"], "slope": 0.5}), "reads inputs other"
    ),
    "another precision": ("pflr", at("model.document.precision", "float32"), "reads inputs other"),
    "another threshold": ("pflr", at("model.at_least", 0.25), "from 0 on"),
    "a tree instead of a score": (
        "pflr", lambda d: d.update(model=answer(SimulatedHolder(dataset=LOANS), loans_training())["model"]),
        "another kind",
    ),
    "a score with counts": (
        "pflr", lambda d: d.update(counts=answer(SimulatedHolder(dataset=LOANS), loans_training())["counts"]),
        "counts of leaves",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", sorted(PUBLISHED_LIES))
def test_a_lie_about_a_published_learner_is_found_out(lie: str) -> None:
    name, change, refusal = PUBLISHED_LIES[lie]
    holder, asked = SimulatedHolder(dataset=LOANS, before_signing=change), asked_of(name)

    with pytest.raises(HolderLied, match=refusal):
        verify(holder, answer(holder, asked), asked)


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (asked_of("pflr"), asked_of("pflr", penalty="1")),
        (asked_of("pflr_star"), asked_of("pflr_star", fairness="0.5")),
        (asked_of("pflr"), asked_of("pflr", penalty="0")),
        (asked_of("private_fair_tree"), asked_of("private_fair_tree", splits="0.25")),
        (asked_of("private_fair_tree"), asked_of("private_fair_tree", depth=3)),
        (loans_training(), loans_training(algorithm={"name": "fair_tree", "depth": 2, "groups": "0.1"})),
        (loans_training(), loans_training(algorithm={"name": "fair_tree", "depth": 2, "splits": "0.4"})),
        (loans_training(**_LINEAR), loans_training(algorithm={"name": "fair_linear", "tables": "0.5"})),
    ],
    ids=lambda training: training.algorithm.name,
)
def test_steps_of_another_division_are_found_out(asked: Training, other: Training) -> None:
    quote = SimulatedHolder(dataset=LOANS).training_quote(other)

    with pytest.raises(HolderLied, match=f"those that {asked.algorithm.name} divides"):
        TRAININGS.priced(asked, TrainingQuote.model_validate(quote), RequestContext.of(LOANS, "ADR"))


QUOTED_LIES: dict[str, tuple[Callable[[Document], None], str]] = {
    "a higher charge": (at("charge.epsilon", "2"), "is to cost"),
    "a lower charge": (at("charge.epsilon", "0.5"), "is to cost"),
    "no steps": (at("steps", []), "steps are missing"),
    "a step less": (lambda d: d["steps"].pop(0), "do not come to"),
    "a step twice": (lambda d: d["steps"].append(d["steps"][0]), "two have one name"),
    "a step that costs nothing": (at("steps.0.epsilon", "0"), "noise of step"),
    "an epsilon that is none": (at("steps.0.epsilon", "-1"), "noise of step"),
    "too little noise": (lambda d: d["steps"][3].update(scale=math.nextafter(1 / 0.45, 0)), "noise of step"),
    "too much noise": (lambda d: d["steps"][3].update(scale=2.225), "noise of step"),
    "choices without noise": (at("steps.1.scale", 1e-300), "noise of step"),
    "counts instead of choices": (at("steps.1.measures", "counts"), "divides epsilon among|noise of step"),
    "more classes for the same noise": (at("steps.3.classes", 2), "noise of step"),
}


@pytest.mark.parametrize("lie", sorted(QUOTED_LIES))
def test_a_false_quote_is_found_out(lie: str) -> None:
    change, refusal = QUOTED_LIES[lie]
    quote = SimulatedHolder(dataset=LOANS, change_quote=change).training_quote(loans_training())

    with pytest.raises(HolderLied, match=refusal):
        TRAININGS.priced(loans_training(), TrainingQuote.model_validate(quote), RequestContext.of(LOANS, "ADR"))


def test_a_relation_without_trainings_is_no_price() -> None:
    dataset: DatasetDescription = LOANS.model_copy(update={"relation": "sensitive_attribute"})
    quote = SimulatedHolder(dataset=dataset).training_quote(loans_training())

    with pytest.raises(HolderLied, match="not offered"):
        TRAININGS.priced(loans_training(), TrainingQuote.model_validate(quote), RequestContext.of(dataset, "ADR"))


def test_two_people_change_where_one_replaces_another() -> None:
    """The noise of add_remove would be half of what is needed."""
    dataset = LOANS.model_copy(update={"relation": "replace"})
    quote = {**SimulatedHolder(dataset=LOANS).training_quote(loans_training()), "relation": "replace"}

    with pytest.raises(HolderLied, match="noise of step"):
        TRAININGS.priced(loans_training(), TrainingQuote.model_validate(quote), RequestContext.of(dataset, "ADR"))
