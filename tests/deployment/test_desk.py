"""The desk in a real browser without JavaScript, from a model's file to a report, by mouse and by keyboard alone.

One holder serves all tests; what the door keeps out is tested in tests/unit/auditor_client/test_desk.py.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
import skops.io
import uvicorn
from playwright.sync_api import Browser, Page, expect
from pydantic import SecretStr
from sklearn.tree import DecisionTreeClassifier

from auditor_client import Auditor
from auditor_client.desk.app import create_desk
from auditor_client.desk.asking import AuditDraft
from auditor_client.desk.audits import ORDERS
from auditor_client.desk.desk import Desk
from auditor_client.desk.trainings import TrainingDraft
from auditor_client.settings import AuditorSettings
from testing.browsers import PATIENCE_MS, PHONE_PX, violations
from testing.holders import TestedHolder, listening, running_holder, stopped_holder
from testing.holders import opened as running
from testing.identity_providers import AUDIENCE, NATIVE_CLIENT, identity_provider
from testing.registers import LEARNABLE, learnable_csv, register_csv
from testing.waits import wait_until


@dataclass(frozen=True)
class OpenDesk:
    """A desk that is served, and what it was made with."""

    desk: Desk
    holder: TestedHolder
    model: Path
    audit: str
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def root(self) -> str:
        return f"{self.url}{self.desk.door.root}"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenDesk]:
    """A desk whose auditor has audited before."""
    folder = tmp_path_factory.mktemp("desk")
    model = folder / "model.skops"
    people = [[age, citizen] for age in range(20, 80) for citizen in (0, 1)]
    decided = ["granted" if age > 40 or citizen else "refused" for age, citizen in people]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(people, decided)
    skops.io.dump(tree, model)
    with running_holder(folder / "holder", people=1500) as holder:
        holder.grant("10")  # enough for all tests, in any order
        settings = AuditorSettings(
            holder_url=holder.url, api_key=SecretStr(holder.auditor_key), receipts=folder / "receipts"
        )
        with Auditor.from_settings(settings) as auditor:
            before = auditor.audit(
                model, "register", ["sex", "origin"], "0.2", favourable=["granted"], columns=["age", "citizen"]
            )
        name = before.note.name.removeprefix("sha256:")
        holder.offer("loans", learnable_csv(people=3000), **LEARNABLE, purpose_required=True, epsilon="30")
        with opened(settings) as (desk, port):
            yield OpenDesk(desk, holder, model, name, port)


@contextmanager
def opened(settings: AuditorSettings) -> Iterator[tuple[Desk, int]]:
    """A desk served in a thread of this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        desk = Desk(settings, port)
        with listening(uvicorn.Config(create_desk(desk), log_level="warning", access_log=False), listener=listener):
            yield desk, port


@pytest.fixture
def client(started: OpenDesk) -> Iterator[httpx.Client]:
    """A browser that was let in, as far as its cookie goes."""
    with httpx.Client(base_url=started.url, timeout=60, cookies=cookie(started)) as client:
        yield client


def cookie(started: OpenDesk) -> dict[str, str]:
    return {"desk": str(started.desk.door._session)}


@contextmanager
def let_in(browser: Browser, started: OpenDesk, **options: Any) -> Iterator[Page]:
    """A page without JavaScript of a browser that is let in."""
    with browser.new_context(java_script_enabled=options.pop("script", False), **options) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies(
            [{"name": "desk", "value": cookie(started)["desk"], "domain": "127.0.0.1", "path": started.desk.door.root}]
        )
        yield context.new_page()


@contextmanager
def at_the_desk(browser: Browser, started: OpenDesk, **options: Any) -> Iterator[Page]:
    """The same; what the page complains about fails the test, and what it asks of others."""
    complaints = list[str]()
    with let_in(browser, started, **options) as page:
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("request", lambda asked: None if asked.url.startswith(started.url) else complaints.append(asked.url))
        yield page
    assert complaints == []


def test_a_stranger_comes_from_a_model_to_a_report(browser: Browser, started: OpenDesk, tmp_path: Path) -> None:
    spent = started.holder.spent()
    with at_the_desk(browser, started, accept_downloads=True) as page:
        page.goto(started.root)
        page.get_by_role("link", name="New audit").first.click()
        page.get_by_role("radio", name="register").check()
        page.get_by_label("A model’s file").set_input_files(started.model)
        page.get_by_role("button", name="Go on").click()
        page.get_by_label("sex").check()
        page.get_by_label("granted", exact=True).check()
        page.get_by_label("How many people").fill("1500")
        page.get_by_text("More of the question").click()
        page.get_by_label("Columns of the model’s inputs").fill("age, citizen")
        page.get_by_role("button", name="Show price and interval").click()
        expect(page.get_by_role("heading", name="What it would cost and show")).to_be_visible(timeout=3 * PATIENCE_MS)
        prices = page.locator(".offers tbody th").all_inner_texts()
        assert [re.findall("[0-9.]+", price)[0] for price in prices] == ["0.025", "0.05", "0.1", "0.2", "0.4"]
        assert started.holder.spent() == spent

        page.get_by_role("button", name="Ask, and spend ε = 0.4").click()
        expect(page.get_by_role("heading", name="Among the people in the register")).to_be_visible()
        assert float(started.holder.spent()) == pytest.approx(float(spent) + 0.4)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Write an evidence bundle").click()
        bundle = tmp_path / "bundle.zip"
        saved.value.save_as(bundle)
        page.get_by_role("link", name="Read the report").click()
        expect(page).to_have_title(re.compile("model.skops – Fairness audit"))

        page.goto(f"{started.root}/bundles")
        page.get_by_label("The zip file").set_input_files(bundle)
        page.get_by_role("button", name="Check").click()
        expect(page.get_by_role("status")).to_contain_text("The bundle holds")
        page.get_by_role("link", name="Receipts").click()
        page.get_by_role("button", name="Check all with the holder").click()
        expect(page.get_by_role("status")).to_contain_text("All receipts are valid, and the holder’s ledger")


def tabbed_to(page: Page, name: str, *, press: str = "", text: str = "") -> None:
    """Press Tab until what is called so has the focus, and shows it; then press a key there, or type a text."""
    page.wait_for_load_state()
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if not focused.count():
            continue  # beyond the last, before the first
        labels = focused.evaluate(
            "e => [e.innerText, e.getAttribute('aria-label'), ...[...(e.labels || [])].map(l => l.innerText)]"
        )
        if any(label and label.strip().startswith(name) for label in labels):
            assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
            if press:
                page.keyboard.press(press)
            page.keyboard.type(text)
            return
    raise AssertionError(f"{name} is not reached")


def test_the_same_by_keyboard_alone(browser: Browser, started: OpenDesk) -> None:
    """Tab, arrows, blank and Enter; the file is chosen in the browser's own dialogue."""
    with at_the_desk(browser, started) as page:
        tab_to = partial(tabbed_to, page)
        page.on("filechooser", lambda _: None)  # early: a key pressed at once would come before the browser knows
        page.goto(started.root)
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        tab_to("New audit", press="Enter")
        page.wait_for_url("**/new")
        tab_to("loans")
        page.keyboard.press("ArrowDown")
        tab_to("A model’s file")
        with page.expect_file_chooser() as chooser:
            page.keyboard.press("Space")
        chooser.value.set_files(started.model)
        tab_to("Go on", press="Enter")
        page.wait_for_url("**/new/*")
        tab_to("sex", press="Space")
        tab_to("granted", press="Space")
        tab_to("How many people", text="1500")
        tab_to("More of the question", press="Enter")
        tab_to("Columns of the model’s inputs", text="age,citizen")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="What it would cost and show")).to_be_visible(timeout=3 * PATIENCE_MS)
        tab_to("Ask, and spend ε = 0.1", press="Enter")
        page.wait_for_url("**/audits/*")
        tab_to("Read the report", press="Enter")
        expect(page).to_have_title(re.compile("Fairness audit"))


def test_a_model_is_trained_decided_again_and_audited_by_keyboard_alone(
    browser: Browser, started: OpenDesk, tmp_path: Path
) -> None:
    """By age and hours alone: with the other features one tree in four decides no better than alike about everybody.

    Of 3 600 trees each decides about 24 people or more rightly whom one decision for all would not: at ε = 10 noise
    makes up for that with a chance below 10⁻²⁰.
    """

    def spent() -> float:
        return float(started.holder.spent(dataset="loans"))

    before = spent()

    with at_the_desk(browser, started, accept_downloads=True) as page:
        tab_to = partial(tabbed_to, page)
        page.goto(f"{started.root}/trainings")
        tab_to("loans", press="Space")
        page.keyboard.press("Enter")
        page.wait_for_url("**/trainings/new/*")
        tab_to("origin", press="Space")
        tab_to("Bins of age begin at", text="25, 50, 75")
        tab_to("hours", press="Space")
        tab_to("Bins of hours begin at", text="40")
        tab_to("education", press="Space")
        tab_to("citizen", press="Space")
        tab_to("Privacy loss ε", text="10")
        tab_to("Purpose of the request", text="A review")
        tab_to("A tree", press="Enter")
        tab_to("Depth", text="2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="What it would cost")).to_be_visible()
        expect(page.get_by_role("row", name="split 2")).to_be_visible()
        assert spent() == before
        tab_to("Train, and spend ε = 10", press="Enter")
        expect(page.get_by_role("heading", name="What was learned")).to_be_visible(timeout=3 * PATIENCE_MS)
        assert spent() == pytest.approx(before + 10)

        tab_to("Download the model")
        with page.expect_download() as saved:
            page.keyboard.press("Enter")
        model = tmp_path / "model.json"
        saved.value.save_as(model)
        assert json.loads(model.read_text())["trained"]["dataset"] == "loans"
        tab_to("Wanted ratio", text="0.5")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Wanted ratio")).to_have_value("0.5")
        tab_to("Trainings", press="Enter")
        expect(page.get_by_role("row", name=re.compile("loans, version 1.*(ε = 10|the same answer)"))).to_have_count(2)
        tab_to(page.get_by_role("link", name="ratio 0.5").get_attribute("aria-label") or "", press="Enter")
        expect(page.get_by_label("Audit it on")).to_be_visible()
        tab_to("Audit it on", text="loans")
        tab_to("Go on to the audit", press="Enter")
        expect(page.get_by_label("sex")).to_be_checked()
        expect(page.get_by_label("Strategy")).to_have_value("rules")
        assert spent() == pytest.approx(before + 10)
    *_, entry = [one for one in started.holder.entries() if one["detail"].get("asked") == "training"]
    assert entry["detail"]["purpose"] == "A review"


def test_a_refusal_stands_beside_its_field(browser: Browser, started: OpenDesk, tmp_path: Path) -> None:
    pickle = tmp_path / "model.pkl"
    pickle.write_bytes(b"\x80\x04\x95\x0b\x00")
    before = len(started.desk.drafts)
    with let_in(browser, started) as page:  # which complains about a page of status 422
        page.goto(f"{started.root}/new")
        page.get_by_role("radio", name="register").check()
        page.get_by_label("A model’s file").set_input_files(pickle)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#f-model-fault")).to_contain_text("opening a pickle runs whatever it holds")
        expect(page.get_by_label("A model’s file")).to_have_attribute("aria-invalid", "true")
        assert len(started.desk.drafts) == before
        page.get_by_label("A column of decisions").fill("no-such-column")
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#f-decision-fault")).to_contain_text("is not a column of this dataset")
        page.get_by_label("A column of decisions").fill("")
        page.get_by_label("A model’s file").set_input_files(started.model)
        page.get_by_role("button", name="Go on").click()
        page.get_by_label("Privacy loss ε").fill("a little")
        page.get_by_role("button", name="Show price and interval").click()
        expect(page.locator("#f-sensitive-fault")).to_contain_text("Choose the columns whose groups are compared")
        page.get_by_label("sex").check()
        page.get_by_role("button", name="Show price and interval").click()
        expect(page.get_by_role("alert")).to_contain_text("'a little' is not an amount")
        expect(page.get_by_label("Privacy loss ε")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Privacy loss ε").fill("0.1")
        page.get_by_text("How the answer is read").click()
        page.get_by_label("Level of the intervals").fill("most")
        page.get_by_role("button", name="Show price and interval").click()
        level = page.get_by_label("Level of the intervals")
        expect(level).to_have_attribute("aria-invalid", "true")
        expect(level).to_be_visible()
        expect(level).to_have_value("most")


def test_a_question_that_was_asked_is_offered_for_nothing(browser: Browser, started: OpenDesk) -> None:
    """Going back to it finds the account as it is now; without a budget the page says whom to ask."""
    started.holder.offer("small", register_csv(people=900), epsilon="0.15", population="small")
    started.holder.offer("without", register_csv(people=900), epsilon="0", population="without")
    with at_the_desk(browser, started) as page:

        def planned(dataset: str) -> None:
            page.goto(f"{started.root}/new")
            page.get_by_role("radio", name=dataset).check()
            page.get_by_label("A column of decisions").fill("citizen")
            page.get_by_role("button", name="Go on").click()
            page.get_by_label("sex").check()
            page.get_by_label("true", exact=True).check()
            page.get_by_label("How many people").fill("900")
            page.get_by_role("button", name="Show price and interval").click()
            expect(page.get_by_text("How likely a verdict is, at ε = 0.1")).to_be_visible(timeout=3 * PATIENCE_MS)

        planned("small")
        question = page.url
        page.get_by_role("button", name="Ask, and spend ε = 0.1").click()
        page.wait_for_url("**/audits/*")
        page.goto(question)
        expect(page.get_by_text("0.05 is left").first).to_be_visible()
        expect(page.get_by_role("row", name="ε = 0.2")).to_contain_text("more than is left")
        page.get_by_role("button", name="Show the answer again, and spend nothing").click()
        page.wait_for_url("**/audits/*")
        assert started.holder.spent(dataset="small") == "0.1"
        planned("without")
        expect(page.get_by_text("None of these fits what is left.")).to_be_visible()
        page.goto(f"{started.root}/budgets")
        expect(page.get_by_text("No budget is granted to you: ask the holder’s administrator")).to_have_count(1)


def test_what_follows_from_an_audit_is_refused_beside_its_field(browser: Browser, started: OpenDesk) -> None:
    """A ratio and an ε that are none, and a choice of nothing; what was typed stays, until the page is opened anew."""
    audit = f"{started.root}/audits/{mendable(started)}"
    with let_in(browser, started) as page:
        page.goto(audit)
        page.get_by_label("Wanted ratio").fill("half")
        page.get_by_role("button", name="Look for changes").click()
        expect(page.locator("#f-ratio-fault")).to_contain_text("'half' is not a number")
        expect(page.get_by_label("Wanted ratio")).to_have_value("half")
        page.get_by_label("Privacy loss ε of all answers").fill("20")
        page.get_by_label("Purpose of the request").fill("A review")
        page.get_by_role("button", name="Watch, and spend it").click()
        expect(page.locator("#f-watch-fault")).to_contain_text("must lie between 0.001 and 10")
        expect(page.get_by_label("Privacy loss ε of all answers")).to_have_value("20")
        page.goto(audit)
        expect(page.get_by_label("Privacy loss ε of all answers")).to_have_value("")
        expect(page.locator("#f-watch-fault")).to_have_count(0)
        wait_until(lambda: started.desk.kept.computed()[2] == 0)
        page.goto(started.root)
        for button in ("Compare two chosen", "Bundle of the chosen"):
            page.get_by_role("button", name=button).click()
            expect(page.get_by_role("alert")).to_contain_text("Choose")
            expect(page.get_by_role("heading", level=1)).to_have_text("Audits")
        page.goto(f"{started.root}{a_training(started)}")
        page.get_by_label("Wanted ratio").fill("7")
        page.get_by_role("button", name="Decide again").click()
        expect(page.locator("#f-ratio-fault")).to_contain_text("at most 1")


def test_a_file_that_is_no_bundle_is_refused_by_its_own_name(browser: Browser, started: OpenDesk) -> None:
    with let_in(browser, started) as page:
        page.goto(f"{started.root}/bundles")
        page.get_by_label("The zip file").set_input_files(started.model.parent / "receipts" / "keys.json")
        page.get_by_role("button", name="Check").click()
        expect(page.locator("#f-bundle-fault")).to_contain_text(re.compile("^keys.json cannot be read"))


def test_axe_core_finds_nothing_wrong_and_no_page_is_wider(browser: Browser, started: OpenDesk) -> None:
    paths = ("", f"/audits/{started.audit}", "/new", "/budgets", "/datasets/register", "/receipts", "/bundles",
             "/decisions/register", "/watches/register", f"/new/{a_draft(started)}", "/trainings", a_training(started),
             f"/trainings/new/{started.desk.draft(TrainingDraft, 'loans').id}")  # fmt: skip
    wait_until(lambda: started.desk.kept.computed()[2] == 0)  # before that the index looks again by itself
    found = []
    for options in ({"color_scheme": "dark"}, {"viewport": {"width": PHONE_PX, "height": 844}}):
        with at_the_desk(browser, started, script=True, bypass_csp=True, **options) as page:
            for path in paths:
                page.goto(f"{started.root}{path}")
                page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
                found += [f"{path} {one}" for one in violations(page)]
                width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                found += [f"{path} is {width} px too wide"] if width > 0 else []
    assert found == []


def a_training(started: OpenDesk) -> str:
    with started.desk.auditor(asked_for="A review") as auditor:
        result = auditor.train("loans", epsilon="1", sensitive="sex", features=["age=25,50,75"], depth=1)
    return f"/trainings/{result.note.file_name}"


def mendable(started: OpenDesk) -> str:
    asked: dict[str, Any] = {"columns": ["age", "citizen"], "favourable": ["granted"]}
    metrics = ["statistical-parity", "equal-opportunity"]
    with started.desk.auditor(asked_for="A review") as auditor:
        audit = auditor.audit(started.model, "loans", ["sex"], "1", strategy="rules", metrics=metrics, **asked)
    return audit.note.name.removeprefix("sha256:")


def a_draft(started: OpenDesk) -> str:
    draft = started.desk.draft(AuditDraft, "register")
    draft.decision = "citizen"
    return draft.id


def test_two_models_are_compared_in_one_question(browser: Browser, started: OpenDesk, tmp_path: Path) -> None:
    other = tmp_path / "other.skops"
    people = [[age, citizen] for age in range(20, 80) for citizen in (0, 1)]
    decided = ["granted" if age > 60 else "refused" for age, _ in people]
    skops.io.dump(DecisionTreeClassifier(max_depth=3, random_state=0).fit(people, decided), other)
    with at_the_desk(browser, started) as page:
        page.goto(f"{started.root}/new")
        page.get_by_role("radio", name="register").check()
        page.get_by_label("A model’s file").set_input_files(started.model)
        page.locator("input[name=other]").set_input_files(other)
        page.get_by_role("button", name="Go on").click()
        page.get_by_label("sex").check()
        page.get_by_label("granted", exact=True).check()
        page.get_by_label("How many people").fill("1500")
        page.get_by_text("More of the question").click()
        page.get_by_label("Columns of the model’s inputs").fill("age, citizen")
        page.get_by_role("button", name="Show price and interval").click()
        page.get_by_role("button", name="Ask, and spend ε = 0.1").click(timeout=3 * PATIENCE_MS)
        page.wait_for_url(f"{started.root}/compare/*/*", timeout=3 * PATIENCE_MS)

        expect(page.get_by_role("region", name="Figures of both audits")).to_be_visible()


@pytest.mark.slow
def test_kept_audits_are_compared_and_shown_over_time(started: OpenDesk, client: httpx.Client) -> None:
    root, name = started.desk.door.root, started.audit
    report = client.get(f"{root}/compare/{name}/{name}")
    document = client.get(f"{root}/audits/{name}/report.json").json()
    mending = client.get(f"{root}/audits/{name}/mending")

    assert report.status_code == 200
    assert "It is certain that nothing changed" in report.text
    assert "What was asked" in client.get(f"{root}/audits/{name}").text
    assert document["receipt"].endswith(".json")
    assert client.get(f"{root}/over-time").status_code == 200
    assert 'lang="de"' in client.get(f"{root}/audits/{name}/report?language=de").text
    assert mending.status_code == 422, "the audit is not rule by rule, and the page says so"
    assert client.get(f"{root}/audits/{'0' * 64}").status_code == 404
    assert client.get(f"{root}/audits/..%2F..%2Fkeys").status_code == 404


@pytest.mark.slow
def test_the_index_is_sorted_by_its_headings(started: OpenDesk, client: httpx.Client) -> None:
    with started.desk.auditor() as auditor:
        auditor.audit(
            decision="citizen", favourable="true", dataset="register", request="sex", epsilon="0.3", model_name="AAA"
        )
    wait_until(lambda: started.desk.kept.computed()[2] == 0)

    def shown(query: str) -> list[str]:
        found = client.get(f"{started.desk.door.root}?{query}")
        assert found.status_code == 200, query
        return re.findall(r'data-label="Cost" class="number">ε = ([0-9.]+)', found.text)

    assert sorted(map(float, shown("sort=cost&down=0"))) == list(map(float, shown("sort=cost&down=0")))
    assert shown("sort=cost&down=0") != shown("sort=cost&down=1")
    assert shown("sort=answered")[0] == "0.3"
    for key in ORDERS:
        page = client.get(f"{started.desk.door.root}?sort={key}&down=0").text
        assert page.count('aria-sort="ascending"') == 1, key
    assert shown("page=2") == []
    assert client.get(f"{started.desk.door.root}?page=0").status_code == 404


def test_a_watch_says_what_for_where_the_holder_wants_it(started: OpenDesk, client: httpx.Client) -> None:
    with started.desk.auditor(asked_for="A review") as auditor:
        audit = auditor.audit(decision="citizen", favourable="true", dataset="loans", request="sex", epsilon="5")
    path = f"{started.desk.door.root}/audits/{audit.note.name.removeprefix('sha256:')}"
    form = {"form_token": started.desk.door.form_token, "epsilon": "0.5", "margin": "0"}

    assert "(required)" in client.get(path).text
    refused = client.post(f"{path}/watch", data=form)
    assert refused.status_code == 422
    assert "Enter one (“Purpose of the request”)" in refused.text
    assert 'value="0.5"' in refused.text, "what was typed stays"


def followed(started: OpenDesk, client: httpx.Client, path: str, **typed: str) -> str:
    """Send a form, and wait for what it leads to; gives that address without the desk's own part."""
    sent = client.post(f"{started.desk.door.root}{path}", data={"form_token": started.desk.door.form_token, **typed})
    address = str(sent.headers["location"])
    while "/tasks/" in address:
        answer = client.get(address)
        address = answer.headers.get("location", address)
        assert 'class="notice bad"' not in answer.text, answer.text
        time.sleep(0.05)
    return address.removeprefix(started.desk.door.root).partition("#")[0]


@pytest.mark.slow
def test_what_is_asked_is_what_the_price_was_shown_for(started: OpenDesk, client: httpx.Client) -> None:
    """New records between the price and the button: the price is shown anew, once, and nothing was asked."""
    holder, root = started.holder, started.desk.door.root
    holder.offer("reloaded", learnable_csv(people=300), **LEARNABLE, epsilon="9", population="reloaded")
    question = {
        "sensitive": "sex",
        "metrics": "statistical-parity",
        "epsilon": "0.5",
        "people": "300",
        "favourable": "true",
    }
    learned = {"sensitive": "sex", "features": "citizen", "epsilon": "5", "ratio": "0.8"}
    draft = followed(started, client, "/new", dataset="reloaded", decision="citizen")
    training = followed(started, client, "/trainings", dataset="reloaded")
    followed(started, client, draft, **question)
    followed(started, client, training, **learned)
    holder.load(learnable_csv(people=300, seed=1), "reloaded")
    said = "Version 2 of the records was loaded after the price was shown, which was for version 1"

    for path, amount in ((draft, {"epsilon": "0.5"}), (training, {})):
        before = holder.entries()[-1]["sequence"]
        assert said not in client.get(f"{root}{path}").text
        assert followed(started, client, f"{path}/ask", **amount) == path
        assert said in client.get(f"{root}{path}").text
        assert holder.entries()[-1]["sequence"] == before
        assert followed(started, client, f"{path}/ask", **amount).startswith(("/audits/", "/trainings/"))
        assert holder.entries()[-1]["sequence"] == before + 1
    followed(started, client, draft, **question)
    assert said not in client.get(f"{root}{draft}").text
    holder.admin("PUT", "/populations/reloaded/approval", json={"required": True}).raise_for_status()
    assert followed(started, client, f"{draft}/ask", epsilon="0.25") == draft
    assert "The declaration of the dataset has changed since" in client.get(f"{root}{draft}").text


@pytest.mark.slow
def test_what_was_typed_with_its_version_is_asked_of_that(started: OpenDesk, client: httpx.Client) -> None:
    holder = started.holder
    holder.offer("earlier", learnable_csv(people=300), **LEARNABLE, epsilon="9", population="earlier")
    question = {
        "sensitive": "sex",
        "metrics": "statistical-parity",
        "epsilon": "0.5",
        "people": "300",
        "favourable": "true",
    }
    draft = followed(started, client, "/new", dataset="earlier", decision="citizen")
    followed(started, client, draft, **question, version="1")
    followed(started, client, f"{draft}/ask", epsilon="0.5")
    holder.load(learnable_csv(people=300, seed=1), "earlier")

    assert followed(started, client, f"{draft}/ask", epsilon="0.5").startswith("/audits/")
    assert holder.spent(dataset="earlier") == "0.5"


def test_decisions_of_ones_own_are_sent_and_audited(started: OpenDesk, client: httpx.Client) -> None:
    root = started.desk.door.root
    sent = client.post(
        f"{root}/decisions/register", data={"form_token": started.desk.door.form_token, "name": "entscheid"},
        files={"decisions": ("d.csv", b"id,entscheid\np1,true\np2,false\n", "text/csv")},
    )  # fmt: skip

    assert sent.status_code == 303
    assert "the decisions in entscheid" in client.get(sent.headers["location"]).text
    again = client.get(f"{root}/decisions/register")
    assert again.status_code == 200
    assert "<bdi>entscheid</bdi>" in again.text


def test_an_auditor_signs_in_elsewhere_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    """On the way to the budgets, without a key; the provider is another site, as it is in life."""
    stopped = stopped_holder(tmp_path / "holder")
    with identity_provider() as provider:
        provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
        oidc = provider.settings(auditor_client_id=NATIVE_CLIENT)
        with running(replace(stopped.settings, oidc=oidc), stopped.admin_key) as holder:
            settings = AuditorSettings(
                holder_url=holder.url, oidc_audience=AUDIENCE, state=tmp_path / "state", receipts=tmp_path / "receipts"
            )
            with opened(settings) as (desk, port):
                signing = OpenDesk(desk, holder, tmp_path, "", port)
                with let_in(browser, signing) as page:
                    page.goto(f"{signing.root}/budgets")
                    expect(page.get_by_role("alert")).to_contain_text("you are not signed in")
                    page.get_by_role("button", name="Sign in at localhost").click()
                    page.wait_for_url(f"{signing.root}/budgets")
                    expect(page.get_by_role("heading", name="register")).to_be_visible()
                    page.goto(f"{signing.root}/sign-in")
                    page.get_by_role("button", name="Sign out").click()
                    expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
    assert len(provider.revoked) == 1


@pytest.mark.slow
def test_what_cannot_follow_from_an_audit_is_not_offered(started: OpenDesk, client: httpx.Client) -> None:
    """Sent decisions offer neither relabelling nor a watch; an answer by leaves offers both."""
    with started.desk.auditor() as auditor:
        decided = pd.DataFrame({"id": [f"p{number}" for number in range(900)], "sent": [True, False] * 450})
        auditor.link(decided, "register", name="sent")
        sent = auditor.audit(decision="sent", dataset="register", request="sex", epsilon="0.5", favourable=[True]).note
    root = started.desk.door.root
    of_decisions = client.get(f"{root}/audits/{sent.name.removeprefix('sha256:')}").text
    by_leaf = client.get(f"{root}/audits/{mendable(started)}").text

    assert ("Look for changes" in of_decisions, "Look for changes" in by_leaf) == (False, True)
    assert ("Watch, and spend it" in of_decisions, "Watch, and spend it" in by_leaf) == (False, True)
    assert "a model to relabel does not exist" in of_decisions
    assert "The verdict cannot be watched. A watch compares whom rules over declared columns accept" in of_decisions


@pytest.mark.slow
def test_no_page_can_be_kept_framed_or_scripted_and_none_has_the_key(started: OpenDesk, client: httpx.Client) -> None:
    for path in ("", "/budgets", f"/audits/{started.audit}", f"/audits/{started.audit}/report", "/nothing"):
        answer = client.get(f"{started.desk.door.root}{path}")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src '")
        assert "script" not in policy
        assert "frame-ancestors 'none'" in policy
        assert policy.endswith("sandbox") == path.endswith("report")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "<script" not in answer.text
        assert started.holder.auditor_key not in answer.text + str(answer.headers)


@pytest.mark.slow
def test_the_command_serves_loopback_alone_and_ends_without_a_trace(started: OpenDesk, tmp_path: Path) -> None:
    environment = {
        **os.environ, "AUDITOR_HOLDER_URL": started.holder.url, "AUDITOR_API_KEY": started.holder.auditor_key,
        "AUDITOR_RECEIPTS": str(tmp_path / "receipts"), "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", "from auditor_client.cli import app; app()", "desk", "--no-browser"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    assert address.startswith("http://127.0.0.1:")
    with httpx.Client(timeout=60, follow_redirects=True) as client:
        page = client.get(address)
        assert "No audit is saved yet" in page.text
        assert list(tmp_path.glob("auditor-desk-*"))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)

    assert process.returncode == 0, errors
    assert errors == ""
    assert not list(tmp_path.glob("auditor-desk-*"))
    assert started.holder.auditor_key not in output + errors
