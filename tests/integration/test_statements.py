"""What a release asks of the database, and that prepared statements find what SQLAlchemy's own execution finds."""

from collections import Counter
from typing import Any, Final

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import DBAPIError

from holder_service.storage import accounts, ledger, releases, signing_keys
from holder_service.storage.prepared import Prepared
from holder_service.storage.tables import entries
from testing.holders import TestedHolder
from testing.registers import plan

STATEMENTS_MAX: Final = 11
WRITING_STATEMENTS_MAX: Final = 3


def test_a_release_sends_the_database_a_bounded_number_of_statements(sqlite_holder: TestedHolder) -> None:
    """One for the key, two before the draw, eight under the lock of the ledger; three of those write."""
    holder = sqlite_holder
    holder.release(plan(age=39)).raise_for_status()  # the first looks up once whether the people are invented
    holder.end_background_work()
    statements: list[str] = []
    engine = holder.holder.store.database._engine
    event.listen(engine, "checkout", lambda raw, *_: raw.set_trace_callback(statements.append))

    assert holder.release(plan()).status_code == 201

    verbs = Counter(statement.split()[0] for statement in statements)
    assert verbs["BEGIN"] == verbs["COMMIT"] == 1
    assert verbs["INSERT"] + verbs["UPDATE"] <= WRITING_STATEMENTS_MAX
    assert verbs.total() - 2 <= STATEMENTS_MAX


@pytest.mark.parametrize("path", ["/notices", "/budgets"])
def test_many_accounts_are_looked_at_in_as_many_statements_as_one(holder: TestedHolder, path: str) -> None:
    """Notices are looked for after each charge: a holder with many auditors has nothing else to do otherwise."""
    holder.end_background_work()
    asked: list[str] = []
    engine = holder.holder.store.database._engine
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: asked.append(statement))

    def statements() -> int:
        asked.clear()
        holder.admin("GET", path).raise_for_status()
        return len(asked)

    few = statements()
    for name in ("census", "staff"):
        assert holder.declare(name).status_code == 200
        for auditor in ("A", "B", "C"):
            if name == "census":
                holder.open_auditor(auditor)
            holder.grant("1", dataset=name, auditor=auditor)

    assert statements() == few
    assert len(holder.admin("GET", "/budgets").json()["budgets"]) == 10


def test_prepared_statements_find_the_same(holder: TestedHolder) -> None:
    """Row by row and type by type, also where there is nothing."""
    released = holder.release(plan()).json()
    looked_up: list[tuple[Prepared, dict[str, Any]]] = [
        (accounts._FIND_KEY, {"key_id": holder.auditor_key_id}),
        (accounts._FIND_KEY, {"key_id": "nobody's"}),
        (signing_keys._IN_FORCE, {}),
        (releases._FIND, {"identity": released["id"]}),
        (releases._FIND_OWN, {"identity": released["id"], "auditor": "ADR", "dataset": "register", "kind": "plan"}),
        (releases._FIND_OWN, {"identity": released["id"], "auditor": "other", "dataset": "register", "kind": "plan"}),
        (ledger._LOCK, {"at": released["ledger"]["sequence"]}),
        (ledger._HASH_AT, {"at": 1}),
        (ledger._ACCOUNT_STATE, {"called": "register", "who": "ADR"}),
        (ledger._ACCOUNT_STATE, {"called": "register", "who": "nobody"}),
    ]

    for prepared, values in looked_up:
        with holder.holder.store.database.read() as connection:
            row = prepared.one_or_none(connection, **values)
            expected = connection.execute(prepared._statement, values).one_or_none()
        assert (row is None) == (expected is None)
        if row is not None and expected is not None:
            assert row._asdict() == dict(expected._mapping)
            assert list(map(type, row)) == list(map(type, expected))


def test_what_a_prepared_statement_cannot_do_is_refused(holder: TestedHolder) -> None:
    """Several rows for one, values too few or too many, a text that depends on them; errors are SQLAlchemy's."""
    with holder.holder.store.database.read() as connection:
        with pytest.raises(ValueError, match="Several rows"):
            Prepared(select(entries)).one_or_none(connection)
        for values in ({"at": 1}, {}):
            with pytest.raises(ValueError, match="The statement takes"):
                accounts._FIND_KEY.one_or_none(connection, **values)
        with pytest.raises(ValueError, match="depends on its values"):
            Prepared(select(entries).where(entries.c.sequence.in_([1, 2]))).one_or_none(connection)
    with pytest.raises(DBAPIError) as failed, holder.holder.store.database._engine.connect() as connection:
        Prepared(select(func.no_such_function().label("found"))).scalar(connection)
    assert not failed.value.connection_invalidated
