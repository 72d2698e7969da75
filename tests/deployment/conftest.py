"""The system's browser, for tests that look at pages as people do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from testing.browsers import ARGUMENTS, PATIENCE_MS, executable


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    found = executable()
    if found is None:
        pytest.skip("there is no Chromium: on Debian and Ubuntu, apt install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        expect.set_options(timeout=PATIENCE_MS)
        yield launched
        launched.close()
