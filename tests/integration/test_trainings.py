"""A training end to end through the real service: charged once, stored, signed, replayed for nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import TRAININGS
from holder_service.domain.ledger import Event
from holder_service.learning.learners import LEARNERS
from holder_service.services.running import overview
from holder_service.web.console.words import what_happened
from shared.contract.datasets import DatasetDescription
from shared.kinds.releases import verify_signature
from shared.kinds.trainings import TrainedTree, Training, TrainingQuote, TrainingRelease
from shared.privacy.amounts import parse_nano
from shared.scores.documents import check_document
from testing.console_visitors import visitor
from testing.holders import TestedHolder, forked, running_holder
from testing.refusals import refused
from testing.registers import LEARNABLE, learnable_csv, plan, training
from testing.tampering import edit


@pytest.fixture
def loans(holder: TestedHolder) -> TestedHolder:
    """A holder, on either store, that offers trainings about the dataset "loans"."""
    holder.offer("loans", learnable_csv(), epsilon="10", columns=LEARNABLE["columns"])
    return holder


@pytest.fixture
def sqlite_loans(sqlite_holder: TestedHolder) -> TestedHolder:
    """The same on SQLite alone, where the store makes no difference."""
    sqlite_holder.offer("loans", learnable_csv(), epsilon="10", columns=LEARNABLE["columns"])
    return sqlite_holder


def ask(holder: TestedHolder, body: dict[str, Any], *, key: str | None = None) -> httpx.Response:
    return holder.auditor("POST", "/datasets/loans/trainings", key=key, json=body)


def quoted(holder: TestedHolder, body: dict[str, Any], *, dataset: str = "loans") -> httpx.Response:
    return holder.auditor("POST", f"/datasets/{dataset}/trainings/quotes", json=body)


def test_a_training_is_answered_charged_and_signed(loans: TestedHolder) -> None:
    answer = ask(loans, training(epsilon="1", depth=2))

    assert answer.status_code == 201, answer.text
    release = TrainingRelease.model_validate(answer.json())
    asked = Training.model_validate(training(epsilon="1", depth=2)).pinned(1)
    assert release.id == asked.identity(auditor="ADR", dataset="loans")
    assert release.training == asked
    assert (release.relation, release.version) == ("add_remove", 1)
    assert isinstance(release.model, TrainedTree)
    assert [leaf.cell.id for leaf in release.model.leaves] == ["0", "1", "2", "3"]
    assert release.counts is not None
    assert release.counts.groups == (("Female",), ("Male",))
    assert [len(leaf.positive) for leaf in release.counts.leaves] == [2] * 4
    assert release.counts.noise.scale == pytest.approx(1 / 0.45)
    assert release.charge.document() == {"epsilon": "1", "delta": "0"}
    assert release.remaining.document() == {"epsilon": "9", "delta": "0"}
    assert loans.spent(dataset="loans") == "1"
    verify_signature(answer.json(), loans.published_keys())
    assert answer.headers["location"] == f"/v1/datasets/loans/trainings/{release.id}"
    entry = loans.auditor("GET", f"/ledger/entries/{release.ledger.sequence}").json()
    assert entry == {"sequence": release.ledger.sequence, "hash": release.ledger.hash}
    charges = [one for one in loans.entries() if one["kind"] == "charge"]
    assert [(one["subject"], one["epsilon_nano"]) for one in charges] == [(release.id, 10**9)]
    assert loans.is_intact()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_every_algorithm_is_quoted_charged_and_verified(sqlite_holder: TestedHolder, name: str, relation: str) -> None:
    """Whole, as its steps say; the auditor's own checks agree, and the model is one of the features' bins."""
    sqlite_holder.offer("loans", learnable_csv(), epsilon="10", columns=LEARNABLE["columns"], relation=relation)
    body = {**training(epsilon="0.7"), "algorithm": {"name": name}, "version": 1}
    asked = Training.model_validate(body)
    described = sqlite_holder.auditor("GET", "/datasets/loans").json()
    dataset = DatasetDescription.model_validate(described)

    quote = TrainingQuote.model_validate(quoted(sqlite_holder, body).json())
    answer = ask(sqlite_holder, body)

    priced = TRAININGS.priced(asked, quote, RequestContext.of(dataset, "ADR"))
    release = priced.verified(answer.json(), sqlite_holder.published_keys())
    assert sum(parse_nano(step.epsilon) for step in release.steps) == asked.epsilon
    assert sqlite_holder.spent(dataset="loans") == "0.7"
    assert ask(sqlite_holder, body).content == answer.content
    if release.model.kind == "score":
        check_document(release.model.document, dataset.table)


def test_the_same_training_again_is_the_same_bytes_and_costs_nothing(sqlite_loans: TestedHolder) -> None:
    first = ask(sqlite_loans, training())
    algorithm = {"name": "fair_tree", "depth": 2, "splits": "0.5"}
    spelled = {**training(), "epsilon": "1.0", "draw": 1, "algorithm": algorithm}

    for body in (training(), training(version=1), spelled):
        again = ask(sqlite_loans, body)
        assert (again.status_code, again.content) == (200, first.content)

    assert sqlite_loans.spent(dataset="loans") == "1"
    assert sqlite_loans.auditor("GET", f"/datasets/loans/trainings/{first.json()['id']}").content == first.content


def test_another_draw_is_another_model_and_is_charged(sqlite_loans: TestedHolder) -> None:
    first, second = (ask(sqlite_loans, training(draw=draw)).json() for draw in (1, 2))

    assert first["id"] != second["id"]
    assert first["counts"] != second["counts"]
    assert sqlite_loans.spent(dataset="loans") == "2"


def test_plans_and_trainings_are_listed_apart(sqlite_loans: TestedHolder) -> None:
    """A list of releases shows what it always did; whoever reads it knows plans alone."""
    counted, trained = sqlite_loans.release(plan(), dataset="loans").json(), ask(sqlite_loans, training()).json()

    listed = {
        kind: [one["id"] for one in sqlite_loans.auditor("GET", f"/datasets/loans/{kind}").json()[kind]]
        for kind in ("releases", "trainings")
    }

    assert listed == {"releases": [counted["id"]], "trainings": [trained["id"]]}
    for kind, other in (("releases", trained), ("trainings", counted)):
        refused(sqlite_loans.auditor("GET", f"/datasets/loans/{kind}/{other['id']}"), "not-found", holder=sqlite_loans)
    stranger = sqlite_loans.open_auditor("second", dataset="loans")
    missing = sqlite_loans.auditor("GET", f"/datasets/loans/trainings/{trained['id']}", key=stranger)
    refused(missing, "not-found", holder=sqlite_loans)


def test_a_quote_says_the_price_and_touches_nothing(sqlite_loans: TestedHolder) -> None:
    answer = TrainingQuote.model_validate(quoted(sqlite_loans, training(epsilon="0.5", depth=3)).json())

    assert answer.charge.document() == {"epsilon": "0.5", "delta": "0"}
    assert [(step.measures, step.epsilon) for step in answer.steps] == [
        ("counts", "0.025"), *[("choices", "0.083333333")] * 3, ("counts", "0.225000001"),
    ]  # fmt: skip
    released = ask(sqlite_loans, training(epsilon="0.5", depth=3)).json()
    assert [step.model_dump() for step in answer.steps] == released["steps"]
    assert sqlite_loans.spent(dataset="loans") == "0.5"


def test_what_no_budget_holds_is_refused_and_costs_nothing(sqlite_loans: TestedHolder) -> None:
    sqlite_loans.grant("0.9", dataset="loans")
    document = refused(ask(sqlite_loans, training()), "budget-exhausted", holder=sqlite_loans)
    assert document["remaining"] == {"epsilon": "0.9", "delta": "0"}
    sqlite_loans.grant("5", dataset="loans")
    sqlite_loans.declare("loans", columns=LEARNABLE["columns"], cap={"epsilon": "0.9", "delta": "0"})

    refused(ask(sqlite_loans, training()), "cap-exhausted", holder=sqlite_loans)

    assert sqlite_loans.spent(dataset="loans") == "0"
    assert sqlite_loans.auditor("GET", "/datasets/loans/trainings").json()["trainings"] == []


def test_a_training_of_a_version_that_is_gone_is_refused_unless_it_was_answered(sqlite_loans: TestedHolder) -> None:
    first = ask(sqlite_loans, training(version=1))
    sqlite_loans.load(learnable_csv(seed=1), "loans")

    assert ask(sqlite_loans, training(version=1)).content == first.content
    refused(ask(sqlite_loans, training(version=1, draw=2)), "version-gone", holder=sqlite_loans)
    assert ask(sqlite_loans, training()).status_code == 201
    assert sqlite_loans.spent(dataset="loans") == "2"


def test_a_restarted_holder_answers_with_the_same_bytes(loans: TestedHolder) -> None:
    first = ask(loans, training())

    with loans.reopened() as again:
        assert ask(again, training()).content == first.content
        assert again.spent(dataset="loans") == "1"
        assert again.is_intact()


def test_many_who_ask_the_same_at_once_get_one_model_that_is_charged_once(loans: TestedHolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(loans, training()), range(16)))

    assert {answer.status_code for answer in answers} == {200, 201}
    assert sum(answer.status_code == 201 for answer in answers) == 1
    assert len({answer.content for answer in answers}) == 1
    assert loans.spent(dataset="loans") == "1"


def test_the_console_shows_what_a_charge_was_for(sqlite_loans: TestedHolder) -> None:
    sequences = [ask(sqlite_loans, training()).json()["ledger"]["sequence"]]
    sequences.append(sqlite_loans.release(plan(), dataset="loans").json()["ledger"]["sequence"])

    with visitor(sqlite_loans) as visits:
        trained, counted = (visits.get(f"/console/ledger/{sequence}") for sequence in sequences)
        listed = visits.get("/console/ledger")

    assert trained.status == counted.status == 200
    assert "for a model learned from it" in trained.text
    assert " Training sha256:" in trained.text
    assert " Plan sha256:" in counted.text
    assert "for a model learned from it" in listed.text


@pytest.mark.parametrize(
    ("relation", "people"), [("add_remove", 1), ("replace", 2)]
)  # fmt: skip
def test_the_noise_is_that_of_the_relation(sqlite_holder: TestedHolder, relation: str, people: int) -> None:
    sqlite_holder.offer("loans", learnable_csv(), columns=LEARNABLE["columns"], relation=relation)

    steps = quoted(sqlite_holder, training(depth=1)).json()["steps"]

    assert [step["scale"] for step in steps] == pytest.approx([people / part for part in (0.05, 0.5, 0.45)])
    assert ask(sqlite_holder, training(depth=1)).json()["relation"] == relation


def test_where_sensitive_attributes_alone_are_protected_no_training_is_offered(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.offer("loans", learnable_csv(), columns=LEARNABLE["columns"], relation="sensitive_attribute")

    assert "trainings" not in sqlite_holder.auditor("GET", "/datasets/loans").json()
    document = refused(ask(sqlite_holder, training()), "invalid-plan", holder=sqlite_holder)
    assert "sensitive_attribute" in document["detail"]


def test_the_description_says_which_trainings_there_are(sqlite_loans: TestedHolder) -> None:
    described = sqlite_loans.auditor("GET", "/datasets/loans").json()

    assert described["trainings"] == ["fair_tree", "private_fair_tree", "pflr", "pflr_star", "fair_linear"]
    assert described["limits"]["trainings"]["depth_max"] == 8
    unlabelled = sqlite_loans.auditor("GET", "/datasets/register").json()
    assert "trainings" not in unlabelled
    assert "trainings" not in unlabelled["limits"]


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"label": "citizen"}, "invalid-plan", "label"),
        ({"label": "wealth"}, "unknown-column", "label"),
        ({"sensitive": ["education"]}, "invalid-plan", "sensitive"),
        ({"sensitive": ["sex", "sex"]}, "invalid-plan", None),
        ({"features": [{"column": "sex"}]}, "sensitive-column", "features[0]"),
        ({"features": [{"column": "repaid"}]}, "invalid-plan", "features[0]"),
        ({"features": [{"column": "age"}]}, "invalid-plan", "features[0]"),
        ({"features": [{"column": "age", "cuts": [50, 20]}]}, "invalid-plan", "features[0]"),
        ({"features": [{"column": "education", "cuts": [1]}]}, "invalid-plan", "features[0]"),
        ({"features": [{"column": "citizen"}, {"column": "citizen"}]}, "invalid-plan", None),
        ({"algorithm": {"name": "oracle"}}, "invalid-plan", None),
        ({"algorithm": {"name": "pflr"}, "sensitive": ["sex", "origin"]}, "invalid-plan", "sensitive"),
        ({"algorithm": {"name": "pflr", "penalty": "100.1"}}, "invalid-amount", None),
        ({"algorithm": {"name": "pflr_star", "lowered": 2}}, "invalid-plan", None),
        ({"algorithm": {"name": "private_fair_tree", "similarity": "1.01"}}, "invalid-amount", None),
        ({"algorithm": {"name": "fair_tree", "depth": 9}}, "invalid-plan", None),
        ({"algorithm": {"name": "fair_linear", "group_quantiles": ["0.5", "0.5"]}}, "invalid-plan", None),
        ({"algorithm": {"name": "fair_tree", "splits": "0.000001"}}, "invalid-plan", "epsilon"),
        ({"epsilon": "1e3"}, "invalid-amount", None),
        ({"epsilon": "11"}, "invalid-amount", None),
        ({"version": 99}, "invalid-request", None),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(
    lasting_loans: TestedHolder, changes: dict[str, Any], code: str, field: str | None
) -> None:
    document = refused(ask(lasting_loans, {**training(), **changes}), code, holder=lasting_loans)

    assert field is None or document["field"] == field
    assert lasting_loans.spent(dataset="loans") == "0"


def test_a_level_of_too_many_cells_is_refused(lasting_loans: TestedHolder) -> None:
    many = [{"column": "age", "cuts": list(range(1, 65))}]

    document = refused(ask(lasting_loans, {**training(depth=7), "features": many}), "too-large", holder=lasting_loans)

    assert document["detail"].startswith("features: The training has more than 8192 cells on level 7")


def test_what_is_published_of_a_training_says_that_it_is_one(sqlite_loans: TestedHolder) -> None:
    sqlite_loans.release(plan(), dataset="loans")
    ask(sqlite_loans, training())

    counted, trained = sqlite_loans.admin("GET", "/datasets/loans/report").json()["releases"]

    assert "algorithm" not in counted
    assert (trained["algorithm"], trained["sensitive"]) == ("fair_tree", ["sex"])
    assert trained["mechanisms"] == ["laplace", "permute_and_flip"]
    assert trained["charge"] == {"epsilon": "1", "delta": "0"}
    said = [what_happened(entry_event) for entry_event in charged_events(sqlite_loans)]
    assert said == [
        "ADR was charged ε 0.1 about loans", "ADR was charged ε 1 about loans, for a model learned from it",
    ]  # fmt: skip


def charged_events(holder: TestedHolder) -> list[Event]:
    charges = [one["sequence"] for one in holder.entries() if one["kind"] == "charge"]
    return [overview.entry(holder.holder.store, sequence).event for sequence in charges]


def test_a_release_that_is_filed_as_another_kind_is_found_out(sqlite_loans: TestedHolder) -> None:
    ask(sqlite_loans, training())
    assert sqlite_loans.is_intact()

    edit(sqlite_loans.settings, "UPDATE releases SET kind = 'plan'")

    assert not sqlite_loans.is_intact()


def test_several_processes_answer_alike(tmp_path: Path) -> None:
    with running_holder(tmp_path) as first:
        first.offer("loans", learnable_csv(), epsilon="10", columns=LEARNABLE["columns"])
        made = first
    with forked(made.settings) as one, forked(made.settings) as other, made.at(one.url) as holder:
        with made.at(other.url) as beside:
            bodies = {ask(asked, training()).content for asked in (holder, beside, holder)}

        assert len(bodies) == 1
        assert holder.spent(dataset="loans") == "1"


@pytest.fixture(scope="module")
def lasting_loans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder of which nothing is charged."""
    with running_holder(tmp_path_factory.mktemp("loans")) as holder:
        holder.offer("loans", learnable_csv(), columns=LEARNABLE["columns"])
        yield holder
