"""The groups that are large enough to be judged: a public rule, decided from the noisy counts (ADR 0032).

A verdict over all groups is about the smallest of them, however few people it has. A rule leaves out groups below a
number of people, or below a share of all whom the rate is about. Below 2 % New York's Local Law 144 allows that:
"where an independent auditor determines that a category represents less than 2 % of the data being used for the bias
audit, the independent auditor may exclude that category from the required calculations for impact ratio" (6 RCNY
§ 5-301 (d)).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

from auditor_client.errors import EstimationRefused

_TEXT: Final = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,4})?)\s*(?P<percent>%?)")


@dataclass(frozen=True, slots=True)
class SizeRule:
    """At least so many people, or, of a share, at least that share of all people whom a rate is about.

    Attributes:
        least: A number of people, or a share within (0, 1).
        of_all: Whether it is a share.
    """

    least: Fraction
    of_all: bool

    @classmethod
    def of(cls, text: str) -> Self:
        """The rule of a text: "30" is thirty people, "2%" two of a hundred.

        Raises:
            EstimationRefused: It is neither a whole number of people nor a share between 0 and 100 %.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is not None:
            number, of_all = Fraction(match["number"]), bool(match["percent"])
            if 0 < number < 100 if of_all else number >= 1 and number.denominator == 1:
                return cls(number / 100 if of_all else number, of_all)
        raise EstimationRefused(
            f"{text!r} is no least size of a group: write a number of people, such as 30, or a share, such as 2%."
        )

    def met(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The indices of the groups that are large enough, of all groups' true sizes, in people."""
        least = self.least * sum(sizes) if self.of_all else self.least
        return tuple(index for index, size in enumerate(sizes) if size >= least)

    def __str__(self) -> str:
        """Return it as it is read again: "30", "2%"."""
        return f"{float(100 * self.least):g}%" if self.of_all else str(self.least)


TWO_PERCENT: Final = SizeRule.of("2%")
"""What Local Law 144 allows to leave out is below it."""
