"""The auditor's command line (4-interface, *The auditor's command line*).

Standard output carries the answer alone, as text or with `--json` as JSON; progress and errors go to
standard error. The exit code is 0, or 1 where `--fail-on` says so, or 2 for every error; 130 after an
interruption. The key comes from the environment or a file, never from a flag: arguments can be seen
by everybody on the machine.
"""

import typer

from auditor_client.cli import audits, bundles, columns, holders

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure how fairly a model, or decisions, treat groups of people, without seeing who belongs to which. "
    "The holder's address and your key come from AUDITOR_HOLDER_URL and AUDITOR_API_KEY, or a configuration file.",
)
app.command()(holders.datasets)
app.command()(audits.plan)
app.command()(audits.audit)
app.command()(audits.compare)
app.command()(audits.history)
app.command()(columns.link)
app.command()(columns.columns)
app.command()(holders.budget)
app.command()(holders.verify)
app.add_typer(bundles.app, name="bundle")

__all__ = ["app"]
