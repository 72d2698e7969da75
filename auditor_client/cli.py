"""The auditor's command line (4-interface, *The auditor's command line*).

Standard output carries the answer alone, as text or with `--json` as JSON; progress and errors go to
standard error. The exit code is 0, or 1 where `--fail-on` says so, or 2 for every error; 130 after an
interruption. The key comes from the environment or a file, never from a flag: arguments can be seen
by everybody on the machine.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from auditor_client.auditor import Auditor
from auditor_client.calls import tell_retries
from auditor_client.errors import AuditorError, InvalidSettings
from auditor_client.estimation.results import Verdict
from auditor_client.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.report.words import loss
from auditor_client.settings import DEFAULT_RECEIPTS, load_settings
from auditor_client.text import readable

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure how fairly a decision tree treats groups of people, without seeing who belongs to which. "
    "The holder's address and your key come from AUDITOR_HOLDER_URL and AUDITOR_API_KEY, or a configuration file.",
)

ModelFile = Annotated[Path, typer.Argument(help="A fitted scikit-learn tree in a skops file.")]
Dataset = Annotated[str, typer.Option(help="The dataset's name at the holder; `auditor datasets` lists them.")]
Sensitive = Annotated[
    list[str], typer.Option(help="The sensitive columns, with commas between them: sex,ethnicity compares every pair.")
]
Epsilon = Annotated[str, typer.Option(help="The privacy loss to spend, such as 0.1.")]
Strategy = Annotated[str, typer.Option(help="verdict: the best accuracy; pafer: as published.")]
Favourable = Annotated[list[str] | None, typer.Option(help="The model's favourable classes, with commas between them.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="The dataset's column for each input of a model that was fitted on an array.")
]
RecordsVersion = Annotated[
    int | None, typer.Option(help="The version of the records, to repeat an earlier question; else the current one.")
]
Draw = Annotated[int, typer.Option(help="From 2 on: another, independent and charged draw of the same question.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
HolderUrl = Annotated[str | None, typer.Option(help="The holder's address, instead of AUDITOR_HOLDER_URL.")]
KeyFile = Annotated[Path | None, typer.Option(help="A file with your key, instead of AUDITOR_API_KEY.")]
ReceiptsDirectory = Annotated[Path | None, typer.Option("--receipts", help="Where receipts are kept [./receipts].")]
Config = Annotated[Path | None, typer.Option(help="A TOML file with settings, instead of AUDITOR_CONFIG.")]

_progress = Console(stderr=True)


class FailOn(StrEnum):
    """The mildest verdict that makes the exit code 1."""

    FAILS = "fails"
    UNDECIDED = "undecided"


@app.command()
def datasets(
    *, as_json: AsJson = False, holder_url: HolderUrl = None, key_file: KeyFile = None, config: Config = None
) -> None:
    """What the holder offers."""
    with _auditor(holder_url, key_file, None, config) as auditor:
        found = auditor.datasets()
        if as_json:
            _print_json({"datasets": [dataset.model_dump(mode="json") for dataset in found]})
            return
        _print_table(
            ("Dataset", "Version", "Sensitive columns", "Other columns", "Relation"),
            [
                (
                    dataset.name,
                    "no records" if dataset.version is None else str(dataset.version),
                    ", ".join(dataset.sensitive),
                    str(len(dataset.columns) - len(dataset.sensitive)),
                    dataset.relation,
                )
                for dataset in found
            ],
        )


@app.command()
def budget(
    *,
    dataset: Dataset,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    config: Config = None,
) -> None:
    """What you were granted, have spent and have left."""
    with _auditor(holder_url, key_file, None, config) as auditor:
        account = auditor.budget(dataset)
        if as_json:
            _print_json(account.model_dump(mode="json"))
            return
        _print_table(
            ("Auditor", "Population", "Granted", "Spent", "Left"),
            [(account.auditor, account.population, loss(account.limit), loss(account.spent), loss(account.remaining))],
        )


@app.command()
def plan(
    model: ModelFile,
    *,
    dataset: Dataset,
    sensitive: Sensitive,
    epsilon: Epsilon,
    strategy: Strategy = "verdict",
    favourable: Favourable = None,
    columns: Columns = None,
    people: Annotated[int, typer.Option(help="Assumed for the forecast: how many people there are.")] = 10_000,
    accepted: Annotated[float, typer.Option(help="Assumed: the share of them that the tree accepts.")] = 0.5,
    records_version: RecordsVersion = None,
    draw: Draw = 1,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    config: Config = None,
) -> None:
    """What an audit would cost and how wide its interval would be; spends nothing."""
    with _auditor(holder_url, key_file, None, config) as auditor:
        # Importing the estimators takes a second, and most commands do without.
        from auditor_client.planning import Assumption  # noqa: PLC0415

        planned = auditor.plan(
            model,
            dataset,
            _listed(sensitive),
            epsilon,
            strategy=strategy,
            favourable=_listed_or_none(favourable),
            columns=_listed_or_none(columns),
            version=records_version,
            draw=draw,
            assumption=Assumption(people=people, accepted=accepted),
        )
        if as_json:
            _print_json(planned.to_document())
        else:
            typer.echo(planned.summary())


@app.command()
def audit(
    model: ModelFile,
    *,
    dataset: Dataset,
    sensitive: Sensitive,
    epsilon: Epsilon,
    strategy: Strategy = "verdict",
    estimator: Annotated[str, typer.Option(help="posterior: with intervals; plug-in: as published.")] = "posterior",
    negative: Annotated[
        str, typer.Option(help="Of the plug-in estimator, for negative counts: zero, one, uniform, total-valid.")
    ] = "uniform",
    too_large: Annotated[
        str, typer.Option(help="Of the plug-in estimator, for counts above everybody: uniform, total-valid.")
    ] = "uniform",
    favourable: Favourable = None,
    columns: Columns = None,
    threshold: Annotated[float, typer.Option(help="Of the ratio; 0.8 is the four-fifths rule.")] = 0.8,
    report: Annotated[Path | None, typer.Option(help="Write the report as an HTML page.")] = None,
    report_json: Annotated[Path | None, typer.Option(help="Write the report as JSON.")] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(help="Exit with 1 if the verdict is fails; with undecided, also if it is that."),
    ] = None,
    records_version: RecordsVersion = None,
    draw: Draw = 1,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    receipts: ReceiptsDirectory = None,
    config: Config = None,
) -> None:
    """Measure how a model treats the groups; spends epsilon, once for the same question."""
    with _auditor(holder_url, key_file, receipts, config) as auditor:
        for path in (report, report_json):
            _require_writable(path)
        result = auditor.audit(
            model,
            dataset,
            _listed(sensitive),
            epsilon,
            strategy=strategy,
            estimator=estimator,
            negative=negative,
            too_large=too_large,
            favourable=_listed_or_none(favourable),
            columns=_listed_or_none(columns),
            threshold=threshold,
            version=records_version,
            draw=draw,
        )
        if report is not None:
            result.write_report(report)
        if report_json is not None:
            report_json.write_text(result.to_json(), encoding="utf-8")
        if as_json:
            _print_json(result.to_document())
        else:
            typer.echo(result.summary())
            typer.echo(f"Receipt: {result.receipt}" + ("" if report is None else f"\nReport: {report}"))
        verdict = result.parity.verdict
        if fail_on is not None and (verdict is Verdict.FAILS or verdict == fail_on.value):
            raise typer.Exit(1)


@app.command()
def verify(
    directory: Annotated[Path | None, typer.Argument(help="The receipts directory [./receipts].")] = None,
    *,
    offline: Annotated[
        bool, typer.Option("--offline", help="Check signatures alone, with the pinned keys, and ask nobody.")
    ] = False,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    config: Config = None,
) -> None:
    """Check receipts: their signatures, and that the holder's ledger still has their entries."""
    with _clear_errors():
        if offline:
            findings = check_receipts(Receipts(directory or DEFAULT_RECEIPTS), None)
        else:
            with _auditor(holder_url, key_file, directory, config) as auditor:
                findings = auditor.verify()
        if as_json:
            _print_json(findings.to_document())
        else:
            _print_findings(findings)
        if not findings.ok:
            _fail("The receipts and the holder do not agree; see above. Tell the holder's administrator.")


@contextmanager
def _auditor(
    holder_url: str | None, key_file: Path | None, receipts: Path | None, config: Path | None
) -> Iterator[Auditor]:
    """An auditor for one command."""
    flags = {"holder_url": holder_url, "api_key_file": key_file, "receipts": receipts}
    with _clear_errors():
        tell_retries(_tell)
        with Auditor.from_settings(load_settings(flags, os.environ, config), on_step=_tell) as auditor:
            yield auditor


@contextmanager
def _clear_errors() -> Iterator[None]:
    """One clear text for whatever goes wrong, and the exit code that belongs to it."""
    try:
        yield
    except (AuditorError, OSError) as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _progress.print("Stopped. What was charged is answered again at no cost.")
        raise typer.Exit(130) from None
    except typer.Exit:
        raise
    except Exception as error:  # noqa: BLE001 - the last resort: a text, no traceback
        _fail(
            f"The client failed: {type(error).__name__}: {error}. That is a fault of this program: please report it. "
            "What was charged is answered again at no cost."
        )


def _fail(text: str) -> NoReturn:
    """One text on standard error, and the exit code of every error."""
    _progress.print(readable(text), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)


def _tell(step: str) -> None:
    _progress.print(f"{readable(step)} …", markup=False, highlight=False, soft_wrap=True, style="dim")


def _listed(texts: Sequence[str]) -> list[str]:
    """Values that were given one by one or with commas between them."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _listed_or_none(texts: Sequence[str] | None) -> list[str] | None:
    return _listed(texts) if texts else None


def _require_writable(path: Path | None) -> None:
    """Find out before anything is spent that a report could not be written."""
    if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise InvalidSettings(f"{path} cannot be written: name a file in a directory that exists and is yours.")


def _print_json(document: Any) -> None:
    typer.echo(json.dumps(document, allow_nan=False))


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(readable(text)) for text in row))
    Console().print(table)


def _print_findings(findings: ReceiptsReport) -> None:
    _print_table(
        ("Receipt", "Dataset", "Entry", "Finding"),
        [
            (
                f"{check.file.stem[:12]}…",
                "" if check.release is None else check.release.dataset,
                "" if check.release is None else str(check.release.ledger.sequence),
                check.fault or "good",
            )
            for check in findings.checks
        ],
    )
    if findings.head is not None:
        typer.echo(f"The holder's ledger ends at entry {findings.head.sequence}.")
    if findings.fault is not None:
        typer.echo(readable(findings.fault))
