"""The meaning of a privacy loss for one person, and the sentences that may be published about it.

The ledger's (ε, δ) compares neighbouring records. A question about one person compares two hypotheses, and how many
neighbouring steps lie between them depends on the relation and on the question: under `add_remove` a record is one step
from its absence, but two from the same record with another value. Reports of randomised response are counted as
they are: the ledger does not speak of them, and their own ε does.

All bounds suppose that what somebody knows about everybody else does not depend on this person.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.contract.relations import Relation
from shared.contract.schema import Column
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.wire.wording import figure, joined, said

_STEPS_BETWEEN_VALUES: Final[Mapping[Relation, int]] = {"add_remove": 2, "replace": 1, "sensitive_attribute": 1}
_PRESENCE: Final[Mapping[Relation, str]] = {
    "add_remove": said("Whether somebody’s record is in the data"),
    "replace": said("Whether a record is somebody’s or another person’s in their stead"),
}
_UNPROTECTED: Final[Mapping[Relation, str]] = {
    "add_remove": "",
    "replace": said("The number of people is not protected."),
    "sensitive_attribute": said("Who is in the data, and everybody’s features and label, are not protected."),
}
_VALUES: Final[Mapping[Relation, str]] = {
    "add_remove": said("What somebody’s record says, such as their group"),
    "replace": said("What somebody’s record says, such as their group"),
    "sensitive_attribute": said("What somebody’s sensitive values are"),
}
_TWO_STEPS: Final = said("A changed value counts as two changes: one record is removed and another is added.")
_DELTA: Final = said(
    "δ is not the chance that an answer changes the odds by more than that factor; this chance can be many times δ."
)
_LARGE: Final = 1e6
_ROUNDING: Final = 1e-12
"""Relative: a double this little above a figure is that figure, not the next one."""


@dataclass(frozen=True, slots=True)
class Bound:
    """For two hypotheses and every set S of answers: P(S) ≤ e^ε · P′(S) + δ, either way round."""

    epsilon: float
    delta: float = 0.0

    @property
    def factor(self) -> float:
        """e^ε: with δ = 0 the most by which any answer changes the odds; infinite beyond doubles."""
        return math.exp(self.epsilon) if self.epsilon < 700 else math.inf

    @property
    def guess(self) -> float:
        """The largest chance of guessing right, if either hypothesis was equally likely before.

        With δ = 0 it is also the most that a chance of one half becomes after any answer. False alarms a and misses b
        keep e^ε·a + b ≥ 1 − δ and a + e^ε·b ≥ 1 − δ; the sum of both bounds (a + b)/2, the chance of guessing wrong.

        Source: Kairouz, Oh, Viswanath (2015), *The Composition Theorem for Differential Privacy*, theorem 2.1.
        """
        shrunk = math.exp(-self.epsilon)
        return min((1 + self.delta * shrunk) / (1 + shrunk), 1.0)

    def after(self, steps: int) -> "Bound":
        """The bound for two hypotheses that are so many steps apart.

        P ≤ e^ε·P₁ + δ ≤ e^ε·(e^ε·P₂ + δ) + δ, and so on: δ is multiplied by 1 + e^ε + e^(2ε) + …

        Source: Vadhan (2017), *The Complexity of Differential Privacy*, lemma 2.2 (group privacy).
        """
        series = sum(self.factor**step for step in range(steps)) if self.delta else 0.0
        return Bound(steps * self.epsilon, self.delta * series)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The bounds that a loss and counted reports give for one person.

    Attributes:
        relation: The population's neighbouring relation.
        charged: The loss itself: of one step.
        presence: Is this person's record in the data, or (`replace`) another person's in their stead? None: nothing is
            bounded.
        values: What does this person's record say? Under `sensitive_attribute`: in its sensitive columns.
        reports: By column that was perturbed at its source: what is this person's true value?
    """

    relation: Relation
    charged: Bound
    presence: Bound | None
    values: Bound
    reports: Mapping[str, Bound]

    @property
    def all_reports(self) -> Bound:
        """What are this person's true values in all perturbed columns together? The columns' ε add up."""
        return Bound(sum(bound.epsilon for bound in self.reports.values()))


@dataclass(frozen=True, slots=True)
class Statements:
    """The sentences for people; each is empty where there is nothing to say."""

    presence: str
    values: str
    delta: str
    reports: str

    @property
    def all(self) -> tuple[str, ...]:
        """The members that are set."""
        return tuple(text for text in (self.presence, self.values, self.delta, self.reports) if text)


def meaning(relation: Relation, loss: Loss, reported: Mapping[str, Column] | None = None) -> Meaning:
    """Return what a loss bounds for one person.

    Args:
        relation: The population's.
        loss: What the ledger charged; a sum of charges is one.
        reported: Columns whose reports were counted as they are, each under the name that the sentences use; those
            that were not perturbed at their source are left out.
    """
    charged = Bound(loss.epsilon_nano / NANO_PER_UNIT, loss.delta_nano / NANO_PER_UNIT)
    return Meaning(
        relation=relation,
        charged=charged,
        presence=None if relation == "sensitive_attribute" else charged,
        values=charged.after(_STEPS_BETWEEN_VALUES[relation]),
        reports={
            name: Bound(column.randomised_response.epsilon(len(column.values)))
            for name, column in (reported or {}).items()
            if column.randomised_response is not None
        },
    )


def statements(meant: Meaning) -> Statements:
    """Return what may be said to people. Figures are rounded up, so that "at most" is true of them."""
    charged, relation = meant.charged, meant.relation
    something = charged.epsilon > 0 or charged.delta > 0
    presence, values = "", ""
    if something and meant.presence is not None:
        presence = said("{what}: {limit}.", what=_PRESENCE[relation], limit=_limit(meant.presence, 1))
    if something:
        steps = _STEPS_BETWEEN_VALUES[relation]
        what = _VALUES[relation]
        if meant.reports:
            what = said("{what} in columns that were not perturbed", what=what)
        sentence = said("{what}: {limit}.", what=what, limit=_limit(meant.values, steps))
        values = joined([sentence, *([_TWO_STEPS] if steps == 2 else [])])
    return Statements(
        presence=joined(text for text in (presence, _UNPROTECTED[relation]) if text),
        values=values,
        delta=_DELTA if charged.delta else "",
        reports=_about_reports(meant) if meant.reports else "",
    )


def _limit(bound: Bound, steps: int) -> str:
    if bound.delta >= 1:
        return said("nothing is bounded, because δ is too large")
    factor, half, guess = (
        _factor("e^ε" if steps == 1 else f"e^({steps}ε)", bound),
        figure(0.5, 0, "percent"),
        percent_up(bound.guess),
    )
    if not bound.delta:
        return said(
            "the odds change by a factor of at most {factor}, and a chance of {half} becomes at most {guess}",
            factor=factor, half=half, guess=guess,
        )  # fmt: skip
    # Two steps at most; `Bound.after` has the series.
    return said(
        "the chance of any conclusion from the answers is at most {factor} times what it would be otherwise, plus "
        "{added}; of two possibilities that were equally likely, the right one is guessed with a chance of at most "
        "{guess}",
        factor=factor, guess=guess,
        added=said("{symbol} = {value}", symbol="δ" if steps == 1 else "(1 + e^ε)·δ", value=figure_up(bound.delta)),
    )  # fmt: skip


def _about_reports(meant: Meaning) -> str:
    each = [
        said(
            "for {name}, with ε = {epsilon} of its own, {limit}",
            name=name, epsilon=figure_up(bound.epsilon), limit=_limit(bound, 1),
        )
        for name, bound in meant.reports.items()
    ]  # fmt: skip
    whole = meant.all_reports
    sentences = [
        said(
            "What somebody’s true value is in a column that was perturbed before the holder got it, once for each "
            "person as declared, however often its reports are counted: {each}.",
            each=joined(each, "; "),
        )
    ]
    if len(meant.reports) > 1:
        sentences.append(
            said(
                "For these columns together ε = {epsilon}, and {limit}.",
                epsilon=figure_up(whole.epsilon), limit=_limit(whole, 1),
            )
        )  # fmt: skip
    if meant.charged.epsilon:
        sentences.append(said("About these and other values at once, the factors multiply."))
    sentences.append(said("The reports themselves are counted as they are, without a charge, and are not protected."))
    return joined(sentences)


def _factor(name: str, bound: Bound) -> str:
    if bound.factor < _LARGE:
        return said("{symbol} = {value}", symbol=name, value=figure_up(bound.factor))
    return said("{symbol}, which is more than a million", symbol=name)


def figure_up(number: float) -> str:
    """A positive figure of at most a million, rounded up to three digits, or to a whole number above 100."""
    digits = max(2 - math.floor(math.log10(number)), 0)
    rounded = _up(number, digits)
    if not digits:
        return figure(rounded)
    decimals = f"{rounded:.{digits}f}".rstrip("0").partition(".")[2]
    return figure(rounded, len(decimals), "decimal")


def percent_up(share: float) -> str:
    """A share as a percentage, rounded up to one decimal, or to as many (six at most) as keep it below 100."""
    for digits in range(1, 7):
        rounded = _up(100 * share, digits)
        if rounded < 100:
            return figure(rounded / 100, digits, "percent")
    return figure(1, 0, "percent")


def _up(number: float, digits: int) -> float:
    unit = 10.0**digits
    return math.ceil(number * (1 - _ROUNDING) * unit) / unit
