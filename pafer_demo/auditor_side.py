"""The auditor's half of the demonstration: a tree, three audits, reports, and a look at the receipts.

As a program of its own (`python -m pafer_demo.auditor_side`) it audits the generated register through
whatever holder AUDITOR_HOLDER_URL names, as the composed demonstration does.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from auditor_client import Auditor, AuditorError
from auditor_client.audits.result import AuditResult
from pafer_demo.model import save, trained_tree
from pafer_demo.open_data import OpenData
from pafer_demo.register import register
from shared.amounts import format_nano

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
EPSILON: Final = "0.5"
_VERDICT_STYLES: Final = {"meets": "green", "fails": "red", "undecided": "yellow"}


@dataclass(frozen=True, slots=True)
class DemoAudit:
    """One audit: of which sensitive columns, what came out, and where its report is."""

    sensitive: tuple[str, ...]
    result: AuditResult
    report: Path


def questions(data: OpenData) -> tuple[tuple[str, ...], ...]:
    """What is audited: each sensitive column by itself, then all together."""
    columns = data.declaration.table.sensitive
    return (*((column,) for column in columns), columns)


def audit(auditor: Auditor, data: OpenData, model: Any, *, epsilon: str, output: Path) -> tuple[DemoAudit, ...]:
    """Save the model, audit the file for every question, write a page and a JSON document for each.

    Args:
        auditor: With a budget of three times ε.
        data: Says which dataset and which columns; its records are not looked at.
        model: A fitted classifier.
        epsilon: What each audit spends.
        output: The folder for model and reports.

    Raises:
        AuditorError: The holder refused or did not answer, in words that say what to do.
    """
    file = output / "model.skops"
    save(model, file)
    audits = []
    for sensitive in questions(data):
        result = auditor.audit(file, data.name, sensitive, epsilon)
        report = result.write_report(output / f"report-{'-'.join(sensitive)}.html")
        report.with_suffix(".json").write_text(result.to_json(), encoding="utf-8")
        audits.append(DemoAudit(sensitive, result, report))
    return tuple(audits)


def show(
    console: Console,
    auditor: Auditor,
    audits: tuple[DemoAudit, ...],
    true_ratios: Mapping[tuple[str, ...], float] | None = None,
) -> bool:
    """Print what was found, what it cost, and whether the receipts hold.

    Args:
        console: Where to.
        auditor: Whose receipts and budget.
        audits: In the order to show.
        true_ratios: The true ratio of each question, which only a demonstration can know.

    Returns:
        Whether every receipt holds.
    """
    table = Table(
        "question", "parity ratio, 95 % interval", "80 % rule", title="What the auditor found", title_justify="left"
    )
    if true_ratios is not None:
        table.add_column("true ratio (no auditor sees it)", style="dim")
    for finished in audits:
        parity = finished.result.parity
        verdict = parity.verdict.value
        row = [" × ".join(finished.sensitive), str(parity.ratio), f"[{_VERDICT_STYLES[verdict]}]{verdict}[/]"]
        table.add_row(*row, *([] if true_ratios is None else [f"{true_ratios[finished.sensitive]:.3f}"]))
    console.print(table)
    budget = auditor.budget(audits[-1].result.release.dataset)
    console.print(
        f"Budget: epsilon {format_nano(budget.spent.epsilon_nano)} of {format_nano(budget.limit.epsilon_nano)} spent, "
        f"{format_nano(budget.remaining.epsilon_nano)} left. Asking the same again would cost nothing."
    )
    verified = auditor.verify()
    console.print(
        "Receipts: every signature holds, and the holder's ledger has every entry."
        if verified.ok
        else "[red]Receipts: not all of them hold; `auditor verify` says which.[/]"
    )
    console.print("Reports:")
    for finished in audits:
        console.print(f"  {finished.report}", soft_wrap=True, highlight=False)
    return verified.ok


@app.command()
def main(
    output: Annotated[Path, typer.Option(help="The folder for model, reports and receipts.")] = Path("demo-output"),
    epsilon: Annotated[str, typer.Option(help="The privacy loss of each of the three audits.")] = EPSILON,
) -> None:
    """Audit the generated register through the holder that AUDITOR_HOLDER_URL names."""
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    data = register()
    try:
        with contextlib.closing(Auditor(receipts=output / "receipts")) as auditor:
            intact = show(console, auditor, audit(auditor, data, trained_tree(data), epsilon=epsilon, output=output))
    except AuditorError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if intact else 1)


if __name__ == "__main__":
    app()
