"""What the paper concludes, sentence by sentence, and what this run finds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.reproduction.methods import EXPONENTIAL, EXPONENTIAL_AS_PUBLISHED, GAUSSIAN, LAPLACE, PRODUCT
from benchmarks.reproduction.published import title
from benchmarks.reproduction.summaries import SIGNIFICANT, mechanism_tests


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, and what this run found."""

    paper: str
    finding: str


def of_experiment_1(rows: pd.DataFrame, errors: pd.DataFrame) -> Iterator[Claim]:
    """About the mechanisms.

    Args:
        rows: All runs at the forty budgets.
        errors: By dataset, sensitive, method and epsilon.
    """
    yield Claim(
        "“The Laplacian mechanism outperforms the Exponential mechanism on seven out of the nine analyses.”",
        f"With the slip: {_wins(rows, errors, EXPONENTIAL_AS_PUBLISHED.name)}. "
        f"Calibrated: {_wins(rows, errors, EXPONENTIAL.name)}.",
    )
    ratio = _ratios(errors, EXPONENTIAL.name), _ratios(errors, EXPONENTIAL_AS_PUBLISHED.name)
    gaussian = _ratios(errors, GAUSSIAN.name)
    yield Claim(
        "The exponential mechanism’s “performance is generally bad”, and the Gaussian performs “too poorly to be "
        "included”.",
        f"The error over Laplace’s, averaged geometrically over analyses and ε: exponential {ratio[1]:.1f} times "
        f"with the slip and {ratio[0]:.1f} times calibrated; Gaussian calibrated {gaussian:.1f} times.",
    )
    slipped = errors[(errors["method"] == EXPONENTIAL_AS_PUBLISHED.name) & (errors["dataset"] == "german")]
    worst = slipped.nlargest(1, "aaspe").to_dict("records")[0]
    yield Claim(
        "Errors of the exponential mechanism “even reaching the maximum possible error for the German dataset”.",
        f"With the slip the largest AASPE on German is {worst['aaspe']:.2f} ({worst['sensitive']}, "
        f"ε = {worst['epsilon']:.2f}).",
    )
    laplace = errors[errors["method"] == LAPLACE.name]
    invalid = laplace.groupby("sensitive")["invalid"].mean()
    small, large = (laplace[laplace["epsilon"] == edge]["invalid"].mean() for edge in _edges(laplace))
    yield Claim(
        "“The invalid value ratio consistently decreases with the privacy budget” and is “the largest in the "
        "intersectional analyses”.",
        f"From {small:.1%} at the smallest ε to {large:.1%} at the largest; over all ε "
        + ", ".join(f"{name} {share:.1%}" for name, share in invalid.items())
        + ".",
    )
    yield Claim(
        "(what the product adds)",
        f"Error of the paper’s procedure with Laplace over the product’s at the same ε, averaged geometrically: "
        f"{1 / _ratios(errors, PRODUCT.name):.1f} times.",
    )


def of_experiment_2(tests: pd.DataFrame, quality: pd.DataFrame) -> Iterator[Claim]:
    """About leaves, the baseline and UAR.

    Args:
        tests: As `summaries.baseline_tests` gives.
        quality: By dataset, sensitive, leaf and epsilon, with `uar`, `aaspe` and `uar_less_aaspe`.
    """
    better = (tests["p"] < SIGNIFICANT).mean()
    worse = tests[tests["p_worse"] < SIGNIFICANT]
    yield Claim(
        "“For nearly all trials in Experiment 2, there was a significant difference” in favour of PAFER.",
        f"Significantly better in {better:.0%} of all cells (analysis, leaf fraction, ε); significantly worse in "
        f"{len(worse)} of {len(tests)}"
        + (f", all at leaf fractions up to {worse['leaf'].max():g}." if len(worse) else "."),
    )
    largest = quality.groupby(["dataset", "sensitive"], sort=False)["uar"].max().reset_index().to_dict("records")
    shown = "; ".join(f"{title(one['dataset'], one['sensitive'])} {one['uar']:.0%}" for one in largest)
    yield Claim(
        "UAR reaches “around 90 %” on some analyses (Figures A4 and A8) and “no higher than 50 %” on Adult by sex.",
        f"Largest UAR: {shown}.",
    )
    by_cell = quality.groupby(["leaf", "epsilon"])["uar_less_aaspe"].mean()
    good = by_cell[by_cell >= by_cell.quantile(0.9)].reset_index()
    yield Claim(
        "UAR − AASPE is best at a budget of at least .15 and a leaf fraction of at least .01.",
        f"The best tenth of all cells, averaged over the analyses, lies at ε from {good['epsilon'].min():g} and leaf "
        f"fractions from {good['leaf'].min():g} to {good['leaf'].max():g}.",
    )


def _wins(rows: pd.DataFrame, errors: pd.DataFrame, other: str) -> str:
    """On how many analyses Laplace errs less over all budgets, and at how many budgets significantly so."""
    mean = errors.groupby(["dataset", "sensitive", "method"])["aaspe"].mean().unstack()
    tests = mechanism_tests(rows, LAPLACE.name, other)
    significant = tests[(tests["p"] < SIGNIFICANT) & (tests["difference"] < 0)]
    share = len(significant) / len(tests)
    wins = int((mean[LAPLACE.name] < mean[other]).sum())
    return (
        f"Laplace errs less, over all ε, on {wins} of {len(mean)} analyses, and significantly at {share:.0%} of all "
        "single ε"
    )


def _ratios(errors: pd.DataFrame, method: str) -> float:
    """A method's AASPE over Laplace's, averaged geometrically."""
    wide = errors.pivot_table(index=["dataset", "sensitive", "epsilon"], columns="method", values="aaspe")
    ratio = wide[method] / wide[LAPLACE.name]
    return float(np.exp(np.log(ratio).mean()))


def _edges(errors: pd.DataFrame) -> tuple[float, float]:
    return errors["epsilon"].min(), errors["epsilon"].max()
