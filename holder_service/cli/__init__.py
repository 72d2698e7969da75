"""The holder's command line: set up, serve, administer, verify (4-interface).

`holder admin …` calls the same endpoints as everybody: of a running holder if HOLDER_URL or `--url`
names one, else of this machine's own, within this process. The other commands need no key: whoever
may read the holder's home may run them.
"""

import logging
from importlib.metadata import version
from typing import Annotated

import typer

from holder_service.cli import (
    accounts,
    approvals,
    calibration,
    datasets,
    drafts,
    ledger,
    machine,
    privacy,
    publishing,
    risk,
    serving,
)
from holder_service.files.private import keep_new_files_private

__all__ = ["app"]

# Typer's own pages for exceptions show local variables, and so keys and passwords.
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
admin = typer.Typer(no_args_is_help=True, help="Administer a holder: every command calls an administrator's endpoint.")
for part in (accounts.commands, datasets.commands, approvals.commands, ledger.commands):
    admin.add_typer(part)
for part in (
    serving.commands,
    drafts.commands,
    risk.commands,
    calibration.commands,
    machine.commands,
    publishing.commands,
    privacy.commands,
):
    app.add_typer(part)
app.add_typer(admin, name="admin")
app.add_typer(machine.ledger_commands, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holder {version('pafer')}")
        raise typer.Exit


@app.callback()
def before_every_command(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run a holder: it has the sensitive attributes, answers with noise and keeps the ledger."""
    keep_new_files_private()
    logging.getLogger("holder_service").addHandler(logging.NullHandler())  # a command says itself what went wrong
