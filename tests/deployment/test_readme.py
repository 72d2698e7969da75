"""What the README shows in its code blocks, done as it stands there: two terminals, a report, a receipt."""

import os
import re
import signal
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

from testing.console_visitors import Visitor
from testing.http_clients import AUTHORITIES
from testing.ports import reserved_port
from testing.shown_commands import shown

ROOT = Path(__file__).resolve().parents[2]
README: Final = ROOT / "README.md"
START_S_MAX: Final = 120.0


def shell(block: str, folder: Path, port: int) -> "subprocess.Popen[str]":
    """Run a block in a folder, with this environment's programs instead of those in `.venv`."""
    scripts = sysconfig.get_path("scripts")
    here = block.replace(".venv/bin/", f"{scripts}/").replace("8080", str(port)).replace("./run setup\n", "")
    return subprocess.Popen(
        ["bash", "-euc", here],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


@contextmanager
def first_terminal(folder: Path, port: int) -> Iterator[None]:
    """The holder of the README's first block, until it is interrupted as a user would."""
    (block,) = (block for block in shown(README, "bash") if "pafer_demo.holder_side" in block)
    with shell(block, folder, port) as holder:
        try:
            deadline = time.monotonic() + START_S_MAX
            while not (folder / "holder-home" / "auditor.key").exists():
                assert holder.poll() is None, "the holder ended"
                assert time.monotonic() < deadline, "the holder is not ready"
                time.sleep(0.2)
            yield
        finally:
            os.killpg(holder.pid, signal.SIGTERM)
            holder.communicate(timeout=60)


@pytest.mark.slow
def test_the_readmes_commands_lead_to_a_report(tmp_path: Path) -> None:
    """Every command of the second terminal succeeds, the report is there, and Python gets the same answer free."""
    (second_terminal,) = (block for block in shown(README, "bash") if "auditor audit" in block)
    (python,) = shown(README, "python")

    with reserved_port() as port, first_terminal(tmp_path, port):
        with shell(second_terminal, tmp_path, port) as auditor:
            said, _ = auditor.communicate(timeout=180)
        exports = "".join(line for line in second_terminal.splitlines(keepends=True) if line.startswith("export "))
        with shell(f"{exports}\n.venv/bin/python - <<'END'\n{python}END\n", tmp_path, port) as program:
            found, _ = program.communicate(timeout=60)
        budget = f"{exports}\n.venv/bin/auditor budget --dataset register --json"
        with shell(budget, tmp_path, port) as account:
            left, _ = account.communicate(timeout=60)
        admin_key = (tmp_path / "holder-home" / "administrator.key").read_text().strip()
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", follow_redirects=True, timeout=60, verify=AUTHORITIES
        ) as client:
            console = Visitor(client).log_in(admin_key)
        open_to_others = [path.name for path in (tmp_path / "holder-home").rglob("*") if path.stat().st_mode & 0o077]

    assert auditor.returncode == 0, said
    assert "fails the four-fifths rule" in said
    assert "<html" in (tmp_path / "report.html").read_text()
    assert program.returncode == 0, found
    ratio = r"0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]"
    assert re.fullmatch(rf"{ratio} fails\n{ratio} {ratio}\n", found)
    assert '"spent": {"epsilon": "0.1"' in left
    assert (console.status, console.path) == (200, "/console")
    assert open_to_others == []
