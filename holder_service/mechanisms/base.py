"""What a mechanism is: a class that states its loss and adds its noise (2-privacy §4)."""

from collections.abc import Sequence
from typing import Protocol

from shared.noise import Noise


class Mechanism(Protocol):
    """Answers the counts of one class of disjoint cells with a loss that is known beforehand."""

    @property
    def noise(self) -> Noise:
        """What a client has to know of the noise on each count."""

    def release(self, counts: Sequence[int]) -> list[int]:
        """Noisy counts.

        Args:
            counts: True counts, in people, in any number.

        Returns:
            As many integers, in people.
        """
