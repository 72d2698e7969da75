"""Conditional parity: what an audit found within each stratum, and over all of them (3-estimation §2)."""

from dataclasses import dataclass

from auditor_client.asking.strata import Stratum
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import JudgedFigures, OddsEstimate, ParityEstimate, StandardisedFigures


@dataclass(frozen=True, slots=True)
class StratumFigures:
    """The figures within one stratum.

    Attributes:
        estimate: Its figures, as an audit of it alone gives them: each interval holds by itself.
        together: Ratio and difference whose intervals hold together with those of all other strata; None without
            intervals.
    """

    stratum: Stratum
    estimate: ParityEstimate | OddsEstimate
    together: JudgedFigures | None

    @property
    def verdict(self) -> Verdict:
        """The verdict on its ratio; the verdicts of all strata hold together."""
        return Verdict.NONE if self.together is None else self.together.verdict


@dataclass(frozen=True, slots=True)
class ConditionalParity:
    """The figures of one metric, by strata.

    Attributes:
        strata: Each of them.
        every: The smallest ratio and the largest difference over the strata, with the verdict on every one of them;
            None without intervals.
        standardised: Of each of the metric's rates, with the same mix of strata in every group; none without intervals.
    """

    strata: tuple[StratumFigures, ...]
    every: JudgedFigures | None = None
    standardised: tuple[StandardisedFigures, ...] = ()

    def left_out(self, figures: StandardisedFigures) -> tuple[Stratum, ...]:
        """The strata that standardised rates leave out, because the answers do not show people of every group."""
        return tuple(self.strata[index].stratum for index in figures.strata_left_out)
