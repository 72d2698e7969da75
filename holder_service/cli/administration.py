"""`holder admin`: the commands that call an administrator's endpoints."""

from typing import Final

import typer

from shared.wire.deferred_commands import Deferred, commands_of, deferring

ROOM: Final = "holder_service.cli"
PARTS: Final = ("accounts", "datasets", "approvals", "ledger", "receipts", "provisioning")

admin = typer.Typer(
    no_args_is_help=True,
    help="Administer a holder: every command calls an administrator's endpoint.",
    cls=deferring(
        *(command for part in PARTS for command in commands_of(f"{ROOM}.{part}")),
        Deferred(f"{ROOM}.datasets", "records_commands", "records"),
    ),
)
