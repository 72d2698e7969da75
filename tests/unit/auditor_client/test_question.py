"""The question of an audit: what does not fit is refused before anybody is asked."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

import auditor_client
from auditor_client.asking.question import Question
from auditor_client.errors import AuditorError, EstimationRefused, ModelRefused, QuestionRefused
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.wire.canonical import sha256_name
from testing.invented import questions as invented_questions
from testing.invented.questions import leaf, split
from testing.registers import REGISTER

MANY = tuple(f"c{index}" for index in range(128))
MANY_GROUPS = REGISTER.model_copy(
    update={
        "columns": (
            *REGISTER.columns,
            *(Column(name=name, type="category", categories=MANY, sensitive=True) for name in "ab"),
        ),
        "sensitive": (*REGISTER.sensitive, "a", "b"),
    }
)


def tree_at(age: int, *, young: bool = True, old: bool = False) -> Tree:
    return Tree(split("age", age, leaf("young", young), leaf("old", old)))


def question(model: Any = None, **asked: Any) -> Question:
    return invented_questions.question(model or tree_at(40), **{"dataset": REGISTER, **asked})


def test_a_plan_is_pinned_to_the_described_version_unless_another_is_named() -> None:
    assert question().plan.version == 1
    assert question(version=7).plan.version == 7


def test_the_digest_of_the_rules_distinguishes_trees_and_nothing_else() -> None:
    assert question().model == question(epsilon="0.1", strategy="pafer").model
    assert question().model.rules != question(tree_at(41)).model.rules
    assert question().model.rules != question(tree_at(40, young=False, old=True)).model.rules
    assert question().model.file is None


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    ages = np.arange(120.0)[:, None]
    path = tmp_path / "model.skops"
    skops.io.dump(DecisionTreeClassifier(max_depth=1).fit(ages, ages[:, 0] <= 40), path)

    asked = question(path, columns=["age"], favourable="true")

    assert asked.model.file == sha256_name(path.read_bytes())
    assert asked.plan.batches[0].cells[0].any_of[0].all_of[0].column == "age"


REFUSED: dict[str, tuple[dict[str, Any], type[AuditorError], str]] = {
    "no records": ({"dataset": REGISTER.model_copy(update={"version": None})}, QuestionRefused, "are not loaded yet"),
    "no column": ({"sensitive": []}, QuestionRefused, "sex, origin"),
    "a column twice": ({"sensitive": ["sex", "sex"]}, QuestionRefused, "twice"),
    "a column that is not there": ({"sensitive": ["shoe size"]}, QuestionRefused, "sex, origin"),
    "a feature": ({"sensitive": ["age"]}, QuestionRefused, "is no sensitive column"),
    "a float that is no decimal": ({"epsilon": 0.1 + 0.2}, QuestionRefused, "is not an amount"),
    "a strategy that is not there": ({"strategy": "guess"}, QuestionRefused, "guess"),
    "more than a plan takes": (
        {"dataset": MANY_GROUPS, "sensitive": ["a", "b"]},
        QuestionRefused,
        "more than 16384 counts.*: the model has 2 rules with 2 predicates, and there are 16384 groups. Prune.*`above`",
    ),
    "a draw of zero": ({"draw": 0}, QuestionRefused, "draw"),
    "a version of zero": ({"version": 0}, QuestionRefused, "version"),
    "nobody accepted": ({"model": tree_at(40, young=False)}, EstimationRefused, "nobody"),
    "everybody accepted": ({"model": tree_at(40, old=True)}, EstimationRefused, "everybody"),
    "classes for a tree": ({"favourable": ["a"]}, ModelRefused, "leave the lists out"),
    "no tree": ({"model": object()}, ModelRefused, "object"),
    "no file": ({"model": "none.skops"}, ModelRefused, "none.skops"),
    "one group": (
        {
            "dataset": REGISTER.model_copy(
                update={
                    "columns": (
                        *REGISTER.columns,
                        Column(name="one", type="category", categories=("a",), sensitive=True),
                    )
                }
            ),
            "sensitive": ["one"],
        },
        QuestionRefused,
        "two values",
    ),
    "a figure that is not there": ({"metrics": "kindness"}, QuestionRefused, "statistical-parity"),
    "a figure twice": ({"metrics": ["statistical-parity"] * 2}, QuestionRefused, "once"),
    "a labelled figure without a label": (
        {"metrics": "equal-opportunity"},
        QuestionRefused,
        "does not declare a label",
    ),
    "a mechanism that is not there": ({"mechanism": "magic"}, QuestionRefused, "laplace"),
    "a mechanism that the holder does not offer": (
        {"mechanism": "gaussian", "dataset": REGISTER.model_copy(update={"mechanisms": ("laplace",)})},
        QuestionRefused,
        "There is laplace",
    ),
    "a delta without its mechanism": ({"delta": "0.000001"}, QuestionRefused, "only to the mechanism gaussian"),
    "no epsilon": ({"epsilon": None}, QuestionRefused, "needs `epsilon`"),
    "a reference that is no group": ({"reference": "Other"}, QuestionRefused, "Female, Male"),
    "a scope that names a sensitive column": ({"where": "sex = Female"}, QuestionRefused, "sensitive"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_question_that_no_answer_could_serve_is_refused(case: str) -> None:
    asked, kind, refusal = REFUSED[case]

    with pytest.raises(kind, match=refusal):
        question(**asked)


def test_a_tree_that_names_a_sensitive_column_is_refused() -> None:
    predicates = [Predicate(column="sex", op=op, value="Female") for op in ("eq", "ne")]
    branches = (Branch((p,), Leaf(p.op, p.op, favourable=p.op == "eq")) for p in predicates)

    with pytest.raises((QuestionRefused, ModelRefused), match="sensitive"):
        question(Tree(Split("root", tuple(branches))))


def test_the_public_surface_is_what_it_says() -> None:
    assert sorted(auditor_client.__all__) == [
        "ApprovalAwaited",
        "Assumption",
        "Attribution",
        "AuditRequest",
        "AuditResult",
        "Auditor",
        "AuditorError",
        "Branch",
        "Comparison",
        "DecisionRule",
        "Estimate",
        "FollowingAudit",
        "GroupEstimate",
        "History",
        "Leaf",
        "Mending",
        "ModelComparison",
        "OddsEstimate",
        "ParityEstimate",
        "PlannedAudit",
        "PlannedTraining",
        "Predicate",
        "Reading",
        "ReceiptsReport",
        "Split",
        "TrainingRequest",
        "TrainingResult",
        "Tree",
        "Verdict",
        "WatchedVerdict",
    ]
    assert all(hasattr(auditor_client, name) for name in auditor_client.__all__)
