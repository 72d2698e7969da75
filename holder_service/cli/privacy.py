"""`holder audit-privacy`: the loss bounded from outside, beside what is charged."""

from typing import Annotated, Any

import typer

from holder_service.cli.calls import clear_errors, fail, tell
from holder_service.cli.output import AsJson, show
from holder_service.privacy_audit.audit import Line, audit
from holder_service.privacy_audit.over_http import AuditFailed

commands = typer.Typer()
_COLUMNS = ("through", "relation", "groups", "mechanism", "runs", "charge", "stated", "bound", "excess", "verdict")


@commands.command("audit-privacy")
def audit_privacy(
    runs: Annotated[int, typer.Option(min=0, help="Draws through the core on each of two registers.")] = 100_000,
    http_runs: Annotated[int, typer.Option(min=0, help="Releases over HTTP of each of two registers.")] = 5000,
    alpha: Annotated[
        float, typer.Option(min=1e-12, max=0.1, help="Probability, at most, of a false alarm in all of it.")
    ] = 1e-6,
    with_faults: Annotated[bool, typer.Option(help="Plant faults too, which have to be found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw releases on neighbouring registers through the real code, and bound the loss from below.

    Runs on registers and a holder of its own, and touches no other. Ends with 1 if a bound exceeds its charge, if
    answers tell more than the noise as stated would, or if a planted fault is not found.
    """
    lines = []
    with clear_errors():
        try:
            for line in audit(core_runs=runs, http_runs=http_runs, alpha=alpha, with_faults=with_faults):
                lines.append(line)
                tell(" ".join(_row(line)))
        except AuditFailed as error:
            fail(str(error))
    documents = [_document(line) for line in lines]
    show({"alpha": alpha, "findings": documents}, _COLUMNS, [_row(line) for line in lines], as_json)
    if not all(line.as_expected for line in lines):
        raise typer.Exit(1)


def _document(line: Line) -> dict[str, Any]:
    found = line.finding
    return {
        "through": line.through, "relation": line.pair.relation, "sensitive": line.pair.sensitive,
        "mechanism": line.mechanism, "fault": line.fault, "runs": found.runs,
        "charge": {"epsilon": found.epsilon, "delta": found.delta},
        "stated": found.stated, "bound": found.bound, "excess": found.excess, "holds": found.holds,
    }  # fmt: skip


def _row(line: Line) -> tuple[str, ...]:
    found = line.finding
    charge = f"{found.epsilon:g}, {found.delta:g}" if found.delta else f"{found.epsilon:g}"
    seen = "holds" if found.holds else "EXCEEDED"
    verdict = seen if line.fault is None else f"{line.fault}: {'NOT FOUND' if found.holds else 'found'}"
    return (
        line.through, line.pair.relation, str(2 ** len(line.pair.sensitive)), line.mechanism, str(found.runs),
        charge, f"{found.stated:.3f}", f"{found.bound:.3f}", f"{found.excess:+.3f}", verdict,
    )  # fmt: skip
