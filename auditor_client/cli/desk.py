"""The command that opens the desk: an auditor's work as pages of the browser."""

import os
from typing import Annotated

import typer

from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection
from auditor_client.cli.output import clear_errors
from auditor_client.errors import needs
from auditor_client.settings import load_settings
from shared.wire.flags import Without


@with_flags
def desk(
    *,
    port: Annotated[int, typer.Option(help="The port on this machine [a free port].", min=0, max=65535)] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Show the address instead of opening a browser.")
    ] = False,
    connection: Annotated[Connection, Without(("wait_approval",))],
) -> None:
    """Audit in the browser: from a model's file to a report; budgets, receipts, bundles. Runs only on this machine."""
    with clear_errors():
        settings = load_settings(
            {**dict(connection), "api_key_file": connection.key_file}, os.environ, connection.config
        )
        with needs("The desk"):
            from auditor_client.desk.serving import serve  # noqa: PLC0415 - a set of its own
        serve(settings, port=port, browser=not no_browser, say=typer.echo)
