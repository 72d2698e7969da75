"""Commands about the holder: what it offers, what is left, whether its receipts hold."""

from typing import Annotated

import typer

from auditor_client.approval_words import approval_table, one_of
from auditor_client.cli.completion import datasets as names_of_datasets
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection, DatasetIfAny, Directory, JsonOnly
from auditor_client.cli.output import an_auditor, clear_errors, fail, print_json, print_sentences_and_table, print_table
from auditor_client.exchange.receipts import Receipts, check_receipts
from auditor_client.settings import DEFAULT_RECEIPTS
from auditor_client.tables import budget_table, dataset_table
from shared.wire.flags import Without

WithoutReceipts = Annotated[Connection, Without(("receipts", "asked_for", "wait_approval"))]


@with_flags
def datasets(*, output: JsonOnly, connection: WithoutReceipts) -> None:
    """List the datasets of the holder."""
    with an_auditor(connection) as auditor:
        found = auditor.datasets()
        if output.as_json:
            print_json({"datasets": [dataset.model_dump(mode="json") for dataset in found]})
            return
        print_table(
            ("Dataset", "Version", "Sensitive columns", "Label", "Relation"),
            [
                (
                    dataset.marked_name,
                    "no records" if dataset.version is None else str(dataset.version),
                    ", ".join(dataset.sensitive),
                    next((column.name for column in dataset.columns if column.label), "none"),
                    dataset.relation,
                )
                for dataset in found
            ],
        )


@with_flags
def dataset(
    name: Annotated[str, typer.Argument(help="The dataset's name at the holder.", autocompletion=names_of_datasets)],
    *,
    output: JsonOnly,
    connection: WithoutReceipts,
) -> None:
    """Show what a dataset declares: its columns and their values, its groups, and what is protected."""
    with an_auditor(connection) as auditor:
        found = auditor.dataset(name)
        if output.as_json:
            print_json(found.model_dump(mode="json"))
        else:
            print_sentences_and_table(dataset_table(found))


@with_flags
def budget(*, dataset: DatasetIfAny = None, output: JsonOnly, connection: WithoutReceipts) -> None:
    """Show the budget that you were granted, have spent and have left. Where the cap of the population, which all
    auditors share, admits less than the rest of your grant, what is left is that.
    """
    with an_auditor(connection) as auditor:
        accounts = auditor.budgets() if dataset is None else (auditor.budget(dataset),)
        if output.as_json:
            documents = [account.model_dump(mode="json") for account in accounts]
            print_json({"budgets": documents} if dataset is None else documents[0])
        else:
            print_sentences_and_table(budget_table(accounts))


@with_flags
def approvals(
    name: Annotated[str, typer.Argument(help="The dataset's name at the holder.", autocompletion=names_of_datasets)],
    *,
    withdraw: Annotated[
        str | None, typer.Option(help="Withdraw the request with this id. The first characters of the id are enough.")
    ] = None,
    output: JsonOnly,
    connection: WithoutReceipts,
) -> None:
    """List your requests that need the approval of a budget officer, with price, state and expiry. Costs nothing."""
    with an_auditor(connection) as auditor:
        if withdraw is not None:
            auditor.withdraw(name, one_of(auditor.approvals(name), withdraw).id)
        by_holder = auditor.approvals_by_holder(name)
        if output.as_json:
            documents = [
                {**({"holder": holder} if len(by_holder) > 1 else {}), **approval.model_dump(mode="json")}
                for holder, approvals in by_holder.items()
                for approval in approvals
            ]
            print_json({"approvals": documents})
            return
        for holder, approvals in by_holder.items():
            if len(by_holder) > 1:
                typer.echo(f"Holder {holder}")
            if approvals:
                print_sentences_and_table(approval_table(approvals))
            else:
                typer.echo("You have not sent a request about that dataset that needed approval.")


@with_flags
def verify(
    directory: Directory = None,
    *,
    offline: Annotated[
        bool, typer.Option("--offline", help="Check only signatures, with the pinned keys, and contact nobody.")
    ] = False,
    output: JsonOnly,
    connection: WithoutReceipts,
) -> None:
    """Check receipts: their signatures, and that the holder's ledger still has their entries."""
    with clear_errors():
        if offline:
            findings = check_receipts(Receipts(directory or DEFAULT_RECEIPTS), None)
        else:
            with an_auditor(connection.model_copy(update={"receipts": directory})) as auditor:
                findings = auditor.verify()
        if output.as_json:
            print_json(findings.to_document())
        else:
            print_sentences_and_table(findings.table)
        if not findings.ok:
            fail("The receipts and the holder do not agree; see above. Report it to the holder's administrator.")
