"""The comparison's tables: all figures, and where a rival is beaten at equal parity and where not."""

import math
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

from benchmarks.judged_decisions import FIGURES
from benchmarks.reproduction.fair_models.rivals import BY_GROUP, RATIO, STEPS
from benchmarks.reproduction.fair_models.runs import AS_PUBLISHED, CORRECTED, WITHOUT_PRIVACY
from benchmarks.reproduction.fair_models.summaries import ALIKE, ANALYSIS, BETTER, WORSE, of_the_better, shown
from benchmarks.reproduction.published import title
from benchmarks.reproduction.tables import Table

_AS_IT_IS: Final = "As it is: decided by the model's own threshold or leaves."
_PARITY_STEP: Final = (
    f"Parity step: decided for a ratio of {RATIO}; of ours by its own noisy counts, of all others by exact counts of "
    "the people learned from, which nobody paid for."
)
_BY_GROUP: Final = (
    "By group: a threshold for each group, by exact counts; it reads the sensitive columns of those who are decided "
    "on, which no model of ours does."
)
_EQUAL: Final = (
    "At equal parity: ours is decided for the smallest of a row of ratios at which its mean ratio is at least the "
    "rival's. Better and worse: at 95 %, each comparison by itself, of the better of fair_tree and fair_linear."
)
STEP_NOTES: Final = (_AS_IT_IS, _PARITY_STEP, _BY_GROUP)


def figures_table(found: pd.DataFrame, dataset: str, sensitive: str) -> Table:
    """All figures of one analysis.

    Args:
        found: As `summaries.means` gives.
        dataset: Its name.
        sensitive: The columns, joined by hyphens.
    """
    here = shown(found[(found["dataset"] == dataset) & (found["sensitive"] == sensitive)])
    rows = []
    for line in here.to_dict("records"):
        cells = [_figure(line[name], line[f"{name}_se"]) for name in FIGURES]
        none = "" if pd.isna(line["none"]) else f"{line['none']:.0%}"
        rows.append(
            (line["epsilon"], line["learner"], line["step"], *cells, f"{line['enough']:.0%}", none, str(line["runs"]))
        )
    names = ("accuracy", "balanced accuracy", "AUC", "parity ratio", "parity difference")
    return Table(
        f"training-{dataset}-{sensitive}",
        f"{title(dataset, sensitive)}: mean over runs ± standard error",
        ("ε", "learner", "step", *names, "ratio at least .8", "no model", "runs"),
        tuple(rows),
        STEP_NOTES,
    )


def summary_table(compared: pd.DataFrame) -> Table:
    """How often the better of ours is more accurate at equal parity, by step and by kind of rival.

    Args:
        compared: As `summaries.at_equal_parity` gives.
    """
    best = of_the_better(compared)
    rows = []
    for step in STEPS:
        here = best[best["step"] == step]
        for name, of_data in here.groupby("dataset", sort=False):
            rows.append((step, "all", title(str(name)), *_verdicts(of_data)))
        for kind, part in _kinds(here):
            for (dataset, sensitive), cells in part.groupby(ANALYSIS, sort=False):
                rows.append((step, kind, title(str(dataset), str(sensitive)), *_verdicts(cells)))
    return Table(
        "training-at-equal-parity",
        "Accuracy of ours at equal parity: in how many comparisons (rivals times ε) it is better, alike, worse",
        ("rival's step", "rivals", "data", "ours better", "alike", "ours worse", "comparisons"),
        tuple(rows),
        (
            _EQUAL,
            *STEP_NOTES,
        ),
    )


def beaten_table(compared: pd.DataFrame) -> Table:
    """Every comparison in which the better of ours is less accurate, the largest differences first."""
    worse = of_the_better(compared)
    worse = worse[worse["verdict"] == WORSE].sort_values("difference", kind="stable")
    rows = tuple(
        (
            title(line["dataset"], line["sensitive"]), line["epsilon"], line["rival"], line["step"],
            f"{line['rival_accuracy']:.3f} at {line['rival_ratio']:.2f}", line["ours"],
            f"{line['accuracy']:.3f} at {line['ratio']:.2f}", _points(line["difference"], line["se"]),
        )
        for line in worse.to_dict("records")
    )  # fmt: skip
    return Table(
        "training-where-not",
        "Where a rival is more accurate than ours at equal parity",
        ("data", "ε", "rival", "its step", "its accuracy at ratio", "ours", "accuracy at ratio", "points"),
        rows,
        STEP_NOTES[1:],
    )


def short_table(found: pd.DataFrame) -> Table:
    """Accuracy and ratio of every learner after its parity step, or as it is where it has none, by ε.

    Args:
        found: As `summaries.means` gives.
    """
    wanted = shown(found)
    private = wanted[wanted["epsilon"] != WITHOUT_PRIVACY]
    epsilons = list(dict.fromkeys(private["epsilon"]))
    rows = []
    for (dataset, sensitive, learner, step), part in wanted.groupby([*ANALYSIS, "learner", "step"], sort=False):
        by_epsilon: dict[Any, Any] = {line["epsilon"]: line for line in part.to_dict("records")}
        cells = [
            f"{by_epsilon[one]['accuracy']:.3f} / {by_epsilon[one]['ratio']:.2f}" if one in by_epsilon else ""
            for one in (*epsilons, WITHOUT_PRIVACY)
        ]
        if step != BY_GROUP:
            rows.append((title(str(dataset), str(sensitive)), str(learner), str(step), *cells))
    rows.sort(key=lambda row: row[0])
    return Table(
        "training",
        "Accuracy / parity ratio, means over runs",
        ("data", "learner", "step", *(f"ε = {one}" for one in epsilons), "without privacy"),
        tuple(rows),
        STEP_NOTES[:2],
    )


def _kinds(best: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The published as published, the corrected ones, and peers."""
    published, corrected = (best["rival"].str.endswith(suffix) for suffix in (AS_PUBLISHED, CORRECTED))
    yield "published", best[published]
    yield "corrected", best[corrected]
    yield "peers", best[~published & ~corrected]


def _verdicts(cells: pd.DataFrame) -> tuple[str, ...]:
    """How often ours is better, alike, worse; and how many comparisons there are."""
    counts = [int((cells["verdict"] == verdict).sum()) for verdict in (BETTER, ALIKE, WORSE)]
    return (*map(str, counts), str(len(cells)))


def _figure(mean: float, error: float) -> str:
    return f"{mean:.3f}" if math.isnan(error) else f"{mean:.3f} ± {error:.3f}"


def _points(mean: float, error: float) -> str:
    """A difference of accuracies in hundredths."""
    return f"{100 * mean:+.1f} ± {100 * error:.1f}"
