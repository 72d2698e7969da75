"""`./run demo`: an audit from end to end, between a real holder and a real auditor on this machine.

The holder is a process of its own with a fresh home. Everything that it and the auditor write lies in
the output folder; the holder ends with the demonstration, an interrupt included.
"""

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from auditor_client import Auditor
from pafer_demo import administration, auditor_side
from pafer_demo.ending import exit_after, without_earlier_run
from pafer_demo.holder_process import LOG_ORIGIN, initialise, running_holder, running_witness
from pafer_demo.open_data import OpenData, OpenDataMissing, adult
from pafer_demo.register import register
from shared.privacy.amounts import format_nano, parse_nano

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
FOLDERS_OF_ONE_RUN: Final = ("holder", "receipts", "witness")


@app.command()
def main(
    epsilon: Annotated[
        str, typer.Option(help="The privacy loss (epsilon) of each of the four audits.")
    ] = auditor_side.EPSILON,
    output: Annotated[Path, typer.Option(help="The output folder.")] = Path("demo-output"),
) -> None:
    """Watch an auditor measure how two models, decisions and a fraud-control rule treat the groups of a register."""
    exit_after(
        partial(_demonstrate, epsilon=epsilon, output=output), interrupted="Interrupted; the holder has been stopped."
    )


def _demonstrate(console: Console, *, epsilon: str, output: Path) -> bool:
    started_s = time.monotonic()
    budget = format_nano((auditor_side.AUDITS + 1) * parse_nano(epsilon))
    without_earlier_run(output, FOLDERS_OF_ONE_RUN)
    home = (output / "holder").absolute()
    data = _data(console)
    console.print(f"Register: [b]{data.name}[/], {data.test.num_rows:,} people.")
    environment = {
        "HOLDER_HOME": str(home), "HOLDER_DATABASE_URL": "", "HOLDER_ANCHOR": "", "HOLDER_LOG_ORIGIN": LOG_ORIGIN,
    }  # fmt: skip
    admin_key = initialise(environment)
    with (
        (output / "holder.log").open("wb") as log,
        running_witness(home.with_name("witness"), environment, log=log) as witness,
        running_holder({**environment, "HOLDER_WITNESSES": f"{witness.url} {witness.key}"}, log=log) as holder,
    ):
        key = administration.prepare(holder.url, admin_key, data, budget=budget)
        console.print(f"Holder: runs at {holder.url}. The auditor has a budget of epsilon {budget}.")
        console.print(f"Witness: runs at {witness.url}, and cosigns the holder's ledger.")
        with Auditor(holder.url, key, receipts=output / "receipts", witnesses=str(witness.key)) as auditor:
            console.print("Auditor: trains two models on other people, and uses decisions and checks of an office.")
            audits = auditor_side.audit(auditor, data, epsilon=epsilon, output=output)
            intact = auditor_side.show(console, auditor, audits, data)
    console.print(f"Done in {time.monotonic() - started_s:.0f} s; the holder has been stopped.")
    return intact


def _data(console: Console) -> OpenData:
    try:
        return adult()
    except OpenDataMissing as missing:
        console.print(f"{missing} The demonstration generates a register instead.", style="dim")
        return register()


if __name__ == "__main__":
    app()
