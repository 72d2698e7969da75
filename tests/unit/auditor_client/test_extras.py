"""What only some commands need is imported by those; what an installation lacks is named, with the extra for it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor_client.asking.own_data import file_table
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused
from testing.invented.audits import invented_audit


def test_a_command_starts_without_what_only_some_need() -> None:
    program = "import sys, auditor_client.cli; print({'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"set()\n"


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "auditor_client.audits.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(QuestionRefused, match=r"pafer\[plots\]"):
        invented_audit().plot()


def test_a_parquet_file_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    (tmp_path / "people.parquet").touch()

    with pytest.raises(QuestionRefused, match=r"pafer\[parquet\]"):
        file_table(tmp_path / "people.parquet")


def test_a_desk_without_a_web_server_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("auditor_client.desk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    environment = {"AUDITOR_HOLDER_URL": "http://127.0.0.1:9", "AUDITOR_API_KEY": "pafer_x"}

    ended = CliRunner().invoke(app, ["desk", "--no-browser"], env=environment)

    assert ended.exit_code == 2
    assert "pip install 'pafer[auditor,desk]'" in ended.output
