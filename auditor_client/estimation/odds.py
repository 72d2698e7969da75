"""Equalized odds, which compares twice (1-method §3).

Statistical parity, equal opportunity and predictive parity are one comparison each of the groups' rates, and differ in
what is counted: `posterior.estimate_parity` serves all three. Equalized odds compares the rates of acceptance
among people with and without the label; it takes the worse of the two, as Fairlearn's `equalized_odds_ratio` and
`equalized_odds_difference` do.
"""

from collections.abc import Collection
from typing import Final

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import Posterior, check_question, judged_of, members, parity_of
from auditor_client.estimation.results import OddsEstimate
from auditor_client.estimation.size_rule import SizeRule
from shared.contract.schema import Group
from shared.wire.wording import said, sentence

_WITH: Final = sentence("People with the label: {warning}")
_WITHOUT: Final = sentence("People without the label: {warning}")


def estimate_equalized_odds(
    positive: Measurement,
    negative: Measurement,
    *,
    threshold: float | None = 0.8,
    level: float = 0.95,
    drawing: Drawing = DRAWING,
    reference: Group | None = None,
    rule: SizeRule | None = None,
    but: Collection[Group] = (),
) -> OddsEstimate:
    """Compare the groups' rates of acceptance among people with y = 1 and among people with y = 0.

    Post-processing: spends no budget. The two are drawn independently and combined draw by draw.

    The rest is as `posterior.estimate_parity` has it. With a rule the groups that are compared are large enough both
    among the people with the label and among those without it.

    Raises:
        EstimationRefused: The measurements are of different groups, or `estimate_parity` refuses one.
        ValueError: Threshold or level out of range.
    """
    check_question(threshold, level)
    if positive.groups != negative.groups:
        raise EstimationRefused("The two measurements describe different groups: they cannot be compared.")
    posteriors = [
        Posterior.of(measurement, level, drawing.at(drawing.seed + index))
        for index, measurement in enumerate((positive, negative))
    ]
    worst = judged_of(posteriors, threshold, rule, but)
    too_small = [group for group in worst.left_out if rule is not None or None in group]
    positives, negatives = (
        parity_of(posterior, judged_of([posterior], threshold, rule, too_small), reference=reference, comparisons=2)
        for posterior in posteriors
    )
    warnings = tuple(
        said(of_label, warning=warning)
        for of_label, estimate in ((_WITH, positives), (_WITHOUT, negatives))
        for warning in estimate.warnings
    )
    return OddsEstimate(**members(worst, warnings), true_positive=positives, false_positive=negatives)
