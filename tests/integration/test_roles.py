"""Who may do what: every call and every form, as every role, with a withdrawn key and with none."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

import pytest
from fastapi.routing import APIRouter

from checks.role_table import PAGE, role_table, with_table
from holder_service.services.accounts.access import STAFF
from holder_service.web.console import approvals, auditors, budgets, datasets, ledger, loads
from holder_service.web.console.session import ConsoleRoute
from holder_service.web.edge.bodies import StrictRoute
from shared.contract.datasets import Role
from testing.console_visitors import Visitor, visitor
from testing.holders import TestedHolder
from testing.interface_walk import operations_of
from testing.refusals import refused
from testing.registers import DECLARATION, plan, register_csv

NOBODY: Final = "nobody"
WITHDRAWN: Final = "withdrawn"
CONSOLE: Final = (approvals, auditors, budgets, datasets, ledger, loads)
PAGES: Final = (
    "/console", "/console/datasets", "/console/declare", "/console/datasets/register", "/console/auditors",
    "/console/auditors/ADR", "/console/budgets", "/console/ledger", "/console/ledger/1", "/console/restore",
    "/console/datasets/register/loads", "/console/approvals",
)  # fmt: skip
"""Every page of the console."""


def opened(holder: TestedHolder, name: str, role: str) -> dict[str, Any]:
    answer = holder.admin("POST", "/auditors", json={"name": name, "role": role})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.fixture
def keys(sqlite_holder: TestedHolder) -> dict[str, str]:
    """A key of each role."""
    return {role: opened(sqlite_holder, f"a-{role}", role)["key"] for role in get_args(Role)}


def headers_of(key: str | None, media_type: str | None = None) -> dict[str, str]:
    return ({"Authorization": f"Bearer {key}"} if key else {}) | ({"Content-Type": media_type} if media_type else {})


def test_every_call_is_answered_to_every_role_as_the_contract_says(
    sqlite_holder: TestedHolder, keys: dict[str, str]
) -> None:
    withdrawn = opened(sqlite_holder, "gone", "administrator")
    sqlite_holder.admin("DELETE", f"/auditors/gone/keys/{withdrawn['key_id']}")
    callers: Mapping[str, str | None] = {**keys, WITHDRAWN: withdrawn["key"], NOBODY: None}
    operations = operations_of(sqlite_holder.client.get("/openapi.json").json())
    wrong, named = [], set()

    for name, (method, path, operation) in operations.items():
        roles = operation["x-roles"] if "security" in operation else [*callers]
        assert roles, f"{name} is for nobody"
        named |= set(roles)
        in_path = {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "path"}
        filled = path.format(**{parameter: example(parameter, schema) for parameter, schema in in_path.items()})
        media_type = next(iter(operation.get("requestBody", {}).get("content", ())), None)
        for who, key in callers.items():
            answer = sqlite_holder.client.request(
                method, filled, content=b"{}" if media_type else None, headers=headers_of(key, media_type)
            )
            refusal = 401 if key is None or who == WITHDRAWN else 403
            admitted = who in roles
            if (answer.status_code in (401, 403)) == admitted or (not admitted and answer.status_code != refusal):
                wrong.append(f"{name} as {who}: {answer.status_code}")

    assert wrong == []
    assert set(get_args(Role)) <= named
    assert len(operations) >= 45


def example(name: str, schema: dict[str, Any]) -> str:
    """What a path names: nothing that there is, so that nothing is changed."""
    known = {"dataset": "nothing", "auditor": "nothing", "population": "nothing"}
    return known.get(name) or str(schema.get("examples", [1])[0])


def test_a_call_is_refused_before_its_body_is_read(sqlite_holder: TestedHolder, keys: dict[str, str]) -> None:
    answer = sqlite_holder.client.put(
        "/v1/admin/datasets/register", content=b"no json", headers=headers_of(keys["viewer"], "text/plain")
    )

    refused(answer, "forbidden", holder=sqlite_holder)
    assert "role administrator or data-steward; your key has the role viewer" in answer.json()["detail"]


def test_a_route_that_names_no_role_cannot_be_made() -> None:
    router = APIRouter(route_class=StrictRoute)

    with pytest.raises(TypeError, match="declares its caller's roles"):
        router.get("/v1/admin/everything")(lambda: None)
    with pytest.raises(TypeError, match="does not say who may send its form"):
        APIRouter(route_class=ConsoleRoute).post("/console/everything")(lambda: None)


def test_the_table_of_the_documentation_is_the_contracts(lasting_holder: TestedHolder) -> None:
    page = PAGE.read_text("utf-8")

    assert page == with_table(page, role_table(lasting_holder.client.get("/openapi.json").json())), (
        "python -m checks.role_table"
    )


def test_a_steward_loads_and_an_officer_sets_the_cap(sqlite_holder: TestedHolder, keys: dict[str, str]) -> None:
    def asked(role: str, method: str, path: str, **request: Any) -> Any:
        headers = headers_of(keys[role]) | request.pop("headers", {})
        return sqlite_holder.client.request(method, f"/v1/admin{path}", headers=headers, **request)

    capless = {name: value for name, value in DECLARATION.items() if name != "cap"}
    refused(asked("data-steward", "PUT", "/datasets/new", json=DECLARATION), "forbidden", holder=sqlite_holder)
    assert asked("data-steward", "PUT", "/datasets/new", json=capless).status_code == 200
    csv = {"Content-Type": "text/csv"}
    loaded = asked("data-steward", "PUT", "/datasets/new/records", content=register_csv(), headers=csv)
    granted = asked("budget-officer", "PUT", "/datasets/new/budgets/ADR", json={"epsilon": "1"})
    before = sqlite_holder.release(plan(), dataset="new")
    cap = asked("budget-officer", "PUT", "/populations/new/cap", json={"cap": {"epsilon": "2", "delta": "0"}})
    after = sqlite_holder.release(plan(), dataset="new")
    # As it is, a cap may stand in a declaration; and with a charge, its kind is fixed.
    same = asked("data-steward", "PUT", "/datasets/new", json={**capless, "cap": cap.json()["cap"]})
    other = asked("data-steward", "PUT", "/datasets/new", json={**capless, "cap": {"epsilon": "3", "delta": "0"}})
    in_rho = asked("budget-officer", "PUT", "/populations/new/cap", json={"cap": {"rho": "1", "delta": "0.001"}})

    assert (loaded.status_code, granted.json()["spendable"]["epsilon"]) == (200, "0")
    refused(before, "cap-exhausted", holder=sqlite_holder)
    assert cap.json()["remaining"] == {"epsilon": "2", "delta": "0"}
    assert (after.status_code, same.status_code) == (201, 200)
    refused(other, "forbidden", holder=sqlite_holder)
    refused(in_rho, "already-charged", holder=sqlite_holder)
    kinds = [(entry["kind"], entry["actor"]) for entry in sqlite_holder.entries() if entry.get("population") == "new"]
    assert kinds == [
        ("population", "a-data-steward"), ("dataset", "a-data-steward"), ("records", "a-data-steward"),
        ("budget", "a-budget-officer"), ("cap", "a-budget-officer"), ("charge", "ADR"),
    ]  # fmt: skip
    assert sqlite_holder.is_intact()


def test_the_console_offers_a_role_what_it_may_do_and_refuses_the_rest(
    sqlite_holder: TestedHolder, keys: dict[str, str]
) -> None:
    routes = [route for module in CONSOLE for route in module.router.routes if isinstance(route, ConsoleRoute)]
    offered = set[str]()
    for role in STAFF:
        with visitor(sqlite_holder, logged_in=False) as visits:
            assert visits.log_in(keys[role]).path == "/console", role
            pages = {path: visits.get(path) for path in PAGES}
            for path, page in pages.items():
                asked = [one.admission for one in routes if matches(one, "GET", path)]
                admitted = all(one is None or role in one.roles for one in asked)
                assert page.status == (200 if admitted else 403), (role, path)
                links = {link["href"].partition("#")[0] for link in page.all("a") if link.get("href")}
                assert role in ("administrator", "data-steward") or "/console/declare" not in links, (role, path)
                for action in page.actions - {"/console/log-out"}:
                    [route] = [one for one in routes if matches(one, "POST", action)]
                    assert route.admission is not None
                    assert role in route.admission.roles, (role, path, action)
                    offered.add(route.path)
            assert dict(sent_as(visits, pages["/console"].values["form_token"], role, routes)) == {}

    never = {route.path for route in routes if "POST" in (route.methods or ())} - offered
    # These are offered where there is a column, an allowed root, a second population, a restore or a request.
    assert {path.rpartition("/")[2] for path in never} == {"delete", "url", "merge", "overlaps", "restore", "{request}"}


def sent_as(visits: Visitor, token: str, role: str, routes: list[ConsoleRoute]) -> Iterator[tuple[str, int]]:
    """Send every form empty, about what there is not; those that are not answered as they have to be."""
    for route in routes:
        if "POST" in (route.methods or ()):
            assert route.admission is not None
            status = visits.post(re.sub(r"\{\w+\}", "nothing", route.path), {"form_token": token}).status
            if (status == 403) == (role in route.admission.roles):
                yield route.path, status


def matches(route: ConsoleRoute, method: str, path: str) -> bool:
    return method in (route.methods or ()) and route.path_regex.fullmatch(path) is not None
