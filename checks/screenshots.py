"""Pictures of every kind of report as people see them: on a screen, on a phone, at night, on paper.

`python -m checks.screenshots FOLDER` writes the pages, PNG files and PDF files into a folder, to be looked at.
"""

import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from testing.browsers import ARGUMENTS, PHONE_PX, executable
from testing.report_pages import report_pages

SCREENS: Final = {
    "screen": {"viewport": {"width": 1200, "height": 900}},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": PHONE_PX, "height": 844}, "is_mobile": True, "has_touch": True},
    "forced": {"viewport": {"width": 1200, "height": 900}, "forced_colors": "active"},
}
"""How pages are seen; `print` is beside these, as PDF."""


def photograph(browser: Browser, pages: dict[str, Path], folder: Path) -> list[Path]:
    """Show pages on every screen and on paper; the files that were written."""
    written = []
    for screen, options in SCREENS.items():
        context = browser.new_context(**options)  # type: ignore[arg-type]
        page = context.new_page()
        for name, path in pages.items():
            page.goto(path.as_uri())
            written.append(folder / f"{name}-{screen}.png")
            page.screenshot(path=written[-1], full_page=True)
            if screen == "screen":
                written.append(folder / f"{name}-print.pdf")
                page.pdf(path=written[-1], prefer_css_page_size=True)
        context.close()
    return written


def main(folder: Path) -> None:
    """Write everything into a folder."""
    found = executable()
    if found is None:
        sys.exit("There is no Chromium: on Debian and Ubuntu, apt install chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, report_pages(Path(home)) as made:
        pages = {kind: folder / f"{kind}.html" for kind in made.pages}
        for kind, path in pages.items():
            path.write_text(made.pages[kind], encoding="utf-8")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
            written = photograph(browser, {kind: path.absolute() for kind, path in pages.items()}, folder)
            browser.close()
    print(f"{len(written)} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("screenshots"))
