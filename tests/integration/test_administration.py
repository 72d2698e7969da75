"""What administrators do: roles, accounts and keys, declarations, budgets, merges, and reading the ledger."""

from typing import Any, Final

import pytest

from holder_service.domain.errors import Conflict
from holder_service.services.running.holder import initialise
from testing.holders import TestedHolder, settings_in
from testing.refusals import refused
from testing.registers import DECLARATION, plan, register_csv

PAST: Final = "2020-01-01T00:00:00Z"
FUTURE: Final = "2999-01-01T00:00:00+01:00"


def calls(holder: TestedHolder, prefix: str) -> list[tuple[str, str]]:
    """Method and path of every call of the contract under a prefix, with names in the path."""
    names = {"{dataset}": "register", "{auditor}": "ADR", "{key}": "x", "{population}": "register", "{sequence}": "1"}
    found = []
    for path, methods in holder.client.get("/openapi.json").json()["paths"].items():
        for parameter, name in names.items():
            path = path.replace(parameter, name)  # noqa: PLW2901 - it is the same path, filled in
        path = path.replace("{release_id}", "sha256:" + "0" * 64)  # noqa: PLW2901
        found += [(method.upper(), path) for method in methods if path.startswith(prefix)]
    return found


def test_no_administrators_call_is_an_auditors(unmoved_holder: TestedHolder) -> None:
    found = calls(unmoved_holder, "/v1/admin")

    assert len(found) >= 14
    for method, path in found:
        answer = unmoved_holder.auditor(method, path.removeprefix("/v1"), json={})
        refused(answer, "forbidden", holder=unmoved_holder)


def test_no_call_but_that_for_the_public_keys_goes_without_a_key(unmoved_holder: TestedHolder) -> None:
    for method, path in calls(unmoved_holder, "/v1/"):
        if path not in ("/v1/keys", "/v1/sign-in") and not path.startswith("/v1/log/"):
            refused(unmoved_holder.client.request(method, path, json={}), "unauthenticated", holder=unmoved_holder)
    assert unmoved_holder.client.get("/v1/keys").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/datasets/register/budget"),
        ("POST", "/datasets/register/quotes"),
        ("POST", "/datasets/register/releases"),
        ("GET", "/datasets/register/releases"),
    ],
)
def test_an_administrator_is_no_auditor(unmoved_holder: TestedHolder, method: str, path: str) -> None:
    answer = unmoved_holder.auditor(method, path, key=unmoved_holder.admin_key, json=plan())

    refused(answer, "forbidden", holder=unmoved_holder)


def test_a_key_works_until_it_is_withdrawn_and_the_other_goes_on(lasting_holder: TestedHolder) -> None:
    opened = lasting_holder.admin("POST", "/auditors", json={"name": "rotating"}).json()
    second = lasting_holder.admin("POST", "/auditors/rotating/keys", json={}).json()

    def statuses() -> list[int]:
        return [lasting_holder.auditor("GET", "/datasets", key=one["key"]).status_code for one in (opened, second)]

    assert statuses() == [200, 200]
    assert lasting_holder.admin("DELETE", f"/auditors/rotating/keys/{opened['key_id']}").status_code == 204
    assert statuses() == [401, 200]
    assert lasting_holder.admin("DELETE", f"/auditors/rotating/keys/{opened['key_id']}").status_code == 204


def test_an_expired_key_is_none(lasting_holder: TestedHolder) -> None:
    expired = lasting_holder.admin("POST", "/auditors", json={"name": "late", "expires": PAST}).json()["key"]
    lasting = lasting_holder.admin("POST", "/auditors/late/keys", json={"expires": FUTURE}).json()["key"]

    refused(lasting_holder.auditor("GET", "/datasets", key=expired), "unauthenticated", holder=lasting_holder)
    assert lasting_holder.auditor("GET", "/datasets", key=lasting).status_code == 200


def test_a_disabled_account_cannot_call_until_it_is_enabled(lasting_holder: TestedHolder) -> None:
    key = lasting_holder.open_auditor("paused", epsilon="1")

    lasting_holder.admin("PATCH", "/auditors/paused", json={"disabled": True})
    refused(lasting_holder.release(plan(), key=key), "unauthenticated", holder=lasting_holder)
    lasting_holder.admin("PATCH", "/auditors/paused", json={"disabled": False})

    assert lasting_holder.release(plan(), key=key).status_code == 201


def test_a_key_is_withdrawn_from_its_own_account_alone(unmoved_holder: TestedHolder) -> None:
    key_id = unmoved_holder.admin_key.split("_")[1]

    refused(unmoved_holder.admin("DELETE", f"/auditors/ADR/keys/{key_id}"), "not-found", holder=unmoved_holder)


def test_nobody_can_lock_the_last_administrator_out(sqlite_holder: TestedHolder) -> None:
    key_id = sqlite_holder.admin_key.split("_")[1]
    sqlite_holder.admin("POST", "/auditors", json={"name": "late", "role": "administrator", "expires": PAST})
    sqlite_holder.admin("POST", "/auditors", json={"name": "closed", "role": "administrator"})
    sqlite_holder.admin("PATCH", "/auditors/closed", json={"disabled": True})
    withdraw = ("DELETE", f"/auditors/administrator/keys/{key_id}")

    refused(sqlite_holder.admin(*withdraw), "conflict", holder=sqlite_holder)
    disabled = sqlite_holder.admin("PATCH", "/auditors/administrator", json={"disabled": True})
    refused(disabled, "conflict", holder=sqlite_holder)
    assert sqlite_holder.admin("GET", "/auditors").status_code == 200

    sqlite_holder.admin("PATCH", "/auditors/closed", json={"disabled": False})
    assert sqlite_holder.admin(*withdraw).status_code == 204
    refused(sqlite_holder.admin("GET", "/auditors"), "unauthenticated", holder=sqlite_holder)


def test_keys_are_shown_once_and_kept_nowhere(sqlite_holder: TestedHolder) -> None:
    secret = sqlite_holder.auditor_key.split("_", 2)[2]

    shown = sqlite_holder.admin("GET", "/auditors").text + sqlite_holder.admin("GET", "/ledger?limit=1000").text

    assert sqlite_holder.auditor_key.split("_")[1] in shown
    assert secret not in shown
    files = [path for path in sqlite_holder.settings.home.parent.rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)


def test_set_up_is_done_once(sqlite_holder: TestedHolder) -> None:
    with pytest.raises(Conflict):
        initialise(sqlite_holder.settings)


def test_a_second_home_on_the_same_database_gets_no_key_of_its_own(sqlite_holder: TestedHolder, tmp_path: Any) -> None:
    """No pinned client would follow it: holders of one database share one home."""
    second = settings_in(tmp_path / "second", sqlite_holder.settings.database_url)
    second = type(second)(second.home, second.database_url, sqlite_holder.settings.anchor)

    with pytest.raises(Conflict, match="share one HOLDER_HOME"):
        initialise(second)

    assert len(sqlite_holder.client.get("/v1/keys").json()["keys"]) == 1
    assert sqlite_holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_lost_database_is_not_replaced_by_an_empty_one(sqlite_holder: TestedHolder, tmp_path: Any) -> None:
    """Else every budget would be whole again, and nobody the wiser."""
    lost = sqlite_holder.settings
    empty = type(lost)(lost.home, f"sqlite:///{tmp_path / 'empty.sqlite'}", lost.anchor)

    with pytest.raises(Conflict, match="anchor"):
        initialise(empty)


def test_before_a_charge_everything_may_change_but_the_population(sqlite_holder: TestedHolder) -> None:
    for change in ({"relation": "replace"}, {"person_key": "pid"}, {"columns": DECLARATION["columns"][4:]}):
        assert sqlite_holder.declare(**change).status_code == 200
    assert sqlite_holder.auditor("GET", "/datasets/register").json()["version"] is None

    refused(sqlite_holder.release(plan()), "no-records", holder=sqlite_holder)
    moved = sqlite_holder.declare(population="elsewhere")
    refused(moved, "conflict", holder=sqlite_holder)


def test_fewer_records_than_declared_before_have_to_be_loaded_again(sqlite_holder: TestedHolder) -> None:
    """A release leaves at a time made for `records_max`: with more records its time would reveal them."""
    assert sqlite_holder.declare(records_max=20_000).json()["version"] == 1

    assert sqlite_holder.declare(records_max=10).json()["version"] is None

    refused(sqlite_holder.release(plan()), "no-records", holder=sqlite_holder)
    refused(sqlite_holder.load(register_csv()), "invalid-records", holder=sqlite_holder)


def test_declaring_the_same_again_is_no_change(unmoved_holder: TestedHolder) -> None:
    assert unmoved_holder.declare().json()["version"] == 1
    assert unmoved_holder.declare(cap=None).status_code == 200


def test_a_cap_on_delta_that_promises_little_is_declared_with_a_warning(sqlite_holder: TestedHolder) -> None:
    """From 1/records_max on, whole records may leave as far as the promise goes; below it nothing is said."""

    def warned(**changes: Any) -> list[str]:
        answer = sqlite_holder.declare(**changes)
        assert answer.status_code == 200
        warnings: list[str] = answer.json()["warnings"]
        return warnings

    assert warned(cap={"epsilon": "1", "delta": "0.000099999"}) == []
    (warning,) = warned(cap={"epsilon": "1", "delta": "0.0001"})
    assert "0.0001" in warning
    assert "1/10000" in warning
    assert warned(cap=None, records_max=9_999) == []
    assert len(warned(cap=None, records_max=20_000)) == 1, "the cap stands, and there may be more people"


def test_a_cap_below_what_was_spent_leaves_nothing(sqlite_holder: TestedHolder) -> None:
    charged = sqlite_holder.release(plan(epsilon="1"))
    sqlite_holder.declare(cap={"epsilon": "0.5", "delta": "0"})

    document = refused(sqlite_holder.release(plan(epsilon="0.001")), "cap-exhausted", holder=sqlite_holder)

    assert document["remaining"] == {"epsilon": "0", "delta": "0"}
    assert sqlite_holder.release(plan(epsilon="1")).content == charged.content
    assert sqlite_holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_budget_is_raised_lowered_and_revoked_and_what_was_spent_stays(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.release(plan(epsilon="1"))

    remaining = []
    for epsilon in ("2.5", "1", "0.5", "0", "999.999999999"):
        granted = sqlite_holder.grant(epsilon).json()
        assert granted == sqlite_holder.auditor("GET", "/datasets/register/budget").json()
        assert granted["spent"]["epsilon"] == "1"
        remaining.append(granted["remaining"]["epsilon"])

    assert remaining == ["1.5", "0", "0", "0", "998.999999999"]


def test_budgets_are_listed_and_found_by_name(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.open_auditor("other", epsilon="2")
    sqlite_holder.declare("second")
    sqlite_holder.grant("3", dataset="second", auditor="other")

    def listed(query: str = "") -> list[tuple[str, str, str]]:
        found = sqlite_holder.admin("GET", f"/budgets{query}").json()["budgets"]
        return [(one["auditor"], one["population"], one["limit"]["epsilon"]) for one in found]

    assert listed() == [("ADR", "register", "10"), ("other", "register", "2"), ("other", "second", "3")]
    assert listed("?auditor=other&population=second") == [("other", "second", "3")]
    assert listed("?auditor=nobody") == []


def test_populations_that_differ_are_not_merged(sqlite_holder: TestedHolder) -> None:
    for name, change in (("swapped", {"relation": "replace"}), ("keyed", {"person_key": "pid"})):
        assert sqlite_holder.declare(name, **change).status_code == 200

        answer = sqlite_holder.admin("POST", "/populations/register/merge", json={"population": name})

        refused(answer, "conflict", holder=sqlite_holder)


def test_an_expiry_is_kept_in_utc(sqlite_holder: TestedHolder) -> None:
    """So that whoever reads it, or is shown it to change it, need not ask for its zone."""
    sqlite_holder.admin(
        "PUT", "/datasets/register/budgets/ADR", json={"epsilon": "1", "expires": "2030-01-31T00:30:00+02:00"}
    )

    assert sqlite_holder.entries()[-1]["account"]["expires"] == "2030-01-30T22:30:00+00:00"


def test_populations_that_have_spent_more_together_than_an_amount_can_say_are_not_merged(
    sqlite_holder: TestedHolder,
) -> None:
    most = {"epsilon": "999.999999999", "delta": "0"}
    everybody = [{"id": str(number), "all_of": []} for number in range(60)]
    for name in ("register", "second"):
        sqlite_holder.offer(name, register_csv(people=3), epsilon=most["epsilon"], cap=most)
        costly = plan(epsilon="10", cells=everybody)
        assert sqlite_holder.release(costly, dataset=name).json()["charge"]["epsilon"] == "600"

    answer = sqlite_holder.admin("POST", "/populations/register/merge", json={"population": "second"})

    refused(answer, "conflict", holder=sqlite_holder)
    assert sqlite_holder.admin("GET", "/budgets").status_code == 200


def test_the_ledger_is_paged_without_a_gap(lasting_holder: TestedHolder) -> None:
    whole = lasting_holder.admin("GET", "/ledger?limit=1000").json()
    assert whole["next"] is None

    paged, after = [], 0
    while after is not None:
        page = lasting_holder.admin("GET", f"/ledger?after={after}&limit=3").json()
        paged += page["entries"]
        after = page["next"]

    assert paged == whole["entries"]
    assert [entry["sequence"] for entry in paged] == list(range(1, len(paged) + 1))
