"""Shares: each of two holders has one half of every person's sensitive values, and neither has a value (12-trust §1).

For each person and each of the K combinations of sensitive values there are two words, whole numbers modulo 2⁶⁴. The
word of party 1 is uniform, and that of party 2 is what is missing to 1 where the combination is the person's and to 0
elsewhere. A count is a sum of such numbers, so each party adds its own words, and the sums of both add up to the count.

This module is the arithmetic that both parties of the interface share, and the facts that a dataset says of its half.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from shared.wire.request_model import ContractModel, RequestModel

MODULUS: Final = 2**64
WORD_BYTES: Final = 8
GROUPS_MAX: Final = 64
"""At most so many combinations of sensitive values are split, missing values included: each takes a word a person."""
COLUMN: Final = "pafer:shares"
"""The column of party 2's file that holds the words. No column that is declared or derived has its name."""

Party = Literal[1, 2]
SplitId = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{32}$")]
"""Random, one for each `holder split`: 32 hexadecimal digits."""


def _below_modulus(text: str) -> str:
    if int(text) < MODULUS:
        return text
    raise ValueError("A share is a whole number below 2^64.")


ShareWord = Annotated[
    str, StringConstraints(strict=True, pattern=r"^(0|[1-9][0-9]{0,19})$"), AfterValidator(_below_modulus)
]
"""A whole number modulo 2⁶⁴ as a decimal string: JSON's numbers are exact up to 2⁵³ alone."""


class ShareParty(RequestModel):
    """The half that a dataset has: a file of the other half is refused, so that no holder ever has both."""

    party: Party
    """The party: 1 or 2."""


class Shares(ContractModel):
    """Whose halves a version of the records holds."""

    split_id: SplitId | None = Field(default=None)
    """The id of the split that the records come from; null where none are loaded."""
    party: Party
    """Which of the two halves it is: 1 or 2."""

    def completes(self, other: "Shares") -> bool:
        """Whether this half and another make the whole: of one split, and of its two parties."""
        return self.split_id is not None and self.split_id == other.split_id and {self.party, other.party} == {1, 2}


def noisy_word(word: int, noise: int) -> str:
    """A sum of words with noise, as a release says it; `word` is any integer that stands for it modulo 2⁶⁴."""
    return str((word + noise) % MODULUS)


def joined_count(first: str, second: str) -> int:
    """The noisy count that two halves add up to, in people; noise may make it negative.

    Args:
        first: The word of one party, as its release says it.
        second: That of the other.

    Returns:
        The number within [−2⁶³, 2⁶³) that is their sum modulo 2⁶⁴.
    """
    total = (int(first) + int(second)) % MODULUS
    return total - MODULUS if total >= MODULUS // 2 else total
