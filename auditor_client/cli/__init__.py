"""The auditor's command line (4-interface, *The auditor's command line*).

Standard output carries the answer alone, as text or with `--json` as JSON; progress and errors go to
standard error. The exit code is 0, or 1 where `--fail-on` says so, or 2 for every error, or 3 where a budget officer
has to approve the question first; 130 after an interruption. The key comes from the environment or a file, never from
a flag: arguments can be seen by everybody on the machine.
"""

from importlib.metadata import version
from typing import Annotated, Final

import typer

from auditor_client.cli import audits, bundles, columns, desk, holders, models, signing_in, trainings, watches
from auditor_client.cli.output import show_step
from auditor_client.exchange.calls import report_retries

OFFER: Final = "What there is"
AUDITS: Final = "Audits"
TRAINING: Final = "Fair models"
OWN: Final = "Decisions, scores and labels of your own"
EVIDENCE: Final = "Evidence"


def _examples(*lines: str) -> str:
    """The end of a help page; an empty line between two keeps each on a line of its own."""
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *lines])


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure whether a model or a list of decisions treats groups of people alike, without "
    "seeing who belongs to which group. Set the holder's address and your key with "
    "AUDITOR_HOLDER_URL and AUDITOR_API_KEY, or in a configuration file. If the holder offers "
    "sign-in, use `auditor login` instead of a key.",
    epilog=_examples(
        "auditor datasets",
        "auditor plan model.skops --dataset register --sensitive sex --epsilon 0.1",
        "auditor audit model.skops --dataset register --sensitive sex --epsilon 0.1 --report report.html",
        "auditor audit --decision granted --dataset register --sensitive sex --epsilon 0.1",
    ),
)
app.command(rich_help_panel=OFFER)(holders.datasets)
app.command(rich_help_panel=OFFER, epilog=_examples("auditor dataset register"))(holders.dataset)
app.command(rich_help_panel=OFFER, epilog=_examples("auditor budget", "auditor budget --dataset register"))(
    holders.budget
)
app.command(rich_help_panel=OFFER, epilog=_examples("auditor approvals register"))(holders.approvals)
app.command(rich_help_panel=OFFER, epilog=_examples("auditor login", "auditor login --device"))(signing_in.login)
app.command(rich_help_panel=OFFER, epilog=_examples("auditor logout"))(signing_in.logout)
app.command(
    "check-model", rich_help_panel=AUDITS, epilog=_examples("auditor check-model model.json --dataset register")
)(models.check_model)
app.command(
    rich_help_panel=AUDITS,
    epilog=_examples(
        "auditor plan model.skops --dataset register --sensitive sex --epsilon 0.1",
        "auditor plan model.skops --dataset register --sensitive sex,origin --target-width 0.05",
    ),
)(audits.plan)
app.command(
    rich_help_panel=AUDITS,
    epilog=_examples(
        "auditor audit model.skops --dataset register --sensitive sex --epsilon 0.1 --report report.html",
        'auditor audit model.skops --dataset register --sensitive sex --epsilon 0.1 --where "age >= 18"',
        "auditor audit --decision granted --dataset register --sensitive sex --epsilon 0.1",
        "auditor audit model.skops --dataset register --sensitive sex --metric statistical-parity,equal-opportunity "
        "--epsilon 0.1",
    ),
)(audits.audit)
app.command(
    rich_help_panel=AUDITS,
    epilog=_examples("auditor rehearse model.skops --dataset register --sensitive sex --epsilon 0.1 --report try.html"),
)(audits.rehearse)
app.command(
    rich_help_panel=AUDITS,
    epilog=_examples(
        "auditor compare before.skops after.skops --dataset register --sensitive sex --epsilon 0.1 "
        "--report comparison.html"
    ),
)(audits.compare)
app.command(rich_help_panel=AUDITS, epilog=_examples("auditor history receipts --report history.html"))(audits.history)
app.command(
    rich_help_panel=AUDITS,
    epilog=_examples(
        "auditor audit model.skops --dataset register --sensitive sex --metric statistical-parity,equal-opportunity "
        "--strategy rules --epsilon 0.5",
        "auditor mend receipts/RECEIPT.json --ratio 0.8 --out mended.json --report mended.html",
    ),
)(audits.mend)
app.command(
    rich_help_panel=TRAINING,
    epilog=_examples(
        "auditor train register --epsilon 1 --ratio 0.8 --out model.json",
        "auditor train register --epsilon 1 --sensitive sex --feature age=25,35,45 --feature education "
        "--out model.json --report training.html --audit-on later --audit-epsilon 0.5",
    ),
)(trainings.train)
app.command(
    rich_help_panel=OWN,
    epilog=_examples(
        "auditor link decisions.csv --dataset register --name granted",
        "auditor audit --decision granted --dataset register --sensitive sex --epsilon 0.1",
    ),
)(columns.link)
app.command(rich_help_panel=OWN, epilog=_examples("auditor columns --dataset register"))(columns.columns)
app.command(rich_help_panel=EVIDENCE, epilog=_examples("auditor verify receipts", "auditor verify receipts --offline"))(
    holders.verify
)
app.command(rich_help_panel=AUDITS, epilog=_examples("auditor desk", "auditor desk --no-browser --port 8811"))(
    desk.desk
)
app.add_typer(watches.app, name="watch", rich_help_panel=AUDITS)
app.add_typer(bundles.app, name="bundle", rich_help_panel=EVIDENCE)

__all__ = ["app"]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"auditor {version('pafer')}")
        raise typer.Exit


@app.callback()
def before_every_command(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the flags that no command has."""
    report_retries(show_step)
