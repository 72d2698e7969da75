"""Commands that plan, make, compare and look back at audits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from auditor_client.asking.assumption import Assumption
from auditor_client.audits.bundle import write_bundle
from auditor_client.audits.history import kept_history
from auditor_client.cli.options import (
    AsJson,
    Columns,
    Config,
    Dataset,
    Delta,
    Draw,
    Epsilon,
    FailOn,
    Favourable,
    HolderUrl,
    KeyFile,
    Mechanism,
    Metric,
    ModelFile,
    ReceiptsDirectory,
    RecordsVersion,
    Reference,
    Report,
    Sensitive,
    Strategy,
    SupportsFrom,
    Threshold,
    Upper,
    Where,
    asked,
    listed,
)
from auditor_client.cli.output import an_auditor, clear_errors, print_json, require_writable
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.results import Verdict
from auditor_client.exchange.receipts import Receipts
from auditor_client.settings import DEFAULT_RECEIPTS


def plan(
    model: ModelFile,
    *,
    dataset: Dataset,
    sensitive: Sensitive,
    epsilon: Epsilon = None,
    target_width: Annotated[
        float | None, typer.Option(help="Instead of epsilon: find the smallest one that makes the interval so narrow.")
    ] = None,
    metric: Metric = None,
    where: Where = None,
    reference: Reference = None,
    strategy: Strategy = "auto",
    mechanism: Mechanism = None,
    delta: Delta = None,
    upper: Upper = None,
    supports_from: SupportsFrom = None,
    favourable: Favourable = None,
    columns: Columns = None,
    people: Annotated[int, typer.Option(help="Assumed for the forecast: how many people there are.")] = 10_000,
    accepted: Annotated[float, typer.Option(help="Assumed: the share of them that the tree accepts.")] = 0.5,
    positive: Annotated[float, typer.Option(help="Assumed: the share of them whose label is true.")] = 0.5,
    ratio: Annotated[float, typer.Option(help="Assumed: the ratio to find.")] = 0.8,
    shares: Annotated[
        list[str] | None, typer.Option(help="Assumed: each group's share, with commas between them [equal].")
    ] = None,
    rates: Annotated[
        list[str] | None, typer.Option(help="Assumed, instead of --ratio: each group's rate, with commas between them.")
    ] = None,
    report: Report = None,
    records_version: RecordsVersion = None,
    draw: Draw = 1,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    config: Config = None,
) -> None:
    """What an audit would cost and how wide its interval would be, by each strategy; spends nothing."""
    with an_auditor(holder_url, key_file, None, config) as auditor:
        require_writable(report)
        assumption = Assumption(
            people=people,
            accepted=accepted,
            positive=positive,
            ratio=ratio,
            shares=_numbers(shares),
            rates=_numbers(rates),
        )
        planned = auditor.plan(
            model,
            dataset,
            listed(sensitive),
            epsilon,
            supports_from=supports_from,
            target_width=target_width,
            **asked(
                metric=metric,
                where=where,
                reference=reference,
                strategy=strategy,
                mechanism=mechanism,
                delta=delta,
                upper=upper,
                favourable=favourable,
                columns=columns,
                version=records_version,
                draw=draw,
                assumption=assumption,
            ),
        )
        if report is not None:
            planned.write_report(report)
        if as_json:
            print_json(planned.to_document())
        else:
            typer.echo(planned.summary() + ("" if report is None else f"\nReport: {report}"))


def _numbers(texts: Sequence[str] | None) -> tuple[float, ...] | None:
    """Numbers with commas between them."""
    try:
        return tuple(map(float, listed(texts))) if texts else None
    except ValueError as error:
        raise QuestionRefused(f"{error}: write numbers with commas between them.") from error


def audit(
    model: ModelFile,
    *,
    dataset: Dataset,
    sensitive: Sensitive,
    epsilon: Epsilon = None,
    metric: Metric = None,
    where: Where = None,
    reference: Reference = None,
    strategy: Strategy = "auto",
    mechanism: Mechanism = None,
    delta: Delta = None,
    upper: Upper = None,
    supports_from: SupportsFrom = None,
    estimator: Annotated[str, typer.Option(help="posterior: with intervals; plug-in: as published.")] = "posterior",
    negative: Annotated[
        str, typer.Option(help="Of the plug-in estimator, for negative counts: zero, one, uniform, total-valid.")
    ] = "uniform",
    too_large: Annotated[
        str, typer.Option(help="Of the plug-in estimator, for counts above everybody: uniform, total-valid.")
    ] = "uniform",
    favourable: Favourable = None,
    columns: Columns = None,
    threshold: Threshold = 0.8,
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    reuse: Annotated[
        bool, typer.Option(help="Answer from a kept receipt, at no cost, where one has it as exactly.")
    ] = True,
    report: Report = None,
    report_json: Annotated[Path | None, typer.Option(help="Write the report as JSON.")] = None,
    bundle: Annotated[Path | None, typer.Option(help="Write the evidence bundle, a zip file.")] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(help="Exit with 1 if the verdict is fails; with undecided, also if it is that."),
    ] = None,
    records_version: RecordsVersion = None,
    draw: Draw = 1,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    receipts: ReceiptsDirectory = None,
    config: Config = None,
) -> None:
    """Measure how a model treats the groups; spends epsilon, once for the same question."""
    with an_auditor(holder_url, key_file, receipts, config) as auditor:
        for path in (report, report_json, bundle):
            require_writable(path)
        result = auditor.audit(
            model,
            dataset,
            listed(sensitive),
            epsilon,
            estimator=estimator,
            negative=negative,
            too_large=too_large,
            threshold=threshold,
            level=level,
            supports_from=supports_from,
            reuse=reuse,
            **asked(
                metric=metric,
                where=where,
                reference=reference,
                strategy=strategy,
                mechanism=mechanism,
                delta=delta,
                upper=upper,
                favourable=favourable,
                columns=columns,
                version=records_version,
                draw=draw,
            ),
        )
        if report is not None:
            result.write_report(report)
        if report_json is not None:
            report_json.write_text(result.to_json(), encoding="utf-8")
        if bundle is not None:
            write_bundle(bundle, [result], auditor.receipts)
        if as_json:
            print_json(result.to_document())
        else:
            typer.echo(result.summary())
            typer.echo(f"Receipt: {result.receipt}")
            for name, path in (("Report", report), ("Bundle", bundle)):
                if path is not None:
                    typer.echo(f"{name}: {path}")
        if fail_on is not None and (result.verdict is Verdict.FAILS or result.verdict == fail_on.value):
            raise typer.Exit(1)


def compare(
    first: ModelFile,
    second: ModelFile,
    *,
    dataset: Dataset,
    sensitive: Sensitive,
    epsilon: Epsilon = None,
    metric: Metric = None,
    where: Where = None,
    strategy: Strategy = "auto",
    mechanism: Mechanism = None,
    delta: Delta = None,
    upper: Upper = None,
    supports_from: SupportsFrom = None,
    favourable: Favourable = None,
    columns: Columns = None,
    threshold: Threshold = 0.8,
    report: Report = None,
    as_json: AsJson = False,
    holder_url: HolderUrl = None,
    key_file: KeyFile = None,
    receipts: ReceiptsDirectory = None,
    config: Config = None,
) -> None:
    """Audit two models alike, such as before and after a mitigation; spends epsilon for each."""
    with an_auditor(holder_url, key_file, receipts, config) as auditor:
        require_writable(report)
        comparison = auditor.compare(
            first,
            second,
            dataset,
            listed(sensitive),
            epsilon,
            threshold=threshold,
            supports_from=supports_from,
            **asked(
                metric=metric,
                where=where,
                strategy=strategy,
                mechanism=mechanism,
                delta=delta,
                upper=upper,
                favourable=favourable,
                columns=columns,
            ),
        )
        if report is not None:
            report.write_text(comparison.to_html(), encoding="utf-8")
        if as_json:
            print_json(comparison.to_document())
        else:
            typer.echo(comparison.summary())


def history(
    directory: Annotated[Path | None, typer.Argument(help="The receipts directory [./receipts].")] = None,
    *,
    dataset: Annotated[str | None, typer.Option(help="Of this dataset alone.")] = None,
    model: Annotated[str | None, typer.Option(help="Of this model alone: the beginning of its digest.")] = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """The kept audits over time, computed again from their receipts; asks nobody and spends nothing."""
    with clear_errors():
        require_writable(report)
        found = kept_history(Receipts(directory or DEFAULT_RECEIPTS), dataset=dataset, model=model)
        if report is not None:
            report.write_text(found.to_html(), encoding="utf-8")
        if as_json:
            print_json(found.to_document())
        else:
            typer.echo(found.summary())
