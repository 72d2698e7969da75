"""Two running holders, each with one half of a register: their answers add up, and what no half can answer is refused.

A count at ε of 5 from each of two holders is 14 or more people off by chance less than once in 10 to the 12th.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from holder_service.records.shares import HEADER, PARQUET
from shared.contract.shares import MODULUS, Shares, joined_count
from shared.kinds.releases import Release, verify_signature
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import EVERYBODY, linked_column, linked_values, plan, register_csv, training, watch
from testing.tampering import edit
from testing.two_holders import NAME, TwoHolders, halves_of, two_holders

SEXES = ("Female", "Male")


@pytest.fixture(scope="module")
def both(set_up_holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHolders]:
    """Two holders with a half of the small register each, for all tests of this file."""
    with two_holders(set_up_holder, tmp_path_factory.mktemp("two")) as found:
        yield found


def by_origin(**fields: Any) -> dict[str, Any]:
    """A plan by origin, of three groups, so that all of them are counted."""
    return plan(epsilon="5", **fields) | {"sensitive": ["origin"]}


def joined(answers: list[dict[str, Any]]) -> dict[str, list[int]]:
    """The noisy counts of each cell, from the answers of both holders."""
    cells = [answer["batches"][0]["cells"] for answer in answers]
    return {
        one["id"]: [joined_count(*words) for words in zip(one["shares"], other["shares"], strict=True)]
        for one, other in zip(*cells, strict=True)
    }


def true_counts() -> Counter[tuple[str, str]]:
    counts = Counter[tuple[str, str]]()
    for line in register_csv().decode().splitlines()[1:]:
        _, age, _, _, _, sex, origin = line.split(",")
        for value in (sex, origin):
            counts["young" if int(age) <= 40 else "old", value] += 1
    return counts


def test_the_answers_of_both_add_up_to_counts(both: TwoHolders) -> None:
    answers = [holder.release(by_origin(), dataset=NAME).json() for holder in both]

    found, true = joined(answers), true_counts()
    for cell in ("young", "old"):
        for noisy, origin in zip(found[cell], ("here", "there", ""), strict=True):
            assert abs(noisy - true[cell, origin]) <= 14
    for holder, answer in zip(both, answers, strict=True):
        release = Release.model_validate(answer)
        verify_signature(answer, holder.published_keys())
        assert release.fault is None
        assert all("counts" not in cell for batch in answer["batches"] for cell in batch["cells"])
        assert holder.is_intact()


def test_of_two_groups_the_first_alone_is_counted_in_halves(both: TwoHolders) -> None:
    answers = [holder.release(plan(epsilon="5"), dataset=NAME).json() for holder in both]

    found, true = joined(answers), true_counts()
    for cell in ("young", "old"):
        assert len(found[cell]) == 1
        assert abs(found[cell][0] - true[cell, "Female"]) <= 14


def test_one_half_is_no_count(both: TwoHolders) -> None:
    for draw, holder in enumerate(both, start=2):
        answer = holder.release(by_origin(draw=draw), dataset=NAME).json()
        words = [int(word) for cell in answer["batches"][0]["cells"] for word in cell["shares"]]
        assert all(2**40 < word < MODULUS - 2**40 for word in words), "by chance once in ten million"


def test_description_quote_and_release_say_whose_half_it_is(both: TwoHolders) -> None:
    found = []
    for holder in both:
        description = holder.auditor("GET", f"/datasets/{NAME}").json()
        quote = holder.auditor("POST", f"/datasets/{NAME}/quotes", json=plan()).json()
        answer = holder.release(plan(), dataset=NAME).json()
        assert description["shares"] == quote["shares"] == answer["shares"]
        assert description["mechanisms"] == ["laplace", "gaussian"]
        assert "trainings" not in description
        found.append((Shares.model_validate(description["shares"]), quote))

    assert found[0][0].completes(found[1][0])
    first, second = (dict(quote) for _, quote in found)
    assert first.pop("shares") != second.pop("shares")
    assert first == second


def test_a_replay_is_the_same_half_and_is_charged_once(both: TwoHolders) -> None:
    before = [holder.spent(dataset=NAME) for holder in both]
    first = [holder.release(plan(draw=7), dataset=NAME).content for holder in both]
    spent = [holder.spent(dataset=NAME) for holder in both]

    assert [holder.release(plan(draw=7), dataset=NAME).content for holder in both] == first
    assert [holder.spent(dataset=NAME) for holder in both] == spent
    assert all(float(now) - float(then) == pytest.approx(0.1) for now, then in zip(spent, before, strict=True))


def test_scores_and_linked_values_are_counted_by_halves(both: TwoHolders) -> None:
    values = linked_values(register_csv())
    columns = []
    for holder in both:
        made = holder.derive({**linked_column(values), "blinding": "7" * 64}, NAME).json()
        holder.link(values, made["id"], NAME)
        holder.await_columns(NAME)
        columns.append(made["id"])
    assert columns[0] == columns[1], "the plans of both name the same column"
    granted = {"id": "granted", "all_of": [{"column": "decision", "op": "eq", "value": "granted"}]}
    asked = by_origin(cells=[granted, EVERYBODY], columns={"decision": columns[0]})

    found = joined([holder.release(asked, dataset=NAME).json() for holder in both])

    assert abs(sum(found["everybody"]) - 300) <= 40
    assert abs(sum(found["granted"]) - 200) <= 40


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (plan(mechanism={"name": "exponential", "upper": 300}), "laplace or gaussian"),
        (plan(refines="sha256:" + "0" * 64), "without `refines`"),
        (plan(cells=[{"id": "women", "all_of": [{"column": "sex", "op": "eq", "value": "Female"}]}]), "sensitive"),
    ],
)
def test_plans_that_no_half_answers_are_refused_by_name(both: TwoHolders, asked: dict[str, Any], words: str) -> None:
    for holder in both:
        spent = holder.spent(dataset=NAME)
        answer = holder.release(asked, dataset=NAME)
        document = refused(answer, "sensitive-column" if words == "sensitive" else "invalid-plan", holder=holder)
        assert words in document["detail"]
        assert holder.spent(dataset=NAME) == spent


def test_watches_and_trainings_are_refused_by_name(both: TwoHolders) -> None:
    for holder in both:
        answer = holder.auditor("POST", f"/datasets/{NAME}/watches", json=watch())
        assert "does not offer watches" in refused(answer, "invalid-plan", holder=holder)["detail"]
        asked = {**training(label="citizen"), "features": [{"column": "age", "cuts": [50]}]}
        answer = holder.auditor("POST", f"/datasets/{NAME}/trainings", json=asked)
        assert answer.status_code == 422, answer.text
        assert holder.is_intact()


def test_a_dataset_of_shares_has_no_rehearsal(both: TwoHolders) -> None:
    for holder in both:
        answer = holder.admin("POST", f"/datasets/{NAME}/rehearsal", json={"people": 100})
        assert "holds shares" in refused(answer, "conflict", holder=holder)["detail"]


def test_files_that_are_not_this_half_are_refused(both: TwoHolders, tmp_path: Path) -> None:
    halves = halves_of(register_csv(), tmp_path)
    for holder, wrong in zip(both, halves[::-1], strict=True):
        answer = holder.load(wrong.read_bytes(), NAME, PARQUET)
        assert "No holder may have both halves" in refused(answer, "invalid-records", holder=holder)["detail"]
        refused(holder.load(register_csv(), NAME), "invalid-records", holder=holder)


def test_the_seed_is_in_no_file_but_the_records_and_in_no_log(
    set_up_holder: TestedHolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with two_holders(set_up_holder, tmp_path / "two") as both:
        half = tmp_path / "two" / "split" / "a.parquet"
        seed = json.loads(pyarrow.parquet.read_schema(half).metadata[HEADER])["seed"]
        answer = both.first.release(by_origin(), dataset=NAME)
        assert answer.status_code == 201
        written = {path: path.read_bytes() for path in (tmp_path / "two" / "first").rglob("*") if path.is_file()}
        shown = [record.getMessage() + json.dumps(vars(record), default=str) for record in caplog.records]
        shown += [answer.text, json.dumps(both.first.entries()), both.first.metrics().text]

    holding = [path for path, content in written.items() if seed.encode() in content or bytes.fromhex(seed) in content]
    assert [path.parent.name for path in holding] == ["records"], "the encoded records, and nothing else"
    assert shown
    assert not any(seed in text for text in shown)


def test_another_split_is_another_version_with_another_id(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both:
        before = [holder.auditor("GET", f"/datasets/{NAME}").json() for holder in both]
        both.load(halves_of(register_csv(seed=1), tmp_path / "again"))
        after = [holder.auditor("GET", f"/datasets/{NAME}").json() for holder in both]

        assert [one["version"] for one in after] == [2, 2]
        assert after[0]["shares"]["split_id"] == after[1]["shares"]["split_id"] != before[0]["shares"]["split_id"]
        for holder in both:
            [*_, entry] = [one for one in holder.entries() if one["kind"] == "records"]
            assert entry["detail"]["split_id"] == after[0]["shares"]["split_id"]
            assert holder.is_intact()


def test_a_split_that_was_changed_behind_the_ledger_is_found(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both:
        edit(both.first.settings, "UPDATE datasets SET split_id = version WHERE split_id IS NOT NULL")

        assert not both.first.is_intact()
        assert both.second.is_intact()


def test_what_was_loaded_stays_the_half_that_it_is(set_up_holder: TestedHolder, tmp_path: Path) -> None:
    with two_holders(set_up_holder, tmp_path / "two") as both:
        holder = both.first
        for shares in ({"shares": {"party": 2}}, {}):
            answer = holder.declare(NAME, relation="sensitive_attribute", **shares)
            assert "the half of party 1" in refused(answer, "conflict", holder=holder)["detail"]
        answer = holder.declare("register", relation="sensitive_attribute", shares={"party": 1}, population="register")
        assert answer.status_code == 409, "it has values"

        # The other half of the same split, under another name.
        assert holder.declare("other", relation="sensitive_attribute", shares={"party": 2}).status_code == 200
        half = (tmp_path / "two" / "split" / "b.parquet").read_bytes()
        answer = holder.load(half, "other", PARQUET)
        assert "has or had the other half" in refused(answer, "conflict", holder=holder)["detail"]
        assert holder.auditor("GET", "/datasets/other").json()["version"] is None
        again = halves_of(register_csv(), tmp_path / "again")  # the first half is replaced, but stays in back-ups
        assert holder.load(again[0].read_bytes(), NAME, PARQUET).status_code == 200
        answer = holder.load(half, "other", PARQUET)
        assert "has or had the other half" in refused(answer, "conflict", holder=holder)["detail"]
        another = halves_of(register_csv(), tmp_path / "another")
        assert holder.load(another[1].read_bytes(), "other", PARQUET).status_code == 200, "a split of its own"
        assert holder.admin("DELETE", "/datasets/other").status_code == 204
        answer = holder.load(another[0].read_bytes(), NAME, PARQUET)
        assert "has or had the other half" in refused(answer, "conflict", holder=holder)["detail"]
        assert holder.is_intact()


def test_a_single_holders_messages_say_nothing_of_shares(both: TwoHolders) -> None:
    holder = both.first
    answers = [
        holder.auditor("GET", "/datasets/register"),
        holder.auditor("POST", "/datasets/register/quotes", json=plan()),
        holder.release(plan(epsilon="0.001")),
    ]

    assert all("shares" not in json.dumps(answer.json()) for answer in answers)
