"""`./run demo two-holders`: a register is split, two real holders load one half each, and an auditor asks both.

Each holder is a process of its own with a fresh home. Neither has anybody's sex or origin. Everything that they and the
auditor write lies in the output folder; the holders end with the demonstration.
"""

import contextlib
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from pafer_demo import administration
from pafer_demo.ending import exit_after, without_earlier_run
from pafer_demo.holder_process import HOLDER, DemoFailed, HolderProcess, initialise, running_holder
from pafer_demo.model import save, trained_tree, true_ratio
from pafer_demo.open_data import OpenData
from pafer_demo.register import register

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
FOLDERS_OF_ONE_RUN: Final = ("office", "equality-body", "split", "receipts")
WHO: Final = ("register office", "equality body")
SENSITIVE: Final = "origin"


@app.command()
def main(
    epsilon: Annotated[str, typer.Option(help="The privacy loss (epsilon) of the audit, at each holder.")] = "0.5",
    people: Annotated[int, typer.Option(help="How many invented people the register has.")] = 20_000,
    output: Annotated[Path, typer.Option(help="The output folder.")] = Path("demo-two-holders"),
) -> None:
    """Audit a model through two holders, neither of which has anybody's sex or origin."""
    exit_after(
        partial(_demonstrate, epsilon=epsilon, people=people, output=output),
        interrupted="Interrupted; the holders have been stopped.",
    )


def _demonstrate(console: Console, *, epsilon: str, people: int, output: Path) -> bool:
    without_earlier_run(output, FOLDERS_OF_ONE_RUN)
    data = register(people=people)
    halves = split(data, output / "split")
    console.print(f"Register office: {people:,} invented people, split into {halves[0].name} and {halves[1].name}.")
    with contextlib.ExitStack() as stack:
        holders = []
        for party, (who, half) in enumerate(zip(WHO, halves, strict=True), start=1):
            started, key = _holder(stack, output, who, data, half, party=party, budget=epsilon)
            holders.append((started.url, key))
            console.print(f"Holder {party}, {who}: runs at {started.url} with {half.stat().st_size / 1e6:.1f} MB.")
        shutil.rmtree(output / "split")  # both files in one place would be everybody's values
        return audited(console, data, holders, epsilon, output)


def split(data: OpenData, folder: Path) -> tuple[Path, Path]:
    """Split the register by the command that an office would run."""
    folder.mkdir()
    source, declaration = folder / "register.csv", folder / "declaration.json"
    data.write_csv(source)
    document = data.declaration.model_copy(update={"relation": "sensitive_attribute"})
    declaration.write_text(document.model_dump_json(exclude_none=True))
    halves = folder / "a.parquet", folder / "b.parquet"
    command = [HOLDER, "split", source, "--declaration", declaration, "--out-a", halves[0], "--out-b", halves[1]]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DemoFailed(f"The register could not be split: {done.stderr.strip()}")
    return halves


def _holder(
    stack: contextlib.ExitStack, output: Path, who: str, data: OpenData, half: Path, *, party: int, budget: str
) -> tuple[HolderProcess, str]:
    """Start a holder with its half; gives it and the auditor's key."""
    home = output / who.replace(" ", "-").removeprefix("register-") / "home"
    home.parent.mkdir()
    environment = {"HOLDER_HOME": str(home), "HOLDER_DATABASE_URL": "", "HOLDER_ANCHOR": ""}
    admin_key = initialise(environment)
    log = stack.enter_context((home.parent / "holder.log").open("wb"))
    started = stack.enter_context(running_holder(environment, log=log))
    return started, administration.prepare_half(started.url, admin_key, data, half, party=party, budget=budget)


def audited(console: Console, data: OpenData, holders: list[tuple[str, str]], epsilon: str, output: Path) -> bool:
    """Audit a tree, write report and bundle, and say whether everything verifies."""
    tree = trained_tree(data)
    save(tree, output / "model.skops")
    with Auditor(holders=list(holders), receipts=output / "receipts") as auditor:
        result = auditor.audit(tree, data.name, SENSITIVE, epsilon, favourable="true")
        (output / "report.html").write_text(result.to_html(), encoding="utf-8")
        bundle = write_bundle(output / "bundle.zip", [result], auditor.receipts)
        verified = auditor.verify().ok and check_bundle(bundle).ok
    truth, ratio = true_ratio(tree, data, (SENSITIVE,)), result.ratio
    console.print(
        f"Auditor: by {SENSITIVE}, the ratio of the rates is {ratio.value:.3f} ({100 * ratio.level:.0f} % interval "
        f"{ratio.low:.3f} to {ratio.high:.3f}). In the register it is {truth:.3f}; no holder knows this alone."
    )
    console.print(f"Both receipts and the bundle {'verify' if verified else 'DO NOT VERIFY'}.")
    console.print(f"Report: {output / 'report.html'}, evidence: {bundle}.")
    return verified


if __name__ == "__main__":
    app()
