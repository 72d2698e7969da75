"""One answer, every table: what an audit by several sensitive columns says by fewer of them (spec 10, section 1).

A release at the product of the columns has the counts of every coarser table too, so one charge gives the figures by
each column, by each pair, and by all. The figures by fewer columns add up the draws of the posterior by all, so that
tables never contradict each other (`Measurement.added_up`).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.question import Question
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import Members
from auditor_client.findings.answers import Rate, RateCounts, size_bounds, true_sizes
from shared.contract.schema import Group, Schema


@dataclass(frozen=True, slots=True)
class CoarserTable:
    """The question of an audit by some of its sensitive columns.

    Attributes:
        question: The same question by these columns, which its answer has too.
        members: Of each of its groups the indices of the audit's groups that it has.
    """

    question: Question
    members: Members

    @classmethod
    def of(cls, question: Question, columns: tuple[str, ...]) -> Self:
        """Return the table by some of a question's sensitive columns.

        Raises:
            QuestionRefused: The question cannot be put by these columns.
        """
        sensitive, reference = question.request.sensitive, question.reference
        indices = [sensitive.index(name) for name in columns]
        totals = question.request.known_totals
        coarser = question.changed(
            sensitive=columns,
            reference=None if reference is None else tuple(reference[index] for index in indices),
            known_totals=None if totals is None else totals.merged(question.groups, indices),
        )
        return cls(coarser, members_of(question.dataset.table, sensitive, columns))

    def counts(self, counts: Mapping[Rate, RateCounts]) -> dict[Rate, RateCounts]:
        """The counts of every rate, added up over the other columns."""
        return {rate: self._added_up(rate, of_rate, self.question) for rate, of_rate in counts.items()}

    def counts_of_parts(self, of_parts: Sequence[Mapping[Rate, RateCounts]]) -> list[dict[Rate, RateCounts]]:
        """The same of each stratum, of whose groups' sizes nothing is known beforehand."""
        return [
            {rate: self._added_up(rate, of_rate, part) for rate, of_rate in counts.items()}
            for part, counts in zip(self.question.parts, of_parts, strict=bool(of_parts))
        ]

    def _added_up(self, rate: Rate, counts: RateCounts, inquiry: Inquiry) -> RateCounts:
        groups, columns = self.question.groups, self.question.request.sensitive
        measurement = counts.measurement.added_up(groups, self.members, columns)
        with_sizes = replace(measurement, bounds=size_bounds(inquiry, rate), sizes=true_sizes(inquiry, rate))
        rows = len(self.members[0])
        names = (tuple(name for name in cells for _ in range(rows)) for cells in (counts.favourable, counts.complement))
        return RateCounts(with_sizes, *names)


def coarser_tables(question: Question) -> Iterator[CoarserTable]:
    """Every table by fewer columns that compares groups, those by one column first, in the request's order."""
    sensitive, schema = question.request.sensitive, question.dataset.table
    for number in range(1, len(sensitive)):
        for columns in itertools.combinations(sensitive, number):
            if 2 <= schema.group_count(columns) < len(question.groups):
                try:
                    yield CoarserTable.of(question, columns)
                except QuestionRefused:  # the holder would count one of two groups alone, so there are no counts to add
                    continue


def members_of(schema: Schema, sensitive: tuple[str, ...], columns: tuple[str, ...]) -> Members:
    """Return of each group by some columns the indices of the groups by all columns that it has."""
    indices = [sensitive.index(name) for name in columns]
    members: dict[Group, list[int]] = {group: [] for group in schema.groups(columns)}
    for number, group in enumerate(schema.groups(sensitive)):
        members[tuple(group[index] for index in indices)].append(number)
    return tuple(map(tuple, members.values()))
