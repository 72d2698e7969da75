"""Under `sensitive_attribute` a population has one set of sensitive columns in all its datasets (2-privacy §2)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from checks.declarations import Outcome, triple
from holder_service.services.datasets import datasets as service
from holder_service.services.running.holder import Holder, initialise
from testing.holders import TestedHolder, settings_in
from testing.refusals import refused
from testing.registers import EVERYBODY, plan

AGE: Final = {"name": "age", "type": "integer", "minimum": 0, "maximum": 120}
SEX: Final = {"name": "sex", "type": "category", "categories": ["Female", "Male"]}
ORIGIN: Final = {"name": "origin", "type": "category", "categories": ["here", "there"]}
REPORT: Final = {"name": "report", "type": "boolean", "sensitive": True, "randomised_response": {"kept": "0.75"}}
TRIPLES: Final = 300


def secret(column: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A column as a sensitive one."""
    return {**column, "sensitive": True, **changes}


def declare(holder: TestedHolder, name: str, *columns: dict[str, Any], **changes: Any) -> Any:
    """Declare a dataset of the population "people"."""
    fields = {"population": "people", "relation": "sensitive_attribute", "columns": list(columns), **changes}
    return holder.declare(name, **fields)


def charge(holder: TestedHolder, name: str, csv: str, *sensitive: str) -> None:
    """Load a record and release the number of people by some columns."""
    assert holder.load(csv.encode(), name).status_code == 200
    assert holder.grant("1", dataset=name).status_code == 200
    asked = plan(cells=[EVERYBODY], sensitive=sensitive)
    assert holder.release(asked, dataset=name).status_code == 201


@pytest.fixture
def by_sex(sqlite_holder: TestedHolder) -> TestedHolder:
    """A holder with the dataset "by-sex" of the population "people", about which something was released."""
    assert declare(sqlite_holder, "by-sex", AGE, secret(SEX)).status_code == 200
    charge(sqlite_holder, "by-sex", "id,age,sex\np,40,Female\n", "sex")
    return sqlite_holder


def test_a_sensitive_column_is_no_feature_of_another_dataset(by_sex: TestedHolder) -> None:
    """Rules about sex would let one person's change move two counts for the price of one, and reports for nothing."""
    for columns in ((AGE, SEX, secret(ORIGIN)), (AGE, SEX, REPORT)):
        document = refused(declare(by_sex, "by-origin", *columns), "conflict", holder=by_sex)

        assert "'sex' is sensitive in dataset 'by-sex'" in document["detail"]
        assert by_sex.auditor("GET", "/datasets/by-origin").status_code == 404


def test_a_label_is_no_sensitive_column_of_another_dataset(sqlite_holder: TestedHolder) -> None:
    label = {"name": "granted", "type": "boolean", "label": True}
    assert declare(sqlite_holder, "loans", secret(SEX), label).status_code == 200

    answer = declare(sqlite_holder, "people", secret({"name": "granted", "type": "boolean"}))

    refused(answer, "conflict", holder=sqlite_holder)


def test_after_a_charge_no_column_becomes_sensitive(by_sex: TestedHolder) -> None:
    """It may have been a feature of a dataset that was declared again since, and rules may have compared it."""
    for name in ("by-sex", "by-origin"):
        for columns in ((AGE, secret(SEX), secret(ORIGIN)), (secret(ORIGIN),)):
            document = refused(declare(by_sex, name, *columns), "already-charged", holder=by_sex)

            assert "another dataset" not in document["detail"].lower(), "no text advises a way round"
    assert by_sex.auditor("GET", "/datasets/by-origin").status_code == 404


def test_a_dropped_feature_does_not_come_back_as_sensitive(by_sex: TestedHolder) -> None:
    assert declare(by_sex, "by-sex", secret(SEX)).status_code == 200

    refused(declare(by_sex, "by-age", secret(AGE), secret(SEX)), "already-charged", holder=by_sex)


def test_a_retired_dataset_keeps_its_sensitive_columns(by_sex: TestedHolder) -> None:
    assert by_sex.admin("DELETE", "/datasets/by-sex").status_code == 204

    refused(declare(by_sex, "by-origin", SEX, secret(ORIGIN)), "conflict", holder=by_sex)
    refused(declare(by_sex, "by-sex", SEX, secret(ORIGIN)), "already-charged", holder=by_sex)
    assert declare(by_sex, "by-sex", AGE, secret(SEX)).status_code == 200


def test_what_no_promise_rests_on_may_still_change(by_sex: TestedHolder) -> None:
    """Features, order and the values of a sensitive column that was not perturbed."""
    more = secret(SEX, categories=["Female", "Male", "Other"], nullable=True)

    assert declare(by_sex, "by-sex", more, ORIGIN).status_code == 200
    assert declare(by_sex, "second", secret(SEX), AGE).status_code == 200


def test_before_a_charge_datasets_agree_too(sqlite_holder: TestedHolder) -> None:
    assert declare(sqlite_holder, "one", AGE, SEX, secret(ORIGIN)).status_code == 200
    refused(declare(sqlite_holder, "two", secret(SEX)), "conflict", holder=sqlite_holder)

    assert declare(sqlite_holder, "one", AGE, secret(ORIGIN)).status_code == 200
    assert declare(sqlite_holder, "two", secret(SEX)).status_code == 200

    charge(sqlite_holder, "two", "id,sex\np,Female\n", "sex")
    assert declare(sqlite_holder, "one", secret(SEX), secret(ORIGIN)).status_code == 200
    refused(declare(sqlite_holder, "one", secret(SEX)), "already-charged", holder=sqlite_holder)


@pytest.mark.parametrize(
    "other",
    [
        secret({"name": "report", "type": "boolean"}),
        {**REPORT, "randomised_response": {"kept": "0.8"}},
        {**REPORT, "type": "category", "categories": ["a", "b", "c"]},
    ],
    ids=["as it is", "kept more often", "of more values"],
)
def test_reports_are_of_one_perturbation(sqlite_holder: TestedHolder, other: dict[str, Any]) -> None:
    assert declare(sqlite_holder, "one", REPORT, AGE).status_code == 200

    refused(declare(sqlite_holder, "two", other), "conflict", holder=sqlite_holder)


def test_populations_whose_datasets_contradict_each_other_are_not_merged(by_sex: TestedHolder) -> None:
    def merge(source: str) -> Any:
        return by_sex.admin("POST", "/populations/people/merge", json={"population": source})

    assert declare(by_sex, "plain", AGE, SEX, secret(ORIGIN), population="plain").status_code == 200
    refused(merge("plain"), "conflict", holder=by_sex)

    assert declare(by_sex, "plain", AGE, secret(ORIGIN), population="plain").status_code == 200
    refused(merge("plain"), "already-charged", holder=by_sex)

    assert declare(by_sex, "plain", ORIGIN, secret(SEX), population="plain").status_code == 200
    assert merge("plain").status_code == 204
    refused(declare(by_sex, "plain", secret(ORIGIN), secret(SEX)), "already-charged", holder=by_sex)
    assert by_sex.admin("POST", "/ledger/verify").json()["intact"]


def test_a_population_that_was_charged_keeps_its_set_when_it_joins_another(by_sex: TestedHolder) -> None:
    assert declare(by_sex, "fresh", secret(ORIGIN), secret(SEX), population="fresh").status_code == 200

    answer = by_sex.admin("POST", "/populations/fresh/merge", json={"population": "people"})

    refused(answer, "already-charged", holder=by_sex)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_other_relations_change_the_whole_record_and_have_no_set(sqlite_holder: TestedHolder, relation: str) -> None:
    assert declare(sqlite_holder, "one", SEX, secret(ORIGIN), relation=relation).status_code == 200
    assert declare(sqlite_holder, "two", secret(SEX), relation=relation).status_code == 200

    answer = declare(sqlite_holder, "two", secret(SEX))

    refused(answer, "conflict", holder=sqlite_holder)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Holder]:
    """A holder of its own for random triples."""
    settings = settings_in(tmp_path)
    initialise(settings)
    holder = Holder.open(settings)
    yield holder
    holder.close()


@pytest.mark.slow
def test_no_triple_of_declarations_lets_a_change_move_more_than_the_relation_says(empty: Holder) -> None:
    outcomes = [triple(empty, number, seed=0) for number in range(TRIPLES)]

    assert [outcome for outcome in outcomes if outcome.excesses] == []
    assert_everything_happened(outcomes)


def test_triples_that_nobody_checks_are_seen_to_move_more(empty: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: without the check the oracle finds what the service would let happen."""
    monkeypatch.setattr(service, "require_one_set", lambda *_, **__: None)

    outcomes = [triple(empty, number, seed=0) for number in range(TRIPLES // 10)]

    assert sum(bool(outcome.excesses) for outcome in outcomes) >= 3


def assert_everything_happened(outcomes: list[Outcome]) -> None:
    """The triples are worth something: each step was taken often, and each refusal was given."""
    done = Counter(step.split()[0] for outcome in outcomes for step in outcome.done)
    refusals = Counter((step.split()[0], step.split()[-1]) for outcome in outcomes for step in outcome.refused)
    assert min(done[step] for step in ("declare", "charge", "retire", "merge")) >= 10
    for step in ("declare", "merge"):
        assert min(refusals[step, "conflict"], refusals[step, "already-charged"]) >= 3
