"""A share of long work: what is run in each of several runs, so that together they run all of it."""

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Self, TypeVar

_Piece = TypeVar("_Piece")


@dataclass(frozen=True, slots=True)
class Share:
    """Every Nth piece of a list, from the Kth on."""

    number: int
    """K, at least 1."""
    shares: int
    """N, at least K."""

    @classmethod
    def read(cls, written: str) -> Self:
        """A share as an option has it: "2/4" is the second of four; raises `ArgumentTypeError` for others."""
        found = re.fullmatch(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", written)
        if not found or int(found[1]) > int(found[2]):
            raise ArgumentTypeError(f"{written!r} is no share: write K/N, such as 2/4 for the second of four.")
        return cls(int(found[1]), int(found[2]))

    def of(self, pieces: list[_Piece]) -> list[_Piece]:
        """The pieces of this share, in their order."""
        return pieces[self.number - 1 :: self.shares]
