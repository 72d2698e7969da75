"""A NUL in a path, a query or a form is refused by every route, and never a 500; on both stores."""

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import pytest
from fastapi.routing import APIRoute

from holder_service.web import console
from testing.console_visitors import Visitor, visitor
from testing.holders import TestedHolder
from testing.interface_walk import operations_of
from testing.refusals import refused

NUL: Final = "a%00b"
KNOWN: Final = {"dataset": "register", "population": "register", "auditor": "ADR"}


@pytest.fixture
def administrator(holder: TestedHolder) -> Iterator[Visitor]:
    with visitor(holder) as visits:
        yield visits


def paths_with_nul(path: str) -> Iterator[str]:
    """The path with a NUL in each of its parameters, the others as they should be."""
    names = re.findall(r"{(\w+)(?::path)?}", path)
    for with_nul in names:
        values = {name: KNOWN.get(name, "1") for name in names} | {with_nul: NUL}
        yield path.replace(":path}", "}").format(**values)


@pytest.mark.slow
def test_every_call_refuses_a_nul_in_its_path_and_its_query(holder: TestedHolder) -> None:
    wrong, tried = [], 0
    headers = {"Authorization": f"Bearer {holder.admin_key}"}
    auditors = {"Authorization": f"Bearer {holder.auditor_key}"}

    for method, path, operation in operations_of(holder.client.get("/openapi.json").json()).values():
        queries = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
        plain = re.sub(r"{(\w+)}", lambda one: KNOWN.get(one[1], "1"), path)
        for address in (*paths_with_nul(path), *(f"{plain}?{name}={NUL}" for name in queries), f"{plain}?x{NUL}=1"):
            for key in (headers, auditors):
                answer = holder.client.request(method, address, headers=key, content=b"{}")
                tried += 1
                if not 400 <= answer.status_code < 500:
                    wrong.append((method, address, answer.status_code))

    assert wrong == []
    assert tried > 200
    assert holder.is_intact()


def console_routes() -> list[APIRoute]:
    """The routes of each module of the console that has some."""
    modules = [import_module(f"{console.__name__}.{one.name}") for one in iter_modules(console.__path__)]
    routers = [module.router for module in modules if hasattr(module, "router")]
    return [route for router in routers for route in router.routes if isinstance(route, APIRoute)]


def test_every_page_and_form_of_the_console_refuses_a_nul(holder: TestedHolder, administrator: Visitor) -> None:
    before = len(holder.entries())
    token = administrator.get("/console/budgets").values["form_token"]
    wrong, forms = [], 0

    for route in console_routes():
        plain = re.sub(r"{(\w+)(?::path)?}", lambda one: KNOWN.get(one[1], "1"), route.path)
        for address in (*paths_with_nul(route.path), f"{plain}?population={NUL}", f"{plain}?then={NUL}"):
            for method in route.methods or ():
                answer = administrator.client.request(method, address, data={"form_token": token})
                if not 400 <= answer.status_code < 500:
                    wrong.append((method, address, answer.status_code))
        if "POST" in (route.methods or ()) and not plain.endswith("log-out"):
            forms += 1
            names = ("name", "population", "dataset", "auditor", "reason", "key", "then", "into", "columns", "epsilon")
            form = {"form_token": token, "required": "required", "days": "14", **dict.fromkeys(names, "register\0")}
            answer = administrator.client.post(plain, data=form)
            if not 400 <= answer.status_code < 500:
                wrong.append(("form", plain, answer.status_code))

    assert wrong == []
    assert forms > 10
    assert len(holder.entries()) == before


def test_a_form_says_what_is_wrong_with_a_nul(administrator: Visitor) -> None:
    page = administrator.send(
        "/console/budgets", {"population": "register\0", "required": "required", "days": "14"}, to="approval"
    )

    assert page.status == 422
    assert "NUL" in page.text


def test_a_nul_in_an_address_is_a_problem_document(sqlite_holder: TestedHolder) -> None:
    refused(sqlite_holder.admin("GET", f"/ledger?account={NUL}"), "invalid-request", holder=sqlite_holder)
