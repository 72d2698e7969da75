"""How many people each group has, as far as that is public: a census table, exactly or within bounds (3-estimation §2).

Like the auditor's own data they are never sent: they limit what the estimates take for possible. They are kept with the
request, so that whoever computes a figure again rests it on the same ones. `totals_table` reads them.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from auditor_client.asking.assumption import Assumption
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import COUNT_MAX, SizeBounds
from shared.contract.schema import Group

Range = tuple[int, int | None]
"""How many people at least, and at most, if that is known."""
UNKNOWN: Range = (0, None)


class GroupTotals(BaseModel):
    """How many people each group has, in the groups' order; `source` says where that is from.

    Raises:
        QuestionRefused: Nothing is known of any group, or a range holds no number of people.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    people: tuple[Range, ...]
    source: str | None = None

    def model_post_init(self, _: Any) -> None:
        """Check the ranges."""
        if all(bounds == UNKNOWN for bounds in self.people):
            raise QuestionRefused(
                "The group totals (`group_totals`) are empty. Give the total of at least one group, or leave them out."
            )
        ends = [(low, COUNT_MAX if high is None else high) for low, high in self.people]
        if not all(0 <= low <= high <= COUNT_MAX for low, high in ends):
            raise QuestionRefused(
                "A group's total must be zero people or more, and its lower bound at most its upper bound."
            )

    @property
    def bounds(self) -> SizeBounds:
        """The same for estimates."""
        mosts = tuple(COUNT_MAX if maximum is None else maximum for _, maximum in self.people)
        return SizeBounds(tuple(least for least, _ in self.people), mosts)

    def as_recorded(self, groups: Sequence[Group]) -> bool:
        """Whether the totals count people as they are recorded.

        Where people's group may be unknown, that is so if the totals also say how many these are. Else the totals are
        of the true groups: each has at most as many people whose group is recorded.
        """
        unknown = [people for group, people in zip(groups, self.people, strict=True) if None in group]
        return not unknown or any(people != UNKNOWN for people in unknown)

    @property
    def at_most(self) -> SizeBounds:
        """For estimates of totals of true groups: how many people of recorded group there are at most."""
        mosts = self.bounds.most
        return SizeBounds((0,) * len(mosts), mosts)

    def exact_of_declared(self, groups: Sequence[Group]) -> tuple[int, ...] | None:
        """The totals of all groups without a missing value; None where one is not known exactly."""
        declared = [people for group, people in zip(groups, self.people, strict=True) if None not in group]
        exact = tuple(minimum for minimum, maximum in declared if minimum == maximum)
        return exact if len(exact) == len(declared) else None

    def assumed(self, assumption: Assumption) -> Assumption:
        """Return what is assumed, with the groups' sizes as they are known: of a range the middle."""
        shares = assumption.shares or (1.0,) * len(self.people)
        if len(shares) != len(self.people):
            return assumption  # which is refused where it is used
        sizes = tuple(
            max(assumption.supposed_people * share / sum(shares), low) if high is None else (low + high) / 2
            for (low, high), share in zip(self.people, shares, strict=True)
        )
        if sum(sizes) < 1:
            return assumption
        return assumption.model_copy(update={"people": round(sum(sizes)), "shares": sizes})

    def merged(self, groups: Sequence[Group], columns: Sequence[int]) -> "GroupTotals | None":
        """Return the totals of the groups by some of their columns, given by index; None where no total is left."""
        parts: dict[Group, list[Range]] = {}
        for group, one in zip(groups, self.people, strict=True):
            parts.setdefault(tuple(group[column] for column in columns), []).append(one)
        people = tuple(map(_together, parts.values()))
        return None if all(one == UNKNOWN for one in people) else self.model_copy(update={"people": people})


def _together(parts: Sequence[Range]) -> Range:
    mosts = [maximum for _, maximum in parts if maximum is not None]
    return sum(least for least, _ in parts), sum(mosts) if len(mosts) == len(parts) else None
