"""What an audit is expected to show, as data: made in `planning`, shown in reports and plans (3-estimation §3)."""

from dataclasses import dataclass

from auditor_client.asking.assumption import Assumption
from shared.amounts import format_nano


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an audit would show on average, if the assumption holds.

    Attributes:
        strategy: How the question would be put.
        epsilon_nano: At which ε, in units of 10⁻⁹.
        width: Of the interval of the first figure's ratio, about the people in the data.
        error: Mean absolute error of that ratio.
        undecided: How often the verdict would be *undecided*, within [0, 1]; None where there is to be none.
    """

    strategy: str
    epsilon_nano: int
    width: float
    error: float
    undecided: float | None

    @property
    def epsilon(self) -> str:
        """ε as a decimal string."""
        return format_nano(self.epsilon_nano)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What could be expected of an audit before anything is spent.

    Of the question as it would be asked; of every strategy at the same ε; of the chosen strategy at smaller and larger
    ε, ascending. `from_supports`: whether the assumption rests on the auditor's own data.
    """

    chosen: Expectation
    strategies: tuple[Expectation, ...]
    curve: tuple[Expectation, ...]
    assumption: Assumption
    from_supports: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """What more budget would buy after an audit: the same question at larger ε, for people as they were estimated.

    Attributes:
        now, epsilon_nano: The width that the audit's interval has, and what it cost.
        curve: What could be expected at larger ε, ascending.
        remaining_nano: How much ε is left of the budget; None if it is not known.
        central: In the local model: what the same question would show at the loss that the perturbation cost, if the
            holder had the true groups and added Laplace noise. Else None.
    """

    now: float
    epsilon_nano: int
    curve: tuple[Expectation, ...]
    remaining_nano: int | None
    central: Expectation | None = None
