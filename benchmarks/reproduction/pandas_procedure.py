"""The paper's procedure written plainly in pandas, as a yardstick of speed: select, count, add noise, divide.

Each estimate asks the data anew for the root and for every favourable rule, as a script would that
follows the paper's Algorithm 1. Nothing is charged, signed or checked.
"""

import time
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.published_trees import PUBLISHED_TREES
from pafer_demo.open_data import LOADERS
from shared.contract.rules import Predicate, Rule

SECONDS: Final = 5.0
_OPERATORS: Final = {"eq": "==", "ne": "!=", "le": "<=", "gt": ">"}


def estimate(
    people: pd.DataFrame, rules: Sequence[str], sensitive: Sequence[str], epsilon: float, generator: np.random.Generator
) -> float:
    """SP by PAFER with Laplace noise and the `uniform` policy.

    Args:
        people: Features and sensitive columns.
        rules: The favourable ones, as pandas queries.
        sensitive: The columns whose combinations are the groups.
        epsilon: The whole budget.
        generator: Of the noise.
    """
    groups = people.groupby(list(sensitive)).size().index
    sizes = _noisy_histogram(people, people, groups, epsilon / 2, generator)
    accepted = pd.Series(0.0, index=groups)
    for rule in rules:
        accepted += _noisy_histogram(people, people.query(rule), groups, epsilon / 2, generator).round()
    rates = accepted / sizes
    return float(rates.min() / rates.max())


def as_query(rule: Rule) -> str:
    """A rule of comparisons as a pandas query."""
    return " and ".join(map(_clause, rule.all_of))


def speeds(dataset: str, seconds: float = SECONDS) -> tuple[float, float]:
    """Estimates of a published tree, by sex and ethnicity, per second of wall-clock and of processor time."""
    published = next(published for published in PUBLISHED_TREES if published.dataset == dataset)
    people = LOADERS[dataset](None).test.to_pandas()
    rules = [as_query(rule.rule) for rule in published.tree.merged().rules() if rule.favourable]
    generator = np.random.default_rng(0)
    done, started, processor = 0, time.perf_counter(), time.process_time()
    while (spent := time.perf_counter() - started) < seconds:
        estimate(people, rules, ("sex", "ethnicity"), 0.25, generator)
        done += 1
    return done / spent, done / (time.process_time() - processor)


def _noisy_histogram(
    people: pd.DataFrame, selected: pd.DataFrame, groups: pd.Index, epsilon: float, generator: np.random.Generator
) -> pd.Series:
    counts = selected.groupby(list(groups.names)).size().reindex(groups, fill_value=0)
    noisy = counts + generator.laplace(0, 1 / epsilon, len(groups))
    invalid = (noisy < 0) | (noisy > len(people))
    return noisy.mask(invalid, len(selected) / len(groups))


def _clause(predicate: Predicate) -> str:
    return f"`{predicate.column}` {_OPERATORS[predicate.op]} {predicate.value!r}"
