"""Plant each bug into a copy of the source, and see that a test finds it: `./run planted-bugs`.

First the tests have to pass on the copy as it is. Then each bug is planted by itself; it is caught if a test fails (an
error before the tests, or a test that never ends, does not count). Ends with 1 if a bug survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from checks.planted_bugs.bug import Bug
from checks.planted_bugs.bugs import BUGS
from checks.planted_bugs.placing import Misplaced, planted_source
from testing.shares import Share

TREE = Path(__file__).parents[2]
LEFT_OUT = (".*", "__pycache__", "holder-home*", "dist", "build")
TESTS_S_MAX = 900
HYPOTHESIS = "--hypothesis-profile=ci"
"""The same examples every time, and none too slow: on a busy machine that would pass for a bug found."""
PASSED, FAILED = 0, 1


def main() -> int:
    """Plant and test, one bug after the other; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="those bugs alone whose name has this in it")
    options.add_argument(
        "--share", type=Share.read, default=Share.read("1/1"), help="K/N: every Nth bug, from the Kth on"
    )
    given = options.parse_args()
    bugs = given.share.of([bug for bug in BUGS if given.only in bug.name])
    if not bugs:
        options.error(f"no bug has {given.only!r} in its name; they are: {'; '.join(bug.name for bug in BUGS)}")
    table = Table("bug", "caught", "by", "seconds")
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="planted-bugs-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(TREE, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        outcome, output = run_tests(copy, sorted({test for bug in bugs for test in bug.tests}))
        if outcome != PASSED:
            sys.stderr.write(f"{output}\nThe tests do not pass without a bug, so they would show nothing.\n")
            return 2
        for bug in bugs:
            started = time.monotonic()
            caught, by = examine(copy, bug)
            survivors += not caught
            table.add_row(bug.name, "yes" if caught else "NO", by, f"{time.monotonic() - started:.0f}")
    Console(width=150).print(table)
    return int(survivors > 0)


def examine(copy: Path, bug: Bug) -> tuple[bool, str]:
    """Plant a bug, run its tests and take it out; gives whether one failed, and which."""
    originals = {edit.file: (copy / edit.file).read_text() for edit in bug.edits}
    try:
        planted = planted_sources(copy, bug)
    except Misplaced as error:
        return False, str(error)
    try:
        for file, source in planted.items():
            (copy / file).write_text(source)
        outcome, output = run_tests(copy, bug.tests)
    finally:
        for file, source in originals.items():
            (copy / file).write_text(source)
    failed = [line.split()[1].rpartition("/")[2] for line in output.splitlines() if line.startswith("FAILED ")]
    if outcome == FAILED and failed:
        return True, failed[0]
    return False, "no test failed" if outcome == PASSED else f"the tests ended with {outcome}"


def planted_sources(tree: Path, bug: Bug) -> dict[str, str]:
    """The source of every file that a bug changes, with the bug.

    Raises:
        Misplaced: An anchor is not in its symbol exactly once.
    """
    sources: dict[str, str] = {}
    for edit in bug.edits:
        source = sources.get(edit.file) or (tree / edit.file).read_text()
        sources[edit.file] = planted_source(source, edit)
    return sources


def run_tests(tree: Path, tests: list[str] | tuple[str, ...]) -> tuple[int, str]:
    """Run tests on a tree; gives the exit code, −1 if they did not end, and the output."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HYPOTHESIS, *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TESTS_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
