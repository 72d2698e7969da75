"""What the pages for other languages show is run, against a holder: curl, R, and the generated client's example."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from testing.holders import TestedHolder, running_holder
from testing.shown_commands import shown

DOCS: Final = Path(__file__).parents[2] / "docs"
RUN_S_MAX: Final = 300


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[TestedHolder]:
    """A holder with the small register, and both keys in files of the folder that commands run in."""
    with running_holder(tmp_path / "holder") as tested:
        (tmp_path / "auditor.key").write_text(f"{tested.auditor_key}\n")
        (tmp_path / "administrator.key").write_text(f"{tested.admin_key}\n")
        yield tested


def run(command: list[str], folder: Path, holder: TestedHolder) -> str:
    """Run a command; gives what it printed."""
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, "HOLDER": holder.url}, capture_output=True, text=True, check=False,
        timeout=RUN_S_MAX,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_every_command_of_the_curl_page_does_what_it_says(tmp_path: Path, holder: TestedHolder) -> None:
    if missing := [tool for tool in ("curl", "jq") if shutil.which(tool) is None]:
        pytest.skip(f"not here: {', '.join(missing)}")

    printed = run(["bash", "-euo", "pipefail", "-c", "\n".join(shown(DOCS / "curl.md", "bash"))], tmp_path, holder)

    assert holder.spent() == "0.2", "a release of 0.1, asked twice, is charged once; refined to 0.2, the difference"
    assert '"epsilon": "0.1"' in printed
    assert "end-of-export" in printed
    assert holder.auditor_key not in printed
    assert holder.is_intact()


def test_the_code_for_r_asks_and_shows_counts(tmp_path: Path, holder: TestedHolder) -> None:
    script = tmp_path / "ask.R"
    script.write_text("\n".join(shown(DOCS / "developers.md", "r")))
    found = shutil.which("Rscript")
    if found is None or subprocess.run([found, "-e", "library(httr2)"], capture_output=True, check=False).returncode:
        pytest.skip("R or its package httr2 is not here: apt install r-base-core r-cran-httr2")

    printed = run([found, str(script)], tmp_path, holder)

    assert "costs epsilon 0.1" in printed
    assert re.search(r"^1 younger +Female +-?[0-9]+$", printed, re.MULTILINE)
    assert "left: epsilon 9.9" in printed
    assert holder.spent() == "0.1"
