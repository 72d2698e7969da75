"""What budgets and caps should be, in exact fractions: a second account of 2-privacy §§2, 3, to compare with."""

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal

from shared.privacy.amounts import NANO_PER_UNIT, AccountKind

Outcome = Literal[
    "again", "released", "not-found", "no-records", "version-gone", "conflict", "invalid-plan", "invalid-request",
    "budget-exhausted", "cap-exhausted",
]  # fmt: skip
Loss = tuple[Fraction, Fraction, Fraction]
"""ε and δ; or ρ."""
NOTHING: Loss = (Fraction(0), Fraction(0), Fraction(0))


def in_sum(epsilon: str | Fraction, delta: str | Fraction = "0") -> Loss:
    """A loss in ε and δ."""
    return Fraction(epsilon), Fraction(delta), Fraction(0)


def in_rho(rho: str | Fraction) -> Loss:
    """A loss in ρ."""
    return Fraction(0), Fraction(0), Fraction(rho)


def pure_rho(epsilon: Fraction) -> Fraction:
    """ε²/2, rounded up to 10⁻⁹."""
    return Fraction(math.ceil(epsilon**2 / 2 * NANO_PER_UNIT), NANO_PER_UNIT)


@dataclass(frozen=True)
class Purse:
    """A limit, what was spent of it, and until when it holds."""

    limit: Loss = NOTHING
    spent: Loss = NOTHING
    expires: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether there is a limit in force: else nothing is answered, not even for nothing."""
        return (self.limit[0] > 0 or self.limit[2] > 0) and (self.expires is None or self.expires > now)

    def affords(self, loss: Loss, now: datetime) -> bool:
        """Whether a loss fits."""
        fits = all(one + more <= most for one, more, most in zip(self.spent, loss, self.limit, strict=True) if more)
        return self.is_open(now) and fits

    def charged(self, loss: Loss) -> "Purse":
        """The purse after a loss."""
        return replace(self, spent=added(self.spent, loss))


def added(one: Loss, other: Loss) -> Loss:
    """Two losses together."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@dataclass
class ModelDataset:
    """A dataset: whose people it is about, the current version of its records, and the last there was."""

    population: str
    version: int | None = None
    version_last: int = 0
    retired: bool = False


@dataclass
class ModelWatch:
    """A watch: whose verdict of what, which version waits for it, and what it said of which."""

    auditor: str
    dataset: str
    changes: bool
    pending: int | None
    answers: dict[int, bool] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether it has said its last."""
        return True in self.answers.values()


@dataclass(frozen=True)
class Question:
    """A plan, a training or a watch as far as it matters here: who asks what, and which release it refines."""

    auditor: str
    dataset: str
    version: int
    content: str
    refines: str | None = None


@dataclass
class Model:
    """All purses, and every question that was answered, with the id of its answer."""

    caps: dict[str, Purse] = field(default_factory=dict)
    kinds: dict[str, AccountKind] = field(default_factory=dict)
    watches: dict[str, ModelWatch] = field(default_factory=dict)
    purses: dict[tuple[str, str], Purse] = field(default_factory=dict)
    datasets: dict[str, ModelDataset] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    answered: dict[Question, tuple[str, bytes]] = field(default_factory=dict)
    charged: Loss = NOTHING

    def resolved(self, population: str) -> str:
        """The population that another became part of."""
        while population in self.merged:
            population = self.merged[population]
        return population

    def kind_of(self, name: str) -> AccountKind:
        """What the account of a dataset's people adds up."""
        return self.kinds[self.datasets[name].population]

    def declare(self, name: str, population: str, cap: Loss, kind: AccountKind) -> bool:
        """Declare a dataset; whether that is allowed."""
        population = self.resolved(population)
        dataset = self.datasets.get(name)
        if dataset is not None and dataset.population != population:
            return False
        if self.kinds.get(population, kind) != kind and not self.may_change_kind(population):
            return False
        self.kinds[population] = kind
        self.caps[population] = replace(self.caps.get(population, Purse()), limit=cap)
        if dataset is None:
            self.datasets[name] = ModelDataset(population)
        else:
            dataset.retired = False
        return True

    def may_change_kind(self, population: str) -> bool:
        """Whether nothing was charged or answered about some people, and no budget is in force."""
        answered = any(self.datasets[question.dataset].population == population for question in self.answered)
        granted = any(purse.limit != NOTHING for (name, _), purse in self.purses.items() if name == population)
        return not answered and self.caps[population].spent == NOTHING and not granted

    def grant(
        self, name: str, auditor: str, limit: Loss, kind: AccountKind, expires: datetime | None, *, now: datetime
    ) -> Outcome | None:
        """Give an auditor a limit; why not, if that is refused."""
        if not self.is_offered(name):
            return "not-found"
        if limit != NOTHING and kind != self.kind_of(name):
            return "invalid-request"
        if limit != NOTHING and expires is not None and expires <= now:
            return "invalid-request"
        account = self.datasets[name].population, auditor
        self.purses[account] = replace(self.purses.get(account, Purse()), limit=limit, expires=expires)
        return None

    def is_offered(self, name: str) -> bool:
        """Whether a dataset is declared and not retired."""
        return name in self.datasets and not self.datasets[name].retired

    def outcome(self, question: Question | None, name: str, auditor: str, loss: Loss | None, now: datetime) -> Outcome:
        """What asking comes to; a question is None where there are no records, a loss where it has none."""
        if name not in self.datasets:
            return "not-found"
        if question is None:
            return "no-records"
        if question in self.answered:
            return "again"
        if question.refines is not None:
            refined = next(one for one, (identity, _) in self.answered.items() if identity == question.refines)
            if refined.version != question.version:
                return "version-gone"
            if any(one.refines == question.refines for one in self.answered):
                return "conflict"
        if loss is None:
            return "invalid-plan"
        population = self.datasets[name].population
        if not self.purses.get((population, auditor), Purse()).affords(loss, now):
            return "budget-exhausted"
        return "released" if self.caps[population].affords(loss, now) else "cap-exhausted"

    def charge(self, question: Question, loss: Loss, identity: str, body: bytes) -> None:
        """Enter an answer and its loss."""
        population = self.datasets[question.dataset].population
        account = population, question.auditor
        self.purses[account] = self.purses[account].charged(loss)
        self.caps[population] = self.caps[population].charged(loss)
        self.charged = added(self.charged, loss)
        self.answered[question] = identity, body

    def load(self, name: str) -> None:
        """New records, which all watches about them are to answer that have not said their last."""
        dataset = self.datasets[name]
        dataset.version_last += 1
        dataset.version = dataset.version_last
        for watch in self.watches.values():
            if watch.dataset == name and not watch.changed:
                watch.pending = dataset.version

    def answer(self, watch: ModelWatch, now: datetime) -> None:
        """What waits is answered for nothing; or passed over, where it is gone or a limit is not in force."""
        version, watch.pending = watch.pending, None
        population = self.datasets[watch.dataset].population
        purse = self.purses.get((population, watch.auditor), Purse())
        current = version is not None and version == self.datasets[watch.dataset].version
        if version is not None and current and purse.is_open(now) and self.caps[population].is_open(now):
            watch.answers[version] = watch.changes

    def merge(self, into: str, source: str) -> bool:
        """Join a population to another; whether that is allowed."""
        known = into in self.caps and source in self.caps
        if not known or into == source or into in self.merged or source in self.merged:
            return False
        if self.kinds[into] != self.kinds[source]:
            return False
        self.caps[into] = self.caps[into].charged(self.caps[source].spent)
        for (population, auditor), other in list(self.purses.items()):
            if population == source:
                own = self.purses.get((into, auditor), Purse())
                expiries = [each for each in (own.expires, other.expires) if each is not None]
                self.purses[into, auditor] = Purse(
                    (
                        max(own.limit[0], other.limit[0]),
                        max(own.limit[1], other.limit[1]),
                        max(own.limit[2], other.limit[2]),
                    ),
                    own.charged(other.spent).spent,
                    min(expiries, default=None),
                )
        self.merged[source] = into
        for dataset in self.datasets.values():
            if dataset.population == source:
                dataset.population = into
        return True
