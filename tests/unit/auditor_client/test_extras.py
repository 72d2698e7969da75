"""What a plain installation lacks is named where it is asked for, with the extra that brings it."""

import sys
from pathlib import Path

import pytest

from auditor_client.asking.own_data import file_table
from auditor_client.errors import QuestionRefused
from testing.invented_audits import invented_audit


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "auditor_client.audits.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(QuestionRefused, match=r"pafer\[plots\]"):
        invented_audit().plot()


def test_a_parquet_file_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(QuestionRefused, match=r"pafer\[parquet\]"):
        file_table(tmp_path / "people.parquet")
