"""The reading of an answer: the estimator by its name, what it is about, and how exact its intervals are."""

import math
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from auditor_client.asking.request import ADVERSE, ODDS, OPPORTUNITY, PARITY
from auditor_client.asking.strata import Stratum
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.drawing import DRAWS, EDITIONS, LATEST, Drawing
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.unknown_figures import UnknownMode
from auditor_client.findings.answers import RATES, Rate, RateCounts
from auditor_client.findings.conditional import ConditionalParity, StratumFigures
from auditor_client.findings.looks import Looks
from auditor_client.text import no_such
from shared.contract.schema import Group

if TYPE_CHECKING:
    from auditor_client.estimation.chain_figures import ChainFigures
    from auditor_client.estimation.results import OddsEstimate, ParityEstimate
    from auditor_client.estimation.score_bands import ScoreFigures

ESTIMATORS: Final = ("posterior", "plug-in")
FOUR_FIFTHS: Final = 0.8
"""The threshold of the four-fifths rule, which is about selection rates (29 CFR 1607.4 D)."""

UNREAD_BY_TRAININGS: Final = (
    *("estimator", "negative", "too_large", "threshold", "joint", "outcome_test", "edition"),
    *("unknown", "unknown_odds"),
)
"""The fields of a reading that say nothing of a training's answer."""

LEVEL_MAX: Final = 0.999
"""The largest level whose coverage is measured (tests/statistical): beyond it an estimator's draws hardly reach."""


def _least_size(given: Any) -> Any:
    """A size rule in one spelling, so that the same reading is the same text."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return str(SizeRule.of(str(given))) if is_number or isinstance(given, str) else given


class Reading(BaseModel):
    """The settings that turn answers into figures; checked before anything is spent.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them. The threshold lies
    within (0, 1], the level within [0.5, LEVEL_MAX]. Without a threshold statistical parity has that of the four-fifths
    rule, the adverse ratio that 1 divided by it is at least as large, and other figures do not get a verdict.

    Raises:
        QuestionRefused: The estimator is unknown, or the threshold or level is out of range.
        EstimationRefused: The policy is unknown, or the least size of a group is invalid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    estimator: str = Field(
        default="posterior", description="posterior: with intervals; plug-in: as published, without intervals."
    )
    negative: str = Field(
        default="uniform",
        description="For the plug-in estimator: how to correct negative counts: zero, one, uniform, total-valid.",
    )
    too_large: str = Field(
        default="uniform",
        description="For the plug-in estimator: how to correct counts above the number of people: uniform, "
        "total-valid.",
    )
    threshold: float | None = Field(
        default=None,
        description="The threshold of the verdict on a ratio. For an adverse ratio, it applies to 1 divided by "
        "the ratio [0.8 for statistical-parity, the four-fifths rule, and for adverse-ratio, which "
        "is 1.25 times as often; other figures get no verdict].",
    )
    level: float = Field(
        default=0.95,
        description=f"The probability that an interval contains the true figure, at most {LEVEL_MAX}. With "
        "joint, the probability that all of them do.",
    )
    joint: bool = Field(
        default=False,
        exclude_if=operator.not_,
        description="Make all intervals and verdicts of each table hold together at the level, instead of each "
        "by itself.",
    )
    judged: Annotated[str | None, BeforeValidator(_least_size)] = Field(
        default=None,
        exclude_if=lambda least: least is None,
        description="Base the verdict only on groups that are shown to have at least this many people or this "
        "share: 30, 2% [all].",
    )
    unknown: UnknownMode = Field(
        default="auto",
        exclude_if=lambda mode: mode == "auto",
        description="How to treat people whose group is unknown. bounds: figures over every way in which they may "
        "belong to the groups; group: a group of their own; auto: bounds if they are more than 2 % of the people.",
    )
    unknown_odds: float | None = Field(
        default=None,
        exclude_if=lambda factor: factor is None,
        description="For these bounds: assume that the unknown differ from the known by at most this factor in odds, "
        "1 or more [no assumption].",
    )
    outcome_test: bool = Field(
        default=False,
        exclude_if=operator.not_,
        description="For a chain whose last stage says that a suspicion was right: report its last step as an "
        "outcome test, together with what an outcome test cannot show.",
    )

    edition: int = Field(
        default=LATEST,
        exclude_if=lambda edition: edition == 1,
        description="The edition of the estimator. An earlier edition reproduces the figures of an earlier audit.",
    )
    looks: Looks | None = Field(default=None, exclude_if=lambda looks: looks is None)
    """The looks of which this reads one, whose level is then each look's; `audits.deciding` settles them."""

    @model_validator(mode="after")
    def _check(self) -> "Reading":
        if self.edition not in EDITIONS:
            raise QuestionRefused(
                f"The figures are of edition {self.edition} of the estimator; this version knows {min(EDITIONS)} to "
                f"{LATEST}: use the version that made them."
            )
        if not (self.threshold is None or 0 < self.threshold <= 1):
            raise QuestionRefused(f"The threshold of the ratio lies above 0 and at most at 1; not at {self.threshold}.")
        if not 0.5 <= self.level <= LEVEL_MAX:
            raise QuestionRefused(f"The level of the intervals lies between 0.5 and {LEVEL_MAX}; not at {self.level}.")
        if self.estimator not in ESTIMATORS:
            raise QuestionRefused(no_such("estimator", self.estimator, ESTIMATORS))
        if self.looks is not None and self.level != self.looks.each:
            raise QuestionRefused("A look is read at the level that is each look's.")
        self._check_unknown()
        if self.judged is not None and not self.has_intervals:
            raise QuestionRefused("The plug-in estimator judges all groups: use posterior.")
        if not self.has_intervals:
            if self.joint:
                raise QuestionRefused("The plug-in estimator makes no intervals, so none hold together: use posterior.")
            # Importing the estimators takes a second, and only estimating needs them.
            from auditor_client.estimation import plug_in  # noqa: PLC0415

            plug_in.Policy(self.negative, self.too_large)
        return self

    def _check_unknown(self) -> None:
        """Refuse a treatment of unknown groups that does not combine, by its name."""
        if self.unknown_odds is not None:
            if not 1 <= self.unknown_odds < math.inf:
                raise QuestionRefused(
                    f"`unknown_odds` is a finite factor of 1 or more; not {self.unknown_odds}. 1 means that the "
                    "unknown are as the known are; leave it out to assume nothing."
                )
            if self.unknown == "group":
                raise QuestionRefused(
                    "`unknown_odds` limits who the unknown are, and with `unknown=group` they are a group of their "
                    "own: leave one of them out."
                )
        if self.unknown != "bounds" and self.unknown_odds is None:
            return
        if not self.has_intervals:
            raise QuestionRefused("The plug-in estimator makes no bounds over the unknown: use posterior.")
        if self.joint:
            raise QuestionRefused(
                "Bounds over the unknown hold by themselves, and `joint` makes all intervals hold together: leave "
                "`joint`, or `unknown` and `unknown_odds`, out."
            )
        if not EDITIONS[self.edition].bounds_unknown:
            raise QuestionRefused(
                f"Edition {self.edition} of the estimator makes no bounds over the unknown: leave `edition` out."
            )

    @property
    def unknown_mode(self) -> UnknownMode:
        """The treatment of unknown groups: a factor in odds asks for bounds; figures without them are as they were."""
        if not (self.has_intervals and EDITIONS[self.edition].bounds_unknown) or self.joint:
            return "group"
        return self.unknown if self.unknown_odds is None else "bounds"

    @property
    def has_intervals(self) -> bool:
        """Whether its estimator makes intervals, and so verdicts."""
        return self.estimator == "posterior"

    @property
    def rule(self) -> SizeRule | None:
        """The size rule of the groups that ratio, difference and verdict are about; None for all groups."""
        return None if self.judged is None else SizeRule.of(self.judged)

    @property
    def selection_threshold(self) -> float:
        """The threshold of verdicts on ratios of selection rates."""
        return FOUR_FIFTHS if self.threshold is None else self.threshold

    def threshold_of(self, metric: str) -> float | None:
        """Return what the verdict on a metric's ratio is about; None without a verdict."""
        return self.selection_threshold if metric in (PARITY, ADVERSE) else self.threshold

    def settled(self, metrics: Sequence[str]) -> "Reading":
        """The same; of one metric that has a threshold anyway with that, which its notes always named."""
        return (
            self.model_copy(update={"threshold": self.selection_threshold})
            if set(metrics) in ({PARITY}, {ADVERSE})
            else self
        )

    def of_look(self, looks: Looks) -> "Reading":
        """The same of each of several looks that are to hold together at this level.

        Raises:
            QuestionRefused: A look's own level would be above what an estimator's draws reach.
        """
        if looks.each > LEVEL_MAX:
            raise QuestionRefused(
                f"{len(looks.amounts)} looks that hold together at {looks.level} are each read at more than "
                f"{LEVEL_MAX}: begin with a larger first look (`first_look`), or take a lower `level`."
            )
        return self.model_copy(update={"level": looks.each, "looks": looks})

    def require_verdict(self, metrics: Sequence[str]) -> None:
        """Refuse what would give no verdict on the first of some metrics, whatever is answered.

        Raises:
            QuestionRefused: A verdict would be missing.
        """
        if self.threshold_of(metrics[0]) is None:
            raise QuestionRefused(
                f"There is no verdict on {metrics[0]} by itself: the four-fifths rule is about selection rates. Say of "
                "which ratio you want a verdict (`threshold`, such as 0.9)."
            )
        if not self.has_intervals:
            raise QuestionRefused("The plug-in estimator gives no verdict: use posterior.")

    def __str__(self) -> str:
        if not self.has_intervals:
            return f"{self.estimator} ({self.negative}, {self.too_large})"
        return self.estimator if self.edition == 1 else f"{self.estimator} (edition {self.edition})"

    def of_each(
        self,
        counts: Mapping[Rate, RateCounts],
        reference: Group | None,
        *,
        rules: RateCounts | None = None,
        bands: BandCounts | None = None,
        chosen: float | None = None,
    ) -> "Reading":
        """Return the reading of each interval: this one, or at the level at which all of the report hold together.

        Args:
            counts: Of every rate that is compared.
            reference: The group to compare others with.
            rules: The counts whose rules are given shares; None without any.
            bands: Of a score, and `chosen`: as `scores` has them.

        Raises:
            EstimationRefused: The answers do not allow it, or so many figures are not shown to hold together.
        """
        if not self.joint:
            return self
        from auditor_client.estimation.together import level_of_report  # noqa: PLC0415 - see above

        level = level_of_report(
            [of_rate.measurement for of_rate in counts.values()],
            reference=reference,
            shares=None if rules is None else rules.measurement,
            bands=bands,
            edge=None if bands is None or chosen is None else bands.edges.index(chosen),
            level=self.level,
            rule=self.rule,
            drawing=self.drawing(),
        )
        return self.model_copy(update={"level": level})

    def drawing(self, number: int | None = None) -> Drawing:
        """Return how draws are made, by default as many as an interval of this level is made from.

        Intervals that hold together are the posterior's: its own draws say at which level they do.
        """
        edition = EDITIONS[self.edition]
        if self.joint:
            edition = replace(edition, inverted=False)
        if number is None and self.joint:
            from auditor_client.estimation import together  # noqa: PLC0415 - see above

            number = together.draws_at(self.level)
        return Drawing(number or DRAWS, edition=edition)

    def scores(self, bands: BandCounts, chosen: float | None, reference: Group | None) -> "ScoreFigures":
        """Return what bands of a score say.

        Args:
            bands: As they were answered.
            chosen: The edge at which decisions are made; None without one, or there are several.
            reference: The group to compare others with.
        """
        from auditor_client.estimation.score_bands import ScoreEstimator  # noqa: PLC0415 - see above

        return ScoreEstimator(
            bands,
            threshold=self.selection_threshold,
            labelled_threshold=self.threshold_of(OPPORTUNITY),
            level=self.level,
            drawing=self.drawing(),
            reference=reference,
            joint=self.joint,
            rule=self.rule,
        ).figures(chosen)

    def chain(self, counts: ChainCounts, reference: Group | None) -> "ChainFigures":
        """Return what the stages of a chain say, with intervals that hold together at the level.

        Args:
            counts: As they were answered.
            reference: The group to compare others with; by default the largest.
        """
        from auditor_client.estimation.chain_figures import chain_figures  # noqa: PLC0415 - see above

        return chain_figures(counts, level=self.level, drawing=self.drawing(), reference=reference)

    def conditional(
        self,
        metric: str,
        strata: Sequence[Stratum],
        counts: Sequence[Mapping[Rate, RateCounts]],
        reference: Group | None,
    ) -> ConditionalParity:
        """The figures of one metric within each stratum, and over all of them; `counts` are of each stratum.

        Raises:
            EstimationRefused: The answers do not allow it.
            QuestionRefused: The estimator does not make this figure.
        """
        without_bounds = self.model_copy(update={"unknown": "group", "unknown_odds": None})
        each = [without_bounds.estimate(metric, of_stratum, reference) for of_stratum in counts]
        if not self.has_intervals:
            return ConditionalParity(
                tuple(StratumFigures(stratum, figures, None) for stratum, figures in zip(strata, each, strict=True))
            )
        from auditor_client.estimation.strata import estimate_strata  # noqa: PLC0415 - see above

        over = estimate_strata(
            [[of_stratum[rate].measurement for rate in RATES[metric]] for of_stratum in counts],
            threshold=self.threshold_of(metric),
            level=self.level,
            drawing=self.drawing(DRAWS),
            reference=reference,
        )
        figures_by_stratum = zip(strata, each, over.together, strict=True)
        return ConditionalParity(
            tuple(StratumFigures(*of_stratum) for of_stratum in figures_by_stratum), over.every, over.standardised
        )

    def estimate(
        self, metric: str, counts: Mapping[Rate, RateCounts], reference: Group | None, but: Collection[Group] = ()
    ) -> "ParityEstimate | OddsEstimate":
        """The figures of one metric; a rule leaves out some further groups.

        Figures of groups that add up finer ones have the values of the finer groups' draws, within intervals that hold
        those of the added counts too: a prior on each of many nearly empty groups adds people to their sum.

        Raises:
            EstimationRefused: The answers do not allow it.
            QuestionRefused: The estimator does not make this figure.
        """
        figures = self._figures(metric, counts, reference, but)
        alone = {rate: counts[rate] for rate in RATES[metric]}
        if not self.has_intervals or all(of_rate.measurement.finer is None for of_rate in alone.values()):
            return figures
        from auditor_client.estimation.hulls import hull_of_figures  # noqa: PLC0415 - see above

        alone = {
            rate: replace(of_rate, measurement=replace(of_rate.measurement, finer=None))
            for rate, of_rate in alone.items()
        }
        return hull_of_figures(figures, self._figures(metric, alone, reference, but))

    def _figures(
        self, metric: str, counts: Mapping[Rate, RateCounts], reference: Group | None, but: Collection[Group]
    ) -> "ParityEstimate | OddsEstimate":
        from auditor_client.estimation import odds, plug_in, posterior, unknown_groups  # noqa: PLC0415

        measured, threshold = [counts[rate].measurement for rate in RATES[metric]], self.threshold_of(metric)
        if not self.has_intervals:
            if metric == ODDS or measured[0].ratio_kind.adverse:
                raise QuestionRefused(f"The plug-in estimator does not make the figure {metric}: use posterior.")
            return plug_in.estimate_parity(
                measured[0], negative=self.negative, too_large=self.too_large, threshold=threshold
            )
        people = unknown_groups.unknown_people(measured, self.unknown_mode, self.level, self.drawing())
        estimate = odds.estimate_equalized_odds if metric == ODDS else posterior.estimate_parity
        figures = estimate(
            *measured,
            threshold=threshold,
            level=self.level,
            drawing=self.drawing(),
            reference=reference,
            rule=self.rule,
            but=but if people is None else (*but, *people.groups),
        )
        if measured[0].confusion is not None:
            recorded = [replace(measurement, confusion=None) for measurement in measured]
            return replace(
                figures,
                as_recorded=estimate(
                    *recorded, threshold=threshold, level=self.level, drawing=self.drawing(), reference=reference
                ),
            )
        if people is None:
            return figures
        factor = math.inf if self.unknown_odds is None else self.unknown_odds
        return unknown_groups.with_unknown(figures, people, factor)
