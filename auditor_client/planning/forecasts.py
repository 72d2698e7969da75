"""Forecasts as data: made in `planning`, shown in reports and plans (3-estimation §3)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from auditor_client.asking.assumption import Assumption
from auditor_client.estimation.unknown_figures import SetEstimate
from auditor_client.findings.reading import Reading
from shared.privacy.amounts import Loss, format_nano


def amount_of(loss: Loss) -> dict[str, str]:
    """ε, or ρ, by its name and as a decimal string."""
    rho_nano = loss.rho_nano
    return {"epsilon": format_nano(loss.epsilon_nano)} if rho_nano is None else {"rho": format_nano(rho_nano)}


@dataclass(frozen=True, slots=True)
class Expectation:
    """The average findings of an audit, if the assumption holds.

    Attributes:
        strategy: How the question would be put.
        asked: At which ε, or ρ.
        width: Of the interval of the first figure's ratio, about the people in the data.
        error: Mean absolute error of that ratio.
        undecided: How often the verdict would be *undecided*, within [0, 1], at the ratio that is supposed; None
            without a threshold.
    """

    strategy: str
    asked: Loss
    width: float
    error: float
    undecided: float | None

    @property
    def amount(self) -> dict[str, str]:
        """ε, or ρ, by its name and as a decimal string."""
        return amount_of(self.asked)


@dataclass(frozen=True, slots=True)
class Chance:
    """The share of audits that would decide at one true ratio.

    Attributes:
        ratio: The true ratio.
        meets, fails: Shares of the simulated audits, within [0, 1]; the rest is undecided.
        simulated: How many audits.
    """

    ratio: float
    meets: float
    fails: float
    simulated: int

    @property
    def undecided(self) -> float:
        """The share without a verdict."""
        return max(1 - self.meets - self.fails, 0.0)

    @property
    def error(self) -> float:
        """The standard error of these shares at most, of a share that is not quite 0 or 1 even if none was seen."""
        share = min(max(self.undecided, 1 / (self.simulated + 2)), 1 - 1 / (self.simulated + 2))
        return math.sqrt(share * (1 - share) / self.simulated)


@dataclass(frozen=True, slots=True)
class StepForecast:
    """The forecast of one step of a chain for the smallest group.

    Attributes:
        stage: The name of the stage that the step leads to.
        passing: The share who are supposed to go on.
        rate_width: The mean width of the interval of that share.
        ratio_low, ratio_high: The interval of the ratio to the largest group, as the geometric mean of its ends.
        bounded: In which share of the simulated audits that interval has both ends; the means are over these.
    """

    stage: str
    passing: float
    rate_width: float
    ratio_low: float
    ratio_high: float
    bounded: float


@dataclass(frozen=True, slots=True)
class StrataForecast:
    """The cost and gain of comparing within strata, at the same ε.

    Attributes:
        number: Of the strata.
        people: Of one of them, if all have as many.
        within: Of one of them.
        without: Of everybody, if no strata were asked for: their sum has the noise of all of them.
    """

    number: int
    people: int
    within: Expectation
    without: Expectation


@dataclass(frozen=True, slots=True)
class JoinedForecast:
    """The forecast of an answer together with saved ones about the same people.

    Attributes:
        kept: How many answers there are.
        now: What they show without it; None without any.
        then: What they show with it.
    """

    kept: int
    now: Expectation | None
    then: Expectation


@dataclass(frozen=True, slots=True)
class TableForecast:
    """The noise on a group's count in one table.

    Attributes:
        sensitive: The columns of the table.
        together: Its standard deviation from the one answer, in people.
        separate: The same from an audit of this table alone, where the audits of all tables share the loss equally.
    """

    sensitive: tuple[str, ...]
    together: float
    separate: float

    @property
    def times(self) -> float:
        """The first divided by the second."""
        return self.together / self.separate


@dataclass(frozen=True, slots=True)
class UnknownForecast:
    """The forecast of an audit if the group of a share of the people were unknown.

    Attributes:
        share: Of the people.
        ratio: The mean set and interval of the first figure's ratio over simulated audits.
        decided: In which share of them there would be a verdict; None without a threshold.
    """

    share: float
    ratio: SetEstimate
    decided: float | None


@dataclass(frozen=True, slots=True)
class MisreportedForecast:
    """The forecast of an audit that is corrected for misreported groups.

    Attributes:
        loss: At which ε, or ρ.
        width: Of the corrected interval of the first figure's ratio, the mean over simulated audits.
        recorded_width: Of that of the groups as they are recorded, likewise.
        decided: In which share of them there would be a corrected verdict; None without a threshold.
    """

    loss: Loss
    width: float
    recorded_width: float
    decided: float | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """An auditor's prior knowledge: how many people each rule applies to (own data), how many each group has."""

    supports: bool
    totals: bool


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of an audit before anything is spent.

    Attributes:
        chosen: Of the question as it would be asked.
        strategies: Of every strategy at the same ε.
        curve: Of the chosen strategy at smaller and larger ε, ascending.
        assumption: What it rests on, with a number of people, be it known or supposed.
        from_supports: Whether the number of people and who is accepted are the auditor's own data's.
        reading: How the answer would be read, on which all widths rest.
        chances: How often there would be a verdict, by true ratio, ascending; empty without a threshold.
        other_people: Of the chosen strategy for other numbers of people; None where their number is known.
        rules_from: From how many people on strategy auto would be "rules", where that is why it is not.
        knowing: Of the chosen question, by what is known beforehand.
        strata: Where groups are to be compared within strata.
        joined: Where the answer is to be joined with kept ones.
        chain: Of every step of a chain; empty without one.
        unknown: By how many people's group is unknown, ascending; empty where nobody's can be.
        misreported: Corrected for misreported groups at this and at larger ε, ascending; empty without a study. All
            else is then of the groups as they are recorded.
        tables: Of every table that the answer has, those by one column first; empty where it has one.
        looks: Of each look, ascending, where it is asked until decided; all else is then of the last one.
    """

    chosen: Expectation
    strategies: tuple[Expectation, ...]
    curve: tuple[Expectation, ...]
    assumption: Assumption
    from_supports: bool
    reading: Reading
    chances: tuple[Chance, ...] = ()
    other_people: Mapping[int, Expectation] | None = None
    rules_from: int | None = None
    knowing: Mapping[Knowledge, Expectation] = field(default_factory=dict)
    strata: StrataForecast | None = None
    joined: JoinedForecast | None = None
    looks: tuple[Expectation, ...] = ()
    chain: tuple[StepForecast, ...] = ()
    unknown: tuple[UnknownForecast, ...] = ()
    misreported: tuple[MisreportedForecast, ...] = ()
    tables: tuple[TableForecast, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlook:
    """The gain of more budget after an audit: the same request at larger ε or ρ, for people as estimated.

    Attributes:
        now, asked: The width that the audit's interval has, and at which ε, or ρ.
        curve: What could be expected at larger ones, ascending.
        left: Of the budget; None if it is not known.
        affordable: The last of the curve that what is left pays; None if it pays none.
        central: In the local model: what the same question would show at the loss that the perturbation cost, if the
            holder had the true groups and added Laplace noise. Else None.
    """

    now: float
    asked: Loss
    curve: tuple[Expectation, ...]
    left: Loss | None
    affordable: Expectation | None = None
    central: Expectation | None = None
