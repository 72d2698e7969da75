"""The demonstration, as a newcomer runs it: a real holder process, four audits, reports, nothing left running."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from pafer_demo.__main__ import app
from pafer_demo.holder_process import START_S_MAX, DemoFailed, running_holder

ROOT = Path(__file__).resolve().parents[2]


FAVOURABLE, ADVERSE = "statistical-parity", "adverse-ratio"
REPORTS = (
    ("sex-origin", FAVOURABLE, 0.48, "fails"),
    ("boosted-sex", FAVOURABLE, 0.857, "meets"),
    ("decisions-sex", FAVOURABLE, 0.872, "meets"),
    ("checks-origin", ADVERSE, 2.405, "fails"),
)
"""The ending of each report's name, its metric, the ratio (tests/unit/pafer_demo/test_register.py) and the verdict."""
TABLES = {"sex": 0.74, "origin": 0.71}
"""The ratio by each column, from the answer by both."""


def start(output: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start the demonstration with the generated register, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pafer_demo", "--output", str(output), *arguments],
        cwd=ROOT, env={**os.environ, "PAFER_DATA": str(output), "COLUMNS": "120"}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def answers(url: str) -> bool:
    """Whether a holder is alive."""
    try:
        return httpx.get(f"{url}/healthz", trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.mark.slow
def test_the_demonstration_audits_reports_and_stops_its_holder(tmp_path: Path) -> None:
    """It exits 0; four reports open offline; the budget is spent as said; the receipts hold; the holder has ended.

    The estimates are the known ratios (tests/unit/pafer_demo/test_register.py) to two decimals: at ε = 2 that
    takes noise of some fifteen people in a group of three thousand, whose chance is below e^(-30). The adverse ratio is
    of 149 people who are selected in the smallest group: noise of twelve changes it by 0.2, whose chance is e^(-24).
    """
    with start(tmp_path, "--epsilon", "2") as demo:
        said, _ = demo.communicate(timeout=400)

    assert demo.returncode == 0, said
    for name, metric, known, verdict in REPORTS:
        page = (tmp_path / f"report-{name}.html").read_text()
        document = json.loads((tmp_path / f"report-{name}.json").read_text())
        assert f"report-{name}.html" in said
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
        tolerance = 0.01 if metric == FAVOURABLE else 0.2
        assert list(document["metrics"]) == [metric]
        assert document["metrics"][metric]["ratio"]["value"] == pytest.approx(known, abs=tolerance)
        assert document["metrics"][metric]["verdict"] == verdict
    (both,) = [json.loads(path.read_text()) for path in tmp_path.glob("report-sex-origin.json")]
    for table, (column, known) in zip(both["tables"], TABLES.items(), strict=True):
        assert table["sensitive"] == [column]
        assert table["verdict"] == "fails"
        assert table["metrics"][FAVOURABLE]["ratio"]["value"] == pytest.approx(known, abs=0.01)
    assert re.search(r"tree\W+sex\W+favourable", said)
    assert re.search(r"tree\W+origin\W+favourable", said)
    assert "epsilon 8 of 10 spent, 2 left" in said
    assert "fails the limit of 1.25 for the adverse ratio for origin" in " ".join(said.split())
    assert "every signature is valid" in said
    url = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert url
    assert not answers(url[0])


@pytest.mark.slow
def test_an_interrupted_demonstration_stops_its_holder(tmp_path: Path) -> None:
    with start(tmp_path) as demo:
        assert demo.stdout
        url = None
        for line in demo.stdout:
            url = re.search(r"http://127\.0\.0\.1:\d+", line)
            if url:
                break
        assert url
        demo.send_signal(signal.SIGINT)
        said = demo.stdout.read()
        demo.wait(timeout=60)

    assert demo.returncode == 130
    assert "Interrupted; the holder has been stopped." in said
    assert not answers(url[0])


@pytest.fixture
def _undone() -> Iterator[None]:
    """What the command sets for its whole process, which is this one, as it was."""
    mask, handler = os.umask(0o022), signal.getsignal(signal.SIGTERM)
    os.umask(mask)
    yield
    os.umask(mask)
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.usefixtures("_undone")
def test_an_amount_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["--epsilon", "1e400", "--output", str(tmp_path)])

    assert ran.exit_code == 2
    assert isinstance(ran.exception, SystemExit)
    assert "decimal string" in ran.output
    assert not (tmp_path / "holder").exists()


@pytest.mark.slow
def test_a_holder_that_does_not_start_is_reported_at_once(tmp_path: Path) -> None:
    """A home that was never initialised: the holder's own words are in its log, and nobody waits for the limit."""
    started_s = time.monotonic()

    with (
        (tmp_path / "log").open("w+b") as log,
        pytest.raises(DemoFailed, match="stopped during its start"),
        running_holder({"HOLDER_HOME": str(tmp_path / "empty")}, log=log),
    ):
        pass

    assert time.monotonic() - started_s < START_S_MAX
    assert "holder init" in (tmp_path / "log").read_text()
