"""Commands about watches: verdicts that the holder asks again of every version of the records."""

from pathlib import Path
from typing import Annotated

import typer

from auditor_client.cli.completion import datasets
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection, JsonOnly, Output, Reaching
from auditor_client.cli.output import an_auditor, print_json, require_writable, show

app = typer.Typer(no_args_is_help=True, help="Have a verdict watched: pay once, and only look again when it changes.")


@app.command("set")
@with_flags
def set_watch(
    audit: Annotated[Path, typer.Argument(help="The receipt of an audit, or its note in the receipts' questions.")],
    epsilon: Annotated[str, typer.Option(help="ε of all answers together, charged now.")],
    *,
    margin: Annotated[
        int, typer.Option(help="Say a change when so many people are left until it; below 0, so many beyond it.")
    ] = 0,
    draw: Annotated[int, typer.Option(help="Another number sets another watch, and is charged again.")] = 1,
    output: Output,
    connection: Connection,
) -> None:
    """Have the holder watch the verdict of an audit in every version of the records; spends epsilon, once."""
    with an_auditor(connection) as auditor:
        require_writable(output.report)
        watched = auditor.watch(audit, epsilon, margin=margin, draw=draw)
        show(watched, output, Receipt=watched.receipt, Report=output.report)


@app.command("show")
@with_flags
def show_watches(
    dataset: Annotated[str, typer.Argument(help="The dataset's name at the holder.", autocompletion=datasets)],
    *,
    output: JsonOnly,
    connection: Reaching,
) -> None:
    """Show your watches about a dataset, unchanged since when or changed at which version; costs nothing."""
    with an_auditor(connection) as auditor:
        found = auditor.watches(dataset)
        if output.as_json:
            print_json({"watches": [one.to_document() for one in found]})
            return
        typer.echo("\n\n".join(one.summary() for one in found) or "There is no watch about that dataset.")
