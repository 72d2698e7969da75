"""Commands that plan, make, compare and look back at audits."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from auditor_client.asking.request import AuditRequest
from auditor_client.auditor import Auditor
from auditor_client.audits.asking import OnHand, OnHandAndLooks, PlannedOnHand
from auditor_client.audits.bundle import write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.audits.mending import mend as mend_audit
from auditor_client.audits.result import AuditResult
from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import (
    OUTPUT,
    AuditOutput,
    Connection,
    Dataset,
    DatasetIfAny,
    Directory,
    ModelOrDecisions,
    Output,
    Reaching,
)
from auditor_client.cli.output import an_auditor, clear_errors, require_writable, show
from auditor_client.estimation.estimates import Verdict
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.about import About
from auditor_client.findings.reading import Reading
from auditor_client.settings import DEFAULT_RECEIPTS
from shared.wire.flags import Without


@with_flags
def plan(
    model: ModelOrDecisions = None,
    *,
    dataset: Dataset,
    request: AuditRequest,
    reading: Annotated[Reading, Without(("estimator", "negative", "too_large", "outcome_test", "edition"))],
    own: Annotated[PlannedOnHand, Without(("reuse",))],
    about: About,
    output: Output,
    connection: Reaching,
) -> None:
    """Show what an audit would cost and how wide its interval would be with each strategy. Spends nothing."""
    with an_auditor(connection) as auditor:
        require_writable(output.report)
        given: dict[str, Any] = {**dict(own), **about.written}
        planned = auditor.plan(model, dataset, request, reading=reading, **given)
        show(planned, output, Report=output.report)


@with_flags
def audit(
    model: ModelOrDecisions = None,
    *,
    dataset: Dataset,
    request: AuditRequest,
    reading: Reading,
    own: OnHandAndLooks,
    about: About,
    output: AuditOutput,
    connection: Connection,
) -> None:
    """Measure how a model treats the groups. Spends epsilon, once for the same request."""
    with an_auditor(connection) as auditor:
        asked = partial(auditor.audit, model, dataset, request, reading=reading, about=about, **dict(own))
        _audited(auditor, asked, request, reading, output)


@with_flags
def rehearse(
    model: ModelOrDecisions = None,
    *,
    dataset: Dataset,
    request: AuditRequest,
    reading: Reading,
    own: OnHandAndLooks,
    about: About,
    output: AuditOutput,
    connection: Annotated[Connection, Without(("wait_approval",))],
) -> None:
    """Try an audit on the rehearsal of a dataset, which has invented people. Nothing is charged, and every output is
    marked as a rehearsal.
    """
    with an_auditor(connection) as auditor:
        asked = partial(auditor.rehearse, model, dataset, request, reading=reading, about=about, **dict(own))
        _audited(auditor, asked, request, reading, output)


def _audited(
    auditor: Auditor, asked: Callable[[], AuditResult], request: AuditRequest, reading: Reading, output: AuditOutput
) -> None:
    """Ask, write the result where the flags say, and end as they say."""
    for path in (output.report, output.report_json, output.bundle):
        require_writable(path)
    if output.fail_on is not None:
        reading.require_verdict(request.metrics)
    result = asked()
    if output.report_json is not None:
        output.report_json.write_text(result.to_json(), encoding="utf-8")
    if output.bundle is not None:
        write_bundle(output.bundle, [result], auditor.receipts)
    show(result, output, Receipt=result.receipt, Report=output.report, Bundle=output.bundle)
    fail_on = output.fail_on
    if fail_on is not None and (result.verdict is Verdict.FAILS or result.verdict == fail_on.value):
        raise typer.Exit(1)


@with_flags
def compare(
    models: Annotated[tuple[Path, Path], typer.Argument(metavar="FIRST SECOND", help="Two files of fitted models.")],
    *,
    dataset: Dataset,
    request: Annotated[
        AuditRequest, Without(("decision", "chain", "contradictions", "reference", "version", "draw", "by"))
    ],
    reading: Annotated[
        Reading,
        Without(("estimator", "negative", "too_large", "level", "outcome_test", "edition", "unknown", "unknown_odds")),
    ],
    own: Annotated[OnHand, Without(("reuse", "join", "misreported", "misreported_source"))],
    about: Annotated[About, Without(("model_name",))],
    output: Output,
    connection: Connection,
) -> None:
    """Compare two models, for example before and after a mitigation, in one request. Spends epsilon once."""
    with an_auditor(connection) as auditor:
        require_writable(output.report)
        given = {**dict(own), **about.written}
        comparison = auditor.compare(*models, dataset, request, reading=reading, **given)
        show(comparison, output)


@with_flags
def history(
    directory: Directory = None,
    *,
    dataset: DatasetIfAny = None,
    model: Annotated[str | None, typer.Option(help="Only this model: the first characters of its digest.")] = None,
    output: Output,
) -> None:
    """Show the saved audits over time, computed again from their receipts. Sends nothing and spends nothing."""
    with clear_errors():
        require_writable(output.report)
        show(stored_history(Receipts(directory or DEFAULT_RECEIPTS), dataset=dataset, model=model), output)


@with_flags
def mend(
    audit: Annotated[
        Path, typer.Argument(help="The receipt of an audit, or its note in the `questions` folder of the receipts.")
    ],
    *,
    ratio: Annotated[float, typer.Option(help="The wanted ratio of the groups' acceptance rates.")] = 0.8,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the relabelled tree, a model file for `auditor audit`.", rich_help_panel=OUTPUT),
    ] = None,
    output: Output,
) -> None:
    """Relabel leaves of a tree until the groups' rates meet a ratio, based on a saved audit. Sends nothing and spends
    nothing.

    The audit must use the strategy rules and the figures statistical-parity with equal-opportunity, or equalized-odds.
    Exits with code 1 and writes no tree if no relabelling is shown to meet the ratio.
    """
    with clear_errors():
        for path in (output.report, out):
            require_writable(path)
        mending = mend_audit(audit, ratio)
        if out is not None and mending.met:
            mending.write_model(out)
        show(mending, output, Report=output.report, **{"Mended tree": out if mending.met else None})
        if not mending.met:
            raise typer.Exit(1)
