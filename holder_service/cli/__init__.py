"""The holder's command line: set up, serve, administer, verify (4-interface).

`holder admin …` calls the same endpoints as everybody: of a running holder if HOLDER_URL or `--url`
names one, else of this machine's own, within this process. The other commands need no key: whoever
may read the holder's home may run them.
"""

import logging
from typing import Annotated, Final

import typer

from holder_service.files.private import keep_new_files_private
from shared.wire.deferred_commands import Deferred, commands_of, deferring

__all__ = ["app"]

HERE: Final = __name__
PARTS: Final = ("serving", "drafts", "risk", "splitting", "calibration", "machine", "publishing", "privacy")

# Typer's own pages for exceptions show local variables, and so keys and passwords.
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    cls=deferring(
        *(command for part in PARTS for command in commands_of(f"{HERE}.{part}")),
        Deferred(f"{HERE}.administration", "admin", "admin"),
        Deferred(f"{HERE}.machine", "ledger_commands", "ledger"),
        Deferred(f"{HERE}.witness", "witness", "witness"),
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
