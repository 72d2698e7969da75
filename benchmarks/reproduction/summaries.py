"""From single estimates to the paper's figures of merit: AASPE, invalid answers, t-tests, UAR; and our verdicts.

Standard errors are those of a mean of independent runs. An estimate is undefined (NaN) where nobody seems to be
accepted; that run has no error, and `undefined` counts it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

THRESHOLD: Final = 0.8
SIGNIFICANT: Final = 0.05


def errors(rows: pd.DataFrame, by: Sequence[str], estimate: str = "estimate") -> pd.DataFrame:
    """AASPE and the share of invalid answers.

    Args:
        rows: One for each estimate, with its truth.
        by: The columns that make a configuration.
        estimate: The column of the estimates.

    Returns:
        By configuration: `aaspe`, its standard error `se`, `invalid`, its standard error `invalid_se`,
        `undefined` (a share), `runs`.
    """
    wide = rows.assign(error=(rows[estimate] - rows["truth"]).abs(), missing=rows[estimate].isna())
    found = wide.groupby(list(by), sort=False).agg(
        aaspe=("error", "mean"),
        se=("error", "sem"),
        invalid=("invalid", "mean"),
        invalid_se=("invalid", "sem"),
        undefined=("missing", "mean"),
        runs=("error", "size"),
    )
    return found.reset_index()


def mechanism_tests(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Independent two-sided t-tests of the errors of two methods, for each analysis and ε.

    Returns:
        `dataset`, `sensitive`, `epsilon`, `difference` (mean error of the first less the second's) and `p`.
    """
    error = (rows["estimate"] - rows["truth"]).abs()
    found = []
    for (dataset, sensitive, epsilon), part in rows.groupby(["dataset", "sensitive", "epsilon"], sort=False):
        one, other = (error[part.index[part["method"] == method]].dropna() for method in (first, second))
        p = float(stats.ttest_ind(one, other).pvalue) if len(one) > 1 and len(other) > 1 else float("nan")
        found.append((dataset, sensitive, epsilon, one.mean() - other.mean(), p))
    return pd.DataFrame(found, columns=["dataset", "sensitive", "epsilon", "difference", "p"])


def baseline_tests(rows: pd.DataFrame, estimate: str = "estimate") -> pd.DataFrame:
    """One-sided t-tests that an estimate errs less than a guess from [0, 1] does; and that it errs more.

    Returns:
        `dataset`, `sensitive`, `leaf`, `epsilon`, `aaspe`, `baseline` (its mean error), `p` (better), `p_worse`.
    """
    found = []
    for key, part in rows.groupby(["dataset", "sensitive", "leaf", "epsilon"], sort=False):
        error = (part[estimate] - part["truth"]).abs().dropna()
        guess = (part["baseline"] - part["truth"]).abs()
        better = float(stats.ttest_ind(error, guess, alternative="less").pvalue) if len(error) > 1 else float("nan")
        found.append((*key, error.mean(), guess.mean(), better, 1 - better))
    columns = ["dataset", "sensitive", "leaf", "epsilon", "aaspe", "baseline", "p", "p_worse"]
    return pd.DataFrame(found, columns=columns)


def recalls(rows: pd.DataFrame, by: Sequence[str], estimate: str = "estimate") -> pd.DataFrame:
    """Unweighted average recall, where the class of an SP is its first decimal (1 is a class of its own).

    Returns:
        By configuration: `uar`, the recall averaged over the classes that the true values have.
    """
    right = tenths(rows[estimate]) == tenths(rows["truth"])
    wide = rows.assign(right=right, tenth=tenths(rows["truth"]))
    of_class = wide.groupby([*by, "tenth"], sort=False)["right"].mean()
    return of_class.groupby(level=list(range(len(by))), sort=False).mean().rename("uar").reset_index()


def tenths(ratios: pd.Series) -> pd.Series:
    """A ratio rounded down to its first decimal; a true .3 that is stored as .29999… belongs to .3."""
    return pd.Series(np.floor(ratios * 10 + 1e-9), index=ratios.index)


def verdicts(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """What the product says of the four-fifths rule: right, wrong or undecided; how often its interval is true.

    Args:
        rows: With `low` and `high`.
        by: The columns that make a configuration.

    Returns:
        By configuration the shares `right`, `wrong`, `undecided` (together 1) and `coverage`.
    """
    meets, fails = rows["low"] >= THRESHOLD, rows["high"] < THRESHOLD
    fair = rows["truth"] >= THRESHOLD
    wide = rows.assign(
        right=(meets & fair) | (fails & ~fair),
        wrong=(fails & fair) | (meets & ~fair),
        undecided=~meets & ~fails,
        coverage=(rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"]),
    )
    return wide.groupby(list(by), sort=False)[["right", "wrong", "undecided", "coverage"]].mean().reset_index()


def speeds(rows: pd.DataFrame) -> tuple[float, float]:
    """Estimates of one process per second of wall-clock time, and of processor time."""
    return float(len(rows) / rows["seconds"].sum()), float(len(rows) / rows["cpu_seconds"].sum())
