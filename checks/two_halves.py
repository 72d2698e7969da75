"""Attack one holder's half of a register, and compare the law of joined answers with that of summed noise.

`python -m checks.two_halves --trials 20000 --draws 400000`

*Attacks.* Whoever has one holder's disk, memory and log, and everything that an auditor got, guesses the group of each
of many people who are alone in a cell. Real files are split, loaded, counted and given noise by the holder's code. "At
most" is what the other holder's noise alone allows: e^ε/(1 + e^ε). In every further row a fault is planted, and the
same attacks have to find it. *Law.* Joined answers are compared by a chi-squared test with the exact mass of a sum of
two noises; with one noise alone the test has to fail. Ends with 1 where a row is not as it should be.
"""

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.stats import binom, chisquare

from checks.attacks.people import accuracy_bound
from holder_service.mechanisms.base import Mechanism, noisy_words
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, encode_records
from holder_service.records.formats import Upload
from holder_service.records.shares import PARQUET, SeededWords
from holder_service.records.splitting import split_register
from shared.contract.rules import Cell
from shared.contract.schema import Column, Schema
from shared.contract.shares import MODULUS, ShareParty, joined_count
from shared.privacy.amounts import NANO_PER_UNIT, Loss

FALSE_ALARM: Final = 1e-6
PEOPLE: Final = 500
EPSILON: Final = 0.5
LAW_EPSILON: Final = 0.8
_REACH: Final = 400
"""Noise beyond so many people is not drawn in this universe at these ε."""

Words = npt.NDArray[np.uint64]


def schema_of(party: int) -> Schema:
    """People of whom each is alone in a cell, and their group, which one half hides."""
    return Schema(
        person_key="id",
        columns=(
            Column(name="number", type="integer", minimum=0, maximum=PEOPLE - 1),
            Column(name="group", type="boolean", sensitive=True),
        ),
        shares=ShareParty.model_validate({"party": party}),
    )


CELLS: Final = [
    Cell.model_validate({"id": f"number-{number}", "all_of": [{"column": "number", "op": "eq", "value": number}]})
    for number in range(PEOPLE)
]


@dataclass(frozen=True, slots=True)
class SharedRegister:
    """A register as two holders have it, and what they answered.

    Attributes:
        groups: Of each person whether they are of the first group, which is counted.
        words: Each party's words of the first group, on its disk, shape (2, people).
        answers: What each party answered about each person's cell, as its release says it.
    """

    groups: list[bool]
    words: tuple[Words, Words]
    answers: tuple[list[str], list[str]]


def shared_register(
    folder: Path, groups: Sequence[bool], epsilon: float, *, noisy: tuple[bool, bool] = (True, True)
) -> SharedRegister:
    """Split a register, load each half, and have each holder answer about every person's cell.

    Args:
        folder: An empty folder.
        groups: Of each person whether they are of the first group.
        epsilon: That each holder charges.
        noisy: Which holders add noise, as both have to.
    """
    register, halves = folder / "register.csv", (folder / "a.parquet", folder / "b.parquet")
    # A half is sorted by its keys, so these are of one length: person, row and cell have one number.
    lines = [f"p{number:06},{number},{'false' if first else 'true'}" for number, first in enumerate(groups)]
    register.write_text("\n".join(["id,number,group", *lines]))
    split_register(Upload(register, "text/csv"), schema_of(1), *halves, records_max=PEOPLE)
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=round(epsilon * NANO_PER_UNIT), sensitivity=1)
    words, answers = [], []
    for party, half in enumerate(halves, start=1):
        encoded = folder / f"encoded-{party}"
        encode_records(Upload(half, PARQUET), schema_of(party), PEOPLE, encoded)
        records = Records.open(encoded, schema_of(party))
        counted = count_cells(records, CELLS, [list(range(PEOPLE))], ["group"]).reveal_to_mechanism()[:, 0].tolist()
        answers.append(noisy_words(mechanism, counted) if noisy[party - 1] else [str(one % MODULUS) for one in counted])
        words.append(np.concatenate([_own_words(chunk)[:, 0] for chunk in records.chunks]))
    return SharedRegister(list(groups), (words[0], words[1]), (answers[0], answers[1]))


def _own_words(chunk: Any) -> Words:
    words: Words = chunk.words()
    return words


def by_answers(found: SharedRegister, own: int) -> list[bool]:
    """Guess from a disk and the transcript: the other's answer and the own words, which are exact, leave its noise.

    A count of 1 is e^ε times likelier than 0 behind a noisy 1 or more, and as much less likely behind 0 or less: no
    guess is better.
    """
    words, others = found.words[own].tolist(), found.answers[1 - own]
    return [joined_count(str(word), other) >= 1 for word, other in zip(words, others, strict=True)]


def by_lowest_bit(found: SharedRegister, own: int) -> list[bool]:
    """Guess from a disk alone: a word that is even where the other's was made so, and odd in the person's group."""
    return [word % 2 == 1 for word in found.words[own].tolist()]


def by_comparison(first: SharedRegister, second: SharedRegister, own: int) -> list[bool]:
    """Guess from two splits on a disk who changed their group between them: whose words differ."""
    both = zip(first.words[own].tolist(), second.words[own].tolist(), strict=True)
    return [one != other for one, other in both]


@dataclass(frozen=True, slots=True)
class Attacked:
    """What one attack got.

    Attributes:
        name: What was done, by whom.
        right: How many guesses were right, where the person was of the second group, and where of the first.
        trials: How many there were in each direction.
        at_most: The largest probability of a right guess that is admitted.
        planted: Whether a fault is planted, which has to be found.
    """

    name: str
    right: tuple[int, int]
    trials: tuple[int, int]
    at_most: float
    planted: bool

    @property
    def accuracy(self) -> float:
        """The share of right guesses, both directions alike."""
        return sum(right / trials for right, trials in zip(self.right, self.trials, strict=True)) / 2

    @property
    def exceeds(self) -> bool:
        """Whether more were right than the bound admits; by chance once in a million runs at most."""
        return bool(binom.sf(sum(self.right) - 1, sum(self.trials), self.at_most) < FALSE_ALARM)

    @property
    def as_it_should_be(self) -> bool:
        """Whether the bound holds, or the planted fault was found."""
        return self.exceeds == self.planted


def attacked(
    name: str, guesses: Iterator[tuple[Sequence[bool], Sequence[bool]]], at_most: float, *, planted: bool
) -> Attacked:
    """Compare guesses with what was to be guessed."""
    right, trials = [0, 0], [0, 0]
    for guessed, true in guesses:
        for guess, truth in zip(guessed, true, strict=True):
            trials[truth] += 1
            right[truth] += guess == truth
    return Attacked(name, (right[0], right[1]), (trials[0], trials[1]), at_most, planted)


def attacks(trials: int) -> Iterator[Attacked]:
    """Every attack of each party, without a fault and with each that is planted.

    Args:
        trials: In each direction, rounded up to registers of 250 people a direction.
    """
    rounds, bound = math.ceil(2 * trials / PEOPLE), accuracy_bound(EPSILON)
    for own in (0, 1):
        party = f"party {own + 1}"
        found = [_drawn() for _ in range(rounds)]
        again = [_drawn(_changed(one.groups)) for one in found]
        yield attacked(
            f"{party}, disk and transcript", ((by_answers(one, own), one.groups) for one in found), bound, planted=False
        )
        yield attacked(f"{party}, disk", ((by_lowest_bit(one, own), one.groups) for one in found), 0.5, planted=False)
        yield attacked(f"{party}, two splits", _compared(found, again, own), 0.5, planted=False)
    few = range(max(rounds // 10, 1))
    for own in (0, 1):
        lying = [_drawn(noisy=(own == 0, own == 1)) for _ in few]
        yield attacked(
            f"only party {own + 1} adds noise",
            ((by_answers(one, own), one.groups) for one in lying),
            bound,
            planted=True,
        )
    with same_seed():
        found = [_drawn() for _ in few]
        again = [_drawn(_changed(one.groups)) for one in found]
    yield attacked("one seed for two splits", _compared(found, again, 1), 0.5, planted=True)
    with even_words():
        found = [_drawn() for _ in few]
    yield attacked(
        "words that are always even", ((by_lowest_bit(one, 1), one.groups) for one in found), 0.5, planted=True
    )


def _drawn(groups: Sequence[bool] | None = None, *, noisy: tuple[bool, bool] = (True, True)) -> SharedRegister:
    """A register of which half of the people are of each group, in random order, split and asked about."""
    if groups is None:
        groups = [number < PEOPLE // 2 for number in range(PEOPLE)]
        random.shuffle(groups)
    with tempfile.TemporaryDirectory() as folder:
        return shared_register(Path(folder), groups, EPSILON, noisy=noisy)


def _changed(groups: Sequence[bool]) -> list[bool]:
    """The groups after half of the people changed theirs."""
    changed = set(random.sample(range(PEOPLE), PEOPLE // 2))
    return [group != (number in changed) for number, group in enumerate(groups)]


def _compared(
    first: Sequence[SharedRegister], second: Sequence[SharedRegister], own: int
) -> Iterator[tuple[Sequence[bool], Sequence[bool]]]:
    for one, other in zip(first, second, strict=True):
        changed = [before != after for before, after in zip(one.groups, other.groups, strict=True)]
        yield by_comparison(one, other, own), changed


@contextmanager
def same_seed() -> Iterator[None]:
    """Plant: every split uses one seed."""
    with patch("holder_service.records.splitting.secrets.token_bytes", lambda size: bytes(range(size))):
        yield


@contextmanager
def even_words() -> Iterator[None]:
    """Plant: the words of party 1 are even, everywhere that they are computed."""
    of = SeededWords.of

    def even(self: SeededWords, first: int, people: int) -> Words:
        return of(self, first, people) & np.uint64(MODULUS - 2)

    with patch.object(SeededWords, "of", even):
        yield


@dataclass(frozen=True, slots=True)
class Compared:
    """Drawn answers beside a law.

    Attributes:
        name: What was drawn.
        p_value: Of the chi-squared test.
        planted: Whether it was drawn with a fault, which the test has to find.
    """

    name: str
    p_value: float
    planted: bool

    @property
    def as_it_should_be(self) -> bool:
        """Whether the law is the stated one, or the fault was found; by chance otherwise once in a million runs."""
        return (self.p_value < FALSE_ALARM) == self.planted


def laws(draws: int) -> Iterator[Compared]:
    """Joined answers of two holders beside the sum of two noises; and two planted faults beside it."""
    epsilon_nano = round(LAW_EPSILON * NANO_PER_UNIT)
    mechanisms: dict[str, Mechanism] = {
        "laplace": LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1),
        "gaussian": GaussianMechanism.calibrated(loss=Loss(epsilon_nano, 1000), squared_sensitivity=2),
    }
    for name, mechanism in mechanisms.items():
        mass = summed_mass(mechanism)
        yield Compared(f"{name}, two holders", _p_value(_joined(mechanism, draws), mass), planted=False)
        yield Compared(
            f"{name}, one adds no noise", _p_value(_joined(mechanism, draws, lying=True), mass), planted=True
        )
    nearly = LaplaceMechanism.calibrated(epsilon_nano=round(epsilon_nano / 1.03), sensitivity=1)
    drawn = _joined(nearly, draws)
    yield Compared("laplace, noise 3 % too wide", _p_value(drawn, summed_mass(mechanisms["laplace"])), planted=True)


def summed_mass(mechanism: Mechanism) -> npt.NDArray[np.float64]:
    """The exact mass of the sum of two noises from −2·reach to 2·reach, by its definition."""
    noise: Any = mechanism.noise
    single = np.exp(np.array([noise.log_mass(k) for k in range(-_REACH, _REACH + 1)], dtype=np.float64))
    return np.convolve(single, single)


def _joined(mechanism: Mechanism, draws: int, *, lying: bool = False) -> list[int]:
    """Errors of joined counts: each holder adds its noise to its half of a count; a lying one adds none."""
    count, half = 1000, random.randrange(MODULUS)
    first = noisy_words(mechanism, [half] * draws)
    second = [str((count - half) % MODULUS)] * draws if lying else noisy_words(mechanism, [count - half] * draws)
    return [joined_count(one, other) - count for one, other in zip(first, second, strict=True)]


def _p_value(errors: Sequence[int], mass: npt.NDArray[np.float64]) -> float:
    """Of the chi-squared test, with tails gathered so that every class expects at least ten draws."""
    expected = mass * len(errors)
    inner = np.flatnonzero(expected >= 10)
    first, last = int(inner[0]), int(inner[-1])
    indices = np.clip(np.array(errors) + len(mass) // 2, first - 1, last + 1) - (first - 1)
    seen = np.bincount(indices, minlength=last - first + 3)
    classes = [expected[:first].sum(), *expected[first : last + 1], expected[last + 1 :].sum()]
    return float(chisquare(seen, np.array(classes) * len(errors) / sum(classes)).pvalue)


def main() -> int:
    """Print both tables; gives the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=20_000, help="guesses in each direction")
    options.add_argument("--draws", type=int, default=400_000, help="answers whose law is compared")
    given = options.parse_args()
    console = Console(width=120)
    guesses = Table("attack", "guesses", "right", "at most", "as it should be", title=f"Two halves, ε {EPSILON}")
    found = list(attacks(given.trials))
    for one in found:
        at_most = "fault" if one.planted else f"{one.at_most:.4f}"
        guesses.add_row(one.name, f"{sum(one.trials):,}", f"{one.accuracy:.4f}", at_most, _yes(one.as_it_should_be))
    console.print(guesses)
    law = Table("answers", "drawn", "p", "as it should be", title=f"Law of {given.draws:,} answers, ε {LAW_EPSILON}")
    compared = list(laws(given.draws))
    for answers in compared:
        drawn = "with a fault" if answers.planted else ""
        law.add_row(answers.name, drawn, f"{answers.p_value:.2g}", _yes(answers.as_it_should_be))
    console.print(law)
    outcomes = [*(one.as_it_should_be for one in found), *(answers.as_it_should_be for answers in compared)]
    return int(not all(outcomes))


def _yes(fine: bool) -> str:
    return "yes" if fine else "NO"


if __name__ == "__main__":
    sys.exit(main())
