"""The bugs that `./run planted-bugs` plants can be planted: that its tests find them, it shows itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from checks.planted_bugs.__main__ import TREE, planted_sources
from checks.planted_bugs.bug import Bug, Edit
from checks.planted_bugs.bugs import BUGS
from checks.planted_bugs.placing import Misplaced, planted_source

every_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)


@every_bug
def test_its_anchors_are_in_their_symbols(bug: Bug) -> None:
    for file, source in planted_sources(TREE, bug).items():
        compile(source, file, "exec")
        assert source != (TREE / file).read_text()


@every_bug
def test_its_tests_exist(bug: Bug) -> None:
    for test in bug.tests:
        file, _, name = test.partition("[")[0].partition("::")
        assert f"def {name}" in Path(TREE / file).read_text()


@pytest.mark.slow
def test_the_cases_of_a_test_that_bugs_name_exist() -> None:
    """A case has the name that its values have, so only collecting shows it."""
    cases = sorted({test for bug in BUGS for test in bug.tests if "[" in test})

    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "", *cases],
        cwd=TREE, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert cases
    assert found.returncode == 0, found.stdout


SOURCE = """\
class Account:
    @property
    def left(self) -> int:
        # What was spent is not left.
        return max(
            self.limit - self.spent,
            0,
        )


def left(limit: int, spent: int) -> int:
    if limit > 0:
        spent = abs(spent)
    return max(limit - spent, 0)
"""


def test_an_anchor_is_found_however_its_code_is_laid_out() -> None:
    edit = Edit("account.py", "Account.left", "return max(self.limit - self.spent, 0)", "return self.limit")

    planted = planted_source(SOURCE, edit)

    assert "        return self.limit\n\n\ndef left" in planted


def test_planted_lines_are_indented_as_the_code_they_replace() -> None:
    edit = Edit("account.py", "left", "  spent = abs(spent)\n", "  if spent:\n    spent = 0\n")

    assert "        if spent:\n          spent = 0\n    return" in planted_source(SOURCE, edit)


@pytest.mark.parametrize(("symbol", "anchor"), [("", "spent, 0"), ("left", "self.limit"), ("right", "spent")])
def test_an_anchor_that_is_not_in_its_symbol_exactly_once_is_rejected(symbol: str, anchor: str) -> None:
    with pytest.raises(Misplaced, match=r"has [02] times"):
        planted_source(SOURCE, Edit("account.py", symbol, anchor, "0"))
