"""The runs of the comparison, in chunks that are kept: by data set, ε and ten runs, or without privacy."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import pandas as pd

from benchmarks.reproduction.chunks import Clock
from benchmarks.reproduction.fair_models import as_published, without_privacy
from benchmarks.reproduction.fair_models.peers import NAMES, peers_scores
from benchmarks.reproduction.fair_models.rivals import Rival, Row, own_rows
from benchmarks.reproduction.fair_models.splits import FAVOURED, WITH_OWN_TEST_FILE, split
from benchmarks.reproduction.published import SENSITIVE, Sensitive
from benchmarks.trained_models import FIVE, Parts, train
from holder_service.learning.coordinates import Coordinates
from shared.kinds.trainings import TrainedScore, TrainedTree

SEED: Final = 20_190_513
DATASETS: Final = ("adult", "compas", "german")
EPSILONS: Final = ("0.1", "0.3", "1", "3", "10")
QUICK_EPSILONS: Final = ("0.1", "1")
SEEDS: Final = 50
QUICK_SEEDS: Final = 3
RUNS_OF_CHUNK: Final = 10
WITHOUT_PRIVACY: Final = "–"
OURS: Final = ("fair_tree", "fair_linear")
AS_PUBLISHED: Final = ", as published"
CORRECTED: Final = ", corrected"
SOURCES: Final = tuple(
    f"{name}{kind}" for name in ("private_fair_tree", "pflr", "pflr_star") for kind in (AS_PUBLISHED, CORRECTED)
)
RIVALS: Final = (*SOURCES, *NAMES)
"""What is compared with ours at the same ε."""


@dataclass(frozen=True, slots=True)
class FairModelRuns:
    """All learners at one ε on one data set: a chunk.

    Attributes:
        dataset: Its name.
        epsilon: As a decimal string, or `WITHOUT_PRIVACY`.
        first: The number of the first run, from 1.
        runs: How many.
    """

    dataset: str
    epsilon: str
    first: int
    runs: int

    @property
    def name(self) -> str:
        """Of the file."""
        epsilon = "none" if self.epsilon == WITHOUT_PRIVACY else self.epsilon
        return f"{self.dataset}.epsilon-{epsilon}.runs-{self.first}-{self.first + self.runs - 1}.seed-{SEED}"

    @property
    def estimates(self) -> int:
        """How many models are learned."""
        of_groups = len(OURS) * len(SENSITIVE) + 4 * sum(len(one) == 1 for one in SENSITIVE)
        return self.runs * (3 if self.epsilon == WITHOUT_PRIVACY else of_groups + 2 + len(NAMES))

    def rows(self) -> pd.DataFrame:
        """One row for each run, learner, choice of groups and step."""
        clock = Clock()
        with parts_of_runs(self.dataset, range(self.first, self.first + self.runs)) as parts:
            made = self._without_privacy(parts) if self.epsilon == WITHOUT_PRIVACY else self._private(parts)
            rows = pd.DataFrame({**row, "run": run} for run, row in made)
        rows = rows.assign(dataset=self.dataset, epsilon=self.epsilon, **clock.columns(len(rows)))
        return rows.reindex(columns=[*rows.columns.drop(["wanted", "none"], errors="ignore"), "wanted", "none"])

    def _without_privacy(self, runs: Mapping[int, Parts]) -> Iterator[tuple[int, Row]]:
        names = FIVE[self.dataset]
        for run, parts in runs.items():
            for rival in without_privacy.rivals(parts, names, run):
                for sensitive in SENSITIVE:
                    yield from ((run, row) for row in rival.rows(parts, sensitive))
            for sensitive in SENSITIVE:
                yield run, without_privacy.constant_row(parts, sensitive)
                yield run, without_privacy.two_scores_row(parts, names, sensitive)

    def _private(self, runs: Mapping[int, Parts]) -> Iterator[tuple[int, Row]]:
        names = FIVE[self.dataset]
        of_peers = peers_scores(runs, names, float(self.epsilon))
        for run, parts in runs.items():
            generator = np.random.default_rng([SEED, crc32(f"{self.dataset} {self.epsilon}".encode()), run])
            trees = list(self._trees(parts, names, generator))
            peers = [Rival(peer, *of_peers[peer, run], np.nextafter(0.5, 1)) for peer in NAMES]
            for sensitive in SENSITIVE:
                for name in OURS:
                    model, counts = train(parts, parts.training({"name": name}, names, self.epsilon, sensitive))
                    if not isinstance(model, TrainedTree) or counts is None:
                        raise TypeError(f"{name} gives leaves with counts.")
                    yield from ((run, row) for row in own_rows(name, model, counts, parts, sensitive))
                scores = self._scores(parts, names, sensitive, generator) if len(sensitive) == 1 else ()
                for rival in (*trees, *scores, *peers):
                    yield from ((run, row) for row in rival.rows(parts, sensitive))

    def _trees(self, parts: Parts, names: Sequence[str], generator: np.random.Generator) -> Iterator[Rival]:
        """The published tree; it reads no groups."""
        training = parts.training({"name": "private_fair_tree"}, names, self.epsilon, SENSITIVE[0])
        published = as_published.tree(parts.train, parts.schema, training, generator)
        yield Rival.of_tree(f"private_fair_tree{AS_PUBLISHED}", published, parts)
        corrected, _ = train(parts, training)
        if not isinstance(corrected, TrainedTree):
            raise TypeError("private_fair_tree gives a tree.")
        yield Rival.of_tree(f"private_fair_tree{CORRECTED}", corrected, parts)

    def _scores(
        self, parts: Parts, names: Sequence[str], sensitive: Sensitive, generator: np.random.Generator
    ) -> Iterator[Rival]:
        """PFLR and PFLR*, which know two groups alone."""
        favoured = FAVOURED[self.dataset, sensitive[0]]
        for name, more in (("pflr", {}), ("pflr_star", {"lowered": favoured})):
            algorithm: dict[str, Any] = {"name": name, **more}
            training = parts.training(algorithm, names, self.epsilon, sensitive)
            weights = as_published.pflr_weights(parts, training, favoured, generator)
            coordinates = Coordinates.of(training, parts.schema)
            of_train, of_test = (as_published.vectors(one, coordinates) @ weights for one in (parts.train, parts.test))
            yield Rival(f"{name}{AS_PUBLISHED}", of_train, of_test, 0.0)
            model, _ = train(parts, training)
            if not isinstance(model, TrainedScore):
                raise TypeError(f"{name} gives a score.")
            yield Rival(f"{name}{CORRECTED}", parts.train.scores(model), parts.test.scores(model), model.at_least)


@contextmanager
def parts_of_runs(dataset: str, runs: Sequence[int]) -> Iterator[dict[int, Parts]]:
    """The parts of each run, encoded; one object where they are the same for all."""
    with tempfile.TemporaryDirectory() as name:
        if dataset in WITH_OWN_TEST_FILE:
            same = Parts.of(split(dataset, runs[0]), Path(name) / "home")
            yield dict.fromkeys(runs, same)
        else:
            yield {run: Parts.of(split(dataset, run), Path(name) / f"home-{run}") for run in runs}


def seeds_of(*, quick: bool) -> int:
    """How many runs, unless another number is asked for."""
    return QUICK_SEEDS if quick else SEEDS


def chunks(*, seeds: int, quick: bool) -> list[FairModelRuns]:
    """The whole comparison; Adult's figures without privacy are the same in every run, and made once."""
    found = [
        FairModelRuns(dataset, epsilon, first, min(RUNS_OF_CHUNK, runs + 1 - first))
        for dataset in DATASETS
        for epsilon in (WITHOUT_PRIVACY, *(QUICK_EPSILONS if quick else EPSILONS))
        for runs in (1 if epsilon == WITHOUT_PRIVACY and dataset in WITH_OWN_TEST_FILE else seeds,)
        for first in range(1, runs + 1, RUNS_OF_CHUNK)
    ]
    # The first runs of everything come first, so that a run with fewer seeds is a part of one with more.
    return sorted(found, key=lambda chunk: chunk.first)
