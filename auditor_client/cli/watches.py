"""Commands about watches: verdicts that the holder asks again of every version of the records."""

from pathlib import Path
from typing import Annotated

import typer

from auditor_client.cli.completion import datasets
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection, JsonOnly, Output, Reaching
from auditor_client.cli.output import an_auditor, print_json, require_writable, show

app = typer.Typer(no_args_is_help=True, help="Watch a verdict: pay once, and look again only when it changes.")


@app.command("set")
@with_flags
def set_watch(
    audit: Annotated[
        Path, typer.Argument(help="The receipt of an audit, or its note in the `questions` folder of the receipts.")
    ],
    epsilon: Annotated[str, typer.Option(help="ε for all answers together. It is charged now.")],
    *,
    margin: Annotated[
        int,
        typer.Option(
            help="Report a change when this many people are left before it. A negative number: when this "
            "many people are beyond it."
        ),
    ] = 0,
    draw: Annotated[int, typer.Option(help="Another number sets another watch, with its own charge.")] = 1,
    output: Output,
    connection: Connection,
) -> None:
    """Ask the holder to watch the verdict of an audit in every version of the records. Spends epsilon, once."""
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
    """Show your watches of a dataset: since when the verdict is unchanged, or at which version it changed. Costs
    nothing.
    """
    with an_auditor(connection) as auditor:
        found = auditor.watches(dataset)
        if output.as_json:
            print_json({"watches": [one.to_document() for one in found]})
            return
        typer.echo("\n\n".join(one.summary() for one in found) or "You do not have a watch about that dataset.")
