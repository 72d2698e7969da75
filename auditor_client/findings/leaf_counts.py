"""The counts of single leaves by label and group, where an answer has them: what mending rests on."""

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from auditor_client.asking.inquiry import Inquiry, LeafRules
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.drawing import DRAWS
from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.answers import AskedCells, alternatives, answered_cells, merged_rows
from auditor_client.findings.reading import Reading
from shared.contract.schema import Group
from shared.kinds.releases import Release
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import LeafCounts
    from auditor_client.estimation.measurements import SizeBounds

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
        raise QuestionRefused(
            "Relabelling weighs parity against accuracy, which needs a label. Name its column (`label`)."
        )
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    cells = AskedCells(release.plan, inquiry.schema)
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
                    "Relabelling needs an answer that counts every group with added noise. Audit with the mechanism "
                    "laplace or gaussian, under a relation that counts both groups."
                )
            of_value.append(counted)
        table.append(of_value)
    return LeafCounts.of(table)


def leaves_of(inquiry: Inquiry) -> tuple[LeafRules, ...]:
    """All leaves of the model, the favourable ones first."""
    return (*inquiry.leaves(favourable=True), *inquiry.leaves(favourable=False))


def ratio_if(
    counts: "LeafCounts",
    decisions: Sequence[bool],
    groups: tuple[Group, ...],
    reading: Reading,
    *,
    bounds: "SizeBounds | None" = None,
    but: Collection[Group] = (),
) -> Estimate:
    """The ratio of the groups' rates if the leaves decided so, as an audit of that tree would estimate it.

    Undefined where all leaves decide alike. `bounds` are of the groups' sizes, `but` are groups that are left out.
    """
    from auditor_client.estimation.posterior import estimate_parity  # noqa: PLC0415 - takes a second to import

    if len(set(decisions)) < 2:
        return Estimate(math.nan, math.nan, math.nan, reading.level, "posterior")
    return estimate_parity(
        counts.decided(groups, decisions, bounds),
        threshold=None,
        level=reading.level,
        drawing=reading.drawing(DRAWS),
        rule=reading.rule,
        but=but,
    ).ratio


def epsilon_needed(epsilon_nano: int, bearable: float) -> float | None:
    """An ε at which so large a part of the noise of ε is left, with two digits, rounded upwards; None where none helps.

    Also where nothing lacks: `bearable` is then 1.
    """
    if not 0 < bearable < 1:
        return None
    epsilon = epsilon_nano / NANO_PER_UNIT / bearable
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.ceil(epsilon / unit - 1e-9) * unit:.2g}")
