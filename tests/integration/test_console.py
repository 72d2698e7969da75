"""The console as an administrator's browser meets it: who gets in, what each form does, what no page ever shows."""

import csv
import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi.routing import APIRoute

from holder_service.services.accounts.logins import SESSION_LIFETIME
from holder_service.web.console import approvals, auditors, budgets, datasets, ledger, loads, log_in, overview
from holder_service.web.console.log_in import FAILURES_MAX
from shared.kinds.plans import Plan
from testing.console_visitors import Page, Visitor, visitor
from testing.holders import TestedHolder, opened, running_holder
from testing.registers import DECLARATION, linked_column, plan, register_csv
from testing.tampering import lose_the_anchored_entry

TO_APPROVE: Final = plan(draw=7, version=1)
REQUEST_ID: Final = Plan.model_validate(TO_APPROVE).identity(auditor="ADR", dataset="register")
REQUEST: Final = f"/console/approvals/{REQUEST_ID}"
PAGES: Final = (
    "/console", "/console/datasets", "/console/declare", "/console/datasets/register",
    "/console/datasets/register/loads", "/console/auditors",
    "/console/auditors/ADR", "/console/budgets", "/console/approvals", REQUEST, "/console/ledger", "/console/ledger/1",
    "/console/restore",
)  # fmt: skip


def leave_waiting(holder: TestedHolder) -> None:
    """Have the register require approvals, and one request wait for one."""
    holder.admin("PUT", "/populations/register/approval", json={"required": True}).raise_for_status()
    assert holder.release(TO_APPROVE).json()["id"] == REQUEST_ID


@pytest.fixture(scope="module")
def lasting_visitor(lasting_holder: TestedHolder) -> Iterator[Visitor]:
    """An administrator at a holder that nobody changes."""
    leave_waiting(lasting_holder)
    with visitor(lasting_holder) as visits:
        yield visits


@pytest.fixture
def administrator(sqlite_holder: TestedHolder) -> Iterator[Visitor]:
    """An administrator at a holder of the test's own."""
    with visitor(sqlite_holder) as visits:
        yield visits


def last_entry(holder: TestedHolder) -> dict[str, Any]:
    entry: dict[str, Any] = holder.entries()[-1]
    return entry


# Who gets in


@pytest.mark.parametrize("path", [*PAGES, "/console/ledger.csv", "/console/nope"])
def test_no_page_without_a_session(lasting_holder: TestedHolder, path: str) -> None:
    with visitor(lasting_holder, logged_in=False) as visits:
        page = visits.get(path)

        assert page.path == "/console/log-in"
        assert page.values["then"] == path
        assert "ADR" not in page.text


@pytest.mark.parametrize("key", ["", "none", "pafer_0123456789ab_" + "x" * 43, "é" * 60, "auditor's"])
def test_only_an_administrators_key_opens_a_session(lasting_holder: TestedHolder, key: str) -> None:
    with visitor(lasting_holder, logged_in=False) as visits:
        page = visits.log_in(lasting_holder.auditor_key if key == "auditor's" else key)

        assert page.status == 403
        assert ("this account's role is auditor" if key == "auditor's" else "This key is not valid") in page.text
        assert lasting_holder.auditor_key not in page.answer.text
        assert visits.get("/console").path == "/console/log-in"


def test_too_many_failures_are_slowed_down_by_address(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visitor(sqlite_holder, logged_in=False) as visits:
        failures = [visits.log_in("none").status for _ in range(FAILURES_MAX)]
        limited = visits.log_in(sqlite_holder.admin_key)
        monkeypatch.setattr(log_in, "FAILURES_WITHIN_S", 0.0)
        later = visits.log_in(sqlite_holder.admin_key)

        assert failures == [403] * FAILURES_MAX
        assert limited.status == 429
        assert limited.answer.headers["retry-after"]
        assert later.path == "/console"


def test_the_cookie_goes_to_no_script_no_other_site_and_no_plain_connection(sqlite_holder: TestedHolder) -> None:
    with httpx.Client(base_url=sqlite_holder.client.base_url, timeout=60) as client:
        for host, name, secure in (
            ("127.0.0.1", "holder-session", False),
            ("holder.org", "__Host-holder-session", True),
        ):
            page = Page(client.get("/console/log-in", headers={"Host": host}))
            cookies = {"Cookie": "; ".join(one.partition(";")[0] for one in page.answer.headers.get_list("set-cookie"))}
            answer = client.post(
                "/console/log-in", headers={"Host": host, **cookies},
                data={"key": sqlite_holder.admin_key, "form_token": page.values["form_token"]},
            )  # fmt: skip
            cookie = answer.headers["set-cookie"]

            assert cookie.startswith(f"{name}=")
            assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
            assert ("Secure" in cookie) == secure
            assert "Domain" not in cookie
            assert sqlite_holder.admin_key not in cookie
            assert ("does not look encrypted" in page.text) == secure


def test_neither_key_nor_token_is_kept(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    token = administrator.client.cookies["holder-session"]
    store = b"".join(path.read_bytes() for path in sqlite_holder.settings.home.parent.rglob("*") if path.is_file())

    assert sqlite_holder.admin_key[-20:].encode() not in store
    assert token[:20].encode() not in store


def test_a_session_ends_at_once_with_the_key_that_opened_it(sqlite_holder: TestedHolder) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    keys = [
        sqlite_holder.admin(
            "POST", "/auditors", json={"name": name, "role": "administrator", "expires": tomorrow}
        ).json()
        for name in ("withdrawn", "disabled", "expired")
    ]
    with (
        visitor(sqlite_holder, logged_in=False) as one,
        visitor(sqlite_holder, logged_in=False) as two,
        visitor(sqlite_holder, logged_in=False) as three,
    ):
        for visits, key in zip((one, two, three), keys, strict=True):
            assert visits.log_in(key["key"]).path == "/console"

        sqlite_holder.admin("DELETE", f"/auditors/withdrawn/keys/{keys[0]['key_id']}")
        sqlite_holder.admin("PATCH", "/auditors/disabled", json={"disabled": True})

        assert one.get("/console").path == "/console/log-in"
        assert two.get("/console").path == "/console/log-in"
        assert three.get("/console").path == "/console"
        sqlite_holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=2)
        assert three.get("/console").path == "/console/log-in"


def test_a_session_ends_by_itself_and_by_logging_out(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    kept = dict(administrator.client.cookies)
    with visitor(sqlite_holder) as other:
        assert other.send("/console", {}, to="log-out").path == "/console/log-in"
        assert administrator.get("/console").path == "/console"

        sqlite_holder.holder.store.clock = lambda: datetime.now(UTC) + SESSION_LIFETIME
        assert administrator.get("/console").path == "/console/log-in"
    sqlite_holder.holder.store.clock = lambda: datetime.now(UTC)
    with visitor(sqlite_holder, logged_in=False) as thief:
        thief.client.cookies.update(kept)
        assert thief.send("/console", {}, to="log-out").path == "/console/log-in"
        thief.client.cookies.update(kept)
        assert thief.get("/console").path == "/console/log-in"


def test_the_way_back_after_a_log_in_leads_nowhere_else(sqlite_holder: TestedHolder) -> None:
    for then, path in (
        ("/console/ledger", "/console/ledger"),
        ("https://evil.example/", "/console"),
        ("//evil", "/console"),
    ):
        with visitor(sqlite_holder, logged_in=False) as visits:
            fields = {"key": sqlite_holder.admin_key, "then": then}

            assert visits.send("/console/log-in", fields).path == path


# Forms

FILLED: Final = {"{dataset}": "register", "{auditor}": "ADR", "{key}": "0123456789ab", "{request}": REQUEST_ID}
PARTS: Final = (overview, approvals, auditors, budgets, datasets, loads, ledger, log_in)


def actions() -> list[str]:
    """Every path of the console that takes a form."""
    paths = [
        one.path
        for part in PARTS
        for one in part.router.routes
        if isinstance(one, APIRoute) and "POST" in (one.methods or ())
    ]
    for placeholder, value in FILLED.items():
        paths = [path.replace(placeholder, value) for path in paths]
    return paths


@pytest.mark.parametrize("action", actions())
def test_a_form_of_another_site_changes_nothing(
    unmoved_holder: TestedHolder, lasting_visitor: Visitor, action: str
) -> None:
    own = lasting_visitor.get("/console").values["form_token"]
    files = {"records": ("records.csv", register_csv(), "text/csv")} if action.endswith("/records") else None

    def post(token: dict[str, str], **headers: str) -> httpx.Response:
        return lasting_visitor.client.post(action, data=token, files=files, headers=headers)

    refusals = [
        post({}), post({"form_token": ""}), post({"form_token": "é" * 64}), post({"form_token": "0" * 64}),
        post({"form_token": own}, **{"Sec-Fetch-Site": "cross-site"}),
        post({"form_token": own}, **{"Sec-Fetch-Site": "same-site"}),
    ]  # fmt: skip

    assert {answer.status_code for answer in refusals} <= {403, 422}
    assert all('role="alert"' in answer.text for answer in refusals)
    assert lasting_visitor.get("/console").path == "/console"


@pytest.mark.parametrize("action", actions())
def test_no_body_breaks_a_form(unmoved_holder: TestedHolder, lasting_visitor: Visitor, action: str) -> None:
    forms = (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "text/plain",
    )
    bodies = (
        b"", b"\xff\xfe", b"form_token=%ff", b"a=1&a=2&form_token=x", b"&".join(b"f%d=1" % n for n in range(99)),
        b'--x\r\nContent-Disposition: form-data; name="records"; filename="a.csv"\r\n\r\nid\r\n--x--\r\n',
        b'--x\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n' + b"0" * 5000 + b"\r\n--x--\r\n",
        b"form_token=" + b"x" * 5000,
    )  # fmt: skip

    for media in forms:
        for body in bodies:
            answer = lasting_visitor.client.post(action, content=body, headers={"Content-Type": media})

            assert answer.status_code in (403, 413, 422), (media, body)
            assert answer.headers["content-type"].startswith("text/html")
    assert not list(unmoved_holder.settings.incoming.glob("*"))


# What the forms do


def test_an_account_is_opened_and_its_key_shown_once(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    fields = {"name": "new", "role": "auditor", "expires": "2030-01-31T12:00", "display_name": "Frau Müller"}
    page = administrator.send("/console/auditors", fields)
    key = re.search(r"pafer_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", page.text)

    assert key is not None
    assert page.answer.headers["cache-control"] == "no-store"
    assert sqlite_holder.auditor("GET", "/datasets", key=key[0]).status_code == 200
    assert last_entry(sqlite_holder)["detail"]["expires"] == "2030-01-31T12:00:00+00:00"
    assert all(key[0] not in administrator.get(path).answer.text for path in ("/console/auditors/new", *PAGES))


def test_a_key_is_issued_once_for_each_form_and_withdrawn(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    path = "/console/auditors/ADR"
    sent = {"form_token": administrator.get(path).values["form_token"], "expires": ""}
    newest = administrator.get(path).values["newest"]
    first = administrator.post(f"{path}/keys", {**sent, "newest": newest})
    again = administrator.post(f"{path}/keys", {**sent, "newest": newest})
    issued = last_entry(sqlite_holder)["subject"]
    withdrawn = administrator.send(path, {}, to=f"keys/{issued}/withdraw")
    unknown = administrator.post(f"{path}/keys/ffffffffffff/withdraw", sent)

    assert (first.status, again.status, unknown.status) == (200, 409, 404)
    assert "This form was already sent" in again.text
    assert f"Key {issued} is withdrawn." in withdrawn.text
    assert last_entry(sqlite_holder)["kind"] == "key-withdrawn"
    assert "withdrawn" not in administrator.get(path).text.partition("Keys")[0], "a message is shown once"


def test_an_account_is_shown_by_another_name(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    named = administrator.send("/console/auditors/ADR", {"display_name": HOSTILE}, to="display-name")
    listed = administrator.get("/console/auditors")

    assert f"{HOSTILE} (ADR)" in named.text
    assert f"{HOSTILE} (ADR)" in listed.text
    assert not named.all("script")
    administrator.send("/console/auditors/ADR", {"display_name": ""}, to="display-name")
    assert HOSTILE not in administrator.get("/console/auditors/ADR").text.partition("Keys")[0]
    assert last_entry(sqlite_holder)["detail"] == {"display_name": None}


def test_an_account_is_disabled_and_enabled(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    disabled = administrator.send("/console/auditors/ADR", {"disabled": "true"}, to="state")
    refused = sqlite_holder.auditor("GET", "/datasets")
    enabled = administrator.send("/console/auditors/ADR", {"disabled": "false"}, to="state")
    last = administrator.send("/console/auditors/administrator", {"disabled": "true"}, to="state")

    assert "ADR may no longer call." in disabled.text
    assert refused.status_code == 401
    assert "ADR may call again." in enabled.text
    assert sqlite_holder.auditor("GET", "/datasets").status_code == 200
    assert last.status == 409
    assert "no administrator who can log in" in last.text


def test_a_budget_is_granted_lowered_and_revoked(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    sqlite_holder.open_auditor("new")
    of = {"dataset": "register", "auditor": "new"}

    def send(**fields: str) -> Page:
        return administrator.send("/console/budgets", {**of, "expires": "", **fields})

    granted = send(epsilon="2.5", delta="0.000001", expires="2030-01-31T12:00")
    prefilled = administrator.get("/console/budgets?dataset=register&auditor=new")
    refused = send(epsilon="1e3", delta="0")
    ended = send(epsilon="1", delta="0", expires="2020-01-31T12:00")
    revoked = send(epsilon="0", delta="0", expires="2020-01-31T12:00")

    assert "The budget of new with population register is now ε 2.5, δ 0.000001" in granted.text
    assert prefilled.values["epsilon"] == "2.5"
    assert prefilled.values["expires"] == "2030-01-31T12:00"
    assert refused.status == 422
    assert "Write the amount as a decimal string" in refused.text
    assert refused.values["epsilon"] == "1e3", "what was typed is still there"
    assert ended.status == 422
    assert "Give a later time or none; to revoke the budget immediately, grant 0." in ended.text
    assert "is now ε 0; ε 0 is left." in revoked.text
    entry = last_entry(sqlite_holder)
    assert (entry["kind"], entry["actor"], entry["auditor"]) == ("budget", "administrator", "new")


def test_a_dataset_is_declared_changed_loaded_and_retired(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    declaration = administrator.get("/console/declare")
    example = declaration.areas["declaration"]
    page = "/console/datasets/survey"
    declared = administrator.send("/console/declare", {"name": "survey", "declaration": example})
    again = administrator.send("/console/declare", {"name": "survey", "declaration": example})
    administrator.send(page, {"records_max": "5000"}, to="limits")
    changed, strict, senseless = (
        administrator.send(page, {"epsilon": "7.5", "delta": delta}, to="cap") for delta in ("0.001", "0.0001", "1")
    )
    broken = administrator.send(page, {"declaration": '{"person_key": "id", "columns": []}'}, to="declaration")
    kept = administrator.send(page, {"confirm": "register"}, to="retire")
    retired = administrator.send(page, {"confirm": "survey"}, to="retire")

    assert "Dataset survey is declared, of population survey. Load its records next." in declared.text
    assert again.status == 422
    assert "The dataset 'survey' already exists" in again.text
    assert {"epsilon": "7.5", "delta": "0.001", "records_max": "5000"}.items() <= changed.values.items()
    assert "delta, 0.001, is not below 1/records_max (1/5000)" in html.unescape(changed.text)
    assert "1/records_max" not in strict.text
    assert senseless.status == 422
    assert "must be below 1" in senseless.text
    assert broken.status == 422
    assert "columns: " in broken.text
    assert "To retire the dataset, enter its name, survey" in kept.text
    assert retired.path == "/console/datasets"
    assert [entry["kind"] for entry in sqlite_holder.entries()][-5:] == [
        "dataset",
        "dataset",
        "cap",
        "cap",
        "retirement",
    ]


def test_derived_columns_are_shown_and_deleted(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    page = "/console/datasets/register"
    before = administrator.get(page)
    column = sqlite_holder.derive(linked_column(b"id,value\n")).json()["id"]

    shown = administrator.get(page)
    unknown = administrator.send(page, {"column": f"sha256:{'0' * 64}"}, to="columns/delete")
    deleted = administrator.send(page, {"column": shown.values["column"]}, to="columns/delete")

    assert "Derived columns" not in before.text
    assert "decision ADR category linked values 201 awaiting values" in shown.text
    assert shown.values["column"] == column
    assert (unknown.status, deleted.status) == (404, 200)
    assert "Derived columns" not in deleted.text
    assert "Derived column decision of ADR about register deleted" in administrator.get("/console/ledger").text
    assert last_entry(sqlite_holder)["actor"] == "administrator"


def test_what_a_dataset_page_shows_as_its_declaration_declares_it_again(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    head = last_entry(sqlite_holder)
    shown = administrator.get("/console/datasets/register").areas["declaration"]

    page = administrator.send("/console/datasets/register", {"declaration": shown}, to="declaration")

    assert "is declared" in page.text
    assert last_entry(sqlite_holder) == head, "nothing changed, so there is no entry"


@pytest.mark.parametrize("name", ["records.csv", "RECORDS.PARQUET"])
def test_records_are_loaded_from_a_file_all_or_nothing(
    sqlite_holder: TestedHolder, administrator: Visitor, tmp_path: Path, name: str
) -> None:
    content = register_csv(people=20_000 if name.endswith("csv") else 50)
    sqlite_holder.declare(records_max=20_000)
    if name.endswith("PARQUET"):
        content = as_parquet(content, tmp_path)
    page = "/console/datasets/register"
    token = {"form_token": administrator.get(page).values["form_token"]}

    def load(name: str, content: bytes) -> Page:
        return Page(administrator.client.post(f"{page}/records", data=token, files={"records": (name, content)}))

    loaded, broken, none = load(name, content), load(name, content[:-9]), load("", b"")
    token["form_token"] = "0"
    unread = load(name, content)

    assert "Version 2 of register is loaded." in loaded.text
    assert (broken.status, none.status) == (422, 422)
    assert re.search("line 20001|from here on the file is not readable", broken.text)
    assert "Choose a file" in none.text
    assert re.findall(r"<details open>\s*<summary>([^<]+)<", unread.answer.text) == ["Load records"]
    assert sqlite_holder.auditor("GET", "/datasets/register").json()["version"] == 2
    assert not list(sqlite_holder.settings.incoming.glob("*"))


def test_records_are_checked_and_loaded_as_another_tool_wrote_them(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    written = register_csv().decode().replace("true", "1").replace("false", "N").replace(",", ";").encode()
    page = "/console/datasets/register"
    token = {"form_token": administrator.get(page).values["form_token"]}
    declared = {
        "delimiter": ";", "decimal": ".", "encoding": "cp1252", "missing": "", "true": "1 J", "false": " N",
        "dates": "", "only_declared": "on",
    }  # fmt: skip
    form = sqlite_holder.auditor("GET", "/datasets/register").json

    def load(**fields: str) -> Page:
        files = {"records": ("records.csv", written)}
        return Page(administrator.client.post(f"{page}/records", data={**token, **fields}, files=files))

    checked, refused = load(**declared, check="on"), load(**{**declared, "false": "0"}, check="on")
    senseless = [load(**{**declared, **wrong}) for wrong in ({"false": "j"}, {"encoding": "utf-16"}, {"other": "1"})]
    version = form()["version"]
    loaded = load(**declared)

    assert "The file fits the declaration of register. Nothing was stored." in checked.text
    assert (refused.status, version) == (422, 1)
    assert "20 things are not as they have to be" in refused.text
    assert re.search(r"line \d+, column 'citizen': expected true or false", refused.text)
    assert [page.status for page in senseless] == [422] * 3
    assert "A word means one thing" in senseless[0].text
    for shown, false, switches in ((refused, "0", ["only_declared", "check"]), (senseless[0], "j", ["only_declared"])):
        assert {"true": "1 J", "false": false}.items() <= shown.values.items(), "what was entered is still there"
        assert re.findall("<option selected>([^<]+)<", shown.answer.text) == [";", ".", "cp1252"]
        assert [one["name"] for one in shown.all("input") if "checked" in one] == switches
        assert sum("open" in one for one in shown.all("details")) == 2
    assert "Version 2 of register is loaded." in loaded.text


def test_a_declaration_is_checked_with_the_line_of_each_fault(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    example = administrator.get("/console/declare").areas["declaration"]
    lines = [
        '{"person_key": "id",',
        '"columns": [',
        '{"name": "a", "type": "integer"},',
        '{"name": 1,',
        '"type": "x"}]}',
    ]
    form = {"name": "survey", "declaration": "\r\n".join(lines), "check": "yes"}

    checked = administrator.send("/console/declare", {"name": "survey", "declaration": example, "check": "yes"})
    faulty = administrator.send("/console/declare", form)
    unreadable = administrator.send("/console/declare", {**form, "declaration": "{\n}}"})
    uncounted = json.dumps({"person_key": "id", "columns": [{"name": "a", "type": "boolean"}]})
    whole = administrator.send("/console/declare", {**form, "declaration": uncounted})

    assert "nothing is declared yet" in checked.text
    assert checked.values["name"] == "survey"
    assert "education category low, middle, high" in checked.text
    assert '"education"' in checked.text
    assert (faulty.status, unreadable.status) == (422, 422)
    assert "line 4, columns[1].name: Input should be a valid string" in faulty.text
    assert "line 5, columns[1].type: " in faulty.text
    assert faulty.values["name"] == "survey"
    assert "line 2" in unreadable.text
    assert "<p>Declare at least one sensitive column" in whole.answer.text
    assert administrator.get("/console/datasets/survey").status == 404
    assert last_entry(sqlite_holder)["dataset"] != "survey"


WORDS: Final[dict[str, str]] = {
    "title": "Kredite – قروض",
    "description": "All applications.\r\nNone made online.",
    "source": "Register",
    "reference_date": "2025-12-31",
    "people": "50000",
    "contact": "data@office.example",
    "licence": "",
    "columns": '{"age": {"title": "Age", "unit": "years"},\r\n"sex": {"values": {"Female": "women"}}}',
}


def test_what_people_read_of_a_dataset_is_shown_and_written(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    page = "/console/datasets/register"
    before = administrator.get(page)
    written = administrator.send(page, WORDS, to="metadata")
    listed = administrator.get("/console/datasets")
    shown = {name: {**written.values, **written.areas}[name] for name in WORDS}
    again = administrator.send(page, shown, to="metadata")
    administrator.send(page, {"epsilon": "7", "delta": "0"}, to="cap")
    kept = administrator.send(page, {"records_max": "5000"}, to="limits")
    entries = [entry["kind"] for entry in sqlite_holder.entries()]
    taken = administrator.send(page, dict.fromkeys(WORDS, ""), to="metadata")

    assert "Source" not in before.text.partition("Population")[0]
    assert "The metadata of register are saved." in written.text
    assert "\u2068Kredite – قروض\u2069 (register) All applications. None made online. Source Register" in written.text
    assert "People, about, as is published 50 000 Contact data@office.example Population" in written.text
    assert "Age (age) integer 0 to 120 years" in written.text
    assert "women (Female), Male" in written.text
    assert "\u2068Kredite – قروض\u2069 (register)" in listed.text
    assert json.loads(shown["columns"]) == json.loads(WORDS["columns"])
    assert again.areas == written.areas
    assert kept.areas["columns"] == shown["columns"]
    assert entries[-3:] == ["metadata", "cap", "dataset"], "what the page shows writes nothing anew"
    assert "metadata" not in sqlite_holder.auditor("GET", "/datasets/register").json()
    assert "Kredite" not in taken.text


def test_metadata_are_checked_with_all_faults_and_their_lines(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    page, head = "/console/datasets/register", last_entry(sqlite_holder)
    lines = ['{"age": {"title": "a\u202eb"},', '"sex": {"unit": "kg",', '"values": {"Femal": "women"}},', '"nose": {}}']

    def send(**fields: str) -> Page:
        return administrator.send(page, {**WORDS, **fields}, to="metadata")

    unlike = send(columns="\r\n".join(lines), title="x" * 201, reference_date="soon")
    unknown = send(columns="\r\n".join(lines).replace("\u202e", ""))
    unreadable, number, listed = send(columns='{\r\n"age"}'), send(people="many"), send(columns="[]")

    assert [one.status for one in (unlike, unknown, unreadable, number, listed)] == [422] * 5
    assert "3 things are not as they have to be" in unlike.text
    assert "title: String should have at most 200 characters" in unlike.text
    assert "reference_date: " in unlike.text
    assert "line 1, columns.age.title: Words may not hold" in unlike.text
    assert "3 things are not as they have to be" in unknown.text
    assert "line 2, columns.sex.unit: Column 'sex' does not have numbers" in unknown.text
    assert "line 3, columns.sex.values.Femal: Column 'sex' does not declare the value 'Femal'" in unknown.text
    assert "line 4, columns.nose: The dataset declares no column 'nose'" in unknown.text
    assert unknown.areas["columns"].splitlines() == [line.replace("\u202e", "") for line in lines]
    assert unknown.values["title"] == WORDS["title"], "what was typed is still there"
    assert "line 2" in unreadable.text
    assert "people is not a whole number" in number.text
    assert "line 1, columns: " in listed.text
    assert last_entry(sqlite_holder) == head


def test_the_holder_says_whose_it_is(sqlite_holder: TestedHolder) -> None:
    settings = replace(sqlite_holder.settings, organisation='Office <b>"of"</b> Statistics')
    with opened(settings, sqlite_holder.admin_key) as holder, visitor(holder) as visits:
        page = visits.get("/console/budgets")
        report = Page(visits.client.get("/console/datasets/register/report.html"))

        assert 'Holder Office <b>"of"</b> Statistics' in page.text
        assert 'Holder Office <b>"of"</b> Statistics Population' in report.text
        assert holder.admin("GET", "/datasets/register/report").json()["organisation"] == settings.organisation


def test_accounts_are_shown_by_name_and_technical_name(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    charged = sqlite_holder.release(plan()).json()["ledger"]["sequence"]
    sqlite_holder.admin("PATCH", "/auditors/ADR", json={"display_name": "Frau Müller"})
    sqlite_holder.admin("PATCH", "/auditors/administrator", json={"display_name": "السيدة مولر"})

    texts = {path: administrator.get(path).text for path in (*PAGES, f"/console/ledger/{charged}")}

    for path in ("/console", "/console/ledger", f"/console/ledger/{charged}"):
        assert "Frau Müller (ADR) was charged ε 0.1 about register" in texts[path]
    assert "\u2068السيدة مولر\u2069 (administrator)" in texts["/console/ledger"], "its letters turn nothing behind it"
    assert "Budget of Frau Müller (ADR) set to ε 10" in texts["/console/ledger"]
    assert "Auditor Frau Müller (ADR)" in texts[f"/console/ledger/{charged}"]
    assert texts["/console/budgets"].count("Frau Müller (ADR)") == 3, "in both tables and in the form"
    for path in ("/console/auditors", "/console/auditors/ADR"):
        assert "Frau Müller (ADR)" in texts[path]
    granted = {"dataset": "register", "auditor": "ADR", "epsilon": "3", "delta": "0", "expires": ""}
    options = [one.get("value") for one in administrator.get("/console/budgets").all("option")]
    assert "ADR" in options, "the form sends the technical name"
    assert administrator.send("/console/budgets", granted).status == 200
    filtered = administrator.get("/console/ledger?kind=charge&account=ADR")
    assert f"/console/ledger/{charged}" in {one["href"] for one in filtered.all("a")}


def test_limits_are_changed_and_nothing_else_of_a_declaration(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    sqlite_holder.declare("open", sensitive_in_rules=True)

    administrator.send("/console/datasets/open", {"records_max": "5000"}, to="limits")

    assert sqlite_holder.auditor("GET", "/datasets/open").json()["sensitive_in_rules"] is True


def test_how_many_audits_a_cap_holds_is_shown_until_its_kind_is_fixed(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    sqlite_holder.declare("fresh", cap={"epsilon": "1", "delta": "0"})
    sqlite_holder.load(register_csv(), "fresh")
    sqlite_holder.admin("PUT", "/datasets/fresh/budgets/ADR", json={"epsilon": "1"})
    before = administrator.get("/console/datasets/fresh").text
    sqlite_holder.release(plan(epsilon="0.1"), dataset="fresh").raise_for_status()
    after = administrator.get("/console/datasets/fresh").text

    # Of ε 0.01 a cap of ε 1 holds 100, and the ρ that is read as it 487, or 974 with Gaussian noise.
    assert re.search(r"0\.01\s+100\s+487\s+974", before)
    assert "in ρ, Gaussian noise" not in after
    assert "or cap, ρ" in before
    assert "ap, ρ" not in after, "an account that adds up ε takes no cap in ρ"


def as_parquet(content: bytes, folder: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(
        pa.BufferReader(content), convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    pyarrow.parquet.write_table(table, folder / "records.parquet")
    return (folder / "records.parquet").read_bytes()


def test_populations_are_merged(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    sqlite_holder.declare("other")
    fields = {"into": "register", "population": "other"}

    merged = administrator.send("/console/datasets", fields, to="/console/populations/merge")
    sqlite_holder.declare("third")
    again = administrator.send("/console/datasets", fields, to="/console/populations/merge")

    assert "Population other is merged into register" in merged.text
    assert again.status == 409
    assert "was already merged into 'register'" in again.text


def test_a_look_at_shared_people_is_an_entry_and_a_page_is_none(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    """The page shows no figure, a look a band: 300 people are far from its edges: one look in 10 to the 17th misses."""
    sqlite_holder.declare("other")
    sqlite_holder.load(register_csv(people=300), "other")
    sqlite_holder.declare("poor", cap={"epsilon": "0.1", "delta": "0"})
    before = len(sqlite_holder.entries())

    shown = administrator.get("/console/datasets")
    fields = {"one": "register", "other": "other"}
    looks = [
        administrator.send("/console/datasets", fields | changes, to="/console/populations/overlaps")
        for changes in ({}, {"other": "poor"}, {"other": ""})
    ]

    assert "People in several populations" in shown.text
    assert "in common" not in shown.text
    assert "register and other have 100 to 1000 person keys in common; epsilon 0.2" in looks[0].text
    assert "the cap of 'poor' has less left" in looks[1].text
    assert [look.status for look in looks] == [200, 409, 404]
    assert [entry["kind"] for entry in sqlite_holder.entries()[before:]] == ["overlap-look"] * 2
    assert "Looked at people of register in other" in administrator.get("/console/ledger").text


def test_a_signing_key_is_put_in_force_once_however_often_the_form_is_sent(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    before = sqlite_holder.client.get("/v1/keys").json()["keys"]

    form = {"newest": before[-1]["id"]}
    done, again = (administrator.send("/console/ledger", form, to="/console/signing-keys") for _ in range(2))

    after = sqlite_holder.client.get("/v1/keys").json()["keys"]
    assert len(after) == len(before) + 1
    assert f"Signing key {after[-1]['id']} is in force." in done.text
    assert again.status == 409
    assert after[-1]["id"] in administrator.get("/console").text


def test_the_transparency_report_is_a_file(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    sqlite_holder.release(plan())

    answer = administrator.client.get("/console/datasets/register/report.html")

    assert answer.headers["content-disposition"] == 'attachment; filename="transparency-register.html"'
    assert "1 release to 1 auditor" in answer.text
    assert administrator.get("/console/datasets/nothing/report.html").status == 404


def test_the_ledger_is_paged_filtered_exported_and_verified(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    sqlite_holder.declare("other")
    for draw in range(1, 61):
        sqlite_holder.release(plan(epsilon="0.01", draw=draw))
    entries = sqlite_holder.entries()

    def shown(page: Page) -> list[int]:
        links = [one["href"].rpartition("/")[2] for one in page.all("a")]
        return [int(link) for link in links if link.isdigit()]

    first = administrator.get("/console/ledger")
    second = administrator.get(next(one["href"] for one in first.all("a") if one.get("rel") == "next"))
    charges = administrator.get("/console/ledger?kind=charge&population=register&account=ADR")
    about = administrator.get("/console/ledger?account=ADR&before=20")
    other = administrator.get("/console/ledger?population=other")
    nothing = administrator.get("/console/ledger?kind=charge&population=nope&account=%25")
    of_dataset = administrator.get("/console/ledger?dataset=register")
    older_of_dataset = administrator.get(next(one["href"] for one in of_dataset.all("a") if one.get("rel") == "next"))
    exported = list(csv.DictReader(administrator.client.get("/console/ledger.csv").text.splitlines()))
    verified = administrator.send("/console/ledger", {}, to="verify")

    assert shown(first) + shown(second) == [entry["sequence"] for entry in reversed(entries)]
    assert shown(charges) == [entry["sequence"] for entry in reversed(entries) if entry["kind"] == "charge"][:50]
    assert {entries[one - 1]["kind"] for one in shown(about)} == {"account", "key", "budget", "charge"}
    assert [entries[one - 1]["kind"] for one in shown(other)] == ["dataset", "population"]
    assert "No entry is like that." in nothing.text
    about_register = [entry["sequence"] for entry in reversed(entries) if entry.get("dataset") == "register"]
    assert shown(of_dataset) + shown(older_of_dataset) == about_register
    assert [int(row["sequence"]) for row in exported[:-1]] == [entry["sequence"] for entry in entries]
    assert exported[-1]["kind"] == "end-of-export"
    assert f"Intact: {len(entries)} entries were recomputed" in verified.text
    assert all(
        entries[-1][name] in administrator.get(f"/console/ledger/{len(entries)}").text for name in ("hash", "subject")
    )
    assert administrator.get("/console/ledger/9999").status == 404


def test_the_ledger_is_filtered_by_time_and_exported_as_it_is_shown(
    sqlite_holder: TestedHolder, administrator: Visitor
) -> None:
    """From a minute on, up to but not including another; what was chosen is still chosen, and the export has it."""
    charged = datetime.fromisoformat(sqlite_holder.release(plan()).json()["created"])
    minute = charged.replace(second=0, microsecond=0, tzinfo=None)
    begin, end, later = ((minute + timedelta(minutes=minutes)).isoformat(timespec="minutes") for minutes in (-60, 1, 2))

    within = administrator.get(f"/console/ledger?kind=charge&dataset=register&since={begin}&until={end}")
    after = administrator.get(f"/console/ledger?kind=charge&since={later}")
    [export] = [one["href"] for one in within.all("a") if "ledger.csv" in one["href"]]
    exported = list(csv.DictReader(administrator.client.get(export).text.splitlines()))

    assert "charged ε" in within.text
    assert "No entry is like that." in after.text
    assert [row["kind"] for row in exported] == ["charge", "end-of-export"]
    assert (within.values["since"], within.values["until"]) == (begin, end)
    assert all(f"<option selected>{one}</option>" in within.answer.text for one in ("charge", "register"))


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("since=yesterday", "From is not a valid date and time"),
        ("until=2026-01-31T12:00%2B02:00", "Before is not a valid date and time"),
        ("since=9999-99-99T00:00", "From is not a valid date and time"),
        ("kind=nothing", "This kind of entry does not exist"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(lasting_visitor: Visitor, query: str, detail: str) -> None:
    for path in ("/console/ledger", "/console/ledger.csv"):
        page = lasting_visitor.get(f"{path}?{query}")

        assert page.status == 422
        assert detail in page.text


def test_a_ledger_that_was_changed_is_reported(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    with sqlite_holder.holder.store.database.read() as connection:
        connection.exec_driver_sql("UPDATE entries SET actor = 'somebody' WHERE sequence = 3")
        connection.commit()

    page = administrator.send("/console/ledger", {}, to="verify")

    assert "The ledger is not valid from entry 3 on: its content does not have the hash it carries." in page.text


def test_a_restore_is_recorded_by_whoever_can_log_in(sqlite_holder: TestedHolder) -> None:
    lose_the_anchored_entry(sqlite_holder.settings)
    with visitor(sqlite_holder) as visits:
        stopped, explained = visits.get("/console"), visits.get("/console/restore")
        budget = {"dataset": "register", "auditor": "ADR", "epsilon": "1", "delta": "0", "expires": ""}
        granted = visits.send("/console/budgets", budget)
        empty = visits.send("/console/restore", {"reason": " "})
        recorded = visits.send("/console/restore", {"reason": "disk <b>broke</b>"})

        assert "Stopped: record a restore" in stopped.text
        assert "The anchor holds entry 999" in explained.text
        assert granted.status == 503
        assert empty.status == 422
        assert "Every cap is closed" in recorded.text
        assert "There is nothing to record." in recorded.text
        assert sqlite_holder.release(plan()).status_code == 403
        opened = visits.send("/console/datasets/register", {"epsilon": "5", "delta": "0"}, to="cap")
        assert "The cap of population register is now ε 5; ε 5 is left." in opened.text
        assert sqlite_holder.release(plan()).status_code == 201
        assert last_entry(sqlite_holder)["actor"] == "ADR"
        ledger = visits.get("/console/ledger").text
        assert "Restore recorded: disk <b>broke</b>" in ledger
        assert "Cap of register closed by a restore" in ledger


def test_a_store_that_is_away_is_a_page_that_says_so(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    sqlite_holder.settings.anchor.unlink()
    sqlite_holder.settings.anchor.mkdir()
    (sqlite_holder.settings.anchor / "x").touch()

    page = administrator.get("/console")
    shutil.rmtree(sqlite_holder.settings.anchor)

    assert page.status == 503
    assert page.answer.headers["retry-after"]
    assert "The store is away." in page.text
    assert "lost" in administrator.get("/console").text


@pytest.mark.postgres
def test_every_page_is_there_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    with running_holder(tmp_path, postgres_url) as holder, visitor(holder) as visits:
        charged = holder.release(plan()).json()["ledger"]["sequence"]
        leave_waiting(holder)

        pages = [visits.get(path) for path in PAGES]
        filtered = visits.get("/console/ledger?kind=charge&population=register&account=ADR&before=999")
        verified = visits.send("/console/ledger", {}, to="verify")

        assert [page.status for page in pages] == [200] * len(PAGES)
        assert "Spent over time" in pages[0].text
        assert "PostgreSQL" in pages[0].text
        assert f"/console/ledger/{charged}" in {one["href"] for one in filtered.all("a")}
        assert "Intact" in verified.text


# What every page is


@pytest.mark.parametrize("path", ["/console/log-in", *PAGES, "/console/nope"])
def test_a_page_loads_nothing_from_elsewhere_and_runs_nothing(lasting_visitor: Visitor, path: str) -> None:
    page = lasting_visitor.get(path)
    policy = page.answer.headers["content-security-policy"]

    assert {"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'"} <= set(
        policy.split("; ")
    )
    assert "unsafe" not in policy
    assert "script" not in policy
    assert page.answer.headers["cache-control"] == "no-store"
    assert page.answer.headers["x-content-type-options"] == "nosniff"
    assert page.answer.headers["referrer-policy"] == "no-referrer"
    assert not {tag for tag, _ in page.elements} & {"script", "style", "iframe", "object", "embed", "base"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        for name in ("href", "src", "action"):
            assert attributes.get(name, "/")[0] in "/#", (tag, attributes)


@pytest.mark.parametrize("path", ["/console/log-in", *PAGES, "/console/nope"])
def test_a_page_can_be_used_without_seeing_it(lasting_visitor: Visitor, path: str) -> None:
    """One heading, a way to skip the navigation, a name for every field, picture and table; no id twice."""
    page = lasting_visitor.get(path)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    labels = {one["for"] for one in page.all("label")}
    fields = [one for tag in ("input", "select", "textarea") for one in page.all(tag)]
    described = [one["aria-describedby"] for _, one in page.elements if "aria-describedby" in one]
    labelled = [one["aria-labelledby"] for _, one in page.elements if "aria-labelledby" in one]

    assert page.all("html")[0]["lang"] == "en"
    assert page.all("meta")[1]["content"].startswith("width=device-width")
    assert len(page.all("h1")) == 1
    assert len(page.all("title")) == 1
    assert page.all("a")[0] == {"class": "skip", "href": "#content"}
    assert len(set(ids)) == len(ids)
    assert {*labels, *described, *labelled} <= set(ids)
    assert all(one["id"] in labels for one in fields if one.get("type") != "hidden" and "hidden" not in one)
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in one for one in page.all("th"))
    assert all(one.get("aria-label") or one.get("aria-hidden") for one in page.all("svg"))


def test_colours_are_distinguished(lasting_visitor: Visitor) -> None:
    """Text against its ground has a contrast of at least 4.5, light and dark (WCAG 2.2, AA)."""
    style = next(one["href"] for one in lasting_visitor.get("/console").all("link") if one["rel"] == "stylesheet")
    sheet = lasting_visitor.client.get(style)
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in sheet.text.split("}")[:2])
    pairs = (
        ("ink", "paper"), ("soft", "paper"), ("soft", "panel"), ("accent", "paper"), ("accent", "wash"),
        ("on-accent", "accent"), ("bad", "paper"), ("bad", "bad-paper"), ("ink", "good-paper"), ("good", "paper"),
    )  # fmt: skip

    for colours in (light, dark):
        for text, ground in pairs:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground, colours)
    assert "max-age" in sheet.headers["cache-control"]


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


HOSTILE: Final = '"><img src=x onerror=alert(1)><script>alert(1)</script>'


def test_hostile_names_stay_text(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    columns = [
        *DECLARATION["columns"],
        {"name": HOSTILE, "type": "category", "categories": [HOSTILE, "</textarea>{{7*7}}"]},
    ]
    sqlite_holder.declare("hostile", columns=columns, person_key="'" + HOSTILE)
    words = dict.fromkeys(("title", "description", "source", "contact", "licence"), HOSTILE)
    said = {"title": HOSTILE, "description": HOSTILE, "values": {HOSTILE: HOSTILE, "</textarea>{{7*7}}": "{{7*7}}"}}
    sqlite_holder.admin("PUT", "/datasets/hostile/metadata", json={**words, "columns": {HOSTILE: said}})
    sqlite_holder.admin("PATCH", "/auditors/ADR", json={"display_name": HOSTILE})
    report = Page(sqlite_holder.admin("GET", "/datasets/hostile/report?format=html"))
    lose_the_anchored_entry(sqlite_holder.settings)

    pages = [
        administrator.get("/console/datasets/hostile"),
        report,
        *map(
            administrator.get, ("/console/datasets", "/console/auditors/ADR", "/console/auditors", "/console/budgets")
        ),
        administrator.get(f"/console/budgets?dataset={HOSTILE}&auditor={HOSTILE}"),
        administrator.get(f"/console/ledger?kind={HOSTILE}&population={HOSTILE}&account={HOSTILE}"),
        administrator.get(f"/console/{HOSTILE}"),
        administrator.send("/console/restore", {"reason": HOSTILE}),
        administrator.get("/console/ledger"),
        administrator.send(
            "/console/auditors",
            {
                "name": HOSTILE,
                "role": HOSTILE,
                "expires": HOSTILE,
                "display_name": HOSTILE,
            },
        ),
        administrator.send("/console/declare", {"name": HOSTILE, "declaration": "</textarea>" + HOSTILE}),
    ]

    for page in pages:
        assert not page.all("script")
        assert all(one["src"].startswith("/console/static/") for one in page.all("img"))
        assert not [one for _, one in page.elements if "onerror" in one]
    assert all(HOSTILE in page.text for page in pages[:6])
    assert "{{7*7}}" in pages[0].text


def test_no_page_says_how_many_people_there_are(sqlite_holder: TestedHolder, administrator: Visitor) -> None:
    """A register of 7 919 people, counted in a release: no page has that number, nor any that was released."""
    sqlite_holder.load(register_csv(people=7_919))
    release = sqlite_holder.release(plan(epsilon="10", age=120)).json()
    counts = {count for cell in release["batches"][0]["cells"] for count in cell["counts"] if count > 1_000}
    token = administrator.get("/console").values["form_token"]
    verified = administrator.post("/console/ledger/verify", {"form_token": token})

    pages = [
        verified,
        *(administrator.get(path) for path in (*PAGES, f"/console/ledger/{release['ledger']['sequence']}")),
    ]

    assert len(counts) == 2
    for page in pages:
        for count in (7_919, *counts):
            assert not re.search(rf"(?<![\w-]){count // 1000}[  ,.]?{count % 1000:03}(?![\w-])", page.answer.text)
