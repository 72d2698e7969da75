"""Commands that set a holder up and serve it."""

import json
import signal
import socket
import sys
from typing import Annotated, NoReturn

import typer

from holder_service.cli.calls import clear_errors, fail, own_holder
from holder_service.cli.output import AsJson
from holder_service.settings.log_levels import Level

commands = typer.Typer()


@commands.command()
def init(as_json: AsJson = False) -> None:
    """Create the database, the signing key and the first administrator's key, which is printed once. After an upgrade,
    add what is new.
    """
    from holder_service.services.running.holder import initialise
    from holder_service.settings.holder import Settings

    with clear_errors():
        issued = initialise(Settings.from_environment())
    if as_json:
        print(json.dumps({"admin_key": issued.text if issued else None}))
    elif issued:
        print(f"The administrator's key, shown this once:\n{issued.text}")
    else:
        print("What was missing is made. The administrators of this database and their keys go on.")


@commands.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes. All share one database.")] = 1,
    access_log: Annotated[bool, typer.Option(help="Log each request: caller, route and status.")] = True,
    log_level: Annotated[
        Level, typer.Option(envvar="HOLDER_LOG_LEVEL", case_sensitive=False, help="Minimum log level.")
    ] = Level.INFO,
) -> None:
    """Serve the REST interface and the console. The log goes to standard error, as lines of JSON."""
    import uvicorn

    from holder_service.services.ledger import reading as ledger_reading
    from holder_service.settings.holder import Settings
    from holder_service.web.edge import logs, metrics
    from holder_service.web.edge.connections import SERVER_OPTIONS

    with clear_errors():
        settings = Settings.from_environment()
        with own_holder() as holder:
            found = ledger_reading.verify(holder.store, seals=holder.seals, chain_only=True)
        if not found.intact:
            fail(
                f"The ledger is broken at entry {found.broken_at}: {found.reason}. Nothing is served from it: put a "
                "copy of the database back that `holder ledger verify` finds intact, and record the restore."
            )
        _try_address(host, port)
        if port and sys.stdout.isatty():  # for a person; whoever collects lines gets those of the log alone
            address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            print(f"Serving {address} (console: {address}/console, contract: {address}/docs).", flush=True)
        if workers > 1:
            metrics.share_among_workers(settings.home / f"metrics-{socket.gethostname()}-{port}")
        # The server ends by raising again the signal that ended it, once everything is answered; that is no failure.
        signal.signal(signal.SIGTERM, _leave)
    uvicorn.run(
        "holder_service.app:create_served_app", factory=True, host=host, port=port, workers=workers,
        server_header=False, log_config=logs.configuration(log_level, requests=access_log), access_log=False,
        timeout_graceful_shutdown=30, timeout_worker_healthcheck=60, **SERVER_OPTIONS,
    )  # fmt: skip


def _leave(*_: object) -> NoReturn:
    sys.exit(0)


def _try_address(host: str, port: int) -> None:
    """Whether the server will be able to listen: it would say so amid its log, and end with 1."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        fail(f"Cannot listen: {error.strerror}.")
