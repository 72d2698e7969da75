"""The fairness figures by name (1-method §3), and equalized odds, which compares twice.

Statistical parity, equal opportunity and predictive parity are one comparison each of the groups' rates; they
differ in what is counted, so `posterior.estimate_parity` serves all three. Equalized odds compares the rates
of acceptance among people with and without the label; it takes the worse of the two, as Fairlearn's
`equalized_odds_ratio` and `equalized_odds_difference` do.
"""

from dataclasses import dataclass
from typing import Final, Literal

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import Posterior, check_question, estimate_parity, parity_of, worst_of
from auditor_client.estimation.results import OddsEstimate, ParityEstimate
from shared.schema import Group


@dataclass(frozen=True, slots=True)
class Metric:
    """A fairness figure.

    Attributes:
        name: As the interface has it.
        title: In words.
        also_called: The field's other names.
        rate: What a group's rate is: of acceptance, or of the label among the accepted.
        labels: The labels whose people are compared, one comparison each; none if it takes no label, and both
            in one comparison for predictive parity.
        fairlearn: What Fairlearn calls ratio and difference; empty where it has none.
    """

    name: str
    title: str
    also_called: tuple[str, ...]
    rate: Literal["acceptance", "label"]
    labels: tuple[int, ...]
    fairlearn: tuple[str, ...]

    @property
    def comparisons(self) -> int:
        """How many measurements the figure takes."""
        return 2 if self.name == "equalized-odds" else 1


METRICS: Final = {
    metric.name: metric
    for metric in (
        Metric(
            "statistical-parity",
            "Statistical parity",
            ("demographic parity", "disparate impact"),
            "acceptance",
            (),
            ("demographic_parity_ratio", "demographic_parity_difference"),
        ),
        Metric(
            "equal-opportunity",
            "Equal opportunity",
            ("true-positive-rate parity",),
            "acceptance",
            (1,),
            ("equal_opportunity_ratio", "equal_opportunity_difference"),
        ),
        Metric(
            "equalized-odds",
            "Equalized odds",
            ("separation", "balance"),
            "acceptance",
            (1, 0),
            ("equalized_odds_ratio", "equalized_odds_difference"),
        ),
        Metric("predictive-parity", "Predictive parity", ("sufficiency", "calibration"), "label", (1, 0), ()),
    )
}


def estimate_metric(
    name: str,
    *measurements: Measurement,
    threshold: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
    reference: Group | None = None,
) -> ParityEstimate | OddsEstimate:
    """Estimate a figure by its name.

    Args:
        name: Of `METRICS`.
        measurements: One; for equalized odds two: of people with the label, and of people without.
        threshold: What the verdict on the ratio is about, within (0, 1].
        level: Of each single interval, within (0, 1).
        seed: Of the draws.
        reference: A group to compare every other with.

    Raises:
        EstimationRefused: There is no such figure, or it takes another number of measurements.
        ValueError: Threshold or level out of range.
    """
    if name not in METRICS:
        raise EstimationRefused(f"There is no metric {name!r}: use one of {', '.join(METRICS)}.")
    if len(measurements) != METRICS[name].comparisons:
        raise EstimationRefused(f"The metric {name!r} takes {METRICS[name].comparisons} measurement(s).")
    if name == "equalized-odds":
        return estimate_equalized_odds(*measurements, threshold=threshold, level=level, seed=seed, reference=reference)
    return estimate_parity(measurements[0], threshold=threshold, level=level, seed=seed, reference=reference)


def estimate_equalized_odds(
    positive: Measurement,
    negative: Measurement,
    *,
    threshold: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
    reference: Group | None = None,
) -> OddsEstimate:
    """Compare the groups' rates of acceptance among people with y = 1 and among people with y = 0.

    Post-processing: spends no budget. The two are drawn independently and combined draw by draw.

    Args:
        positive: Noisy counts of people with y = 1.
        negative: Noisy counts of people with y = 0, of the same groups.
        threshold: What the verdict on the ratio is about, within (0, 1].
        level: Of each single interval, within (0, 1).
        seed: Of the draws.
        reference: A group to compare every other with, in either comparison.

    Raises:
        EstimationRefused: The measurements are of different groups, or `estimate_parity` refuses one.
        ValueError: Threshold or level out of range.
    """
    check_question(threshold, level)
    if positive.groups != negative.groups:
        raise EstimationRefused("The two measurements describe different groups: they cannot be compared.")
    posteriors = [
        Posterior.of(measurement, level=level, seed=2 * seed + place)
        for place, measurement in enumerate((positive, negative))
    ]
    of_labels = [parity_of(posterior, threshold=threshold, reference=reference) for posterior in posteriors]
    ratio, difference = worst_of(posteriors, [posterior.rates() for posterior in posteriors])
    population = worst_of(posteriors, [posterior.population_rates() for posterior in posteriors])
    return OddsEstimate(
        true_positive=of_labels[0],
        false_positive=of_labels[1],
        ratio=ratio,
        difference=difference,
        population_ratio=population[0],
        population_difference=population[1],
        threshold=threshold,
        verdict=ratio.against(threshold),
        warnings=tuple(
            f"People {label} the label: {warning}"
            for label, estimate in zip(("with", "without"), of_labels, strict=True)
            for warning in estimate.warnings
        ),
    )
