"""Commands about the holder: what it offers, what is left, whether its receipts hold."""

from pathlib import Path
from typing import Annotated

import typer

from auditor_client.cli.options import AsJson, Config, Dataset, HolderUrl, KeyFile
from auditor_client.cli.output import an_auditor, clear_errors, fail, print_json, print_table
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.report.words import loss
from auditor_client.settings import DEFAULT_RECEIPTS
from auditor_client.text import readable


def datasets(
    *, as_json: AsJson = False, holder_url: HolderUrl = None, key_file: KeyFile = None, config: Config = None
) -> None:
    """What the holder offers."""
    with an_auditor(holder_url, key_file, None, config) as auditor:
        found = auditor.datasets()
        if as_json:
            print_json({"datasets": [dataset.model_dump(mode="json") for dataset in found]})
            return
        print_table(
            ("Dataset", "Version", "Sensitive columns", "Label", "Relation"),
            [
                (
                    dataset.name,
                    "no records" if dataset.version is None else str(dataset.version),
                    ", ".join(dataset.sensitive),
                    next((column.name for column in dataset.columns if column.label), "none"),
                    dataset.relation,
                )
                for dataset in found
            ],
        )


def budget(
    *,
    dataset: Dataset,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    config: Config = None,
) -> None:
    """What you were granted, have spent and have left."""
    with an_auditor(holder_url, key_file, None, config) as auditor:
        account = auditor.budget(dataset)
        if as_json:
            print_json(account.model_dump(mode="json"))
            return
        print_table(
            ("Auditor", "Population", "Granted", "Spent", "Left"),
            [(account.auditor, account.population, loss(account.limit), loss(account.spent), loss(account.remaining))],
        )


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
    with clear_errors():
        if offline:
            findings = check_receipts(Receipts(directory or DEFAULT_RECEIPTS), None)
        else:
            with an_auditor(holder_url, key_file, directory, config) as auditor:
                findings = auditor.verify()
        if as_json:
            print_json(findings.to_document())
        else:
            _print_findings(findings)
        if not findings.ok:
            fail("The receipts and the holder do not agree; see above. Tell the holder's administrator.")


def _print_findings(findings: ReceiptsReport) -> None:
    print_table(
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
