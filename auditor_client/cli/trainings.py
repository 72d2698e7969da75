"""The command that has a holder train a fair model."""

from pathlib import Path
from typing import Annotated

import typer

from auditor_client.asking.training import FollowingAudit, TrainingRequest
from auditor_client.audits.planned_training import PlannedTraining
from auditor_client.cli.completion import datasets
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import OUTPUT, Connection, Output, TrainingOutput
from auditor_client.cli.output import an_auditor, print_json, print_sentences_and_table, require_writable, show
from auditor_client.errors import QuestionRefused
from auditor_client.findings.reading import UNREAD_BY_TRAININGS, Reading
from shared.wire.flags import Without


@with_flags
def train(
    dataset: Annotated[str, typer.Argument(help="The dataset's name at the holder.", autocompletion=datasets)],
    *,
    request: TrainingRequest,
    ratio: Annotated[
        float, typer.Option(help="The wanted ratio of the groups' rates. You can change it later at no cost.")
    ] = 0.8,
    reading: Annotated[Reading, Without(UNREAD_BY_TRAININGS)],
    following: FollowingAudit,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the model, a file for `auditor audit`.", rich_help_panel=OUTPUT),
    ] = None,
    output: TrainingOutput,
    connection: Connection,
) -> None:
    """Ask the holder to train a model whose decisions meet a ratio. Spends epsilon, once for the same training.

    Exits with code 1 if no decisions of its leaves are shown or estimated to meet the ratio; no model is then written
    or audited. Published learners do not promise a ratio: their model is always written, and only an audit shows how
    fair it is.
    """
    with an_auditor(connection) as auditor:
        if output.price and (output.report or out):
            raise QuestionRefused("--price does not write a report or a model. Leave --report and --out out.")
        for path in (output.report, out):
            require_writable(path)
        if output.price:
            _show_price(
                auditor.plan_training(dataset, request, ratio=ratio, reading=reading, following=following), output
            )
            return
        result = auditor.train(dataset, request, ratio=ratio, reading=reading, following=following)
        if out is not None and result.usable:
            result.write_model(out)
        show(result, output, Receipt=result.receipt, Report=output.report, Model=out if result.usable else None)
        if not result.usable:
            raise typer.Exit(1)


def _show_price(planned: PlannedTraining, output: Output) -> None:
    if output.as_json:
        print_json(planned.to_document())
    else:
        print_sentences_and_table(planned.table)
