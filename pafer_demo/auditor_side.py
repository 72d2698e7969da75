"""The auditor's half of the demonstration: audits of models, decisions and checks, reports, and receipts.

As a program of its own (`python -m pafer_demo.auditor_side`) it audits the generated register through
whatever holder AUDITOR_HOLDER_URL names, as the composed demonstration does.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from auditor_client import Auditor, AuditorError
from auditor_client.asking.request import ADVERSE
from auditor_client.audits.result import AuditResult
from auditor_client.findings.about import About
from pafer_demo.model import (
    BOOSTED_TREES,
    boosted_model,
    checks_by_rule,
    decisions_by_hand,
    save,
    trained_tree,
    true_adverse_ratio,
    true_ratio,
)
from pafer_demo.open_data import OpenData
from pafer_demo.register import register
from shared.privacy.amounts import format_nano

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
EPSILON: Final = "0.5"
AUDITS: Final = 4
"""How many audits there are: each spends ε."""
_VERDICT_STYLES: Final = {"meets": "green", "fails": "red", "undecided": "yellow"}


@dataclass(frozen=True, slots=True)
class DemoAudit:
    """One audit: of what and of which sensitive columns, what came out, and where its report is.

    `audited` is the model, or a table with decisions: what the truth can be computed from.
    """

    name: str
    audited: Any
    sensitive: tuple[str, ...]
    result: AuditResult
    report: Path


def audit(auditor: Auditor, data: OpenData, *, epsilon: str, output: Path) -> tuple[DemoAudit, ...]:
    """Audit a tree, a boosted model, a list of decisions, and a fraud-control rule; write reports.

    The tree is audited once by all sensitive columns, which has the figures by each of them too.

    Being selected by the rule is a burden: its audit is punitive, and shows who bears the checks.

    Args:
        auditor: With a budget of `AUDITS` times ε.
        data: Says which dataset and which columns; its records are read only to make up decisions and checks.
        epsilon: What each audit spends.
        output: The folder for models, decisions and reports.

    Raises:
        AuditorError: The holder refused or did not answer, in words that say what to do.
    """
    tree, boosted = trained_tree(data), boosted_model(data)
    save(tree, output / "model.skops")
    save(boosted, output / "boosted.skops")
    decisions = decisions_by_hand(boosted, data)
    decisions.to_csv(output / "decisions.csv", index=False)

    checks = checks_by_rule(boosted, data)
    checks.to_csv(output / "checks.csv", index=False)

    def finished(
        name: str, audited: Any, sensitive: tuple[str, ...], model: Path | None, *, punitive: bool = False, **asked: Any
    ) -> DemoAudit:
        model_name = None if model is None else f"Demo: {name}"
        purpose = "Who is selected for a check" if punitive else "Who gets the favourable decision"
        about = About(model_name=model_name, purpose=purpose)
        asked["intervention"] = "punitive" if punitive else "assistive"
        if model is not None:
            asked["favourable"] = True  # of the models' classes, which are whether the label is true
        result = auditor.audit(model, data.name, sensitive, epsilon, people=len(data.test), about=about, **asked)
        words = [*(() if audited is tree else (name.rsplit(maxsplit=1)[-1],)), *sensitive]
        report = result.write_report(output / f"report-{'-'.join(words)}.html")
        report.with_suffix(".json").write_text(result.to_json(), encoding="utf-8")
        return DemoAudit(name, audited, sensitive, result, report)

    columns = data.declaration.table.sensitive
    first, last = columns[:1], columns[-1:]
    audits = [finished("tree", tree, columns, output / "model.skops")]
    audits.append(finished(f"{BOOSTED_TREES} trees boosted", boosted, first, output / "boosted.skops"))
    auditor.link(output / "decisions.csv", data.name, name="decision")
    audits.append(finished("decisions", decisions, first, None, decision="decision", favourable=["granted"]))
    auditor.link(output / "checks.csv", data.name, name="check")
    audits.append(finished("checks", checks, last, None, decision="check", favourable=["not selected"], punitive=True))
    return tuple(audits)


def show(
    console: Console,
    auditor: Auditor,
    audits: tuple[DemoAudit, ...],
    data: OpenData | None = None,
) -> bool:
    """Print what was found, what it cost, and whether the receipts hold.

    Args:
        console: Where to.
        auditor: Whose receipts and budget.
        audits: In the order to show.
        data: What the true ratio of each audit is computed from, which only a demonstration can know.

    Returns:
        Whether every receipt holds.
    """
    table = Table(
        "audited",
        "by",
        "figure",
        "ratio, 95 % interval",
        "verdict",
        title="Results of the audits",
        title_justify="left",
    )
    if data is not None:
        table.add_column("true ratio (no auditor sees it)", style="dim")
    for finished in audits:
        for columns, result in {**finished.result.tables, finished.sensitive: finished.result}.items():
            adverse, verdict = ADVERSE in result.estimates, result.verdict.value
            row = [
                finished.name,
                " × ".join(columns),
                "adverse ratio, at most 1.25" if adverse else "favourable ratio, at least 0.8",
                str(result.first.ratio),
                f"[{_VERDICT_STYLES[verdict]}]{verdict}[/]",
            ]
            truth = true_adverse_ratio if adverse else true_ratio
            in_register = [] if data is None else [f"{truth(finished.audited, data, columns):.3f}"]
            table.add_row(*row, *in_register)
    console.print(table)
    console.print(f"Checks (being selected is a burden): {audits[-1].result.view.data.headline}", highlight=False)
    budget = auditor.budget(audits[-1].result.release.dataset)
    console.print(
        f"Budget: epsilon {format_nano(budget.spent.epsilon_nano)} of "
        f"{format_nano(budget.limit.epsilon_nano)} spent, "
        f"{format_nano(budget.remaining.epsilon_nano)} left. The same requests again cost nothing."
    )
    verified = auditor.verify()
    console.print(
        "Receipts: every signature is valid, and the holder's ledger has every entry."
        if verified.ok
        else "[red]Receipts: some are not valid. Run `auditor verify` to see which.[/]"
    )
    if verified.log is not None:
        console.print(f"Ledger: {verified.log.sentence}", highlight=False, soft_wrap=True)
    console.print("Reports:")
    for finished in audits:
        console.print(f"  {finished.report}", soft_wrap=True, highlight=False)
    return verified.ok


@app.command()
def main(
    output: Annotated[Path, typer.Option(help="The folder for models, reports and receipts.")] = Path("demo-output"),
    epsilon: Annotated[str, typer.Option(help="The privacy loss (epsilon) of each of the four audits.")] = EPSILON,
) -> None:
    """Audit the generated register through the holder that AUDITOR_HOLDER_URL names."""
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    data = register()
    try:
        with contextlib.closing(Auditor(receipts=output / "receipts")) as auditor:
            intact = show(console, auditor, audit(auditor, data, epsilon=epsilon, output=output))
    except AuditorError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if intact else 1)


if __name__ == "__main__":
    app()
