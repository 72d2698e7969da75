"""The bugs that `./run planted-bugs` plants can be planted: that its tests find them, it shows itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from checks.planted_bugs.__main__ import TREE, planted_sources
from checks.planted_bugs.bug import Bug
from checks.planted_bugs.bugs import BUGS

every_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)


@every_bug
def test_its_anchors_are_where_they_were(bug: Bug) -> None:
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
