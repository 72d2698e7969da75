"""Several answers about the same people, read as one measurement of each rate (ADR 0038).

Answers are joined where their noises are independent and where they count the same people: releases of one auditor
about one version of the same records under the same relation. Draws of one question are joined row by row, so that
rules become more exact too; answers by other cells, or by more sensitive columns, in their totals.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from auditor_client.asking.inquiry import Inquiry
from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import Measurement
from auditor_client.findings.answers import CountSupport, Rate, RateCounts, read
from auditor_client.findings.finding import StoredAnswer
from shared.contract.rules import Cell
from shared.kinds.plans import Plan


def read_answers(stored: StoredAnswer, inquiry: Inquiry) -> dict[Rate, RateCounts]:
    """Read a verified answer, and those that it is joined with, as the measurements of an inquiry's rates.

    Raises:
        EstimationRefused: An answer does not count what is needed, or cannot be joined.
        HolderLied: An answer does not fit its own plan.
    """
    counts, *others = (read(answer.release, inquiry, supports=_lookup(answer.supports)) for answer in stored.answers)
    _require_independent(stored)
    same = [same_cells(stored.release.plan, other.release.plan) for other in stored.others]
    found = {}
    for rate, of_rate in counts.items():
        measured = [(other[rate].measurement, alike) for other, alike in zip(others, same, strict=True)]
        further: dict[str, Any] = {
            "draws": tuple(one for one, alike in measured if alike),
            "others": tuple(one for one, alike in measured if not alike),
        }
        found[rate] = replace(of_rate, measurement=replace(of_rate.measurement, **further)) if measured else of_rate
    return found


def require_added_noise(measurement: Measurement) -> None:
    """Refuse to join answers of a mechanism that does not add noise.

    Raises:
        EstimationRefused: One of them is.
    """
    for answer in measurement.answers:
        for part in (answer.favourable, answer.complement):
            part.added_noise  # noqa: B018 - it refuses what has none


def same_cells(first: Plan, second: Plan) -> bool:
    """Whether two plans ask for the very same cells by the same columns, row by row; at any ε, by any mechanism."""
    return _cells(first) == _cells(second)


def _cells(plan: Plan) -> tuple[Any, ...]:
    return plan.sensitive, plan.columns, [batch.cells for batch in plan.batches]


def _require_independent(stored: StoredAnswer) -> None:
    """Refuse to join what is no independent answer about the same people."""
    first = stored.release
    about = first.auditor, first.dataset, first.version, first.relation
    for other in (other.release for other in stored.others):
        if (other.auditor, other.dataset, other.version, other.relation) != about:
            raise EstimationRefused(
                "Joined answers are one auditor's, about one version of the same records: these are not."
            )
    if len({answer.release.id for answer in stored.answers}) < len(stored.answers):
        raise EstimationRefused("An answer is joined with itself: its noise would count twice.")


def _lookup(supports: Mapping[str, int] | None) -> CountSupport | None:
    if supports is None:
        return None

    def support(cell: Cell) -> int:
        if cell.id in supports:
            return supports[cell.id]
        raise EstimationRefused(f"The support of cell {cell.id!r} is missing")

    return support
