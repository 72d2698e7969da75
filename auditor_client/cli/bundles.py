"""Commands about evidence bundles: everything that somebody else needs to check an audit, in one file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from auditor_client.audits.bundle import check_bundle, compare_bundles, write_bundle
from auditor_client.audits.evidence import PARTS
from auditor_client.audits.history import stored_history
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection, DatasetIfAny, JsonOnly
from auditor_client.cli.output import clear_errors, fail, print_json, print_table, require_writable
from auditor_client.errors import ReceiptsDamaged, SettingsRefused
from auditor_client.exchange.calls import parsed
from auditor_client.exchange.ledger_log import RequiredWitnesses
from auditor_client.exchange.receipts import Receipts
from auditor_client.settings import DEFAULT_RECEIPTS
from shared.log.notes import BadNote, VerifierKey
from shared.wire.flags import Without

app = typer.Typer(
    no_args_is_help=True,
    help="Write and check evidence bundles: plan, model, receipts, keys, figures and report in one zip file.",
)


@app.command()
@with_flags
def write(
    file: Annotated[Path, typer.Argument(help="The zip file to write.")],
    chosen: Annotated[list[Path] | None, typer.Argument(help="Receipt files [all that have a note].")] = None,
    *,
    dataset: DatasetIfAny = None,
    connection: Annotated[
        Connection, Without(("holder_url", "key_file", "token_file", "config", "asked_for", "wait_approval"))
    ],
) -> None:
    """Write saved audits and trainings into an evidence bundle."""
    with clear_errors():
        require_writable(file)
        directory = Receipts(connection.receipts or (chosen[0].parent if chosen else DEFAULT_RECEIPTS))
        history = stored_history(directory, dataset=dataset or _rehearsal_of(chosen or ()))
        audits, trainings = history.audits, history.trainings
        if chosen:
            wanted = {path.name for path in chosen}
            audits = tuple(audit for audit in audits if audit.receipt.name in wanted)
            trainings = tuple(one for one in trainings if one.kept.receipt.name in wanted)
            lacking = wanted - {audit.receipt.name for audit in audits} - {one.kept.receipt.name for one in trainings}
            if lacking:
                raise ReceiptsDamaged(
                    f"{min(lacking)} is not a receipt with a note in {directory.directory}. "
                    "Name receipts that have notes."
                )
        write_bundle(file, audits, directory, trainings)
        trained = f", {len(trainings)} {'training' if len(trainings) == 1 else 'trainings'}" if trainings else ""
        typer.echo(f"{file}: {len(audits)} {'audit' if len(audits) == 1 else 'audits'}{trained}.")


@app.command()
@with_flags
def check(
    file: Annotated[Path, typer.Argument(help="The zip file to check.")],
    *,
    keys: Annotated[
        Path | None,
        typer.Option(
            help="A file of the holder's keys that you got from the holder, instead of the keys in the bundle."
        ),
    ] = None,
    second_keys: Annotated[
        Path | None,
        typer.Option(help="Likewise of the second holder, where two holders share the register."),
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(help="The key of a witness that has to have cosigned the holder's log in the bundle. Repeatable."),
    ] = None,
    output: JsonOnly,
) -> None:
    """Check an evidence bundle: verify the signatures, compute every figure again and compare it."""
    with clear_errors():
        found = check_bundle(file, keys=keys, keys_of_second=second_keys, witnesses=_witnesses(witness or []))
        if output.as_json:
            print_json(found.to_document())
        else:
            for part in PARTS:
                lines = [
                    (f"{one.name[:12]}…", one.model, one.dataset, one.fault or one.remark or "valid")
                    for one in found.by_member[part.member]
                ]
                if lines:
                    print_table((part.heading, "Model or decisions", "Dataset", "Check"), lines)
            for fault in found.faults:
                typer.echo(fault)
            if found.log is not None:
                typer.echo(found.log.sentence)
            if keys is None:
                typer.echo(
                    "The signatures were checked with the keys in the bundle: compare "
                    f"{', '.join(found.fingerprints)} with the holder's."
                )
        if not found.ok:
            fail("The bundle does not hold; see above.")


@app.command()
@with_flags
def compare(
    first: Annotated[Path, typer.Argument(help="A bundle.")],
    second: Annotated[Path, typer.Argument(help="A bundle of another auditor or day, from the same holder.")],
    *,
    keys: Annotated[
        Path | None,
        typer.Option(
            help="A file of the holder's keys that you got from the holder, instead of the keys that both bundles have."
        ),
    ] = None,
) -> None:
    """Compare two bundles from one holder: whether the holder showed both writers the same history. Works offline."""
    with clear_errors():
        found = compare_bundles(first, second, keys=keys)
        if keys is None:
            typer.echo(
                "The signatures were checked with keys that both bundles have: compare "
                f"{', '.join(found.fingerprints)} with the holder's."
            )
        if found.fault is not None:
            fail(found.fault)
        typer.echo(f"Both bundles have the same history: the first {found.common} entries of the holder's ledger.")


def _witnesses(keys: Sequence[str]) -> RequiredWitnesses:
    """RequiredWitnesses all of whom are required."""
    try:
        return RequiredWitnesses(tuple(map(VerifierKey.parse, keys)), len(keys))
    except BadNote as error:
        raise SettingsRefused(str(error)) from error


def _rehearsal_of(receipts: Sequence[Path]) -> str | None:
    """The rehearsal that the first receipt is of; none, if that is of real people, or there is none."""
    if not receipts:
        return None
    receipt = parsed(receipts[0].read_bytes(), receipts[0].name)
    return str(receipt.get("dataset")) if "rehearsal" in receipt else None
