"""The console in a real browser, without JavaScript: by keyboard, on a small screen, on paper, against another site.

Whatever the browser complains about on its own console, or asks of another host, fails the test that it happens in.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import write_bundle
from holder_service.cli import app
from holder_service.settings.oidc import CALLBACK, OidcSettings
from testing.browsers import PATIENCE_MS, violations
from testing.holders import TestedHolder, running_holder, stopped_holder
from testing.holders import opened as running
from testing.identity_providers import ROLES, published_provider
from testing.invented.questions import FOUR_LEAVES
from testing.ports import reserved_port
from testing.registers import DECLARATION, plan

PAGES: Final = (
    "/console", "/console/datasets", "/console/declare", "/console/datasets/register",
    "/console/datasets/register/loads", "/console/auditors",
    "/console/auditors/ADR", "/console/budgets", "/console/approvals", "/console/ledger", "/console/ledger/3",
    "/console/restore",
)  # fmt: skip


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder in which something was spent."""
    with running_holder(tmp_path_factory.mktemp("browser")) as tested:
        for draw in range(1, 6):
            assert tested.release(plan(epsilon="0.5", draw=draw)).status_code == 201
        key = {"expires": (datetime.now(UTC) + timedelta(days=3)).isoformat()}
        tested.admin("POST", "/auditors/ADR/keys", json=key).raise_for_status()  # the overview notices its end
        yield tested


@pytest.fixture
def pages(holder: TestedHolder) -> Iterator[tuple[str, ...]]:
    """All pages; on that of a request something waits for an approval."""
    for required in (True, False):
        setting = {"required": required}
        holder.admin("PUT", "/populations/register/approval", json=setting).raise_for_status()
        if required:
            asked = holder.release(plan(draw=7))
            assert asked.status_code == 202
            yield (*PAGES, f"/console/approvals/{asked.json()['id']}")


@contextmanager
def opened(browser: Browser, holder: TestedHolder, **options: object) -> Iterator[Page]:
    """A page of its own, watched; it has no JavaScript unless the options say otherwise."""
    context: BrowserContext = browser.new_context(
        base_url=holder.url,
        **{"java_script_enabled": False, **options},  # type: ignore[arg-type]
    )
    context.set_default_timeout(PATIENCE_MS)
    page, complaints = context.new_page(), list[str]()
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: None if at_home(request.url, holder) else complaints.append(request.url))
    try:
        yield page
    finally:
        context.close()
    assert not complaints


def at_home(url: str, holder: TestedHolder) -> bool:
    return url.startswith((holder.url, "data:"))


def log_in(page: Page, holder: TestedHolder) -> None:
    page.goto("/console")
    page.get_by_label("Your key").fill(holder.admin_key)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_everything_is_reached_by_keyboard(browser: Browser, holder: TestedHolder) -> None:
    with opened(browser, holder) as page:
        page.goto("/console")
        page.locator("input[name=key]:focus").wait_for()
        page.keyboard.type(holder.admin_key)
        page.keyboard.press("Enter")
        page.wait_for_url("**/console")

        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        assert page.locator(":focus").bounding_box()["x"] >= 0  # type: ignore[index]  # it is shown now
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.goto("/console")
        for _ in range(6):
            page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Budgets")
        assert page.locator(":focus").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/budgets")

        page.get_by_role("link", name="Change the budget of ADR with register").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/budgets?*")
        page.get_by_label("Limit, ε").focus()
        page.keyboard.press("Control+A")
        page.keyboard.type("12.5")
        page.keyboard.press("Enter")

        expect(page.get_by_role("status")).to_contain_text("The budget of ADR with population register is now ε 12.5")
        page.wait_for_load_state()
        page.reload()
        assert page.get_by_role("status").count() == 0, "a message is shown once"


def test_an_administrator_works_through_a_day(browser: Browser, holder: TestedHolder) -> None:
    with opened(browser, holder) as page:
        log_in(page, holder)
        page.get_by_role("link", name="Datasets").click()
        page.get_by_role("link", name="register").click()
        page.get_by_text("Load records").click()
        content = b"id,age,hours,education,citizen,sex,origin\np1,30,,low,true,Female,here\n"
        page.get_by_label("CSV or Parquet file").set_input_files(
            {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
        )
        page.get_by_role("button", name="Load").click()
        expect(page.get_by_role("status")).to_contain_text("Version 2 of register is loaded.")

        page.get_by_role("link", name="Auditors").click()
        page.get_by_label("Name", exact=True).fill("ombudsman")
        page.get_by_label("First key expires (UTC)").fill("2030-01-31T12:00")
        page.get_by_role("button", name="Open and show the key").click()
        key = page.locator(".secret code").inner_text()
        assert holder.auditor("GET", "/datasets", key=key).status_code == 200
        page.get_by_role("link", name="I have copied it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("ombudsman auditor")
        page.wait_for_load_state()
        assert key not in page.content()

        page.get_by_text("Withdraw", exact=True).click()
        page.get_by_role("button", name="Withdraw key").click()
        expect(page.get_by_role("status")).to_contain_text("is withdrawn.")
        assert holder.auditor("GET", "/datasets", key=key).status_code == 401

        page.get_by_role("link", name="Ledger", exact=True).click()
        page.get_by_role("button", name="Verify the ledger").click()
        expect(page.get_by_role("status")).to_contain_text("Intact: ")
        with page.expect_download() as download:
            page.get_by_role("link", name="Export as CSV").click()
        assert download.value.suggested_filename == "ledger.csv"

        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/console/log-in")
        page.goto("/console/ledger")
        page.wait_for_url("**/console/log-in?*")


def test_spending_is_seen(browser: Browser, holder: TestedHolder) -> None:
    """Bars and line are drawn: of the width, and at the height, that the balances have."""
    with opened(browser, holder, viewport={"width": 1200, "height": 900}) as page:
        log_in(page, holder)
        cap = page.get_by_role("img", name="Spent of the cap of register")
        track, spent = cap.locator(".track").bounding_box(), cap.locator(".spent").bounding_box()
        line = page.locator(".chart .line").bounding_box()
        frame = page.locator(".chart .lines").bounding_box()

        assert track is not None
        assert spent is not None
        assert line is not None
        assert frame is not None
        assert spent["width"] / track["width"] == pytest.approx(2.5 / 100, rel=0.01)
        assert line["width"] == pytest.approx(frame["width"], rel=0.02)
        assert line["height"] == pytest.approx(frame["height"], rel=0.05), "2.5 was spent, and the picture ends there"


CELLS: Final = """all => all.map(cell => [cell.getAttribute('data-label'),
  [...cell.closest('table').querySelectorAll('thead th')][cell.cellIndex].textContent, cell.className])"""
"""Of each cell its own label, the head of its column, and its classes."""


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_no_page_is_wider_than_the_screen(
    browser: Browser, holder: TestedHolder, pages: tuple[str, ...], width: int, scheme: str
) -> None:
    with opened(browser, holder, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        log_in(page, holder)
        for path in pages:
            page.goto(path)

            for summary in page.locator("summary").all():
                summary.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            cut = page.locator(".scroll").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length")
            assert width > 360 or cut == 0, path
            for label, head, style in (
                page.locator("tbody tr:first-child td").evaluate_all(CELLS) if width <= 360 else []
            ):
                assert label == (None if "action" in style or not head else head), (path, head)
            ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 25, 29)")


def test_the_navigation_is_one_line(browser: Browser, holder: TestedHolder, pages: tuple[str, ...]) -> None:
    with opened(browser, holder, viewport={"width": 1200, "height": 800}) as page:
        log_in(page, holder)
        page.goto(pages[-1])
        sections = page.get_by_role("navigation").get_by_role("link").all()
        tops = {box["y"] for one in sections if (box := one.bounding_box())}

        assert "1 waits" in page.get_by_role("navigation").inner_text()
        assert len(tops) == 1


DARK_PHONE: Final[dict[str, Any]] = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}


@pytest.mark.parametrize("options", [{}, DARK_PHONE])
def test_axe_core_finds_nothing_wrong(
    browser: Browser, holder: TestedHolder, pages: tuple[str, ...], options: dict[str, Any]
) -> None:
    with opened(browser, holder, java_script_enabled=True, bypass_csp=True, **options) as page:
        page.goto("/console")
        found = violations(page)
        log_in(page, holder)
        for path in pages:
            page.goto(path)
            for summary in page.locator("summary").all():
                summary.click()
            found += [f"{path} {one}" for one in violations(page)]
        assert found == []


def note(complaints: list[str], message: ConsoleMessage) -> None:
    complaints.append(message.text)


def test_public_pages_are_read_from_a_file_system(browser: Browser, holder: TestedHolder, tmp_path: Path) -> None:
    """Their policy lets their own style in, and axe-core finds nothing wrong on any screen."""
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        audit = auditor.audit(FOUR_LEAVES, "register", ["sex"], "1", strategy="rules")
        bundle = write_bundle(tmp_path / "audit.zip", [audit], auditor.receipts)
    own = {"HOLDER_HOME": str(holder.settings.home), "HOLDER_DATABASE_URL": holder.settings.database_url}
    env = {**own, "HOLDER_ANCHOR": str(holder.settings.anchor)}
    published = CliRunner().invoke(app, ["publish", str(tmp_path / "site"), str(bundle)], env=env)
    assert published.exit_code == 0, published.stderr
    pages = [tmp_path / "site/index.html", tmp_path / "site/datasets/register.html"]

    for options in ({}, DARK_PHONE):
        for bypass_csp in (False, True):
            context = browser.new_context(bypass_csp=bypass_csp, **options)
            page, complaints = context.new_page(), list[str]()
            page.on("console", partial(note, complaints))
            for path in pages:
                page.goto(path.as_uri())
                assert page.locator("caption").first.evaluate("e => getComputedStyle(e).fontSize") == "14px"
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
                if bypass_csp:
                    assert violations(page) == []
            page.get_by_role("link", name="All datasets").click()
            page.get_by_role("link", name="report of entry").click()
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            context.close()
            assert complaints == []


def test_paper_has_no_buttons(browser: Browser, holder: TestedHolder) -> None:
    with opened(browser, holder) as page:
        log_in(page, holder)
        page.emulate_media(media="print")
        page.goto("/console/budgets")

        assert page.get_by_role("table").count() == 2
        assert page.get_by_role("button").count() == page.get_by_role("navigation").count() == 0


def test_no_script_gets_the_cookie_and_none_runs(browser: Browser, holder: TestedHolder) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    columns = [*DECLARATION["columns"], {"name": hostile, "type": "category", "categories": [hostile]}]
    assert holder.declare("hostile", columns=columns).status_code == 200
    with opened(browser, holder, java_script_enabled=True) as page:
        log_in(page, holder)
        page.goto("/console/datasets/hostile")

        (cookie,) = [one for one in page.context.cookies() if one["name"] == "holder-session"]
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert hostile in page.get_by_role("table").inner_text()


def test_another_site_cannot_use_the_session(browser: Browser, holder: TestedHolder) -> None:
    """A form that another site sends comes without the session's cookie, and changes nothing."""
    before = holder.entries()
    with opened(browser, holder, java_script_enabled=True) as page:
        log_in(page, holder)
        token = page.locator("input[name=form_token]").first.get_attribute("value")
        fields = {
            "form_token": token,
            "dataset": "register",
            "auditor": "ADR",
            "epsilon": "99",
            "delta": "0",
            "expires": "",
        }
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        action = f"{holder.client.base_url}/console/budgets"
        page.goto("about:blank")
        page.set_content(f'<form method="post" action="{action}">{inputs}<button>Win a prize</button></form>')
        page.get_by_role("button").click()
        page.wait_for_url("**/console/log-in?*")

    assert holder.entries() == before


def test_people_sign_in_at_a_provider_elsewhere(browser: Browser, tmp_path: Path) -> None:
    """The way there, back, and on: the session's cookie goes along though another site began the way."""
    stopped = stopped_holder(tmp_path)
    people = ({"sub": "administrator", "roles": ["pafer-admins"]}, {"sub": "ADR", "roles": ["pafer-admins"]})
    with published_provider(*people) as issuer, reserved_port() as port:
        elsewhere = issuer.replace("127.0.0.1", "localhost")  # another site than the console's
        oidc = OidcSettings(elsewhere, None, "console", "a-secret", f"http://127.0.0.1:{port}{CALLBACK}", roles=ROLES)
        with (
            running(replace(stopped.settings, oidc=oidc), stopped.admin_key, port=port) as tested,
            browser.new_context(base_url=tested.url, java_script_enabled=False) as context,
        ):
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto("/console/budgets")
            page.get_by_role("link", name="Sign in at localhost").click()
            page.get_by_role("button", name="ADR").click()
            expect(page.get_by_role("alert")).to_contain_text("that opens no account of this holder")

            page.get_by_role("link", name="Sign in at localhost").click()
            page.get_by_role("button", name="administrator").click()
            page.wait_for_url("**/console/budgets")
            expect(page.get_by_role("heading", level=1)).to_have_text("Budgets")
            page.get_by_role("button", name="Log out").click()
            page.get_by_role("button", name="End session").click()  # the provider's page asks
            page.wait_for_url("**/console/log-in")
