"""The tutorial notebook runs, cell by cell, against a real holder, and says what is true."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"


def cells(kind: str) -> list[str]:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == kind]


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last expression is what it shows."""
    body = ast.parse(source).body
    last = body[-1]
    shown = last.value if isinstance(last, ast.Expr) else ast.Constant(None)
    before = body[:-1] if isinstance(last, ast.Expr) else body
    exec(compile(ast.Module(before, []), str(NOTEBOOK), "exec"), names)  # noqa: S102 - our own notebook
    expression = ast.fix_missing_locations(ast.Expression(shown))
    return eval(compile(expression, str(NOTEBOOK), "eval"), names)  # noqa: S307 - our own notebook


@pytest.mark.slow
def test_every_cell_of_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample: the figures of one audit at ε = 1 against Fairlearn's; each interval may miss once in twenty, so they
    are allowed three times their width around their value: beyond that an honest interval is once in millions.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []

    try:
        for source in cells("code"):
            value = run(source, names)
            shown.append(getattr(value, "_repr_html_", lambda: "")() or "")
    finally:
        if "open_things" in names:
            names["open_things"].close()

    assert names["checked"].ok
    assert sum("<iframe" in html for html in shown) == 4
    for metric, figure in names["fairlearn"].items():
        ratio = names["labelled"].estimates[metric].ratio
        assert abs(ratio.value - figure) <= 3 * ratio.width + 0.001, metric


@pytest.mark.slow
def test_the_notebook_is_kept_without_outputs() -> None:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    assert document["nbformat"] == 4
    assert all(not cell.get("outputs") for cell in document["cells"])
    assert all("test_tutorial" in text for text in cells("markdown")[:1])
