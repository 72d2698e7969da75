"""A training from the auditor's side: asked once, verified, kept, decided for any ratio, and written as a model."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor, Reading, TrainingResult
from auditor_client.cli import app
from auditor_client.errors import HolderLied, QuestionRefused, ReceiptsDamaged
from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds, LeafCounts
from auditor_client.estimation.mending import greedy
from auditor_client.findings.training import trained
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import read_model
from auditor_client.report.languages import LANGUAGES
from auditor_client.report.training_data import training_data
from shared.contract.rules import Predicate
from shared.contract.schema import Column
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.scores.values import score_value
from testing.registers import LOANS
from testing.simulated_holder import KEY, SimulatedHolder

ASKED: dict[str, Any] = {"sensitive": "sex", "features": {"age": [25, 35, 60], "education": None}, "depth": 2}


@pytest.fixture
def loans(simulated: SimulatedHolder) -> SimulatedHolder:
    """A holder with a label. Its counts by age: 500, 700, 900, 1100 women and 410, 510, 610, 710 men."""
    simulated.dataset = LOANS
    return simulated


@pytest.fixture
def auditor(loans: SimulatedHolder, http: httpx.Client, tmp_path: Path) -> Iterator[Auditor]:
    with Auditor(loans.url, KEY, receipts=tmp_path / "receipts", http=http) as made:
        yield made


def asked_for_training(holder: SimulatedHolder) -> int:
    return holder.count("POST", "/trainings")


def test_a_model_is_trained_once_and_read_again_from_its_receipt(loans: SimulatedHolder, auditor: Auditor) -> None:
    first = auditor.train("register", epsilon=1, **ASKED)
    again = auditor.train("register", epsilon="1", ratio=0.97, **ASKED)

    assert asked_for_training(loans) == 1
    assert first.receipt.read_bytes() == loans.answered[first.release.id]
    assert (first.trained.reused, again.trained.reused) == (False, True)
    assert "ε = 1 was spent" in first.summary()
    assert "Nothing was spent" in again.summary()
    assert again.to_model() == first.at(0.97).to_model()
    assert auditor.verify().ok


def test_an_answer_that_was_lost_is_charged_once(loans: SimulatedHolder, auditor: Auditor) -> None:
    loans.answers_lost = 2

    result = auditor.train("register", epsilon=1, **ASKED)

    assert asked_for_training(loans) == 3
    assert len(loans.ledger) == 1
    assert result.release.ledger.sequence == 1


def test_a_lie_is_kept_as_evidence_and_is_no_receipt(loans: SimulatedHolder, auditor: Auditor) -> None:
    def lie(document: dict[str, Any]) -> None:
        document["model"]["leaves"][0]["favourable"] = True

    loans.before_signing = lie

    with pytest.raises(HolderLied, match=r"from its counts.* kept as evidence"):
        auditor.train("register", epsilon=1, **ASKED)

    assert auditor.receipts.files() == ()
    assert len(list((auditor.receipts.directory / "refused").iterdir())) == 1


def test_nothing_is_asked_at_a_false_price(loans: SimulatedHolder, auditor: Auditor) -> None:
    loans.change_quote = lambda quote: quote["steps"][0].update(scale=1.0)

    with pytest.raises(HolderLied, match="noise of step"):
        auditor.train("register", epsilon=1, **ASKED)

    assert asked_for_training(loans) == 0


def test_a_price_out_of_range_is_refused_in_plain_words(auditor: Auditor) -> None:
    with pytest.raises(QuestionRefused, match=r"^epsilon: epsilon must lie between 0\.001 and 10"):
        auditor.plan_training("register", epsilon=20, **ASKED)


def test_a_receipt_that_was_changed_is_not_used(loans: SimulatedHolder, auditor: Auditor) -> None:
    receipt = auditor.train("register", epsilon=1, **ASKED).receipt
    receipt.write_bytes(receipt.read_bytes().replace(b'"positive": [200', b'"positive": [201'))

    with pytest.raises(ReceiptsDamaged, match=r"does not hold .* at no cost"):
        auditor.train("register", epsilon=1, **ASKED)

    assert asked_for_training(loans) == 1


def test_figures_are_those_of_the_counts(auditor: Auditor) -> None:
    """By hand: the third and fourth ages are favourable by themselves, and the first and fourth make all alike."""
    tree = auditor.train("register", epsilon=10, **ASKED).trained.tree
    mended = auditor.train("register", epsilon=10, ratio=0.97, **ASKED).trained.tree

    assert tree is not None
    assert mended is not None
    assert [leaf.learned for leaf in tree.leaves] == [False, False, True, True]
    assert tree.met
    assert not tree.changed
    assert tree.ratio.value == pytest.approx((1320 / 2240) / (2000 / 3200), abs=1e-3)
    assert tree.accuracy.value == pytest.approx((900 + 1200 + 610 + 610) / 5440)
    assert tree.accuracy_of_none.value == pytest.approx(3000 / 5440)
    assert tree.accuracy.low < tree.accuracy.value < tree.accuracy.high
    assert mended.met
    assert {leaf.favourable for leaf in mended.leaves} == {True, False}
    assert mended.ratio.low >= 0.97
    assert mended.accuracy.value < tree.accuracy.value
    assert sum(leaf.cost for leaf in mended.leaves) == pytest.approx(
        5440 * (tree.accuracy.value - mended.accuracy.value)
    )
    assert [round(leaf.everybody.value) for leaf in tree.leaves] == [910, 1210, 1510, 1810]


def test_the_file_decides_as_the_leaves_do_and_says_what_it_was_trained_from(auditor: Auditor, tmp_path: Path) -> None:
    result = auditor.train("register", epsilon=10, ratio=0.97, **ASKED)

    read, _ = read_model(result.write_model(tmp_path / "model.json"), ModelRequest(LOANS.table))

    assert result.trained.tree is not None
    for age in range(121):
        leaf = next(one for one in result.trained.tree.leaves if one.rules[0].matches({"age": age}))
        assert read.tree.decide({"age": age}).favourable == leaf.favourable
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["trained"] == {
        "release": result.release.id, "dataset": "register", "version": 3, "algorithm": "fair_tree", "epsilon": "10",
        "ratio": 0.97, "met": True, "estimated": False, "level": 0.95,
    }  # fmt: skip
    assert read.provenance is not None
    assert "trained by fair_tree on register, version 3, for epsilon 10" in read.provenance.description


LINEAR: dict[str, Any] = {"sensitive": "sex", "features": ASKED["features"], "algorithm": "fair_linear"}


def test_a_tree_over_scores_is_written_with_them_and_decides_alike(auditor: Auditor, tmp_path: Path) -> None:
    """Bands are whole numbers of points: each record is decided as its own leaf is."""
    result = auditor.train("register", epsilon=10, ratio=0.6, **LINEAR)
    file = result.write_model(tmp_path / "model.json")

    read, _ = read_model(file, ModelRequest(LOANS.table))

    assert result.trained.tree is not None
    assert {column.name for column in read.columns} == {"label_score", "group_score"}
    assert {leaf.favourable for leaf in result.trained.tree.leaves} == {True, False}
    scores = {one.name: one.origin for one in read.columns}
    for age, education in itertools.product(range(121), [*LOANS.table.by_name["education"].values, None]):
        person = {"age": age, "education": education}
        if education is None and not LOANS.table.by_name["education"].nullable:
            continue
        values = {name: score_value(one.score, person) for name, one in scores.items() if not isinstance(one, str)}
        found = [leaf for leaf in result.trained.tree.leaves if leaf.rules[0].matches({**person, **values})]
        assert [leaf.favourable for leaf in found] == [read.tree.decide({**person, **values}).favourable]
    assert json.loads(file.read_text())["trained"]["algorithm"] == "fair_linear"


def test_the_bands_of_scores_are_said_in_words(auditor: Auditor) -> None:
    result = auditor.train("register", epsilon=10, ratio=0.6, **LINEAR)
    page, text = result.to_html(), result.summary()

    for words in ("points for repaid", "points for the worst-off group"):
        assert words in text
        assert words in page
    assert "at least 20" in text
    assert "label_score" not in text
    for language in LANGUAGES[1:]:
        assert "points for" not in result.to_html(language=language)


@pytest.mark.parametrize("called", [(), ("label_score",), ("label_score", "label_score_2", "group_score")])
def test_a_tree_over_scores_is_audited_in_the_same_run(
    loans: SimulatedHolder, auditor: Auditor, http: httpx.Client, called: tuple[str, ...]
) -> None:
    """Also on people of whom a column is called like a score: the holder of the training names them otherwise."""
    columns = tuple(Column(name=name, type="number") for name in called)
    trained_on = loans.dataset

    def declare_more(message: str) -> None:
        if message == "Auditing the model":
            loans.dataset = trained_on.model_copy(update={"columns": (*trained_on.columns, *columns)})

    with Auditor(loans.url, KEY, receipts=auditor.receipts.directory, http=http, on_step=declare_more) as patient:
        result = patient.train("register", epsilon=10, ratio=0.6, audit_on="register", audit_epsilon=1, **LINEAR)

    assert result.audit is not None
    names = {held.column.name for held in result.audit.question.source.columns}
    assert names
    assert not names & set(called)
    assert 0 < result.to_document()["audit"]["accuracy"]["value"] < 1


def test_where_the_ratio_is_not_shown_it_says_what_would(loans: SimulatedHolder, auditor: Auditor) -> None:
    result = auditor.train("register", epsilon="0.02", ratio=0.9, **ASKED)
    tree = result.trained.tree

    assert tree is not None
    assert not result.met
    assert not result.usable
    assert tree.ratio.low < 0.9
    assert tree.epsilon_needed is not None
    assert tree.epsilon_needed > 0.02
    assert "does not show any decisions of the tree’s leaves" in result.summary()
    assert f"training with epsilon {tree.epsilon_needed:g} found" in result.summary()
    assert auditor.train("register", epsilon=tree.epsilon_needed, ratio=0.9, **ASKED).met
    assert result.to_model()["trained"]["met"] is False


def test_what_is_estimated_to_meet_the_ratio_is_not_said_to_be_shown(auditor: Auditor) -> None:
    result = auditor.train("register", epsilon="0.03", ratio=0.8, **ASKED)
    tree = result.trained.tree

    assert tree is not None
    assert (tree.met, tree.estimated, result.usable) == (False, True, True)
    assert tree.ratio.low < 0.8 < tree.ratio.value
    assert "is estimated to meet a ratio of 0.8 for sex, but this is not shown" in result.summary()
    assert 'class="verdict undecided"' in result.to_html()
    assert result.to_document()["estimated"] is True


def test_what_never_meets_the_ratio_says_so(auditor: Auditor) -> None:
    result = auditor.train("register", epsilon=10, sensitive="sex", features="education", depth=2, ratio=1)

    assert not result.met
    assert "did not contain noise" in result.summary()


def test_a_tree_that_is_fair_and_no_better_than_deciding_alike_is_called_useless(auditor: Auditor) -> None:
    """Most people of every leaf have the label, and as many of each group come to it."""
    kept = auditor.train("register", epsilon=10, **ASKED).trained.kept
    assert kept.release.counts is not None
    leaves = [
        leaf.model_copy(update={"positive": (300, 300), "negative": (99, 99)}) for leaf in kept.release.counts.leaves
    ]
    counts = kept.release.counts.model_copy(update={"leaves": tuple(leaves)})
    alike = replace(kept, release=kept.release.model_copy(update={"counts": counts}))

    found = trained(LOANS, alike, ratio=0.8, reading=Reading())
    shown = training_data(found, None)

    assert found.tree is not None
    assert found.tree.ratio.low > 0.8
    assert (found.met, found.usable, shown.verdict) == (False, False, "none")
    assert shown.headline.endswith("meet a ratio of 0.8 for sex and are better than deciding alike about everybody.")
    assert "One decision for everybody is as fair and does not need a model" in shown.explanation


def test_the_search_can_be_replaced(auditor: Auditor) -> None:
    def second_alone(bounds: ChoiceBounds) -> tuple[BoolArray, bool]:
        return np.arange(bounds.leaves) == 1, False

    result = auditor.train("register", epsilon=10, **ASKED).at(0.8, search=second_alone)

    assert result.trained.tree is not None
    assert [leaf.favourable for leaf in result.trained.tree.leaves] == [False, True, False, False]
    assert result.trained.tree.ratio.value == pytest.approx((700 / 3200) / (510 / 2240), abs=1e-3)


def test_from_decisions_that_are_all_alike_a_search_begins_too() -> None:
    """Of more leaves than are tried in all sets: what is learned of few people with the label is that nobody has it."""
    people = np.array([[[5, 5]] * 20, [[100, 100]] * 20])[:, None]
    bounds = ChoiceBounds(LeafCounts(people, DiscreteLaplaceNoise(scale=0.5)), [0, 1], 0.8)

    found = greedy(bounds, np.zeros(20, np.bool_))

    assert found.any()
    assert bounds.lacking(found[None])[0] == 0


def test_leaves_that_nobody_can_come_to_are_left_out(auditor: Auditor) -> None:
    """The same split twice on one path: it is public that one of its sides is empty, and its counts are noise."""
    kept = auditor.train("register", epsilon=10, **ASKED).trained.kept
    model, counts = kept.release.model, kept.release.counts
    assert counts is not None
    leaf = model.leaves[0]  # type: ignore[union-attr]  # a tree
    never = (*leaf.cell.any_of[0].all_of, Predicate(column="age", op="ge", value=25))
    empty = leaf.model_copy(
        update={
            "cell": leaf.cell.model_copy(
                update={"id": "never", "any_of": (leaf.cell.any_of[0].model_copy(update={"all_of": never}),)}
            )
        }
    )
    release = kept.release.model_copy(
        update={
            "model": model.model_copy(update={"leaves": (*model.leaves, empty)}),  # type: ignore[union-attr]
            "counts": counts.model_copy(
                update={"leaves": (*counts.leaves, counts.leaves[0].model_copy(update={"id": "never"}))}
            ),
        }
    )

    tree = trained(LOANS, replace(kept, release=release), ratio=0.8, reading=Reading()).tree

    assert tree is not None
    assert len(tree.leaves) == 4
    assert sum(leaf.everybody.value for leaf in tree.leaves) == 5440


def test_small_groups_can_be_left_out(auditor: Auditor) -> None:
    """Women from here are 3200, all others 2240, 2280, 2320 and so on; noise moves a group's size by a few."""
    by_both = auditor.train("register", epsilon=10, judged="2300", **{**ASKED, "sensitive": ("sex", "origin")})

    assert by_both.trained.tree is not None
    assert by_both.trained.tree.left_out == by_both.trained.groups[1:3]
    assert "Groups left out" in by_both.to_html()
    with pytest.raises(QuestionRefused, match="leave `judged` out"):
        auditor.train("register", epsilon=10, judged="2300", **ASKED)


PUBLISHED: dict[str, dict[str, Any]] = {
    "private_fair_tree": {"depth": 2, "similarity": "0.2"},
    "pflr": {"penalty": 2, "free_covariance": 1},
    "pflr_star": {"fairness": "0.25", "lowered": "Male"},
}


def published(auditor: Auditor, algorithm: str, **more: Any) -> TrainingResult:
    """A model by the learner of a publication."""
    asked = {name: value for name, value in ASKED.items() if name != "depth"}
    return auditor.train("register", epsilon=10, algorithm=algorithm, **asked, **PUBLISHED[algorithm], **more)


@pytest.mark.parametrize("algorithm", PUBLISHED)
def test_a_published_learner_is_shown_with_a_warning_and_no_promise(auditor: Auditor, algorithm: str) -> None:
    result = published(auditor, algorithm)
    page, text, document = result.to_html(), result.summary(), result.to_document()

    assert result.usable
    assert not result.met
    assert document["promises_ratio"] is False
    for words in (f"{algorithm} is a published learner. It does not promise a ratio", "audit it"):
        assert words in text
        assert words in page
    assert 'class="warnings"' in page
    assert "estimated to meet" not in page
    for language in LANGUAGES[1:]:
        assert "learner of a publication" not in result.to_html(language=language)
    assert 'class="warnings"' not in auditor.train("register", epsilon=10, **ASKED).to_html()


def test_the_tree_of_a_publication_decides_as_it_learned(auditor: Auditor, tmp_path: Path) -> None:
    """The third and fourth ages have more people with the label than without."""
    result = published(auditor, "private_fair_tree")

    read, _ = read_model(result.write_model(tmp_path / "tree.json"), ModelRequest(LOANS.table))

    assert [read.tree.decide({"age": age}).favourable for age in (20, 30, 50, 70)] == [False, False, True, True]
    assert "age is at least 60: favourable" in result.summary()
    assert list(result.to_frame()["favourable"]) == [False, False, True, True]
    assert json.loads((tmp_path / "tree.json").read_text())["trained"]["algorithm"] == "private_fair_tree"
    assert "ratio" not in json.loads((tmp_path / "tree.json").read_text())["trained"]


def test_a_published_tree_that_decides_alike_about_everybody_is_not_written(
    loans: SimulatedHolder, auditor: Auditor
) -> None:
    def refuse_everybody(document: dict[str, Any]) -> None:
        for leaf in document["model"]["leaves"]:
            leaf["favourable"] = False

    loans.before_signing = refuse_everybody

    result = published(auditor, "private_fair_tree", audit_on="register", audit_epsilon=1)

    assert not result.usable
    assert result.audit is None
    assert "decides alike about everybody" in result.to_html()


@pytest.mark.parametrize("algorithm", ["pflr", "pflr_star"])
def test_a_score_is_written_with_its_threshold_and_said_value_by_value(
    auditor: Auditor, tmp_path: Path, algorithm: str
) -> None:
    """Everybody has -1, and each later bin of ages ½ more: from the third on it is 0."""
    result = published(auditor, algorithm)

    read, _ = read_model(result.write_model(tmp_path / "score.json"), ModelRequest(LOANS.table))

    assert not isinstance(read.columns[0].origin, str)
    score = read.columns[0].origin.score
    assert [score_value(score, {"age": age}) for age in (20, 30, 50, 70)] == [-1, -0.5, 0, 0.5]
    assert "age is at least 60: +1.5" in result.summary()
    assert "everybody: −1" in result.summary()
    assert "What each value is worth" in result.to_html()
    assert result.to_frame().empty


@pytest.mark.parametrize("algorithm", PUBLISHED)
def test_a_published_model_is_audited_in_the_same_run(auditor: Auditor, algorithm: str) -> None:
    result = published(auditor, algorithm, audit_on="register", audit_epsilon=1)

    assert result.audit is not None
    assert "The audit below shows" in result.to_html()
    assert "audit it" not in result.to_html()
    assert "counting people by label and group" not in result.to_html()
    assert ("counting people by label" in result.to_html()) == (algorithm == "private_fair_tree")
    assert "Audited on register, version 3" in result.summary()
    assert result.to_document()["spent"] == {"epsilon": "11", "delta": "0"}


def test_the_points_of_both_scores_are_said(auditor: Auditor) -> None:
    page = auditor.train("register", epsilon=10, ratio=0.6, **LINEAR).to_html()

    assert "For the worst-off group" in page
    assert "+10" in page


def test_every_form_has_the_figures(auditor: Auditor) -> None:
    result = auditor.train("register", epsilon=10, ratio=0.97, **ASKED)
    page, document = result.to_html(), result.to_document()

    assert document["format"] == "pafer-training/1"
    assert document["answer"] == json.loads(result.receipt.read_bytes())
    assert len(document["leaves"]) == len(result.to_frame()) == 4
    assert [step["epsilon"] for step in document["steps"]] == ["0.5", "2.5", "2.5", "4.5"]
    assert "split 2" in page
    assert "<script" not in page
    json.dumps(document, allow_nan=False)
    for language in LANGUAGES[1:]:
        assert "What epsilon bought" not in result.to_html(language=language)
    assert "TrainingResult" in repr(result)
    assert result._repr_html_().startswith("<iframe")


def test_the_model_is_audited_in_the_same_run(loans: SimulatedHolder, auditor: Auditor) -> None:
    result = auditor.train("register", epsilon=10, ratio=0.7, audit_on="register", audit_epsilon=1, **ASKED)

    document = result.to_document()
    assert result.audit is not None
    assert result.audit.question.source.provenance is not None
    assert result.audit.threshold == 0.7
    assert document["spent"] == {"epsilon": "11", "delta": "0"}
    assert 0 < document["audit"]["accuracy"]["value"] < 1
    assert "Audited on register, version 3" in result.summary()
    assert "ε = 11 was spent now in all." in result.to_html()


def test_an_audit_that_could_not_be_is_refused_before_anything_is_spent(
    loans: SimulatedHolder, auditor: Auditor
) -> None:
    for wrong in ({"ratio": 0}, {"audit_on": "register"}, {"ratoi": 0.8}, {"joint": True}):
        with pytest.raises(QuestionRefused):
            auditor.train("register", epsilon=1, **ASKED, **wrong)

    assert loans.count("POST", "") == 0


@pytest.fixture
def command(loans: SimulatedHolder, tmp_path: Path) -> Any:
    """Runs `auditor train` against the holder."""
    environment = {
        "AUDITOR_HOLDER_URL": loans.url, "AUDITOR_API_KEY": KEY, "AUDITOR_RECEIPTS": str(tmp_path / "receipts"),
        "AUDITOR_CONFIG": "",
    }  # fmt: skip

    def run(*arguments: str) -> Any:
        features = ("--sensitive", "sex", "--feature", "age=25,35,60", "--feature", "education", "--depth", "2")
        return CliRunner().invoke(app, ["train", "register", *features, *arguments], env=environment)

    return run


def test_the_command_shows_the_price_and_writes_model_and_report(command: Any, tmp_path: Path) -> None:
    out, report = tmp_path / "model.json", tmp_path / "report.html"

    ran = command("--epsilon", "10", "--ratio", "0.97", "--out", str(out), "--report", str(report))
    as_json = command("--epsilon", "10", "--ratio", "0.97", "--json")

    assert ran.exit_code == 0, ran.output
    assert "split 1 ε = 2.5" in ran.stderr
    assert "the trained tree meets a ratio of 0.97 for sex" in ran.stdout
    assert json.loads(out.read_text())["trained"]["ratio"] == 0.97
    assert "What epsilon bought" in report.read_text()
    assert json.loads(as_json.stdout)["reused"] is True


def test_the_command_writes_no_model_that_is_not_shown_to_be_fair(command: Any, tmp_path: Path) -> None:
    out = tmp_path / "model.json"

    ran = command(
        "--epsilon", "0.02", "--ratio", "0.9", "--out", str(out), "--audit-on", "register", "--audit-epsilon", "1"
    )

    assert ran.exit_code == 1
    assert not out.exists()
    assert "would show that some decisions are enough" in ran.stdout
    assert "Audited on" not in ran.stdout


def test_errors_name_flags(command: Any) -> None:
    assert "--audit-on" in command("--epsilon", "1", "--audit-epsilon", "1").stderr
    assert "--feature" in command("--epsilon", "1", "--feature", "hours").stderr
    assert "--epsilon" in command().stderr
