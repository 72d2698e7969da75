"""That a model looks at what is sensitive: which of its rules do, and how many people of each group they decide about.

A rule that names the column by which groups are compared treats people differently because of it, whatever the figures
say: direct use, as opposed to a difference that follows from other columns.
"""

from dataclasses import dataclass

from auditor_client.asking.question import Question
from auditor_client.estimation.drawing import DRAWS
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.results import GroupEstimate
from auditor_client.findings.answers import Rate, RateCounts
from auditor_client.findings.finding import Finding
from shared.contract.rules import Rule


@dataclass(frozen=True, slots=True)
class DirectUse:
    """The sensitive columns that a model uses.

    Attributes:
        columns: Those that its rules name, or that its score is computed from, in declared order.
        compared: Those of them by which the groups are made.
        rules: How many of its rules name one.
        of: How many rules it has.
        score: Whether a score is computed from one.
        shares: The share of each group's people whom a rule that names one decides about; empty where the answer does
            not count those rules apart from the others.
    """

    columns: tuple[str, ...]
    compared: tuple[str, ...]
    rules: int
    of: int
    score: bool
    shares: tuple[GroupEstimate, ...] = ()


def direct_use(finding: Finding) -> DirectUse | None:
    """What a model's rules and scores look at of what is sensitive; None if that is nothing. No further budget."""
    question = finding.question
    read = {name for held in question.source.columns for name in held.reads}
    named = {predicate.column for rule in question.rules for predicate in rule.rule.all_of}
    columns = tuple(name for name in question.dataset.table.sensitive if name in read | named)
    if not columns:
        return None
    using = [rule for rule in question.rules if _names(question, rule.rule)]
    return DirectUse(
        columns=columns,
        compared=tuple(name for name in columns if name in question.request.sensitive),
        rules=len(using),
        of=len(question.rules),
        score=not read.isdisjoint(columns),
        shares=_shares(finding),
    )


def _names(question: Question, rule: Rule) -> bool:
    return any(question.schema.follows_sensitive(predicate.column) for predicate in rule.all_of)


def _shares(finding: Finding) -> tuple[GroupEstimate, ...]:
    """Each group's share of people in the cells whose rules name a sensitive column."""
    counts = finding.counts.get(Rate.ACCEPTANCE)
    if counts is None or not finding.reading.has_intervals or finding.question.request.edges is not None:
        return ()
    measured = counts.measurement
    if measured.complement_is != "unfavourable" or measured.favourable.noise != measured.complement.noise:
        return ()
    parts = _parted(finding, counts)
    if parts is None:
        return ()
    from auditor_client.estimation.posterior import estimate_parity  # noqa: PLC0415 - takes a second to import

    named, others = (NoisyCounts.of(rows, measured.favourable.noise) for rows in parts)
    by_use = Measurement(measured.groups, named, others, "unfavourable")
    reading = finding.reading
    return estimate_parity(by_use, threshold=None, level=reading.level, drawing=reading.drawing(DRAWS)).groups


def _parted(finding: Finding, counts: RateCounts) -> tuple[list[list[int]], list[list[int]]] | None:
    """The counts of cells whose rules name a sensitive column, and of all others; None if a cell has rules of both."""
    cells = {cell.id: cell for batch in finding.release.plan.batches for cell in batch.cells}
    named: list[list[int]] = []
    others: list[list[int]] = []
    measured = counts.measurement
    for names, part in ((counts.favourable, measured.favourable), (counts.complement, measured.complement)):
        for name, row in zip(names, part.counts.tolist(), strict=True):
            looks = {_names(finding.question, rule) for rule in cells[name].any_of}
            if len(looks) > 1:
                return None
            (named if looks == {True} else others).append(row)
    return (named, others) if named and others else None
