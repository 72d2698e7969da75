"""The tutorial with its outputs: the notebook is run, and written as Markdown with its pictures beside it."""

import html
import re
from pathlib import Path
from typing import Any, Final

import nbformat
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import ExecutePreprocessor
from traitlets.config import Config

CELL_S_MAX: Final = 300
_NO_NETWORK: Final = Config({"KernelManager": {"transport": "ipc"}})
_FRAME: Final = re.compile(r'<iframe[^>]*srcdoc="([^"]*)"[^>]*>.*?</iframe>', re.DOTALL)
_FOLDER: Final = "tutorial_files"


def write_tutorial(notebook: Path, folder: Path) -> None:
    """Run a notebook and write `tutorial.md` and its files into a folder.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed; its text has the traceback.
    """
    document = nbformat.read(notebook, as_version=4)
    document.cells = document.cells[1:] if document.cells[0].source.startswith("# ") else document.cells
    ExecutePreprocessor(timeout=CELL_S_MAX, config=_NO_NETWORK).preprocess(
        document, {"metadata": {"path": str(Path.cwd())}}
    )
    files = folder / _FOLDER
    files.mkdir(parents=True, exist_ok=True)
    for output in (one for cell in document.cells for one in cell.get("outputs", ())):
        _take_pages_out(output, files)
    text, resources = MarkdownExporter().from_notebook_node(document, {"output_files_dir": _FOLDER})
    for name, content in resources["outputs"].items():
        (folder / name).write_bytes(content)
    (folder / "tutorial.md").write_text(text)


def _take_pages_out(output: Any, files: Path) -> None:
    """A report is a page of its own: it becomes a file that the site's page frames."""
    shown = output.get("data", {}).get("text/html", "")
    framed = _FRAME.search(shown)
    if framed is None:
        return
    name = f"report-{len(list(files.glob('report-*.html'))) + 1}.html"
    (files / name).write_text(html.unescape(framed[1]))
    style = "width: 100%; height: 32rem; border: 0"
    output["data"]["text/html"] = (
        f'<iframe src="{_FOLDER}/{name}" title="The report" loading="lazy" style="{style}"></iframe>\n<p>'
        f'<a href="{_FOLDER}/{name}">The report on a page of its own</a></p>'
    )
