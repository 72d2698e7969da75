"""`holder audit-privacy`: the loss bounded from outside, next to the charge."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holder_service.cli.calls import clear_errors
from holder_service.cli.output import AsJson

if TYPE_CHECKING:
    from holder_service.privacy_audit.audit import AuditLine

commands = typer.Typer()
_COLUMNS = ("through", "registers", "what", "runs", "charge", "stated", "bound", "excess", "verdict")
_LAYOUT = "{:7} {:22} {:17} {:>6} {:>8} {:>6} {:>6} {:>6}  {}"


@commands.command("audit-privacy")
def audit_privacy(
    runs: Annotated[int, typer.Option(min=0, help="Draws through the core on each of two registers.")] = 100_000,
    http_runs: Annotated[int, typer.Option(min=0, help="Draws over HTTP on each of two registers.")] = 5000,
    time_runs: Annotated[
        int, typer.Option(min=0, help="Releases on each of two registers whose timing and texts are compared.")
    ] = 300,
    alpha: Annotated[
        float, typer.Option(min=1e-12, max=0.1, help="Maximum probability of a false alarm in the whole run.")
    ] = 1e-6,
    with_faults: Annotated[bool, typer.Option(help="Also plant faults, which must be found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw releases on neighbouring registers with the real code, and compute a lower bound of the privacy loss.

    Runs on registers and a holder of its own, and changes no other. Exits with code 1 if a bound exceeds its charge, if
    the loss is larger than that of the stated noise, or if a planted fault is not found.
    """
    from holder_service.privacy_audit.audit import audit
    from holder_service.privacy_audit.over_http import AuditFailed

    lines: list[AuditLine] = []
    if not as_json:
        print(_LAYOUT.format(*_COLUMNS))
    with clear_errors(AuditFailed):
        for line in audit(
            core_runs=runs, http_runs=http_runs, time_runs=time_runs, alpha=alpha, with_faults=with_faults
        ):
            lines.append(line)
            if not as_json:
                print(_LAYOUT.format(*_row(line)), flush=True)
    if as_json:
        print(json.dumps({"alpha": alpha, "findings": [_document(line) for line in lines]}))
    if not all(line.as_expected for line in lines):
        raise typer.Exit(1)


def _document(line: "AuditLine") -> dict[str, Any]:
    found = line.bound
    return {
        "through": line.through, "relation": line.pair.relation, "sensitive": line.pair.sensitive,
        "registers": line.pair.label, "what": line.what, "fault": line.fault, "runs": found.runs,
        "charge": {"epsilon": found.epsilon, "delta": found.delta},
        "stated": found.stated, "bound": found.bound, "excess": found.excess, "holds": found.holds,
    }  # fmt: skip


def _row(line: "AuditLine") -> tuple[str, ...]:
    found = line.bound
    charge = f"{found.epsilon:g}, {found.delta:g}" if found.delta else f"{found.epsilon:g}"
    seen = "holds" if found.holds else "EXCEEDED"
    verdict = seen if line.fault is None else f"{line.fault}: {'NOT FOUND' if found.holds else 'found'}"
    return (
        line.through, line.pair.label, line.what, str(found.runs), charge,
        f"{found.stated:.3f}", f"{found.bound:.3f}", f"{found.excess:+.3f}", verdict,
    )  # fmt: skip
