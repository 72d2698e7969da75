"""The auditor's command line (4-interface, *The auditor's command line*).

Standard output carries the answer alone, as text or with `--json` as JSON; progress and errors go to
standard error. The exit code is 0, or 1 where `--fail-on` says so, or 2 for every error, or 3 where a budget officer
has to approve the question first; 130 after an interruption. The key comes from the environment or a file, never from
a flag: arguments can be seen by everybody on the machine.
"""

from typing import Annotated, Final

import typer

from shared.wire.deferred_commands import Deferred, deferring

OFFER: Final = "What there is"
AUDITS: Final = "Audits"
TRAINING: Final = "Fair models"
OWN: Final = "Decisions, scores and labels of your own"
EVIDENCE: Final = "Evidence"


def _examples(*lines: str) -> str:
    """The end of a help page; an empty line between two keeps each on a line of its own."""
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *lines])


def _command(part: str, function: str, panel: str, *examples: str, name: str | None = None) -> Deferred:
    return Deferred(
        f"{__name__}.{part}",
        function,
        name or function.replace("_", "-"),
        panel,
        _examples(*examples) if examples else None,
    )


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
    cls=deferring(
        _command("holders", "datasets", OFFER),
        _command("holders", "dataset", OFFER, "auditor dataset register"),
        _command("holders", "budget", OFFER, "auditor budget", "auditor budget --dataset register"),
        _command("holders", "approvals", OFFER, "auditor approvals register"),
        _command("signing_in", "login", OFFER, "auditor login", "auditor login --device"),
        _command("signing_in", "logout", OFFER, "auditor logout"),
        _command("models", "check_model", AUDITS, "auditor check-model model.json --dataset register"),
        _command(
            "audits",
            "plan",
            AUDITS,
            "auditor plan model.skops --dataset register --sensitive sex --epsilon 0.1",
            "auditor plan model.skops --dataset register --sensitive sex,origin --target-width 0.05",
        ),
        _command(
            "audits",
            "audit",
            AUDITS,
            "auditor audit model.skops --dataset register --sensitive sex --epsilon 0.1 --report report.html",
            'auditor audit model.skops --dataset register --sensitive sex --epsilon 0.1 --where "age >= 18"',
            "auditor audit --decision granted --dataset register --sensitive sex --epsilon 0.1",
            "auditor audit model.skops --dataset register --sensitive sex --metric "
            "statistical-parity,equal-opportunity --epsilon 0.1",
        ),
        _command(
            "audits",
            "rehearse",
            AUDITS,
            "auditor rehearse model.skops --dataset register --sensitive sex --epsilon 0.1 --report try.html",
        ),
        _command(
            "audits",
            "compare",
            AUDITS,
            "auditor compare before.skops after.skops --dataset register --sensitive sex --epsilon 0.1 "
            "--report comparison.html",
        ),
        _command("audits", "history", AUDITS, "auditor history receipts --report history.html"),
        _command(
            "audits",
            "mend",
            AUDITS,
            "auditor audit model.skops --dataset register --sensitive sex --metric "
            "statistical-parity,equal-opportunity --strategy rules --epsilon 0.5",
            "auditor mend receipts/RECEIPT.json --ratio 0.8 --out mended.json --report mended.html",
        ),
        _command(
            "trainings",
            "train",
            TRAINING,
            "auditor train register --epsilon 1 --ratio 0.8 --out model.json",
            "auditor train register --epsilon 1 --sensitive sex --feature age=25,35,45 --feature "
            "education --out model.json --report training.html --audit-on later --audit-epsilon 0.5",
        ),
        _command(
            "columns",
            "link",
            OWN,
            "auditor link decisions.csv --dataset register --name granted",
            "auditor audit --decision granted --dataset register --sensitive sex --epsilon 0.1",
        ),
        _command("columns", "columns", OWN, "auditor columns --dataset register"),
        _command("holders", "verify", EVIDENCE, "auditor verify receipts", "auditor verify receipts --offline"),
        _command("desk", "desk", AUDITS, "auditor desk", "auditor desk --no-browser --port 8811"),
        _command("watches", "app", AUDITS, name="watch"),
        _command("bundles", "app", EVIDENCE, name="bundle"),
    ),
)

__all__ = ["app"]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - help does without

        typer.echo(f"auditor {version('pafer')}")
        raise typer.Exit


@app.callback()
def before_every_command(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the flags that no command has."""
