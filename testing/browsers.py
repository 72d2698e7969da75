"""A real browser, for tests and pictures: where it is, how it starts, and what axe-core finds in a page."""

import shutil
from typing import Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE_MS: Final = 60_000
"""A key that was pressed is answered by and by: `expect` looks again until it is, on a busy machine too."""
PHONE_PX: Final = 390


def executable() -> str | None:
    """The system's Chromium, or None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong in a page, each with the rule and the first element that breaks it."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:160]})" for one in found]
