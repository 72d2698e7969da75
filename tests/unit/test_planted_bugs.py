"""The bugs that `./run planted-bugs` plants can be planted: that its tests find them, it shows itself."""

from pathlib import Path

import pytest

from checks.planted_bugs.__main__ import TREE, planted_sources
from checks.planted_bugs.bugs import BUGS, Bug

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
