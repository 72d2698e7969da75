"""What only some commands need is imported by those; what an installation lacks is named, with the extra for it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor_client.asking.data_files import data_table
from auditor_client.cli import app
from auditor_client.errors import EXTRAS, ModelRefused, QuestionRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import read_model
from testing.environments import ROOT
from testing.invented.audits import invented_audit


def test_a_command_starts_without_what_only_some_need() -> None:
    program = "import sys, auditor_client.cli; print({'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"set()\n"


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "auditor_client.audits.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(QuestionRefused, match=r"pafer\[auditor,plots\]"):
        invented_audit().plot()


def test_a_parquet_file_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    (tmp_path / "people.parquet").touch()

    with pytest.raises(QuestionRefused, match=r"pafer\[auditor,parquet\]"):
        data_table(tmp_path / "people.parquet")


@pytest.mark.parametrize("library", ["sklearn", "skops"])
def test_a_skops_file_without_scikit_learn_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.delitem(sys.modules, "auditor_client.models.skops_files", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "model.skops").write_bytes(b"PK\x03\x04")
    request = ModelRequest(invented_audit().question.schema, favourable=[True])

    with pytest.raises(ModelRefused, match=r"model\.skops needs .* pip install 'pafer\[auditor,sklearn\]'"):
        read_model(tmp_path / "model.skops", request)


def test_a_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "auditor_client.audits.frames", raising=False)
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(QuestionRefused, match=r"A DataFrame needs pandas.* pip install 'pafer\[auditor,pandas\]'"):
        invented_audit().to_frame()


def test_every_library_of_an_extra_is_in_that_extra() -> None:
    distributions = {"sklearn": "scikit-learn", "xgboost": "xgboost-cpu"}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    for library, extra in EXTRAS.items():
        assert any(line.startswith(distributions.get(library, library)) for line in extras[extra]), library


def test_a_desk_without_a_web_server_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("auditor_client.desk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    environment = {"AUDITOR_HOLDER_URL": "http://127.0.0.1:9", "AUDITOR_API_KEY": "pafer_x"}

    ended = CliRunner().invoke(app, ["desk", "--no-browser"], env=environment)

    assert ended.exit_code == 2
    assert "pip install 'pafer[auditor,desk]'" in ended.output
