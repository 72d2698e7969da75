"""Equalized odds, which compares twice (1-method §3).

Statistical parity, equal opportunity and predictive parity are one comparison each of the groups' rates, and differ in
what is counted: `posterior.estimate_parity` serves all three. Equalized odds compares the rates of acceptance
among people with and without the label; it takes the worse of the two, as Fairlearn's `equalized_odds_ratio` and
`equalized_odds_difference` do.
"""

from typing import Final

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import DRAWS, Posterior, check_question, parity_of, worst_of
from auditor_client.estimation.results import OddsEstimate
from shared.schema import Group
from shared.wording import said, sentence

_WITH: Final = sentence("People with the label: {warning}")
_WITHOUT: Final = sentence("People without the label: {warning}")


def estimate_equalized_odds(
    positive: Measurement,
    negative: Measurement,
    *,
    threshold: float | None = 0.8,
    level: float = 0.95,
    seed: int = 0,
    reference: Group | None = None,
    draws: int = DRAWS,
) -> OddsEstimate:
    """Compare the groups' rates of acceptance among people with y = 1 and among people with y = 0.

    Post-processing: spends no budget. The two are drawn independently and combined draw by draw.

    Threshold, level, seed, reference and draws are as `posterior.estimate_parity` has them, the groups the same twice.

    Raises:
        EstimationRefused: The measurements are of different groups, or `estimate_parity` refuses one.
        ValueError: Threshold or level out of range.
    """
    check_question(threshold, level)
    if positive.groups != negative.groups:
        raise EstimationRefused("The two measurements describe different groups: they cannot be compared.")
    posteriors = [
        Posterior.of(measurement, level=level, seed=2 * seed + index, draws=draws)
        for index, measurement in enumerate((positive, negative))
    ]
    of_labels = [parity_of(posterior, threshold=threshold, reference=reference) for posterior in posteriors]
    return OddsEstimate(
        **worst_of(posteriors),
        true_positive=of_labels[0],
        false_positive=of_labels[1],
        threshold=threshold,
        warnings=tuple(
            said(of_label, warning=warning)
            for of_label, estimate in zip((_WITH, _WITHOUT), of_labels, strict=True)
            for warning in estimate.warnings
        ),
    )
