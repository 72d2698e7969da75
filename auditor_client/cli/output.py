"""What commands print, and how they end."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditor_client import tables
from auditor_client.auditor import Auditor
from auditor_client.cli.options import Connection, Output
from auditor_client.cli.spelling import in_flags
from auditor_client.errors import ApprovalAwaited, AuditorError, SettingsRefused
from auditor_client.exchange.calls import report_retries
from auditor_client.report.view import Shown
from auditor_client.settings import load_settings
from auditor_client.text import readable

FAILED: Final = 2
AWAITS_APPROVAL: Final = 3
_progress = Console(stderr=True)


@contextmanager
def an_auditor(connection: Connection) -> Iterator[Auditor]:
    """An auditor for one command."""
    with (
        clear_errors(),
        Auditor.from_settings(
            load_settings(connection.flags, os.environ, connection.config), on_step=show_step
        ) as auditor,
    ):
        yield auditor


@contextmanager
def clear_errors() -> Iterator[None]:
    """One clear text for every error, and its exit code; further attempts are reported while it waits."""
    report_retries(show_step)
    try:
        yield
    except ApprovalAwaited as error:
        fail(str(error), code=AWAITS_APPROVAL)
    except (AuditorError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        _progress.print("Stopped. Repeat the command: what was charged is answered again at no cost.")
        raise typer.Exit(130) from None
    except typer.Exit:
        raise
    except Exception as error:  # noqa: BLE001 - last: a text instead of a traceback
        fail(
            f"The client failed: {type(error).__name__}: {error}. This is a bug: please report it. Repeat the "
            "command to get an answer that was already charged, at no further cost."
        )


def fail(text: str, *, code: int = FAILED) -> NoReturn:
    """One text on standard error, and an exit code: of every error, or of what is no error and gave no answer yet."""
    _progress.print(readable(in_flags(text)), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


def require_writable(path: Path | None) -> None:
    """Refuse a report that could not be written, before anything is spent."""
    if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise SettingsRefused(f"{path} cannot be written. Name a file in a directory that you may write to.")


def show(shown: Shown, output: Output, **files: Path | None) -> None:
    """Write a result where the flags say, and print it; as text with the files that there are, by their names."""
    if output.report is not None:
        shown.write_report(output.report, language=output.language)
    if output.as_json:
        print_json(shown.to_document())
    else:
        typer.echo("\n".join([shown.summary(), *(f"{name}: {path}" for name, path in files.items() if path)]))


def print_json(document: Any) -> None:
    """A document on one line."""
    typer.echo(json.dumps(document, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(readable(text)) for text in row))
    Console().print(table)


def print_sentences_and_table(table: tables.Table) -> None:
    """Sentences for people, and a table below them."""
    for sentence in table.sentences:
        typer.echo(readable(sentence))
    print_table(table.columns, table.rows)


def show_step(step: str) -> None:
    """What is done now, on standard error."""
    _progress.print(f"{readable(in_flags(step))} …", markup=False, highlight=False, soft_wrap=True, style="dim")
