"""Invented registers as true histograms of a tree's rules: small and large groups, rates from nobody to everybody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import COUNT_MAX, ComplementKind, IntArray, SizeBounds
from auditor_client.estimation.size_rule import TWO_PERCENT, SizeRule
from auditor_client.estimation.totals import KnownTotals
from shared.privacy.amounts import parse_nano
from testing.truths import true_parity

JUDGED_GROUPS_MAX: Final = 16
JUDGED_KINDS: Final = 4
EPSILONS: Final = ("0.05", "0.1", "0.15", "0.25", "0.5")


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """True histograms of a tree's rules.

    Attributes:
        favourable: Shape (R, K), in people.
        unfavourable: Shape (R', K), in people.
        rates: The population's rates that the people were drawn with, shape (K,).
        epsilon: What each release costs.
        strategy: "verdict", "rules" or "pafer".
    """

    favourable: IntArray
    unfavourable: IntArray
    rates: NDArray[np.float64]
    epsilon: str
    strategy: str

    @classmethod
    def invented(cls, seed: int, *, groups_max: int = 8, people_min: int = 5, rules_max: int = 4) -> "Register":
        """A register of its own for each seed."""
        rng = np.random.default_rng(seed)
        groups = int(rng.integers(2, groups_max + 1))
        sizes = np.exp(rng.uniform(np.log(people_min), np.log(5_000), groups)).astype(np.int64)
        # Half of the registers have rates near each other, half have extreme ones.
        spread = rng.choice([0.4, 20.0])
        middle = rng.uniform(0.1, 0.9)
        rates = rng.beta(spread * middle, spread * (1 - middle), groups)
        accepted = rng.binomial(sizes, rates)
        if not accepted.any():
            accepted[sizes.argmax()] = sizes.max() // 2
        favourable, unfavourable = (int(rng.integers(1, rules_max + 1)) for _ in range(2))
        return cls(
            _in_rules(accepted, favourable, rng),
            _in_rules(sizes - accepted, unfavourable, rng),
            rates,
            str(rng.choice(EPSILONS)),
            str(rng.choice(["verdict", "rules", "pafer"])),
        )

    @classmethod
    def alike(cls, seed: int) -> "Register":
        """Two to 16 groups of one size and one rate, which is the hardest case for an upper end of the ratio."""
        rng = np.random.default_rng(seed)
        groups, size = int(rng.integers(2, 17)), int(rng.choice([100, 500, 2_000]))
        accepted = int(size * rng.choice([0.1, 0.3, 0.5, 0.8]))
        return cls(
            np.full((1, groups), accepted),
            np.full((1, groups), size - accepted),
            np.full(groups, accepted / size),
            str(rng.choice(EPSILONS)),
            "verdict",
        )

    @property
    def accepted(self) -> IntArray:
        """Shape (K,), in people."""
        accepted: IntArray = self.favourable.sum(axis=0)
        return accepted

    @property
    def sizes(self) -> IntArray:
        """Shape (K,), in people."""
        sizes: IntArray = self.accepted + self.unfavourable.sum(axis=0)
        return sizes

    @property
    def groups(self) -> tuple[tuple[str], ...]:
        """Their names."""
        return tuple((f"group {group}",) for group in range(len(self.rates)))

    def bounds(self, seed: int, factor: float = 1.0) -> SizeBounds:
        """What may be known of the sizes beforehand: exact, or within bounds of a tenth, or of some groups alone.

        The factor makes it wrong.
        """
        rng = np.random.default_rng((seed, 2))
        sizes = np.round(factor * self.sizes).astype(np.int64)
        exact, some = seed % 3 == 0, seed % 3 == 2
        room = np.zeros_like(sizes) if exact else np.ceil(sizes / 10).astype(np.int64)
        least = np.maximum(sizes - rng.integers(0, room + 1), 0)
        known = rng.random(len(sizes)) < 0.5 if some else np.ones(len(sizes), dtype=np.bool_)
        most = np.where(known, np.maximum(least + room, sizes), COUNT_MAX)
        return SizeBounds(tuple(np.where(known, least, 0).tolist()), tuple(most.tolist()))

    def known(self, releases: int) -> KnownTotals:
        """The exact numbers of people over all groups, of so many releases."""
        people, refused = (np.full(releases, part.sum()) for part in (self.accepted, self.unfavourable))
        return KnownTotals(people, refused, len(self.sizes))

    def parity(self) -> tuple[float, float]:
        """The true ratio and difference over the groups that have people."""
        return true_parity(self.accepted / self.sizes)

    def among(self, groups: Sequence[int]) -> "Register":
        """The same about some groups, by their indices; one that is named twice is there twice."""
        index = np.array(groups, dtype=np.intp)
        return replace(
            self,
            favourable=self.favourable[:, index],
            unfavourable=self.unfavourable[:, index],
            rates=self.rates[index],
        )

    def truth(self, groups: Sequence[int]) -> tuple[float, float]:
        """The true ratio and difference of some groups that have people; NaN of fewer than two."""
        return self.among(groups).parity() if len(groups) > 1 else (np.nan, np.nan)

    def parts(self) -> tuple[IntArray, IntArray]:
        """The cells that the strategy asks, favourable and complement."""
        if self.strategy == "pafer":
            return self.favourable, self.sizes[None]
        if self.strategy == "rules":
            return self.favourable, self.unfavourable
        return self.accepted[None], self.unfavourable.sum(axis=0, keepdims=True)

    @property
    def complement_is(self) -> ComplementKind:
        """What the second part counts."""
        return "everybody" if self.strategy == "pafer" else "unfavourable"

    def epsilon_nano(self) -> int:
        """Of each batch: half of ε where there are two."""
        return parse_nano(self.epsilon) // (2 if self.strategy == "pafer" else 1)


def judged_register(seed: int) -> tuple[Register, SizeRule]:
    """A register of its own for each seed, with small groups, and how large groups have to be to be judged.

    By turns the rule is 2 %; the true size of a group, which so lies right at the cut; that of half of the groups,
    which are alike; and 30 people, with three large groups of rates near each other and thirteen of one person.
    """
    kind, register = seed % JUDGED_KINDS, Register.invented(seed, groups_max=JUDGED_GROUPS_MAX, people_min=1)
    groups = len(register.sizes)
    if kind == JUDGED_KINDS - 1:
        return _with_single_people(register, np.random.default_rng(seed)), SizeRule.of("30")
    if kind == JUDGED_KINDS - 2:
        register = register.among([group if 2 * group < groups else groups - 1 for group in range(groups)])
    return register, SizeRule.of(str(register.sizes[-1])) if kind else TWO_PERCENT


def _with_single_people(register: Register, rng: np.random.Generator) -> Register:
    """Three groups of 1 000 to 5 000 people, and thirteen of one, at the same ε and by the same strategy."""
    sizes = np.array([*rng.integers(1_000, 5_001, 3), *[1] * (JUDGED_GROUPS_MAX - 3)], dtype=np.int64)
    rates = np.clip(rng.uniform(0.2, 0.9) * rng.uniform(0.85, 1.1, len(sizes)), 0, 1)
    accepted = rng.binomial(sizes, rates)
    return replace(
        register,
        favourable=_in_rules(accepted, len(register.favourable), rng),
        unfavourable=_in_rules(sizes - accepted, len(register.unfavourable), rng),
        rates=rates,
    )


def _in_rules(people: IntArray, rules: int, rng: np.random.Generator) -> IntArray:
    """People of K groups spread over some rules, shape (R, K)."""
    shares = rng.dirichlet(np.ones(rules))
    return np.stack([rng.multinomial(of_group, shares) for of_group in people], axis=1).astype(np.int64)
