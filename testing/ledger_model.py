"""What budgets and caps should be, in exact fractions: a second account of 2-privacy §§2, 3, to compare with."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal

Outcome = Literal["again", "released", "not-found", "no-records", "budget-exhausted", "cap-exhausted"]
Loss = tuple[Fraction, Fraction]
"""ε and δ."""
NOTHING: Loss = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Purse:
    """A limit, what was spent of it, and until when it holds."""

    limit: Loss = NOTHING
    spent: Loss = NOTHING
    expires: datetime | None = None

    def left(self, now: datetime) -> Loss:
        """What may still be spent."""
        if self.expires is not None and self.expires <= now:
            return NOTHING
        return max(self.limit[0] - self.spent[0], Fraction(0)), max(self.limit[1] - self.spent[1], Fraction(0))

    def affords(self, loss: Loss, now: datetime) -> bool:
        """Whether a loss fits."""
        left = self.left(now)
        return loss[0] <= left[0] and loss[1] <= left[1]

    def charged(self, loss: Loss) -> "Purse":
        """The purse after a loss."""
        return replace(self, spent=(self.spent[0] + loss[0], self.spent[1] + loss[1]))


@dataclass
class ModelDataset:
    """A dataset: whose people it is about, the current version of its records, and the last there was."""

    population: str
    version: int | None = None
    version_last: int = 0
    retired: bool = False


@dataclass(frozen=True)
class Question:
    """A plan or a training as far as it matters here: who asks what, at which price."""

    auditor: str
    dataset: str
    version: int
    content: str


@dataclass
class Model:
    """All purses, and every question that was answered."""

    caps: dict[str, Purse] = field(default_factory=dict)
    purses: dict[tuple[str, str], Purse] = field(default_factory=dict)
    datasets: dict[str, ModelDataset] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    answered: dict[Question, bytes] = field(default_factory=dict)
    charged: Loss = NOTHING

    def resolved(self, population: str) -> str:
        """The population that another became part of."""
        while population in self.merged:
            population = self.merged[population]
        return population

    def declare(self, name: str, population: str, cap: Loss) -> bool:
        """Declare a dataset; whether that is allowed."""
        population = self.resolved(population)
        dataset = self.datasets.get(name)
        if dataset is not None and dataset.population != population:
            return False
        self.caps[population] = replace(self.caps.get(population, Purse()), limit=cap)
        if dataset is None:
            self.datasets[name] = ModelDataset(population)
        else:
            dataset.retired = False
        return True

    def grant(self, name: str, auditor: str, limit: Loss, expires: datetime | None) -> bool:
        """Give an auditor a limit; whether there is such a dataset."""
        if not self.is_offered(name):
            return False
        account = self.datasets[name].population, auditor
        self.purses[account] = replace(self.purses.get(account, Purse()), limit=limit, expires=expires)
        return True

    def is_offered(self, name: str) -> bool:
        """Whether a dataset is declared and not retired."""
        return name in self.datasets and not self.datasets[name].retired

    def outcome(self, question: Question | None, name: str, auditor: str, loss: Loss, now: datetime) -> Outcome:
        """What asking comes to; a question is None where there are no records to ask about."""
        if name not in self.datasets:
            return "not-found"
        if question is None:
            return "no-records"
        if question in self.answered:
            return "again"
        population = self.datasets[name].population
        if not self.purses.get((population, auditor), Purse()).affords(loss, now):
            return "budget-exhausted"
        return "released" if self.caps[population].affords(loss, now) else "cap-exhausted"

    def charge(self, question: Question, loss: Loss, body: bytes) -> None:
        """Enter an answer and its loss."""
        population = self.datasets[question.dataset].population
        account = population, question.auditor
        self.purses[account] = self.purses[account].charged(loss)
        self.caps[population] = self.caps[population].charged(loss)
        self.charged = self.charged[0] + loss[0], self.charged[1] + loss[1]
        self.answered[question] = body

    def merge(self, into: str, source: str) -> bool:
        """Join a population to another; whether that is allowed."""
        known = into in self.caps and source in self.caps
        if not known or into == source or into in self.merged or source in self.merged:
            return False
        self.caps[into] = self.caps[into].charged(self.caps[source].spent)
        for (population, auditor), other in list(self.purses.items()):
            if population == source:
                own = self.purses.get((into, auditor), Purse())
                expiries = [each for each in (own.expires, other.expires) if each is not None]
                self.purses[into, auditor] = Purse(
                    (max(own.limit[0], other.limit[0]), max(own.limit[1], other.limit[1])),
                    own.charged(other.spent).spent,
                    min(expiries, default=None),
                )
        self.merged[source] = into
        for dataset in self.datasets.values():
            if dataset.population == source:
                dataset.population = into
        return True
