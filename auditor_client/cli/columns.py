"""Commands about derived columns: values of the auditor's own, linked by person key."""

from pathlib import Path
from typing import Annotated

import typer

from auditor_client.audits.asking import LinkRequest
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Dataset, JsonOnly, Reaching
from auditor_client.cli.output import an_auditor, print_json, print_table
from shared.contract.rehearsals import marked_name
from shared.scores.columns import ColumnDescription
from shared.wire.csv_signs import HEAD_BYTES, csv_signs


@with_flags
def link(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet: a person key and a value in each row.")],
    *,
    dataset: Dataset,
    request: LinkRequest,
    output: JsonOnly,
    connection: Reaching,
) -> None:
    """Send decisions, scores or labels by person key. Costs nothing. Then audit them with --decision NAME."""
    with an_auditor(connection) as auditor:
        linked = auditor.link(data, dataset, request)
        name, column = linked.column.name, linked.column
        if output.as_json:
            print_json(linked.model_dump(mode="json"))
            return
        domain = f": {', '.join(column.categories)}" if column.categories else ""
        _echo_how_it_was_read(data, request)
        typer.echo(f"Linked: {name} ({column.type}{domain})")
        typer.echo(f"Column: {linked.id}")
        typer.echo(f"Name it with {f'--label {name}' if column.label else f'--decision {name}'}.")
        if column.values and not column.label:
            typer.echo("Name the value that is the good outcome for the person (--favourable). It is not guessed.")
        typer.echo("The holder does not say how many of these keys the register knows. Only a charged answer shows it.")


def _echo_how_it_was_read(data: Path, request: LinkRequest) -> None:
    """Print which flags say how a CSV file was read, where they were not given and are not the usual ones."""
    if data.suffix in ("", ".csv", ".txt", ".tsv"):
        with data.open("rb") as file:
            signs = csv_signs(file.read(HEAD_BYTES))
        names = ("delimiter", "decimal", "encoding")
        given = {name: value for name in names if (value := getattr(request, name)) is not None}
        flags = signs.flags(but={"delimiter": ",", "decimal": ".", "encoding": "utf-8"} | dict.fromkeys(given))
        if flags:
            typer.echo(f"Read as with {flags}.")


@with_flags
def columns(
    *,
    dataset: Dataset,
    delete: Annotated[str | None, typer.Option(help="Delete the column with this id. Its releases remain.")] = None,
    output: JsonOnly,
    connection: Reaching,
) -> None:
    """List your derived columns: scores that the holder computes, and values that you linked."""
    with an_auditor(connection) as auditor:
        if delete is not None:
            auditor.delete_column(dataset, delete)
        found = auditor.columns(dataset)
        if output.as_json:
            print_json({"columns": [column.model_dump(mode="json") for column in found]})
        else:
            print_table(("Column", "Type", "Values", "State", "Id"), [_row(column) for column in found])


def _row(column: ColumnDescription) -> tuple[str, ...]:
    return (
        marked_name(column.column.name, column.rehearsal_of),
        column.column.type,
        column.origin,
        column.state,
        column.id,
    )
