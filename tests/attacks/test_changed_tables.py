"""Rows changed behind the ledger's back are found: the entries say otherwise (2-privacy §6)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from holder_service.services.ledger import reading as ledger_reading
from testing.holders import TestedHolder, running_holder
from testing.registers import plan, register_csv
from testing.tampering import edit, put_back


@pytest.fixture(scope="module")
def varied_holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder with something in every table."""
    with running_holder(tmp_path_factory.mktemp("varied")) as holder:
        _fill(holder)
        yield holder


def _fill(holder: TestedHolder) -> None:
    holder.open_auditor("other", epsilon="1")
    key = holder.admin("POST", "/auditors/other/keys", json={"expires": "2999-01-01T00:00:00Z"}).json()
    holder.admin("DELETE", f"/auditors/other/keys/{key['key_id']}")
    holder.admin("POST", "/auditors", json={"name": "closed"})
    holder.admin("PATCH", "/auditors/closed", json={"disabled": True})
    holder.offer("second", register_csv(people=5))
    holder.admin("POST", "/populations/register/merge", json={"population": "second"})
    holder.offer("third", register_csv(people=5))
    holder.admin("DELETE", "/datasets/third")
    holder.admin("PATCH", "/auditors/other", json={"display_name": "Frau Müller"})
    holder.admin("PUT", "/datasets/register/metadata", json={"title": "Anträge"})
    holder.admin("POST", "/signing-keys")
    assert holder.release(plan()).status_code == 201


@pytest.fixture
def victim(varied_holder: TestedHolder) -> Iterator[TestedHolder]:
    """That holder, whose database is put back when a test has tampered with it."""
    with put_back(varied_holder) as holder:
        yield holder


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET role = 'administrator' WHERE name = 'other'",
        "UPDATE accounts SET disabled = 0 WHERE name = 'closed'",
        "UPDATE accounts SET disabled = 1 WHERE name = 'other'",
        "INSERT INTO accounts SELECT 'new', role, created, disabled, NULL FROM accounts WHERE name = 'other'",
        "DELETE FROM accounts WHERE name = 'closed'",
        "UPDATE accounts SET display_name = 'other' WHERE name = 'closed'",
        "UPDATE accounts SET display_name = NULL WHERE name = 'other'",
        "UPDATE dataset_metadata SET words = '{}'",
        "INSERT INTO dataset_metadata VALUES ('second', '{}')",
        "DELETE FROM dataset_metadata",
        "UPDATE api_keys SET withdrawn = NULL WHERE withdrawn IS NOT NULL",
        "UPDATE api_keys SET expires = NULL WHERE expires IS NOT NULL",
        "UPDATE api_keys SET account = 'administrator' WHERE account = 'other'",
        "UPDATE api_keys SET secret_hash = randomblob(32) WHERE account = 'administrator'",
        "INSERT INTO api_keys SELECT 'x', account, secret_hash, created, NULL, NULL FROM api_keys LIMIT 1",
        "DELETE FROM api_keys WHERE account = 'closed'",
        "UPDATE signing_keys SET valid_to = NULL",
        "UPDATE signing_keys SET valid_to = '2999-01-01T00:00:00+00:00' WHERE valid_to IS NOT NULL",
        "UPDATE signing_keys SET valid_from = '2020-01-01T00:00:00+00:00' WHERE valid_to IS NULL",
        "UPDATE signing_keys SET handed_over_by = NULL",
        "UPDATE signing_keys SET handover_signature = 'ed25519:' WHERE handed_over_by IS NOT NULL",
        "UPDATE signing_keys SET public_key = randomblob(32) WHERE valid_to IS NULL",
        "INSERT INTO signing_keys SELECT 'x', public_key, valid_from, valid_from, NULL, NULL FROM signing_keys LIMIT 1",
        "UPDATE populations SET relation = 'replace' WHERE name = 'register'",
        "UPDATE populations SET person_key = 'other' WHERE name = 'register'",
        "UPDATE populations SET merged_into = NULL WHERE name = 'second'",
        "INSERT INTO populations VALUES ('fresh', 'add_remove', 'id', NULL, NULL)",
        "UPDATE datasets SET population = 'third' WHERE name = 'register'",
        "UPDATE datasets SET retired = 0 WHERE name = 'third'",
        "UPDATE datasets SET version = 9 WHERE name = 'register'",
        "UPDATE datasets SET version_last = 0 WHERE name = 'register'",
        "UPDATE datasets SET records_max = 10 WHERE name = 'register'",
        "UPDATE datasets SET records_file = 'other' WHERE name = 'register'",
        "UPDATE datasets SET people_file = NULL WHERE name = 'register'",
        "UPDATE datasets SET schema = replace(schema, '\"maximum\":120', '\"maximum\":121') WHERE name = 'register'",
        "DELETE FROM datasets WHERE name = 'third'",
    ],
    ids=lambda statement: statement[:70],
)
def test_a_changed_row_is_found(victim: TestedHolder, statement: str) -> None:
    edit(victim.settings, statement)

    # Not by a call: the administrator's key may be among what was changed.
    found = ledger_reading.verify(victim.holder.store, seals=victim.holder.seals)

    assert not found.intact, "nothing was found"
    assert found.broken_at


@pytest.mark.slow
def test_tables_are_right_while_administrators_change_them(holder: TestedHolder) -> None:
    """Whatever is committed between the replay and the look at the tables is replayed before anything is said."""

    def change(number: int) -> int:
        holder.admin("POST", "/auditors", json={"name": f"a{number}"})
        holder.grant("1", auditor=f"a{number}")
        return holder.admin("PATCH", f"/auditors/a{number}", json={"disabled": number % 2 == 0}).status_code

    with ThreadPoolExecutor(4) as pool:
        changes = pool.map(change, range(24))
        found = [holder.admin("POST", "/ledger/verify").json()["reason"] for _ in range(10)]

        assert set(changes) == {204}
    assert found == [None] * 10
