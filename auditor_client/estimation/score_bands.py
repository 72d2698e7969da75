"""Figures of a score from one batch of disjoint bands: every threshold at once, distribution, calibration, AUC.

One charge answers B bands × K groups (× the values of a label). From the same counts follow, for every edge as a
threshold, the groups' rates above it and their ratio; the share of each band in each group; and with a label how often
people of a band turn out positive, and how well the score separates (5-decisions §4). Post-processing: no budget.

Each single figure is that of `posterior`. Many figures hold *together* at a level because each is made at a higher one
(`score_levels`).

Axes: B bands in ascending order of the score, K groups, M draws.
"""

from dataclasses import dataclass, replace

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.band_counts import BandCounts, Population
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.impact import ImpactRatio, impact_ratios
from auditor_client.estimation.intervals import quantile_estimate, undefined
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior, check_question, judged_of, parity_of
from auditor_client.estimation.results import ParityEstimate
from auditor_client.estimation.score_levels import NOISE_DRAWS, auc_draws, level_of_sums, median_edge, noises
from auditor_client.estimation.simultaneous import level_of_independent
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.totals import BoolArray
from shared.contract.schema import Group


@dataclass(frozen=True, slots=True)
class ThresholdCurve:
    """The curve over all thresholds at once.

    Attributes:
        of: Of whom: everybody (acceptance), people with y = 1 (true positives), with y = 0 (false positives).
        thresholds: The edges.
        parities: For each the comparison of the groups' rates on its favourable side; their intervals hold together.
        level: Of all the rates of one group together, and of all the ratios together.
    """

    of: Population
    thresholds: tuple[float, ...]
    parities: tuple[ParityEstimate, ...]
    level: float

    def meeting(self) -> tuple[float, ...]:
        """The thresholds of which it is shown that the ratio reaches the one asked about; all of them hold together."""
        pairs = zip(self.thresholds, self.parities, strict=True)
        return tuple(threshold for threshold, parity in pairs if parity.verdict is Verdict.MEETS)


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """All that one batch of bands says.

    Attributes:
        groups: The K groups.
        edges: The B − 1 edges.
        acceptance: At every threshold.
        distribution: The share of each band in each group, K rows of B; a group's hold together.
        median: The index of the edge that lies nearest to the median of everybody's scores.
        impact: The rate of each group over the highest, at the chosen threshold; without one, at the median edge.
        true_positive, false_positive: At every threshold; None without a label.
        calibration: Of each band, how often its people turn out positive, compared between the groups; a group's
            hold together. None without a label.
        auc: Of each group, the probability that of a positive and a negative person the positive one is in the
            higher band, half of those in one band counted; None without a label.
        level: Of each statement.
    """

    groups: tuple[Group, ...]
    edges: tuple[float, ...]
    acceptance: ThresholdCurve
    distribution: tuple[tuple[Estimate, ...], ...]
    median: int
    impact: tuple[ImpactRatio, ...]
    true_positive: ThresholdCurve | None
    false_positive: ThresholdCurve | None
    calibration: tuple[ParityEstimate, ...] | None
    auc: tuple[Estimate, ...] | None
    level: float

    @property
    def scoring(self) -> ParityEstimate:
        """The share of each group on the favourable side of the edge nearest to the median: the *scoring rate*."""
        return self.acceptance.parities[self.median]


@dataclass(frozen=True, slots=True)
class ScoreEstimator:
    """Makes the figures of some bands, with honest intervals.

    Attributes:
        bands: Noisy counts.
        threshold: What the verdicts on ratios of acceptance rates are about.
        labelled_threshold: What those among people of one value of the label are about; None for no verdicts.
        level: Of each statement, whether of one figure or of several together.
        drawing: How draws are made, of each posterior.
        reference: A group to compare every other with.
        joint: Whether the level is of each interval, so high that all hold together (`together`).
        rule: How large the groups are that are compared with each other; None for all.

    Raises:
        ValueError: Threshold or level out of range.
    """

    bands: BandCounts
    threshold: float = 0.8
    labelled_threshold: float | None = None
    level: float = 0.95
    drawing: Drawing = DRAWING
    reference: Group | None = None
    joint: bool = False
    rule: SizeRule | None = None

    def __post_init__(self) -> None:
        check_question(self.threshold, self.level)
        check_question(self.labelled_threshold, self.level)

    def figures(self, chosen: float | None = None) -> ScoreFigures:
        """Everything that the bands say; `chosen` is the edge that decisions are made at, if there is one.

        Raises:
            EstimationRefused: The chosen threshold is no edge, or there is no group of the reference's name.
        """
        edges, labelled = self.bands.edges, self.bands.labelled
        if chosen is not None and chosen not in edges:
            raise EstimationRefused(f"The threshold {chosen} is no edge of the bands: name it among the edges.")
        acceptance, median = self.curve("everybody"), median_edge(self.bands)
        return ScoreFigures(
            groups=self.bands.groups,
            edges=edges,
            acceptance=acceptance,
            distribution=self.distribution(),
            median=median,
            impact=self.impact(median if chosen is None else edges.index(chosen)),
            true_positive=self.curve("positive") if labelled else None,
            false_positive=self.curve("negative") if labelled else None,
            calibration=self.calibration() if labelled else None,
            auc=self.auc() if labelled else None,
            level=self.level,
        )

    def curve(self, of: Population) -> ThresholdCurve:
        """The comparison at every threshold, among some people."""
        accepted = np.array([self.bands.accepted(edge) for edge in range(len(self.bands.edges))])
        return ThresholdCurve(of, self.bands.edges, self._together(of, accepted), self.level)

    def distribution(self) -> tuple[tuple[Estimate, ...], ...]:
        """The share of each band in each group."""
        parities = self._together("everybody", np.eye(len(self.bands.edges) + 1, dtype=bool))
        return tuple(zip(*([group.rate for group in parity.groups] for parity in parities), strict=True))

    def impact(self, edge: int) -> tuple[ImpactRatio, ...]:
        """Each group's rate over the highest."""
        measured = self.bands.split("everybody", self.bands.accepted(edge))
        return impact_ratios(measured, level=self.level, drawing=self.drawing, rule=self.rule)

    def calibration(self) -> tuple[ParityEstimate, ...]:
        """Return for each band how often its people turn out positive, compared between the groups."""
        bands = len(self.bands.edges) + 1
        positive, negative = (self.bands.counts(of) for of in ("positive", "negative"))
        measured = [
            Measurement(
                self.bands.groups,
                NoisyCounts(positive[band], self.bands.noise),
                NoisyCounts(negative[band], self.bands.noise),
                "unfavourable",
            )
            for band in range(bands)
        ]
        # Bands have noises of their own, so all of a group's hold together if each holds at the root of the level.
        level = self.level if self.joint else level_of_independent(self.level, bands)
        return tuple(self._parity(measurement, level, self.labelled_threshold) for measurement in measured)

    def auc(self) -> tuple[Estimate, ...]:
        """Draws of the counts are the answers less noise: unbiased, so that sums over many bands are."""
        rng = np.random.default_rng((self.drawing.seed, 4))
        positive, negative = self._drawn("positive", rng), self._drawn("negative", rng)
        return tuple(map(self._auc, auc_draws(positive, negative)))

    def _drawn(self, of: Population, rng: np.random.Generator) -> FloatArray:
        """Counts of the people with one value of the label, shape (B, K, M)."""
        counts = self.bands.counts(of)[..., None]
        draws: FloatArray = (counts - noises(self.bands.noise, (*counts.shape[:3], NOISE_DRAWS), rng)).sum(axis=1)
        return draws

    def _auc(self, draws: FloatArray) -> Estimate:
        """Return the AUC of one group, from draws of shape (M,)."""
        has_pairs = ~np.isnan(draws)
        if (~has_pairs).mean() > (1 - self.level) / 4:  # perhaps there are no pairs at all
            return replace(undefined(self.level), low=0.0, high=1.0)
        return quantile_estimate(draws[has_pairs], self.level)

    def _together(self, of: Population, sets: BoolArray) -> tuple[ParityEstimate, ...]:
        """Comparisons whose intervals hold together; `sets` says which bands are accepted, shape (figures, B)."""
        level = self.level
        if not self.joint:
            level = level_of_sums(self.bands, of, sets, level=level, seed=self.drawing.seed)
        threshold = self.threshold if of == "everybody" else self.labelled_threshold
        return tuple(self._parity(self.bands.split(of, accepted), level, threshold) for accepted in sets.tolist())

    def _parity(self, measurement: Measurement, level: float, threshold: float | None) -> ParityEstimate:
        posterior = Posterior.of(measurement, level, self.drawing)
        return parity_of(posterior, judged_of([posterior], threshold, self.rule), reference=self.reference)
