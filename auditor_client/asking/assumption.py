"""What an auditor assumes about the people in a dataset: public facts, no records (3-estimation §3)."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from auditor_client.errors import QuestionRefused
from shared.wire.wording import figure, said

SUPPOSED_PEOPLE: Final = 10_000
"""How many people a forecast supposes where nothing is known of their number, if there can be so many; it says so."""


class Assumption(BaseModel):
    """What is assumed about the people that an audit is about, as the descriptions of the fields say.

    Without `people` their number is not known: forecasts suppose one, and say so, and strategy auto takes the way of
    asking that is right for any number. `accepted` and `positive` lie within (0, 1); `ratio` within (0, 1]: the
    smallest group's rate over that of all the others. `shares` and `rates` have a value of any unit for each group, in
    the release's order.

    Raises:
        QuestionRefused: The values contradict each other, or are out of range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    people: int | None = Field(
        default=None,
        description="How many people the dataset is about, if you know it [as many as your own data have].",
    )
    accepted: float = Field(default=0.5, description="Assumption: the share of people whom the model accepts.")
    positive: float = Field(default=0.5, description="Assumption: the share of people whose label is true.")
    ratio: float = Field(default=0.8, description="Assumption: the true ratio.")
    shares: tuple[float, ...] | None = Field(
        default=None, description="Assumption: each group's share of the people, separated by commas [equal]."
    )
    rates: tuple[float, ...] | None = Field(
        default=None, description="Assumption, instead of --ratio: each group's rate, separated by commas."
    )

    passing: tuple[float, ...] | None = Field(
        default=None,
        exclude_if=lambda passing: passing is None,
        description="Assumption for a chain: the share of people who continue at each step, separated by "
        "commas [half of them].",
    )

    @model_validator(mode="after")
    def _check(self) -> "Assumption":
        shares = self.shares or (1.0,)
        rates = self.rates or (1.0,)
        fitting = (
            0 < self.accepted < 1 and 0 < self.ratio <= 1 and 0 < self.positive < 1 and min(rates) >= 0 < max(rates)
        )
        if self.passing is not None and not all(0 < share <= 1 for share in self.passing):
            raise QuestionRefused("The shares who go on at each step (`passing`) lie above 0 and at most at 1.")
        if not (self.supposed_people >= 1 and fitting and min(shares) >= 0 < sum(shares)):
            raise QuestionRefused(
                "Assume at least one person, an accepted and a positive share between 0 and 1, a ratio above 0 and at "
                "most 1, and group shares and rates of zero or more."
            )
        return self

    @property
    def supposed_people(self) -> int:
        """Their number, or what is supposed where it is not known."""
        return SUPPOSED_PEOPLE if self.people is None else self.people

    def counts(self, groups: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The accepted people of each of K groups, and its size, in people.

        Raises:
            QuestionRefused: There are other groups than shares.
        """
        given = self.shares or (1.0,) * groups
        if len(given) != groups or len(self.rates or given) != groups:
            raise QuestionRefused(f"There are {groups} groups: give as many shares, and as many rates.")
        shares = [share / sum(given) for share in given]
        lowest = shares.index(min(share for share in shares if share > 0))  # known totals may be of nobody
        relative = self.rates or tuple(self.ratio if group == lowest else 1.0 for group in range(groups))
        highest = self.accepted / sum(share * part for share, part in zip(shares, relative, strict=True))
        sizes = tuple(round(self.supposed_people * share) for share in shares)
        rates = [min(highest * part, 1.0) for part in relative]
        return tuple(round(rate * size) for rate, size in zip(rates, sizes, strict=True)), sizes

    def __str__(self) -> str:
        groups = said("equal groups") if self.shares is None else said("groups of the given shares")
        people, accepted = figure(self.supposed_people), figure(self.accepted, 0, "percent")
        if self.rates is not None:
            return said(
                "{people} people in {groups}, {accepted} of them with the favourable decision, at the given relative "
                "rates",
                people=people, groups=groups, accepted=accepted,
            )  # fmt: skip
        return said(
            "{people} people in {groups}, {accepted} of them with the favourable decision, and the smallest group's "
            "rate {ratio} of the others'",
            people=people, groups=groups, accepted=accepted, ratio=figure(self.ratio, 0, "percent"),
        )  # fmt: skip
