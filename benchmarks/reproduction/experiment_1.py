"""Experiment 1: the mechanisms compared on the nine analyses of the published trees (1-method §5).

40 budgets equally spaced from .01 to .5, 50 runs of each. Every estimate with a mechanism of the holder's is a
release of its own: counted, charged, signed, and verified by the client. A slip's noise is drawn without the holder,
on the counts that the holder's own counting gives.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from zlib import crc32

import numpy as np
import pandas as pd

from auditor_client.asking.question import make_question
from auditor_client.models.tree import Tree
from benchmarks.accuracy import Case, published_cases
from benchmarks.published_trees import PUBLISHED_TREES
from benchmarks.reproduction.chunks import Clock
from benchmarks.reproduction.data_sets import load
from benchmarks.reproduction.estimates import Estimates, by_posterior, by_the_paper, counts_of, laplace_noise
from benchmarks.reproduction.in_process import InProcessHolder, in_process_holder
from benchmarks.reproduction.methods import METHODS, Method
from benchmarks.reproduction.published import TABLE_5, Sensitive
from shared.kinds.releases import Release
from shared.privacy.amounts import NANO_PER_UNIT, parse_nano

SEED: Final = 20_231_213
BUDGETS: Final = tuple(round(epsilon * NANO_PER_UNIT) for epsilon in np.linspace(0.01, 0.5, 40).tolist())
"""The forty ε, in nano-units."""
TABLE_5_BUDGETS: Final = tuple(parse_nano(epsilon) for epsilon in TABLE_5)
RUNS: Final = 50
QUICK_RUNS: Final = 10


@dataclass(frozen=True, slots=True)
class Analysis:
    """A data set's published tree and the people that it decides on, by some sensitive columns."""

    dataset: str
    sensitive: Sensitive
    case: Case

    @property
    def name(self) -> str:
        """The dataset and its sensitive columns: "adult-sex-ethnicity"."""
        return "-".join((self.dataset, *self.sensitive))


def analyses() -> list[Analysis]:
    """The paper's nine.

    Raises:
        OpenDataMissing: A file of the data is not there.
    """
    asked = [(published.dataset, sensitive) for published in PUBLISHED_TREES for sensitive in published.parity]
    return [Analysis(*names, case) for names, case in zip(asked, published_cases(), strict=True)]


@dataclass(frozen=True, slots=True)
class MethodRuns:
    """A method's runs on one analysis at some budgets: a chunk."""

    analysis: Analysis
    method: Method
    budgets: tuple[int, ...]
    runs: int

    @property
    def name(self) -> str:
        """Of the file."""
        first, last = (self.budgets[index] / NANO_PER_UNIT for index in (0, -1))
        return (
            f"{self.analysis.name}.{self.method.name}.{len(self.budgets)}-budgets-{first:g}-{last:g}"
            f".{self.runs}-runs.seed-{SEED}"
        )

    @property
    def estimates(self) -> int:
        """How many estimates it makes."""
        return len(self.budgets) * self.runs

    def rows(self) -> pd.DataFrame:
        """One row for each estimate."""
        if self.method.slipped is not None:
            return pd.concat([self._drawn(epsilon_nano) for epsilon_nano in self.budgets], ignore_index=True)
        with in_process_holder(load(self.analysis.dataset)) as holder:
            return pd.concat([self._released(holder, epsilon_nano) for epsilon_nano in self.budgets], ignore_index=True)

    def _released(self, holder: InProcessHolder, epsilon_nano: int) -> pd.DataFrame:
        clock = Clock()
        releases = list(self._releases(holder, epsilon_nano))
        first, second = (np.stack([counts_of(release.batches[index]) for release in releases]) for index in (0, -1))
        if self.method.posterior:
            estimates = by_posterior(first[:, 0], first[:, 1], laplace_noise(releases[0].batches[0]))
        else:
            estimates = by_the_paper(first, second, self.analysis.case)
        return self._table(epsilon_nano, estimates, clock)

    def _releases(self, holder: InProcessHolder, epsilon_nano: int) -> Iterator[Release]:
        request = self.method.request(self.analysis.sensitive, epsilon_nano, people=int(self.analysis.case.sizes.sum()))
        plan = make_question(_tree(self.analysis.dataset), holder.dataset, request).plan
        priced = holder.quote(plan)  # the price is the same for every draw
        for draw in range(1, self.runs + 1):
            yield holder.ask(replace(priced, request=plan.model_copy(update={"draw": draw})))

    def _drawn(self, epsilon_nano: int) -> pd.DataFrame:
        if self.method.slipped is None:
            raise ValueError(f"{self.method.name} is the holder's to draw.")
        clock = Clock()
        case, half = self.analysis.case, epsilon_nano / NANO_PER_UNIT / 2
        generator = np.random.default_rng([SEED, crc32(self.name.encode()), epsilon_nano])
        everybody, favourable = (
            self.method.slipped(counts, counts.sum(axis=1), half, self.runs, generator)
            for counts in (case.sizes[None, :], case.favourable)
        )
        return self._table(epsilon_nano, by_the_paper(everybody, favourable, case), clock)

    def _table(self, epsilon_nano: int, estimates: Estimates, clock: Clock) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "dataset": self.analysis.dataset,
                "sensitive": "-".join(self.analysis.sensitive),
                "method": self.method.name,
                "epsilon": epsilon_nano / NANO_PER_UNIT,
                "run": range(1, self.runs + 1),
                "truth": self.analysis.case.ratio,
                **estimates.columns(),
                **clock.columns(self.runs),
            }
        )


def figure_1_chunks(found: Sequence[Analysis], *, runs: int) -> list[MethodRuns]:
    """All methods on all analyses at the forty budgets."""
    return [MethodRuns(analysis, method, BUDGETS, runs) for method in METHODS for analysis in found]


def table_5_chunks(found: Sequence[Analysis], *, runs: int) -> list[MethodRuns]:
    """The budgets above .5 that the paper's Table 5 has, on Adult by ethnicity."""
    adult = next(analysis for analysis in found if (analysis.dataset, analysis.sensitive) == ("adult", ("ethnicity",)))
    return [MethodRuns(adult, method, TABLE_5_BUDGETS, runs) for method in METHODS]


def _tree(dataset: str) -> Tree:
    return next(published.tree for published in PUBLISHED_TREES if published.dataset == dataset)
