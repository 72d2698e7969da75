"""Means over runs, and the comparison at equal parity."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.judged_decisions import FIGURES
from benchmarks.reproduction.fair_models.rivals import AS_IT_IS, PARITY_STEP, RATIO, STEPS
from benchmarks.reproduction.fair_models.runs import OURS, RIVALS, WITHOUT_PRIVACY
from benchmarks.reproduction.fair_models.without_privacy import CONSTANT

ENOUGH: Final = 0.8
"""The four-fifths rule."""
LEVEL: Final = 0.95
ANALYSIS: Final = ["dataset", "sensitive"]
BY: Final = [*ANALYSIS, "epsilon", "learner", "step", "wanted"]
BETTER, ALIKE, WORSE = "better", "alike", "worse"


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """By analysis, ε, learner, step and wanted ratio: each figure's mean and standard error (NaN for one run).

    Returns:
        Also `enough`, the share of runs with a ratio of at least .8, `none`, that of runs where no decisions were
        found, and `runs`.
    """
    groups = rows.assign(enough=rows["ratio"] >= ENOUGH).groupby(BY, sort=False, dropna=False)
    found = groups[[*FIGURES, "enough"]].mean()
    errors = groups[list(FIGURES)].sem().add_suffix("_se")
    none = groups["none"].apply(lambda column: column.astype(float).mean())
    return found.join(errors).assign(none=none, runs=groups.size()).reset_index()


def shown(found: pd.DataFrame) -> pd.DataFrame:
    """Of ours only the row for the ratio that parity steps are for, and as learned; all of the others."""
    return found[found["wanted"].isna() | (found["wanted"] == RATIO)]


def at_equal_parity(rows: pd.DataFrame) -> pd.DataFrame:
    """Every rival's row against each of ours at a parity that is at least as high (`equal_parity`).

    Returns:
        By analysis, ε, rival, its step and ours: means of both sides' `ratio` and `accuracy`, the `wanted` ratio that
        ours was decided for (0 as learned, 1 for the constant), the `difference` of accuracies and its standard error,
        and the `verdict` on ours.
    """
    constant = rows[rows["learner"] == CONSTANT]
    found = []
    private = rows[(rows["epsilon"] != WITHOUT_PRIVACY)]
    for (dataset, sensitive, epsilon), part in private.groupby([*ANALYSIS, "epsilon"], sort=False):
        alike = constant[(constant["dataset"] == dataset) & (constant["sensitive"] == sensitive)]
        key = {"dataset": dataset, "sensitive": sensitive, "epsilon": epsilon}
        for ours in OURS:
            curve = own_curve(part[part["learner"] == ours], alike)
            for rival, step, of_rival in _rivals(part):
                found.append({**key, "rival": rival, "step": step, "ours": ours, **equal_parity(curve, of_rival)})
    return pd.DataFrame(found)


def own_curve(ours: pd.DataFrame, constant: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    """One of ours as learned, for each wanted ratio in ascending order, and the constant, each by run."""
    learned = ours[ours["step"] == AS_IT_IS]
    decided = ours[ours["step"] == PARITY_STEP]
    wanted = [(ratio, decided[decided["wanted"] == ratio]) for ratio in sorted(set(decided["wanted"].tolist()))]
    by_run = [(ratio, part.set_index("run")[["accuracy", "ratio"]]) for ratio, part in [(0.0, learned), *wanted]]
    alike = constant.set_index("run")[["accuracy", "ratio"]]
    # Where there is one file for tests the constant was judged once, for all runs.
    runs = by_run[0][1].index
    alike = alike.reindex(runs) if len(alike) > 1 else alike.loc[[*alike.index] * len(runs)].set_axis(runs)
    return [*by_run, (1.0, alike)]


def equal_parity(curve: list[tuple[float, pd.DataFrame]], rival: pd.DataFrame) -> dict[str, Any]:
    """A rival against the first of ours whose mean ratio is at least the rival's.

    Ours come in order of the ratio that they were decided for, whatever their accuracy: as learned, for each wanted
    ratio, and at last one decision for everybody, which needs no model and has a ratio of 1. Accuracies are compared
    run by run, by Student's t at 95 %.
    """
    theirs = rival.set_index("run")[["accuracy", "ratio"]]
    wanted, ours = next(
        (wanted, one) for wanted, one in curve if one["ratio"].mean() >= theirs["ratio"].mean() or wanted == 1
    )
    difference = (ours["accuracy"] - theirs["accuracy"]).to_numpy(dtype=np.float64)
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / len(difference) ** 0.5)
    far = abs(mean) > float(stats.t.ppf((1 + LEVEL) / 2, len(difference) - 1)) * error
    verdict = ALIKE if not far else BETTER if mean > 0 else WORSE
    return {
        "rival_ratio": float(theirs["ratio"].mean()), "rival_accuracy": float(theirs["accuracy"].mean()),
        "wanted": wanted, "ratio": float(ours["ratio"].mean()), "accuracy": float(ours["accuracy"].mean()),
        "difference": mean, "se": error, "verdict": verdict,
    }  # fmt: skip


def of_the_better(compared: pd.DataFrame) -> pd.DataFrame:
    """Of both of ours the one with the larger difference, for each rival, step, analysis and ε."""
    by = [*ANALYSIS, "epsilon", "rival", "step"]
    return compared.sort_values("difference", kind="stable").groupby(by, sort=False).tail(1).sort_index()


def _rivals(part: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for rival in RIVALS:
        for step in STEPS:
            found = part[(part["learner"] == rival) & (part["step"] == step)]
            if len(found):
                yield rival, step, found
