"""Every kind of report in a real browser: read by axe-core, on a phone, on paper, in forced colours."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from testing.browsers import PATIENCE_MS, PHONE_PX, violations
from testing.report_pages import KINDS, report_pages

PHONE: dict[str, Any] = {"viewport": {"width": PHONE_PX, "height": 844}, "is_mobile": True}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Path]:
    """The file of each kind of report; the first of a run's workers makes them, and the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "reports"
    folder.mkdir(exist_ok=True)
    made = {kind: folder / f"{kind}.html" for kind in KINDS}
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(path.exists() for path in made.values()):
            with report_pages(tmp_path_factory.mktemp("holder")) as reports:
                for kind, path in made.items():
                    path.write_text(reports.pages[kind], encoding="utf-8")
    return made


@contextmanager
def shown(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """A report, with everything unfolded; only axe-core needs scripts."""
    context = browser.new_context(bypass_csp=True, **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    try:
        yield page
    finally:
        context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_axe_core_finds_nothing_wrong(browser: Browser, made: dict[str, Path], kind: str) -> None:
    for options in ({}, {**PHONE, "color_scheme": "dark"}):
        with shown(browser, made[kind], **options) as page:
            assert violations(page) == []


PLANTED: Final = {
    "role-img-alt": "document.querySelector('[role=img]').removeAttribute('aria-label')",
    "color-contrast": "document.querySelector('.note').style.color = '#ddd'",
    "page-has-heading-one": "document.querySelector('h1').remove()",
    "html-has-lang": "document.querySelector('html').removeAttribute('lang')",
}
"""Faults, by the rule that each breaks."""


def test_planted_faults_are_found(browser: Browser, made: dict[str, Path]) -> None:
    with shown(browser, made["audit"]) as page:
        for planted in PLANTED.values():
            page.evaluate(planted)

        assert {found.partition(":")[0] for found in violations(page)} == PLANTED.keys()


BOXES = """all => all.map(one => { const box = one.getBoundingClientRect();
  return [one.getClientRects().length, box.left, box.right]; })"""
"""Of each element whether it is there to be seen, and where it begins and ends."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_shows_every_number_and_no_page_is_wider(browser: Browser, made: dict[str, Path], kind: str) -> None:
    """Tables become cards; those that cannot say that they slide."""
    with shown(browser, made[kind], **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_PX
        numbers = page.locator(".bar .text, .cards td").evaluate_all(BOXES)
        assert kind == "plan" or numbers
        for parts, left, right in numbers:
            assert parts > 0
            assert left >= 0
            assert right <= PHONE_PX + 0.5
        for table in page.locator(".scroll:has(table:not(.cards))").all():
            assert table.locator(".slide").is_visible()


OVERLAPS = """() => {
  const ends = one => { const range = document.createRange(); range.selectNodeContents(one);
    return range.getBoundingClientRect(); };
  const cells = [...document.querySelectorAll('td.picture .text')].map(text =>
    [text, text.closest('td').nextElementSibling]).filter(([_, next]) => next);
  const ticks = [...document.querySelectorAll('.axis')].flatMap(axis => {
    const labels = [...axis.querySelectorAll(':scope > span:not(.label)')];
    return labels.slice(1).map((label, index) => [labels[index], label]); });
  return [...cells, ...ticks].filter(([one, next]) => ends(one).width && ends(one).right > ends(next).left)
    .map(([one, next]) => `${one.innerText} | ${next.innerText}`);
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_no_number_of_a_picture_lies_over_another(browser: Browser, made: dict[str, Path], kind: str) -> None:
    """Neither over the next column, nor a number of an axis over the next one."""
    with shown(browser, made[kind], viewport={"width": 1200, "height": 900}) as page:
        assert page.evaluate(OVERLAPS) == []


def test_a_number_over_another_would_be_found(browser: Browser, made: dict[str, Path]) -> None:
    with shown(browser, made["strata"], viewport={"width": 1200, "height": 900}) as page:
        page.add_style_tag(content=".picture .plot, .picture .axis { margin: 0 -2rem 0 calc(100% - 3rem) !important; }")

        assert page.evaluate(OVERLAPS)


def test_an_interval_is_seen_however_narrow_it_is(browser: Browser, made: dict[str, Path]) -> None:
    with shown(browser, made["audit"]) as page:
        intervals = [one.bounding_box() for one in page.locator(".bar .interval").all()]
        fills = [one.bounding_box() for one in page.locator(".rates .bar .fill").all()]

    assert intervals
    assert all(box is not None and box["width"] >= 3 for box in intervals)
    assert all(box is not None and box["width"] > 0 for box in fills)


def test_bars_are_as_long_as_their_values(browser: Browser, made: dict[str, Path]) -> None:
    """Rates of 80 % and 40 % are two bars, one twice as long as the other."""
    with shown(browser, made["audit"]) as page:
        rows = page.locator("table.rates").first.locator("tbody tr")
        lengths = [box["width"] for box in (row.locator(".fill").bounding_box() for row in rows.all()) if box]
        rates = [float(row.locator(".text").inner_text().split("\N{NARROW NO-BREAK SPACE}")[0]) for row in rows.all()]

    assert len(lengths) == 6
    for length, rate in zip(lengths, rates, strict=True):
        assert length / lengths[0] == pytest.approx(rate / rates[0], rel=0.03)


def test_paper_has_all_rules_and_all_bars(browser: Browser, made: dict[str, Path]) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(made["audit"].as_uri())
    page.emulate_media(media="print")

    folded = page.locator("details .rules li").all()
    assert len(folded) >= 2
    assert all((box := rule.bounding_box()) is not None and box["height"] > 10 for rule in folded)
    drawn = ".fill:not(.unclear .fill)"  # what is not yet clear is an empty bar with a dashed edge, on paper too
    fills = page.locator(drawn).evaluate_all(
        "all => all.map(one => getComputedStyle(one)).map(style => [style.printColorAdjust, style.backgroundColor])"
    )
    assert {adjusted for adjusted, _ in fills} == {"exact"}
    assert "rgba(0, 0, 0, 0)" not in {colour for _, colour in fills}
    assert b"/Count" in page.pdf(prefer_css_page_size=True)
    context.close()


@pytest.mark.parametrize("options", [{"forced_colors": "active"}, {"color_scheme": "dark"}, {}])
def test_each_part_of_a_picture_is_seen_in_every_scheme(
    browser: Browser, made: dict[str, Path], options: dict[str, Any]
) -> None:
    """Where a part is hidden the picture is another one."""
    with shown(browser, made["audit"], **options) as page:
        for part in (".fill", ".interval", ".wide", ".reference"):
            sample = page.locator(f".key .sample:has({part})").first
            seen = sample.screenshot()
            sample.locator(part).evaluate("one => one.style.visibility = 'hidden'")
            assert sample.screenshot() != seen, part
