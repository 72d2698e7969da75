"""`holder witness`: cosign the logs of holders, so that none can show two people two histories."""

from pathlib import Path
from typing import Annotated, Final

import typer

from holder_service.cli.calls import clear_errors

witness = typer.Typer(
    no_args_is_help=True,
    help="Run a witness: cosign the ledgers of holders, so that a holder cannot show two people two histories.",
)
_HOME: Final = Path("witness-home")
Home = Annotated[Path, typer.Option(help="The witness's folder: its key, and what it has seen.")]


@witness.command()
def init(
    name: Annotated[str, typer.Argument(help="The witness's name, such as ombudsman.example.org/witness.")],
    *,
    home: Home = _HOME,
) -> None:
    """Make the witness's key, and print the public key for holders and auditors."""
    from holder_service.witnessing.state import WitnessFolder

    with clear_errors():
        print(WitnessFolder(home).create(name).verifier)


@witness.command()
def add(
    origin: Annotated[str, typer.Argument(help="The name of the log: the first line of its checkpoint.")],
    keys: Annotated[list[str], typer.Argument(help="The log's keys, as `holder ledger log-keys` prints them.")],
    *,
    replaces: Annotated[
        str | None,
        typer.Option(help="The log whose place it takes, after a restore. It gets no more cosignatures."),
    ] = None,
    home: Home = _HOME,
) -> None:
    """Watch a log, or accept a further key of a log that is watched already."""
    from holder_service.witnessing.state import UnusableWitness, WitnessFolder
    from shared.log.notes import BadNote, VerifierKey

    with clear_errors():
        folder = WitnessFolder(home)
        folder.key()
        try:
            parsed = tuple(map(VerifierKey.parse, keys))
        except BadNote as error:
            raise UnusableWitness(str(error)) from None
        log = folder.add(origin, parsed, replaces=replaces)
        print(f"{origin}: {len(log.keys)} {'key' if len(log.keys) == 1 else 'keys'}, {log.size} entries seen")


@witness.command("remove-key")
def remove_key(
    origin: Annotated[str, typer.Argument(help="The name of the log.")],
    key: Annotated[str, typer.Argument(help="The key, as it was added.")],
    *,
    home: Home = _HOME,
) -> None:
    """Accept a key of a log no longer, for example after the holder replaced it."""
    from holder_service.witnessing.state import UnusableWitness, WitnessFolder
    from shared.log.notes import BadNote, VerifierKey

    with clear_errors():
        try:
            log = WitnessFolder(home).remove_key(origin, VerifierKey.parse(key))
        except BadNote as error:
            raise UnusableWitness(str(error)) from None
        print(f"{origin}: {len(log.keys)} {'key' if len(log.keys) == 1 else 'keys'}, {log.size} entries seen")


@witness.command()
def show(*, home: Home = _HOME) -> None:
    """Print the witness's public key and what it has seen of each log."""
    from holder_service.witnessing.state import WitnessFolder

    with clear_errors():
        folder = WitnessFolder(home)
        print(folder.key().verifier)
        for origin, log in sorted(folder.logs().items()):
            end = "" if log.replaced_by is None else f", replaced by {log.replaced_by}"
            print(f"{origin}: {log.size} entries{end}")


@witness.command()
def serve(
    *,
    home: Home = _HOME,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on.")] = 8090,
) -> None:
    """Answer holders that ask for cosignatures, until it is ended."""
    import uvicorn

    from holder_service.settings.log_levels import Level
    from holder_service.web.edge import logs
    from holder_service.witnessing.server import create_witness
    from holder_service.witnessing.state import WitnessFolder

    with clear_errors():
        application = create_witness(WitnessFolder(home))
    uvicorn.run(
        application, host=host, port=port, log_config=logs.configuration(Level.WARNING), access_log=False,
        server_header=False,
    )  # fmt: skip
