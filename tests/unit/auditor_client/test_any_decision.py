"""Audits of what is no tree over declared columns: scores, linked decisions, labels, decisions in a declared column."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client import Auditor
from auditor_client.asking.question import make_question
from auditor_client.asking.request import ADVERSE, PARITY, AuditRequest
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.frames import history_table
from auditor_client.audits.result import AuditResult
from auditor_client.audits.watching import watch_of
from auditor_client.errors import HolderLied, ModelRefused, QuestionRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.exchange.columns import HeldColumn, OwnColumns
from auditor_client.findings.about import About
from auditor_client.findings.notes import Note, Notes
from auditor_client.models.read_model import Provenance, ReadModel, above, decided
from auditor_client.models.tree import Branch, Split, Tree
from auditor_client.report.history_data import history_data
from auditor_client.report.subject import provenance_words
from shared.contract.metadata import DatasetMetadata
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.scores.columns import DerivedColumn, column_id
from testing.invented.questions import FOUR_LEAVES, leaf, split
from testing.registers import LOANS
from testing.simulated_holder import KEY, SimulatedHolder, problem, simulated_holder

pytestmark = pytest.mark.usefixtures("coarse_chances")

DECISIONS = pd.DataFrame({"id": ["p1", "p2", "p3"], "decision": ["granted", "refused", None]})


def score(slope: float = 2.0, threshold: float = 80.0, **more: Any) -> ReadModel:
    terms = {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": slope}]}
    column = DerivedColumn.model_validate({"name": "score", "type": "number", "from": {"score": terms}, **more})
    return ReadModel(
        above("score", threshold, favourable=("yes", "no")),
        (column,),
        score="score",
        thresholds=(threshold,),
        provenance=Provenance("a logistic model", "by hand"),
    )


@pytest.fixture
def holder() -> Iterator[SimulatedHolder]:
    with simulated_holder() as server:
        yield server


@pytest.fixture
def auditor(holder: SimulatedHolder, tmp_path: Path) -> Iterator[Auditor]:
    with Auditor(holder.url, KEY, receipts=tmp_path / "receipts", on_step=steps.append) as auditor:
        steps.clear()
        yield auditor


steps: list[str] = []


def asked(model: Any = None, **request: Any) -> Any:
    return make_question(
        model, LOANS, AuditRequest(**{"sensitive": ["sex"], "epsilon": "1", **request}), OwnColumns("ADR", OWN)
    )


OWN = {
    column.name: HeldColumn(id=f"sha256:{number:064x}", column=column)
    for number, column in enumerate(
        (
            Column(name="decision", type="category", categories=("granted", "later", "refused"), nullable=True),
            Column(name="paid", type="boolean", nullable=True, label=True),
            Column(name="points", type="number", nullable=True),
        )
    )
}


def cells(question: Any) -> list[str]:
    return [str(rule) for batch in question.plan.batches for cell in batch.cells for rule in cell.any_of]


def test_a_declared_column_is_audited_as_it_is() -> None:
    assert cells(asked(decision="citizen", favourable="true")) == ["citizen = True", "citizen = False"]
    assert cells(asked(decision="citizen", favourable=["false"])) == ["citizen = False", "citizen = True"]
    assert cells(asked(decision="education", favourable=["high", "low"])) == [
        "education ≠ middle",
        "education = middle",
    ]
    assert asked(decision="citizen", favourable="true").plan.columns is None


def test_who_has_no_value_is_outside_of_the_audit() -> None:
    assert cells(asked(decision="hours", above=20)) == [
        "hours > 20 and hours not missing",
        "hours ≤ 20 and hours not missing",
    ]
    question = asked(decision="decision", favourable="granted", strategy="pafer")

    assert cells(question)[0] == "decision not missing"
    assert [str(predicate) for predicate in question.scope] == ["decision not missing"]


def test_a_plan_names_the_linked_columns_that_it_uses_and_no_other() -> None:
    ids = {name: held.id for name, held in OWN.items()}

    assert asked(FOUR_LEAVES).plan.columns is None
    assert asked(decision="decision", favourable="granted").plan.columns == {"decision": ids["decision"]}
    assert asked(FOUR_LEAVES, where="points > 3").plan.columns == {"points": ids["points"]}
    assert asked(FOUR_LEAVES, label="paid").plan.columns == {"paid": ids["paid"]}
    assert asked(decision="points", above=0.5, label="paid").plan.columns == {
        "paid": ids["paid"],
        "points": ids["points"],
    }


def test_a_label_of_the_auditors_choice_is_used() -> None:
    declared, linked = (asked(FOUR_LEAVES, label=name, metrics=["equalized-odds"]) for name in ("citizen", "paid"))

    assert {one.split(" and ")[-1] for one in cells(declared)} == {"citizen = True", "citizen = False"}
    assert {one.split(" and ")[-1] for one in cells(linked)} == {"paid = True", "paid = False"}
    assert cells(asked(FOUR_LEAVES, metrics=["equalized-odds"])) != cells(declared)


def test_a_tree_may_name_linked_columns_and_a_score_may_not() -> None:
    tree = Tree(split("points", 3, leaf("low", favourable=False), leaf("high", favourable=True)))
    with pytest.raises(ModelRefused, match="missing takes 0"):
        asked(tree)
    assert asked(ReadModel(tree, decided=decided(OWN["points"].column))).plan.columns == {"points": OWN["points"].id}

    document = {"kind": "terms", "precision": "float64", "terms": [{"columns": ["points"], "slope": 1, "missing": 0}]}
    column = DerivedColumn.model_validate({"name": "score", "type": "number", "from": {"score": document}})
    with pytest.raises(ModelRefused, match="only a tree may use linked columns"):
        asked(ReadModel(above("score", 1, favourable=("yes", "no")), (column,)))


def test_a_score_has_the_id_of_its_document() -> None:
    question = asked(score())

    [column] = score().columns
    assert question.plan.columns == {"score": column_id(column, auditor="ADR", dataset="register")}
    assert cells(question) == ["score > 80", "score ≤ 80"]
    assert question.model != asked(score(slope=3.0)).model  # the rules are the same


def test_a_score_may_be_missing_and_who_has_none_is_outside() -> None:
    half = score(nullable=True)

    with pytest.raises(ModelRefused, match="score = missing takes 0"):
        asked(half)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "nothing": (None, {}, "Give either a model"),
    "both": (FOUR_LEAVES, {"decision": "citizen"}, "not both"),
    "no such column": (None, {"decision": "height"}, "link them first"),
    "a sensitive column": (None, {"decision": "sex"}, "sensitive"),
    "a sensitive label": (FOUR_LEAVES, {"label": "sex"}, "sensitive"),
    "a label of numbers": (FOUR_LEAVES, {"label": "age"}, "a label must be boolean"),
    "no such label": (FOUR_LEAVES, {"label": "height"}, "`label`"),
    "a number without a threshold": (None, {"decision": "age"}, "Give the number above which"),
    "a threshold of no number": (None, {"decision": "citizen", "above": 1}, "does not have numbers"),
    "a threshold that is none": (None, {"decision": "age", "above": float("nan")}, "finite"),
    "no favourable value": (
        None,
        {"decision": "decision"},
        "granted or later or refused. Which of them is the good outcome for the person",
    ),
    "an unknown value": (None, {"decision": "decision", "favourable": ["Granted"]}, "granted, later, refused"),
    "all values": (None, {"decision": "citizen", "favourable": ["true", "false"]}, "but not all"),
    "values of a number": (None, {"decision": "age", "above": 1, "favourable": ["1"]}, "Give the number above which"),
    "inputs of no model": (None, {"decision": "citizen", "columns": ["age"]}, "Leave `columns` out"),
    "a threshold of a tree": (FOUR_LEAVES, {"above": 0.5}, "leave the lists out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_before_anybody_is_asked(case: str) -> None:
    model, request, text = REFUSED[case]

    with pytest.raises((QuestionRefused, ModelRefused), match=text):
        asked(model, **request)


@pytest.mark.slow
def test_what_a_question_needs_is_made_before_its_price_is_asked(auditor: Auditor, holder: SimulatedHolder) -> None:
    holder.looks = 3
    first = auditor.audit(score(), "register", ["sex"], "0.5")
    again = auditor.audit(score(), "register", ["sex"], "0.4")
    auditor.plan(score(), "register", ["sex"], "0.3")

    assert first.plan.columns == again.plan.columns == {"score": next(iter(holder.columns))}
    assert holder.count("POST", "/columns") == 1
    assert [path.rsplit("/", 1)[-1] for method, path in holder.requests if method == "POST"][:3] == [
        "columns",
        "quotes",
        "releases",
    ]
    assert any("made, which costs nothing" in step for step in steps)
    assert steps.count("Waiting for the column 'score'") == 1  # looked at three times, with nothing else to say


@pytest.mark.slow
def test_own_data_that_cut_bands_also_count_the_people(auditor: Auditor) -> None:
    own = pd.DataFrame({"hours": [*range(61)] * 20})

    planned = auditor.plan(
        None, "register", ["sex"], decision="hours", above=20, bands=4, supports_from=own, target_width=0.3
    )

    assert planned.question.request.edges == (15.0, 20.0, 30.0, 45.0)
    assert planned.question.request.assumption.people == len(own)
    assert planned.forecast.from_supports
    assert not any("Asking by strategy" in step for step in steps)


def test_own_data_are_said_to_count_no_rules_that_name_a_sensitive_column(
    auditor: Auditor, holder: SimulatedHolder
) -> None:
    holder.dataset = LOANS.model_copy(update={"sensitive_in_rules": True})
    predicates = [Predicate(column="sex", op=op, value="Female") for op in ("eq", "ne")]
    tree = Tree(Split("root", tuple(Branch((one,), leaf(one.op, one.op == "eq")) for one in predicates)))
    own = pd.DataFrame({"hours": [10, 30]})

    auditor.audit(tree, "register", ["sex"], "1", supports_from=own)

    assert "Rules that name a sensitive column cannot be counted in your own data." in steps
    with pytest.raises(QuestionRefused, match=r"give their number \(`people`\)\. Rules that name a sensitive column"):
        auditor.plan(tree, "register", ["sex"], supports_from=own, target_width=0.1)
    with pytest.raises(QuestionRefused, match=r"or your own data about them \(`supports_from`\)"):
        auditor.plan(FOUR_LEAVES, "register", ["sex"], target_width=0.1)


def test_two_models_are_not_given_one_name_nor_the_supports_of_one(auditor: Auditor, holder: SimulatedHolder) -> None:
    with pytest.raises(QuestionRefused, match="`model_name` names one"):
        auditor.compare(FOUR_LEAVES, score(), "register", ["sex"], "1", model_name="Loan model 3")
    with pytest.raises(QuestionRefused, match="`supports` are of one model's cells"):
        auditor.compare(FOUR_LEAVES, score(), "register", ["sex"], "1", supports={"favourable": 3, "unfavourable": 4})
    assert not holder.requests

    compared = auditor.compare(FOUR_LEAVES, score(), "register", ["sex"], "1", model_owner="Bank")

    assert compared.first.about.model_owner == compared.second.about.model_owner == "Bank"


def test_a_holder_that_makes_another_column_is_not_asked(auditor: Auditor, holder: SimulatedHolder) -> None:
    holder.change_column = lambda column: column.update(id=f"sha256:{0:064x}")

    with pytest.raises(HolderLied, match="made another column than 'score'"):
        auditor.audit(score(), "register", ["sex"], "0.5")
    assert holder.count("POST", "/quotes") == holder.count("POST", "/releases") == 0


def test_a_column_that_is_not_ready_is_waited_for(auditor: Auditor, holder: SimulatedHolder) -> None:
    status, body = problem(409, "column-not-ready", "Not yet.")
    holder.reply(status, body, to="/quotes", times=1, headers={"Retry-After": "0"})

    assert auditor.audit(score(), "register", ["sex"], "0.5").plan.columns


def test_linked_values_are_sent_once_and_named_later(auditor: Auditor, holder: SimulatedHolder, tmp_path: Path) -> None:
    linked = auditor.link(DECISIONS, "register", name="decision")
    assert auditor.link(DECISIONS, "register", name="decision") == linked

    assert list(holder.values.values()) == [b"id,value\np1,granted\np2,refused\n"]
    assert holder.count("PUT", "/values") == 1
    with Auditor(holder.url, KEY, receipts=tmp_path / "receipts") as later:  # another process, another day
        audit = later.audit(
            dataset="register", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted"]
        )
    assert audit.plan.columns == {"decision": linked.id}


def test_values_whose_sending_failed_are_sent_again(auditor: Auditor, holder: SimulatedHolder) -> None:
    status, body = problem(422, "invalid-records", "No.")
    holder.reply(status, body, to="/values", times=1)
    with pytest.raises(Exception, match="No"):
        auditor.link(DECISIONS, "register", name="decision")
    with pytest.raises(QuestionRefused, match="link them first"):
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted"])

    auditor.link(DECISIONS, "register", name="decision")

    assert len(holder.values) == 1


def test_a_linked_column_that_the_holder_lost_is_to_be_linked_again(auditor: Auditor, holder: SimulatedHolder) -> None:
    linked = auditor.link(DECISIONS, "register", name="decision")
    del holder.columns[linked.id]

    with pytest.raises(QuestionRefused, match="Link its values again"):
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted"])
    assert holder.count("POST", "/quotes") == 0


def test_columns_are_listed_and_deleted(auditor: Auditor, holder: SimulatedHolder) -> None:
    linked = auditor.link(DECISIONS, "register", name="decision")
    assert [column.id for column in auditor.columns("register")] == [linked.id]

    auditor.delete_column("register", linked.id)

    assert auditor.columns("register") == ()
    with pytest.raises(QuestionRefused, match="link them first"):
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted"])


def test_an_answer_about_another_column_of_the_name_is_not_used_again(
    auditor: Auditor, holder: SimulatedHolder
) -> None:
    """The rules read alike; only the ids differ."""
    first = auditor.audit(score(), "register", ["sex"], "1")
    same = auditor.audit(score(), "register", ["sex"], "0.5")
    other = auditor.audit(score(slope=3.0), "register", ["sex"], "0.5")

    assert (first.reused, same.reused, other.reused) == (False, True, False)
    assert other.release.id != first.release.id


def test_a_bundle_holds_the_documents_of_scores_and_no_digest_of_linked_values(
    auditor: Auditor, tmp_path: Path
) -> None:
    linked = auditor.link(DECISIONS, "register", name="decision")
    audits = [
        auditor.audit(score(), "register", ["sex"], "1"),
        auditor.audit(dataset="register", sensitive=["sex"], epsilon="1", decision="decision", favourable=["granted"]),
    ]
    path = write_bundle(tmp_path / "audits.zip", audits, auditor.receipts)

    assert [check.fault for check in check_bundle(path).checks] == [None, None]
    kept = "".join(note.model_dump_json() for note in Notes(tmp_path / "receipts", Note).read())
    assert '"slope":2.0' in kept
    assert linked.id in kept
    assert linked.values not in kept
    assert auditor.history("register").audits[0].plan.columns


def test_a_note_with_another_document_than_its_id_is_noticed(auditor: Auditor, tmp_path: Path) -> None:
    audit = auditor.audit(score(), "register", ["sex"], "1")
    note = audit.note
    [held] = note.source.columns
    assert held.is_of("ADR", "register")

    document = json.loads(held.model_dump_json())
    document["score"]["terms"][0]["slope"] = 5.0

    assert not HeldColumn.model_validate(document).is_of("ADR", "register")
    assert not held.is_of("BOB", "register")


def test_reports_speak_of_what_was_audited(auditor: Auditor) -> None:
    auditor.link(DECISIONS, "register", name="decision")
    common: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "1"}
    linked = auditor.audit(decision="decision", favourable=["granted"], **common)
    declared = auditor.audit(decision="citizen", favourable="true", **common)
    model, tree = auditor.audit(score(), **common), auditor.audit(FOUR_LEAVES, **common)

    for audit, words in (
        (linked, "The decisions in the column “decision”, linked by the auditor."),
        (declared, "The decisions in the column “citizen”, as the holder’s records have it."),
        (model, "A logistic model. It was not compared with another reading of the same model."),
        (tree, "A decision tree, given as it is."),
    ):
        assert words in audit.summary()
        assert words in audit.to_html()
        assert audit.to_document()["meaning"]["What was audited"] == words
    for audit, name in (
        (linked, "the decision practice in the column “decision”"),
        (declared, "the decision practice in the column “citizen”"),
        (model, "the model"),
        (tree, "the tree"),
    ):
        assert f"{name} meets the four-fifths" in audit.summary()
        assert ("the tree" in audit.to_html().lower()) == (audit is tree)
        assert ("the model" in audit.to_html().lower()) == (audit is model)
    assert linked.summary().startswith("Among the people with a decision in the register, the decision practice")
    assert linked.view.data.headline.count("people with a decision") == 1, "said once, with the verdict"
    assert declared.summary().startswith("Among the people in the register, the decision practice")
    assert "within the scope" not in linked.to_html(), "nobody asked for one"
    assert "People without a value in “decision” are not counted" in linked.to_html()
    assert "are not counted" not in declared.to_html()
    assert "provenance" not in tree.to_document()
    assert linked.to_document()["columns"] == linked.plan.columns
    assert linked.plan.columns is not None
    assert linked.plan.columns["decision"] in linked.to_html()


def test_decisions_are_named_by_their_column_and_have_no_model(auditor: Auditor) -> None:
    auditor.link(DECISIONS, "register", name="decision")
    common: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "1", "intervention": "assistive"}
    linked = auditor.audit(decision="decision", favourable=["granted"], **common)
    model = auditor.audit(score(), about=About(model_name="Card"), **common)
    digest = model.model.rules.removeprefix("sha256:")[:12]

    comparison = compare_results(linked, model).view.data
    assert comparison.first == "the decision practice in the column “decision”"
    assert comparison.second == f"Card, a logistic model, model {digest}, 2 rules"
    assert [fact.term for fact in comparison.facts if fact.term.endswith("Model")] == ["Second: Model"]
    assert "Model" not in {fact.term for fact in linked.view.data.question}
    history = auditor.history("register")
    assert [row.audited for row in history.view.data.rows] == [
        "the decision practice in the column “decision”",
        f"Card, {digest}",
    ]
    assert len(auditor.history("register", model=digest)) == 1


def test_a_comparison_of_other_people_says_so(auditor: Auditor) -> None:
    common: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "1"}
    everybody, adults = (auditor.audit(score(), **common, where=where) for where in ([], ["age >= 30"]))

    other, same = compare_results(everybody, adults), compare_results(adults, adults)

    assert "among the people whom each audit counts," in other.view.data.headline.lower()
    assert "The audits may count different people" in other.to_html()
    assert [fact.text for fact in other.view.data.facts if "ithin" in fact.term] == ["age is at least 30"]
    assert "Second: Within: age is at least 30" in other.summary()
    assert "among the people in the register within the scope," in same.view.data.headline.lower()
    assert "The audits may count different people" not in same.to_html()
    assert "\nWithin: age is at least 30" in same.summary()


def test_the_scope_that_was_asked_for_is_said(auditor: Auditor) -> None:
    auditor.link(DECISIONS, "register", name="decision")
    audit = auditor.audit(
        dataset="register",
        sensitive=["sex"],
        epsilon="1",
        decision="decision",
        favourable=["granted"],
        where=["age >= 30"],
    )

    assert audit.summary().startswith(
        "Among the people with a decision in the register within the scope, the decision practice"
    )
    assert audit.view.data.scope == ("age is at least 30",)
    assert len(audit.to_document()["scope"]) == 2


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (
            Provenance("a gradient-boosted model of 300 trees, LightGBM 4", "x", "LightGBM 4", 40_000),
            "A gradient-boosted model of 300 trees, LightGBM 4, read exactly: 0 of 40 000 probes differ.",
        ),
        (
            Provenance("a linear model", "x", "scikit-learn", 4000, 1, 2e-15, 1e-16),
            (
                "A linear model, read exactly except for rounding: 1 of 4 000 probes are decided differently. Scores "
                "differ by at most 1e\N{MINUS SIGN}16; rounding may make 2e\N{MINUS SIGN}15."
            ),
        ),
    ],
)
def test_how_a_model_was_read_is_one_sentence(read: Provenance, words: str) -> None:
    assert provenance_words(read).replace("\N{NARROW NO-BREAK SPACE}", " ") == words


def of_a_register(audit: AuditResult, people: int) -> AuditResult:
    """The audit as it is read where the holder publishes that the register is about so many people."""
    dataset = audit.question.dataset.model_copy(update={"metadata": DatasetMetadata(people=people)})
    return replace(audit, question=replace(audit.question, dataset=dataset))


def test_linked_decisions_that_match_almost_nobody_are_said_to_be_few(auditor: Auditor) -> None:
    auditor.link(DECISIONS, "register", name="decision")
    common: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "1", "intervention": "assistive"}
    linked = auditor.audit(decision="decision", favourable=["granted"], **common)
    declared = auditor.audit(decision="citizen", favourable=["true"], **common)

    few = of_a_register(linked, 10_000_000)
    people = next(fact.text for fact in few.view.data.facts if fact.term == "People with a decision")
    assert f"The figures are about few people: {people}." in few.view.data.headline
    assert any(
        f"linked decision for hardly anybody in the register: {people}." in one for one in few.view.data.warnings
    )
    auditor.link(DECISIONS[["id"]].assign(points=[1.0, 2.0, float("nan")]), "register", name="points")
    within = auditor.audit(decision="decision", favourable=["granted"], by="education", **common)
    bands = auditor.audit(decision="points", edges=(1.5, 2.5), above=1.5, **common)
    for other in (within, bands):
        assert "The figures are about few people: " in of_a_register(other, 10_000_000).view.data.headline
        assert "few people" not in other.view.data.headline
    for compared in (compare_results(few, few), compare_results(declared, few), compare_results(few, declared)):
        assert compared.view.data.headline.count(f"The figures are about few people: {people}.") == 1
    assert "few people" not in compare_results(linked, declared).view.data.headline
    for other in (of_a_register(linked, 2_000), linked, of_a_register(declared, 10_000_000)):
        assert "few people" not in other.view.data.headline
        assert not any("linked decision" in one for one in other.view.data.warnings)


def test_rates_above_thresholds_are_no_pass_where_being_below_may_be_a_burden(auditor: Auditor) -> None:
    auditor.link(DECISIONS[["id"]].assign(points=[1.0, 2.0, float("nan")]), "register", name="points")
    asked: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "epsilon": "1", "edges": (1.5, 2.5)}

    for intervention, said in (("assistive", False), ("punitive", True), (None, True)):
        found = auditor.audit(decision="points", above=1.5, intervention=intervention, **asked)
        assert found.view.data.scores is not None
        assert ("If being below is a burden" in found.view.data.scores.conclusion) == said


def test_both_outcomes_are_followed_where_nobody_said_which_counts(auditor: Auditor) -> None:
    found = auditor.audit(FOUR_LEAVES, dataset="register", sensitive=["sex"], epsilon="1")
    intervals = {PARITY: (0.96, 0.97), ADVERSE: (1.1, 1.4)}
    estimates: dict[str, Any] = dict(found.estimates)
    for metric, (low, high) in intervals.items():
        ratio = replace(estimates[metric].ratio, low=low, high=high, value=low)
        estimates[metric] = replace(estimates[metric], threshold=0.8, ratio=ratio)
    undecided = replace(found, estimates=estimates)
    assert [estimate.verdict for estimate in undecided.estimates.values()] == [Verdict.MEETS, Verdict.UNDECIDED]
    assert undecided.open

    adverse = estimates[ADVERSE]
    burden = replace(adverse.ratio, low=5.8, high=6.7, value=6.2)
    depends = replace(found, estimates={**estimates, ADVERSE: replace(adverse, ratio=burden)})
    assert not depends.open
    assert [row.verdict for row in history_data([depends]).rows] == [Verdict.DEPENDS.value] * 2
    table = history_table([depends])
    assert list(table["audit_verdict"]) == [Verdict.DEPENDS.value] * 2
    assert list(table["verdict"]) == [Verdict.MEETS.value, Verdict.FAILS.value]


def test_adverse_ratios_cannot_be_watched(auditor: Auditor) -> None:
    punitive = auditor.audit(FOUR_LEAVES, "register", ["sex"], "1", intervention="punitive")

    with pytest.raises(QuestionRefused, match="cannot watch adverse ratios yet"):
        watch_of(punitive, "0.5")
