"""What an auditor supposes of the people behind a dataset: public facts, no records (3-estimation §3)."""

from dataclasses import dataclass

from auditor_client.errors import QuestionRefused


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is supposed of the people that an audit is about.

    Attributes:
        people: How many there are.
        accepted: The share of them that the tree accepts, within (0, 1).
        shares: Each group's share of the people, in the release's order, in any unit; None is equal shares.
        ratio: The parity to find, within (0, 1]: the smallest group's rate over that of all the others.
        positive: The share of people whose label is true, within (0, 1); alike for accepted and refused.
        rates: Each group's rate in any unit, in the release's order, instead of `ratio`; None if only that is supposed.
    """

    people: int = 10_000
    accepted: float = 0.5
    shares: tuple[float, ...] | None = None
    ratio: float = 0.8
    positive: float = 0.5
    rates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        shares = self.shares or (1.0,)
        rates = self.rates or (1.0,)
        fitting = (
            0 < self.accepted < 1 and 0 < self.ratio <= 1 and 0 < self.positive < 1 and min(rates) >= 0 < max(rates)
        )
        if not (self.people >= 1 and fitting and min(shares) >= 0 < sum(shares)):
            raise QuestionRefused(
                "Assume at least one person, an accepted and a positive share between 0 and 1, a ratio above 0 and at "
                "most 1, and group shares and rates of zero or more."
            )

    def counts(self, groups: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The accepted people of each of K groups, and its size, in people.

        Raises:
            QuestionRefused: There are other groups than shares.
        """
        given = self.shares or (1.0,) * groups
        if len(given) != groups or len(self.rates or given) != groups:
            raise QuestionRefused(f"There are {groups} groups: give as many shares, and as many rates.")
        shares = [share / sum(given) for share in given]
        lowest = shares.index(min(shares))
        relative = self.rates or tuple(self.ratio if place == lowest else 1.0 for place in range(groups))
        highest = self.accepted / sum(share * part for share, part in zip(shares, relative, strict=True))
        sizes = tuple(round(self.people * share) for share in shares)
        rates = [min(highest * part, 1.0) for part in relative]
        return tuple(round(rate * size) for rate, size in zip(rates, sizes, strict=True)), sizes

    def __str__(self) -> str:
        shares = "equal groups" if self.shares is None else "groups of the given shares"
        if self.rates is not None:
            return (
                f"{self.people} people in {shares}, {self.accepted:.0%} of them accepted, at the given relative rates"
            )
        return (
            f"{self.people} people in {shares}, {self.accepted:.0%} of them accepted, and the smallest group's "
            f"rate {self.ratio:.0%} of the others'"
            f"{', the hardest case for the four-fifths rule' if self.ratio == 0.8 else ''}"
        )
