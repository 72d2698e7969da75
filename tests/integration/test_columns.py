"""Derived columns in a holder: made, waited for, asked about, deleted; whose they are, and what goes with them."""

import csv
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Connection

from holder_service.domain.column_times import ColumnSize
from holder_service.domain.deadlines import Work
from holder_service.records.engines import DerivedValues, EncodedVersion
from holder_service.records.local_engine import LocalEngine
from holder_service.services.running.backup import back_up
from holder_service.services.work.apart import Apart
from holder_service.services.work.work_factors import write_factors
from holder_service.storage import columns as stored_columns
from holder_service.storage.columns import StoredColumn
from shared.scores.columns import DerivedColumn, ScoreOrigin
from shared.scores.values import score_value
from shared.wire import limits
from testing.holders import TestedHolder, forked, opened, running_holder, stopped_holder
from testing.refusals import refused
from testing.registers import linked_column, linked_values, plan, register_csv
from testing.waits import wait_until

RECORDS: Final = register_csv()
VALUES: Final = linked_values(RECORDS)
GRANTED: Final = {"id": "granted", "all_of": [{"column": "decision", "op": "eq", "value": "granted"}]}
REFUSED: Final = {"id": "refused", "all_of": [{"column": "decision", "op": "eq", "value": "refused"}]}
NOT_SENT: Final = {"id": "not sent", "all_of": [{"column": "decision", "op": "is_missing"}]}
TOO_LATE: Final = timedelta(minutes=2)
COLUMNS: Final = "/datasets/register/columns"
SCORE: Final = {
    "name": "score", "type": "number", "nullable": True,
    "from": {
        "score": {
            "kind": "terms", "precision": "float64", "base": -0.5,
            "terms": [{"columns": ["age"], "slope": 0.01}, {"columns": ["hours"], "slope": 0.005}],
        }
    },
}  # fmt: skip


def linked(holder: TestedHolder, values: bytes = VALUES, *, key: str | None = None) -> str:
    """Make a linked column with values, ready or not; gives its id."""
    made = holder.derive(linked_column(values), key=key)
    assert made.status_code in (200, 201), made.text
    column: str = made.json()["id"]
    sent = holder.link(values, column, key=key)
    assert sent.status_code == 200, sent.text
    return column


def asked(column: str, **changes: Any) -> dict[str, Any]:
    """A plan about a linked decision, with so little noise that counts are exact but once in 10⁹ times."""
    return plan(cells=[GRANTED, REFUSED, NOT_SENT], columns={"decision": column}, epsilon="10", **changes)


def counts(release: dict[str, Any]) -> list[int]:
    """Over both groups, of each cell: with noise of at most a few people."""
    return [sum(cell["counts"]) for cell in release["batches"][0]["cells"]]


def score_cells(threshold: float) -> list[dict[str, Any]]:
    """Below and above a threshold, and missing."""
    tests: list[dict[str, Any]] = [
        {"op": "le", "value": threshold},
        {"op": "gt", "value": threshold},
        {"op": "is_missing"},
    ]
    return [{"id": str(number), "all_of": [{"column": "score", **test}]} for number, test in enumerate(tests)]


def people_of(records: bytes) -> list[dict[str, Any]]:
    """The numbers of a register's people, as the reference evaluator takes them."""
    rows = csv.DictReader(records.decode().splitlines())
    return [{"age": float(row["age"]), "hours": float(row["hours"]) if row["hours"] else None} for row in rows]


@pytest.mark.slow
def test_linked_values_are_counted_like_a_declared_column(holder: TestedHolder) -> None:
    holder.grant("100")
    column = linked(holder)
    holder.await_columns()

    release = holder.release(asked(column))

    assert release.status_code == 201, release.text
    assert all(abs(one - wanted) <= 20 for one, wanted in zip(counts(release.json()), (200, 100, 0), strict=True))
    assert release.json()["plan"]["columns"] == {"decision": column}
    assert holder.release(asked(column)).content == release.content
    assert holder.spent() == "10"
    assert holder.is_intact()


@pytest.mark.slow
def test_whoever_was_not_sent_is_missing(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.grant("100")
    column = linked(sqlite_holder, linked_values(RECORDS, known=0.5))
    sqlite_holder.await_columns()

    found = counts(sqlite_holder.release(asked(column)).json())

    assert all(abs(one - wanted) <= 20 for one, wanted in zip(found, (100, 50, 150), strict=True))


def test_the_same_again_is_the_same_column(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.derive(linked_column(VALUES))
    again = sqlite_holder.derive(dict(reversed(linked_column(VALUES).items())))

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    kinds = [entry["kind"] for entry in sqlite_holder.entries()]
    assert kinds.count("column") == 1


@pytest.mark.slow
def test_sent_again_values_are_the_same_and_others_are_refused(sqlite_holder: TestedHolder) -> None:
    column = linked(sqlite_holder)
    before = sqlite_holder.auditor("GET", f"{COLUMNS}/{column}").json()

    again = sqlite_holder.link(VALUES, column)
    others = sqlite_holder.link(linked_values(RECORDS, known=0.5), column)

    assert again.status_code == 200
    assert {**again.json(), "state": None, "ready_at": None} == {**before, "state": None, "ready_at": None}
    refused(others, "invalid-records", holder=sqlite_holder)


@pytest.mark.slow
def test_an_id_is_no_digest_that_somebody_else_could_compute(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """Two holders call the same column of the same auditor by two ids: it takes the holder's secret."""
    with running_holder(tmp_path / "other") as other:
        ids = {one.derive(linked_column(VALUES)).json()["id"] for one in (sqlite_holder, other)}

    assert len(ids) == 2


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"id,value\np0,granted\np0,refused\n", "line 3"),
        (b"id,value\np0,granted\np1,perhaps\n", "line 3"),
        (b"id,decision\np0,granted\n", "line 1"),
        (b"id,value,sex\np0,granted,Male\n", "line 1"),
    ],
)
def test_values_that_do_not_fit_are_refused_whole(lasting_holder: TestedHolder, content: bytes, named: str) -> None:
    column = lasting_holder.derive(linked_column(content)).json()["id"]

    problem = refused(lasting_holder.link(content, column), "invalid-records", holder=lasting_holder)

    assert named in problem["detail"]
    assert "perhaps" not in problem["detail"]
    assert lasting_holder.auditor("GET", f"{COLUMNS}/{column}").json()["state"] == "awaiting-values"
    for folder in (lasting_holder.settings.linked, lasting_holder.settings.incoming):
        assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "change", [{"name": "age"}, {"name": "id"}, {"nullable": False}, {"values": None}, {"sensitive": True}]
)
def test_a_column_that_does_not_fit_is_refused(lasting_holder: TestedHolder, change: dict[str, Any]) -> None:
    refused(lasting_holder.derive({**linked_column(VALUES), **change}), "invalid-plan", holder=lasting_holder)


def test_a_body_is_read_strictly(lasting_holder: TestedHolder) -> None:
    headers = {"Content-Type": "application/json"}
    for content, code in (
        (b'{"name": "a", "name": "b"}', "invalid-request"),
        (b"{", "invalid-request"),
        (b"[" * 1000, "invalid-request"),
        (b"[]," * (limits.LISTS_AND_OBJECTS_PER_COLUMN_MAX + 1), "too-large"),
        (b" " * (limits.COLUMN_BODY_BYTES_MAX + 1), "too-large"),
    ):
        refused(lasting_holder.auditor("POST", COLUMNS, content=content, headers=headers), code, holder=lasting_holder)
    refused(lasting_holder.auditor("POST", COLUMNS, content=b"{}"), "unsupported-media-type", holder=lasting_holder)


@pytest.mark.slow
def test_a_score_is_computed_from_declared_columns(sqlite_holder: TestedHolder) -> None:
    """The holder's count agrees with the reference, person by person; the score is missing where hours are."""
    holder = sqlite_holder
    holder.grant("100")
    column = DerivedColumn.model_validate(SCORE)
    assert isinstance(column.origin, ScoreOrigin)
    values = [score_value(column.origin.score, person) for person in people_of(RECORDS)]
    scores = [value if isinstance(value, float) else None for value in values]

    made = holder.derive(SCORE)
    holder.await_columns()
    release = holder.release(plan(columns={"score": made.json()["id"]}, cells=score_cells(0.25), epsilon="10"))

    assert made.status_code == 201, made.text
    assert release.status_code == 201, release.text
    wanted = [
        sum(score is not None and score <= 0.25 for score in scores),
        sum(score is not None and score > 0.25 for score in scores),
        sum(score is None for score in scores),
    ]
    assert min(wanted) > 20
    assert all(abs(one - true) <= 20 for one, true in zip(counts(release.json()), wanted, strict=True))
    assert holder.is_intact()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"columns": ["income"]}, "unknown-column"),
        ({"columns": ["sex"]}, "sensitive-column"),
        ({"columns": ["education"]}, "invalid-plan"),
        ({"slope": 1e300}, "invalid-plan"),
        ({"slope": "1"}, "invalid-plan"),
    ],
)
def test_a_score_that_does_not_fit_is_refused(lasting_holder: TestedHolder, change: dict[str, Any], code: str) -> None:
    document = {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 0.01, **change}]}

    refused(lasting_holder.derive({**SCORE, "from": {"score": document}}), code, holder=lasting_holder)


def test_the_values_of_a_score_cannot_be_sent(lasting_holder: TestedHolder) -> None:
    column = lasting_holder.derive({**SCORE, "name": "unsent"}).json()["id"]

    refused(lasting_holder.link(VALUES, column), "invalid-request", holder=lasting_holder)


@pytest.mark.slow
def test_another_auditor_cannot_learn_that_a_column_exists(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    column = linked(holder)
    holder.await_columns()
    other = holder.open_auditor("other", epsilon="50")
    unknown = f"sha256:{'0' * 64}"

    seen: dict[str, list[Any]] = {}
    for identity in (column, unknown):
        body = plan(cells=[GRANTED], columns={"decision": identity})
        calls = [
            holder.auditor("GET", COLUMNS, key=other),
            holder.auditor("GET", f"{COLUMNS}/{identity}", key=other),
            holder.auditor("DELETE", f"{COLUMNS}/{identity}", key=other),
            holder.link(VALUES, identity, key=other),
            holder.auditor("POST", "/datasets/register/quotes", key=other, json=body),
            holder.release(body, key=other),
        ]
        seen[identity] = [(call.status_code, call.text.replace(identity, "")) for call in calls]

    assert seen[column] == seen[unknown]
    assert [status for status, _ in seen[column]] == [200, 404, 404, 404, 422, 422]
    made_again = holder.derive(linked_column(VALUES), key=other)
    assert (made_again.status_code, made_again.json()["state"]) == (201, "awaiting-values")
    assert made_again.json()["id"] != column


@pytest.mark.slow
def test_only_auditors_make_columns_and_administrators_see_and_delete_all(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    column = linked(holder)
    as_administrator = {"key": holder.admin_key}

    assert holder.auditor("POST", COLUMNS, json=linked_column(VALUES), **as_administrator).status_code == 403
    (shown,) = holder.admin("GET", COLUMNS).json()["columns"]
    assert (shown["auditor"], shown["id"], shown["bytes"]) == ("ADR", column, len(VALUES))
    assert holder.admin("DELETE", f"{COLUMNS}/{column}").status_code == 204

    assert holder.auditor("GET", COLUMNS).json() == {"columns": []}
    assert holder.admin("DELETE", f"{COLUMNS}/{column}").status_code == 404
    assert holder.entries()[-1]["kind"] == "column-deletion"
    assert holder.is_intact()


@pytest.mark.slow
def test_what_was_released_about_a_deleted_column_is_answered_again(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    column = linked(holder)
    holder.await_columns()
    release = holder.release(asked(column))

    assert holder.auditor("DELETE", f"{COLUMNS}/{column}").status_code == 204

    assert holder.release(asked(column)).content == release.content
    refused(holder.release(asked(column, draw=2)), "unknown-column", holder=holder)
    assert not list(holder.settings.derived.iterdir())
    assert not list(holder.settings.linked.iterdir())


def test_a_plan_before_its_column_is_ready_costs_nothing(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    column = holder.derive(linked_column(VALUES)).json()["id"]

    answer = holder.release(asked(column))

    problem = refused(answer, "column-not-ready", holder=holder)
    assert "ready_at" not in problem
    assert int(answer.headers["retry-after"]) >= 1
    assert holder.spent() == "0"


@pytest.mark.slow
def test_a_name_that_is_not_the_columns_own_is_unknown(sqlite_holder: TestedHolder) -> None:
    column = sqlite_holder.derive(linked_column(VALUES)).json()["id"]
    other_name = {**asked(column), "columns": {"verdict": column}}

    refused(sqlite_holder.release(other_name), "unknown-column", holder=sqlite_holder)


@pytest.mark.slow
def test_new_records_are_joined_again(holder: TestedHolder) -> None:
    holder.grant("100")
    column = linked(holder)
    holder.await_columns()
    holder.release(asked(column))
    before = {path.name for path in holder.settings.derived.iterdir()}

    assert holder.load(register_csv(people=90)).status_code == 200
    holder.await_columns()

    found = counts(holder.release(asked(column)).json())
    assert all(abs(one - wanted) <= 20 for one, wanted in zip(found, (60, 30, 0), strict=True))
    assert not before & {path.name for path in holder.settings.derived.iterdir()}


@pytest.mark.slow
def test_a_column_goes_with_what_it_follows_from(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    linked(holder)
    columns = holder.auditor("GET", "/datasets/register").json()["columns"]
    declared = [{name: value for name, value in column.items() if value is not None} for column in columns]

    holder.declare(columns=[*declared, {"name": "further", "type": "boolean"}])
    assert len(holder.auditor("GET", COLUMNS).json()["columns"]) == 1
    holder.declare(columns=[*declared, {"name": "decision", "type": "boolean"}])

    assert holder.auditor("GET", COLUMNS).json() == {"columns": []}
    assert not list(holder.settings.linked.iterdir())
    last = holder.entries()[-1]
    assert (last["kind"], last["detail"]["account"]) == ("column-deletion", "ADR")
    assert holder.is_intact()


@pytest.mark.slow
def test_a_retired_dataset_takes_its_columns_along(holder: TestedHolder) -> None:
    linked(holder)

    assert holder.admin("DELETE", "/datasets/register").status_code == 204

    assert holder.is_intact()
    assert not list(holder.settings.linked.iterdir())
    holder.declare()
    assert holder.auditor("GET", COLUMNS).json() == {"columns": []}


def test_one_auditor_gets_so_many_columns_about_a_dataset(sqlite_holder: TestedHolder) -> None:
    names = [f"c{number}" for number in range(limits.DERIVED_COLUMNS_PER_AUDITOR_MAX + 1)]

    *made, beyond = [sqlite_holder.derive(linked_column(VALUES, name=name)) for name in names]

    assert {one.status_code for one in made} == {201}
    refused(beyond, "conflict", holder=sqlite_holder)
    assert sqlite_holder.derive(linked_column(VALUES, name="c0")).status_code == 200


def test_columns_that_would_take_too_long_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is always made; another only if all that wait take no longer than the limit."""
    with running_holder(tmp_path, quantum_ms=5000) as holder:
        other = holder.open_auditor("ELSE")
        monkeypatch.setattr(limits, "COLUMN_QUEUE_S_MAX", 1e-6)

        made = holder.derive(SCORE)

        assert made.status_code == 201
        document = refused(holder.derive({**SCORE, "name": "another"}, key=other), "rate-limited", holder=holder)
        assert "ask again when one of them is ready" in document["detail"]
        assert holder.derive(SCORE).status_code == 200


def test_one_auditors_columns_may_take_half_of_the_time_of_all(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waiting(connection: Connection, *, now: datetime) -> list[StoredColumn]:
        columns = stored_columns.of_dataset(connection, "register")
        return [replace(column, due=now) for column in columns if column.values_file]

    monkeypatch.setattr(ColumnSize, "work_s", lambda size, **given: 1.0)
    monkeypatch.setattr(limits, "COLUMN_QUEUE_S_MAX", 3.0)
    monkeypatch.setattr(stored_columns, "waited_for", waiting)
    other = sqlite_holder.open_auditor("ELSE")

    assert sqlite_holder.derive(SCORE).status_code == 201
    document = refused(sqlite_holder.derive({**SCORE, "name": "second"}), "rate-limited", holder=sqlite_holder)
    assert document["detail"].startswith("You have the holder make")
    assert sqlite_holder.derive(SCORE, key=other).status_code == 201


@pytest.mark.slow
def test_columns_are_made_in_the_order_in_which_they_were_asked(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite_holder.open_auditor("ELSE")
    all_asked, made = threading.Event(), list[str]()
    make = LocalEngine.make_column

    def recorded(engine: LocalEngine, version: EncodedVersion, values: DerivedValues, **given: Any) -> None:
        all_asked.wait(timeout=60)
        made.append(json.loads(values.document)["name"])
        make(engine, version, values, **given)

    monkeypatch.setattr(LocalEngine, "make_column", recorded)
    names = ["d", "a", "c", "b"]
    for number, name in enumerate(names):
        key = other if number % 2 else None
        assert sqlite_holder.derive({**SCORE, "name": name}, key=key).status_code == 201
    all_asked.set()

    wait_until(lambda: len(made) == len(names))
    assert made == names


@pytest.mark.slow
def test_documents_and_linked_values_are_each_read_by_a_process_in_the_auditors_turns(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[tuple[Apart, str]] = []
    run_for = Apart.run_for

    def recorded(apart: Apart, account: str, work: Callable[[], Any]) -> Any:
        turns.append((apart, account))
        return run_for(apart, account, work)

    monkeypatch.setattr(Apart, "run_for", recorded)
    column = sqlite_holder.derive(linked_column(VALUES)).json()["id"]
    assert sqlite_holder.link(VALUES, column).status_code == 200
    sqlite_holder.await_columns()
    reading, linking = sqlite_holder.holder.reading, sqlite_holder.holder.linking

    assert reading is not linking
    assert [turn for turn in turns if turn[0] in (reading, linking)] == [(reading, "ADR"), (linking, "ADR")]


def test_who_makes_and_deletes_all_day_comes_to_an_end(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is deleted takes no place any more, and its entries stay: nothing else would bound how many there are."""
    monkeypatch.setattr(limits, "FREE_ENTRIES_PER_DAY_MAX", 3)
    other = sqlite_holder.open_auditor("ELSE")
    for _ in range(3):
        made = sqlite_holder.derive(SCORE).json()["id"]
        sqlite_holder.auditor("DELETE", f"{COLUMNS}/{made}").raise_for_status()
    before = sqlite_holder.entries()

    refused(sqlite_holder.derive(SCORE), "conflict", holder=sqlite_holder)
    assert sqlite_holder.entries() == before
    assert sqlite_holder.derive(SCORE, key=other).status_code == 201
    sqlite_holder.declare("others")
    assert sqlite_holder.derive(SCORE, "others").status_code == 201
    sqlite_holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=1)
    assert sqlite_holder.derive(SCORE).status_code == 201


@pytest.mark.slow
def test_a_column_somebody_changed_behind_the_ledger_is_found(sqlite_holder: TestedHolder) -> None:
    linked(sqlite_holder)
    path = sqlite_holder.settings.database_url.removeprefix("sqlite:///")

    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE derived_columns SET document = replace(document, 'granted', 'refused')")
    connection.close()

    assert not sqlite_holder.is_intact()


def found_when_due(holder: TestedHolder, announced: dict[str, Any]) -> dict[str, Any]:
    """What is found of a column at its public time; before that it is as announced, and nothing is released."""
    path, due = f"{COLUMNS}/{announced['id']}", datetime.fromisoformat(announced["ready_at"])
    wait_until(lambda: any(holder.settings.derived.glob("[0-9a-f]*")) or datetime.now(UTC) > due)
    found = holder.auditor("GET", path).json()
    too_early = holder.release(asked(announced["id"]))
    if datetime.now(UTC) < due:
        assert found == announced
        assert refused(too_early, "column-not-ready", holder=holder)["ready_at"]
    time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0) + 0.05)
    at_last: dict[str, Any] = holder.auditor("GET", path).json()
    return at_last


class TestPublicTimes:
    """With a quantum, a column is ready at a time that was known before anything was done."""

    @pytest.mark.slow
    def test_a_column_is_ready_when_it_was_announced(self, tmp_path: Path, database_url: str) -> None:
        """On a busy machine it overruns; then its time is the double, of which the same holds."""
        with running_holder(tmp_path, database_url, quantum_ms=25) as holder:
            before = datetime.now(UTC)
            column = linked(holder)
            after = datetime.now(UTC)
            announced = holder.auditor("GET", f"{COLUMNS}/{column}").json()
            assert announced["state"] == "preparing"

            while (found := found_when_due(holder, announced))["state"] == "preparing":
                due, doubled = (datetime.fromisoformat(one["ready_at"]) for one in (announced, found))
                assert before <= due - (doubled - due) <= after
                assert doubled - due < TOO_LATE
                announced = found

            assert found == {**announced, "state": "ready"}
            assert holder.release(asked(column)).status_code == 201

    @pytest.mark.slow
    def test_what_a_killed_holder_left_is_made_by_the_next(self, tmp_path: Path) -> None:
        stopped = stopped_holder(tmp_path)
        with forked(stopped.settings) as served, stopped.at(served.url) as there:
            column = linked(there)
            served.kill()

        with stopped.reopened() as again:
            again.await_columns()
            assert again.release(asked(column)).status_code == 201


@pytest.mark.slow
def test_a_backup_holds_the_columns_and_what_it_lacks_is_made_again(tmp_path: Path) -> None:
    with running_holder(tmp_path / "one") as holder:
        column = linked(holder)
        holder.await_columns()
        back_up(holder.holder, tmp_path / "copy")
        copied = {path.name for path in (tmp_path / "copy" / "derived").iterdir()}
        assert copied == {path.name for path in holder.settings.derived.iterdir()}
        for path in holder.settings.derived.iterdir():
            path.unlink()
        with holder.reopened() as again:
            again.await_columns()
            assert again.release(asked(column)).status_code == 201


@pytest.mark.slow
def test_a_slow_engine_makes_one_column_after_the_other(tmp_path: Path) -> None:
    """Nothing is waited for, so there is nothing to ask again after."""
    slow = Work(pricing=1, starting=1e6, counting=1e6, noise=1, writing=1, pauses=1)
    stopped = stopped_holder(tmp_path)
    write_factors(stopped.settings.calibration, slow, engine="local")

    with opened(stopped.settings, stopped.admin_key, stopped.auditor_key) as holder:
        linked(holder)
