"""Commands about this machine's own holder that need no key: whoever may read its home may run them."""

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from holder_service.cli.calls import clear_errors, new_file, own_holder, report_format
from holder_service.cli.output import AsJson, notify, show_drill, show_overlaps, show_verification

commands = typer.Typer()
ledger_commands = typer.Typer(no_args_is_help=True, help="Verify the ledger of this machine's holder.")


@ledger_commands.command("verify")
def verify(
    backup: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Verify a back-up instead, or the newest one in a folder of back-ups. Back-ups do not have an anchor."
            )
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain, every balance and every stored release of this machine's holder or of a back-up."""
    from holder_service.services.ledger import reading as ledger_reading
    from holder_service.services.running.backup import DATABASE, newest
    from holder_service.settings.holder import SEALS_FILE

    with clear_errors():
        if backup is None:
            with own_holder() as holder:
                found = ledger_reading.verify(holder.store, seals=holder.seals)
        else:
            folder = newest(backup)
            found = ledger_reading.verify_copy(folder / DATABASE, folder / SEALS_FILE)
    show_verification({"intact": found.intact, **asdict(found)}, as_json)
    if backup is not None and not as_json:
        notify("What was entered after the copy was made is not known from it.")


@ledger_commands.command("log-keys")
def log_keys() -> None:
    """Print the keys that sign the checkpoints of the ledger's log, for witnesses: one for each signing key."""
    from holder_service.files.set_up_errors import InvalidSettings
    from shared.log.notes import VerifierKey

    with clear_errors(), own_holder() as holder:
        published = None if holder.log is None else holder.log.name()
        if published is None:
            raise InvalidSettings("HOLDER_LOG_ORIGIN is not set, so this holder publishes no log.")
        for key in holder.public_keys().keys:
            print(VerifierKey.of_log(published, key.public_key))


@commands.command("replace-lost-key")
def replace_lost_key(reason: Annotated[str, typer.Argument(help="The reason. It is written into the ledger.")]) -> None:
    """Replace the signing key because its file is lost. Tell the auditors through another channel."""
    from holder_service.services.running import holder
    from holder_service.settings.holder import Settings

    with clear_errors():
        made = holder.replace_lost_key(Settings.from_environment(), reason=reason)
    print(f"Signing key {made.id} is in force, and no key before it vouches for it.")


@commands.command("report")
def report(
    dataset: Annotated[str, typer.Argument(help="The dataset, retired or not.")],
    file: Annotated[
        Path | None, typer.Argument(help="A new file: .html, or .json for machines. Without it a summary is printed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the transparency report of a dataset: what was released, to whom, when and at what loss."""
    from holder_service.services.releases.transparency import transparency_report
    from holder_service.web.console.transparency import transparency_document, transparency_page

    as_format = None if file is None else report_format(file)
    with clear_errors(), own_holder() as own:
        found = transparency_report(own.store, dataset, organisation=own.settings.organisation)
        if file is not None:
            page = (
                transparency_page(own.store, found) if as_format == "html" else json.dumps(transparency_document(found))
            )
            with new_file(file) as written:
                written.write(page.encode())
    if as_json:
        print(json.dumps(transparency_document(found)))
    else:
        print(f"{len(found.releases)} releases about {dataset}, {found.spent} in all; ledger head {found.head.hash}.")


@commands.command("overlaps")
def list_overlaps(as_json: AsJson = False) -> None:
    """List the populations that share people, and the exact number. The output derives from records: keep it
    confidential.
    """
    from holder_service.services.datasets.overlaps import find_overlaps

    with clear_errors(), own_holder() as own:
        found = asdict(find_overlaps(own.store, own.engine, own.files))
    show_overlaps(found, found["overlaps"], as_json)


@commands.command("load-errors")
def show_load_errors(
    entry: Annotated[
        int, typer.Argument(help="The ledger entry of the load or check by URL. The error message names it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show the errors in files that were loaded or checked by their URL. The output derives from records: keep it
    confidential.
    """
    from holder_service.domain.errors import fault_text
    from holder_service.services.datasets.url_reads import errors_of
    from holder_service.settings.holder import Settings

    with clear_errors():
        found = errors_of(Settings.from_environment().load_errors, entry)
    if as_json:
        print(json.dumps(found))
    else:
        print(f"{found['url']}, read at {found['at']} (entry {found['entry']}):")
        for error in found["errors"]:
            print(fault_text(error["field"], error["detail"]))


@commands.command("backup")
def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder. It holds secrets, as the home does.")],
    keep: Annotated[
        int | None,
        typer.Option(
            min=1, help="Treat FOLDER as a folder of back-ups: write a new one, named by its time, and keep this many."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy database, keys and records while the holder runs. Works with every database."""
    from holder_service.services.running.backup import back_up, back_up_into

    with clear_errors(), own_holder() as own:
        if keep is None:
            back_up(own, folder)
        else:
            folder = back_up_into(own, folder, keep=keep)
    if as_json:
        print(json.dumps({"folder": str(folder)}))
    else:
        notify(f"The back-up is in {folder}.")


@commands.command("restore")
def restore_backup(
    folder: Annotated[
        Path, typer.Argument(help="A back-up, or the folder of `holder backup --keep`. The newest back-up is used.")
    ],
) -> None:
    """Restore a back-up into an empty home and an empty database. The anchor is not changed. Then start the holder and
    record the restore.
    """
    from holder_service.services.running.backup import newest, restore
    from holder_service.settings.holder import Settings

    with clear_errors():
        folder = newest(folder)
        restore(folder, Settings.from_environment())
    notify(
        f"{folder} is restored. Start the holder; if it answers restore-unrecorded: holder admin record-restore WHY."
    )


@commands.command("check-backup")
def check_backup(
    folder: Annotated[
        Path, typer.Argument(help="A back-up, or the folder of `holder backup --keep`. The newest back-up is used.")
    ],
    max_age_hours: Annotated[int | None, typer.Option(min=1, help="Fail if the back-up is older than this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a back-up into a temporary folder and verify all of it. Exits with code 1 if something is wrong."""
    from holder_service.services.running.backup import newest
    from holder_service.services.running.drill import drill

    with clear_errors():
        folder = newest(folder)
        max_age = None if max_age_hours is None else timedelta(hours=max_age_hours)
        found = drill(folder, now=datetime.now(UTC), max_age=max_age)
    show_drill(folder, found, as_json)
