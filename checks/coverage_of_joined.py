"""People who were asked about several times, and what the answers say together (ADR 0038).

Part of `checks.coverage`. By turns the whole ε is shared out over two draws of one question, over four, over answers of
both mechanisms at a quarter and at three quarters of it, and over an answer about all rules and one about the accepted
and the refused alone. Where they are draws of one question, noise is Laplace's and Gaussian by turns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from auditor_client.estimation.measurements import ComplementKind, IntArray
from auditor_client.estimation.totals import CountedTotals
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import AdditiveNoise
from testing.invented.registers import Register
from testing.many_releases import AdditiveMechanism, additive, released_totals

KINDS: Final = 4
LAPLACE: Final = 0
GAUSSIAN: Final = 1
"""What `testing.many_releases.additive` makes of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One of several questions about the same people: the true counts of its cells, and what adds noise to them."""

    parts: tuple[IntArray, IntArray]
    complement_is: ComplementKind
    mechanism: AdditiveMechanism

    @classmethod
    def of(cls, register: Register, epsilon_nano: int, kind: int) -> "Asked":
        """A question that spends so much, by the register's strategy, with one kind of noise."""
        nano = epsilon_nano // (2 if register.strategy == "pafer" else 1)
        return cls(register.parts(), register.complement_is, additive(kind, nano))


def questions(register: Register, seed: int) -> list[Asked]:
    """Several questions about a register's people that together cost its ε."""
    whole, kind, noise = parse_nano(register.epsilon), seed % KINDS, seed // KINDS
    if kind < 2:
        number = 2 + 2 * kind
        return [Asked.of(register, whole // number, noise)] * number
    if kind == 2:
        return [Asked.of(register, whole // 4, LAPLACE), Asked.of(register, whole * 3 // 4, GAUSSIAN)]
    by = (replace(register, strategy=strategy) for strategy in ("rules", "verdict"))
    return [Asked.of(one, whole // 2, noise) for one in by]


def joined_releases(
    asked: Sequence[Asked], runs: int, supposed: Callable[[AdditiveMechanism], AdditiveNoise]
) -> Iterator[CountedTotals]:
    """What some questions' answers say together, some releases of each at once; `supposed` is what estimators hear."""
    answers = (
        released_totals(one.parts, one.mechanism, runs, noise=supposed(one.mechanism), complement_is=one.complement_is)
        for one in asked
    )
    for first, *others in zip(*answers, strict=True):
        yield first.joined(others)
