"""`holder split`: a register as two files of shares, one for each of two holders; on this machine alone."""

from pathlib import Path
from typing import Annotated

import typer

from holder_service.cli.calls import clear_errors, fail
from holder_service.cli.declaration_files import read_declaration
from holder_service.cli.formats import media_type_of, with_format
from holder_service.cli.output import notify
from holder_service.files.core_dumps import forbid_core_dumps
from holder_service.records.formats import RecordFormat, Upload

commands = typer.Typer()


@commands.command("split")
@with_format
def split(
    register: Annotated[Path, typer.Argument(help="The register: a .csv or .parquet file.")],
    *,
    declaration: Annotated[Path, typer.Option(help="The dataset's declaration, a JSON file.")],
    out_a: Annotated[Path, typer.Option(help="A new .parquet file: the half of party 1.")],
    out_b: Annotated[Path, typer.Option(help="A new .parquet file: the half of party 2.")],
    how: RecordFormat,
) -> None:
    """Split a register into two halves, neither of which contains anybody's sensitive values. Sends nothing.

    Send each half to one holder over a channel that the other cannot read, then delete both files here. Anyone
    with both halves has the values. See docs/two-holders.md.
    """
    from holder_service.records.splitting import split_register

    forbid_core_dumps()
    if out_a.absolute() == out_b.absolute():
        fail("The halves need two files: name different ones with --out-a and --out-b.")
    with clear_errors():
        # The file may be the one that both holders declare by, which says no party yet.
        declared = read_declaration(declaration, adding={"shares": {"party": 1}})
        done = split_register(
            Upload(register, media_type_of(register), how), declared.table, out_a, out_b,
            records_max=declared.records_max,
        )  # fmt: skip
    print(f"Split {done.split_id}: {out_a} is the half of party 1, {out_b} the half of party 2.")
    notify(
        'Declare the dataset at each holder with its own party ("shares": {"party": 1} or 2), load one half '
        "there, and delete both files here. No machine may keep both halves."
    )
