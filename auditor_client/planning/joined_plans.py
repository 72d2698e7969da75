"""Saved answers that a planned request could be combined with, by their plans alone (ADR 0038)."""

from collections.abc import Sequence

from auditor_client.asking.bands import ADDITIVE
from auditor_client.asking.question import Question
from auditor_client.errors import EstimationRefused
from auditor_client.findings.answers import RATES, AskedCells, merged_rows
from auditor_client.planning.simulated_audits import LocatedPlan
from shared.kinds.plans import Plan


def located_plan(question: Question, metric: str, plan: Plan) -> LocatedPlan:
    """Return where a plan asks for the rates of a question's metric; those that it does not ask for are left out.

    Raises:
        EstimationRefused: It counts by other columns.
    """
    cells = AskedCells(plan, question.schema)
    merged = merged_rows(plan.sensitive, question.plan.sensitive, question.dataset.table)
    located = [cells.locate(question, rate) for rate in RATES[metric]]
    locations = tuple(location for location in located if location is not None)
    return LocatedPlan(plan, locations, len(merged) if merged else 1)


def joinable_plans(question: Question, kept: Sequence[Plan]) -> tuple[Plan, ...]:
    """The kept plans whose answers can be joined with the question's, other than its own."""
    if question.request.mechanism not in ADDITIVE:
        return ()
    return tuple(
        plan
        for plan in kept
        if plan != question.plan
        and all(batch.mechanism.name in ADDITIVE for batch in plan.batches)
        and not (question.counts_first_group_alone and plan.sensitive != question.plan.sensitive)
        and all(_is_alike(question, metric, plan) for metric in question.metrics)
    )


def _is_alike(question: Question, metric: str, plan: Plan) -> bool:
    """Whether a plan asks for the same people of every rate of a metric as the question's own."""
    try:
        kinds = [
            [location.complement_is for location in located_plan(question, metric, each).locations]
            for each in (question.plan, plan)
        ]
    except EstimationRefused:
        return False
    return kinds[0] == kinds[1]
