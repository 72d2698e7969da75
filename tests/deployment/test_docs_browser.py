"""The page of the interface in a real browser: it shows every operation offline, and reaches nothing."""

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from testing.holders import TestedHolder, running_holder

FILES: Final = {"/docs", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/start.js", "/favicon.ico"}


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("docs")) as tested:
        yield tested


@pytest.fixture
def page(browser: Browser, holder: TestedHolder) -> Iterator[Page]:
    """The page, read to its end; what it asks for and complains about is looked at when a test is over."""
    page = browser.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{holder.url}/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    yield page
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} <= {holder.url + path for path in FILES}
    page.close()


def test_every_operation_is_there_with_its_example(page: Page, holder: TestedHolder) -> None:
    document = holder.client.get("/openapi.json").json()

    expect(page.locator(".opblock")).to_have_count(sum(map(len, document["paths"].values())))
    page.locator("#operations-auditor-quote_plan button.opblock-summary-control").click()
    opened = page.locator("#operations-auditor-quote_plan")
    expect(opened.get_by_text("discrete_laplace").first).to_be_visible()
    expect(opened.get_by_text("young").first).to_be_visible()
    expect(page.get_by_role("button", name="Try it out")).to_have_count(0)
    expect(page.get_by_role("button", name="Authorize")).to_have_count(0)


def test_a_script_on_the_page_has_no_origin_and_calls_nobody(browser: Browser, page: Page) -> None:
    assert page.evaluate("self.origin") == "null"
    assert page.evaluate("try { document.cookie } catch (error) { error.name }") == "SecurityError"
    # Asked through the page's own policy: a failure here is complained about, so it is not the fixture's page.
    other = browser.new_page()
    other.goto(page.url)
    assert other.evaluate("fetch('/console').then(() => 'called', error => error.name)") == "TypeError"
    other.close()
