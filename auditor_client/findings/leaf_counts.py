"""The counts of single leaves by label and group, where an answer has them: what mending rests on."""

from typing import TYPE_CHECKING

from auditor_client.asking.inquiry import Inquiry, LeafRules
from auditor_client.errors import QuestionRefused
from auditor_client.findings.answers import AskedCells, alternatives, answered_cells, merged_rows
from shared.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise
from shared.releases import Release

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import LeafCounts

NOT_COUNTED = (
    "The answer does not count every leaf by the label: audit with `strategy` rules and `metrics` "
    "statistical-parity,equal-opportunity, and mend that audit."
)


def read_leaves(release: Release, inquiry: Inquiry) -> "LeafCounts":
    """Read a verified release, to this question or to another, as counts of every leaf, in the order of `leaves_of`.

    Raises:
        QuestionRefused: The dataset has no label, the leaves were not counted one by one and by the label, or the
            mechanism does not add noise to both groups' counts.
    """
    from auditor_client.estimation.leaf_choices import LeafCounts  # noqa: PLC0415 - takes a second to import

    if inquiry.label is None:
        raise QuestionRefused("Mending weighs parity against accuracy: name the column that is the `label`.")
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    cells = AskedCells(release.plan)
    values = inquiry.every_label_value()
    table = []
    for value in values:
        of_value = []
        for leaf in leaves_of(inquiry):
            where = cells.cover(alternatives(inquiry, leaf.rules, value), inquiry.column_ids)
            if where is None:
                raise QuestionRefused(NOT_COUNTED)
            counted, _ = answered_cells(release, where, merged)
            if counted.counts.shape[1] != len(inquiry.groups) or not isinstance(
                counted.noise, DiscreteLaplaceNoise | DiscreteGaussianNoise
            ):
                raise QuestionRefused(
                    "Only an answer is mended from in which every group was counted and noise was added: one of the "
                    "mechanisms laplace and gaussian, and not of one of two groups alone."
                )
            of_value.append(counted)
        table.append(of_value)
    return LeafCounts.of(table)


def leaves_of(inquiry: Inquiry) -> tuple[LeafRules, ...]:
    """All leaves of the model, the favourable ones first."""
    return (*inquiry.leaves(favourable=True), *inquiry.leaves(favourable=False))
