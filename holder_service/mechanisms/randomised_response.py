"""Counts of groups that were perturbed at their source: nothing is left to add (local differential privacy)."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.contract.schema import Schema
from shared.privacy.amounts import NO_LOSS, Loss, format_nano
from shared.privacy.noise import KeptValue, RandomisedResponseNoise


@dataclass(frozen=True, slots=True)
class RandomisedResponseMechanism:
    """Release counts as they are, because every person's group was perturbed before the holder got it.

    Loss: none further. Under `sensitive_attribute` only the group is secret, and the holder has none: it has
    reports, each drawn from a person's group by randomised response, and whatever is computed from a report costs what
    the report did. For K values kept with probability p that was ln(p·(K − 1)/(1 − p)) for each column.

    Source: Warner (1965); Dwork, Roth (2014), proposition 2.1 (post-processing).

    Attributes:
        kept: The declared probabilities, one for each sensitive column of the plan, in its order.
    """

    kept: tuple[KeptValue, ...]

    @classmethod
    def declared(cls, schema: Schema, sensitive: Sequence[str]) -> "RandomisedResponseMechanism":
        """The mechanism for columns that were all perturbed at their source.

        Raises:
            ValueError: One of them was not: its counts must not be released as they are.
        """
        values = []
        for name in sensitive:
            perturbation = schema.by_name[name].randomised_response
            if perturbation is None:
                raise ValueError(f"Column {name!r} was not perturbed at its source.")
            values.append(KeptValue(column=name, probability=format_nano(perturbation.kept)))
        return cls(tuple(values))

    @property
    def loss(self) -> Loss:
        return NO_LOSS

    @property
    def rho_nano(self) -> int:
        return 0

    @property
    def noise(self) -> RandomisedResponseNoise:
        return RandomisedResponseNoise(kept=self.kept)

    def release(self, counts: Sequence[int]) -> list[int]:
        """The counts of reported groups, in people, as they are."""
        return list(counts)
