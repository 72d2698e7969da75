"""The comparison as parts of the page."""

import pandas as pd

from benchmarks.reproduction.fair_models import figures, tables
from benchmarks.reproduction.fair_models.rivals import RATIO
from benchmarks.reproduction.fair_models.runs import DATASETS, EPSILONS, QUICK_EPSILONS
from benchmarks.reproduction.fair_models.summaries import at_equal_parity, means
from benchmarks.reproduction.page import Section
from benchmarks.reproduction.published import SENSITIVE
from benchmarks.reproduction.sections import Output

_ABOUT = (
    "Private and fair learners on five columns of each data set, judged on people whom nobody learned from: ours, the "
    "published ones with their published constants and as the holder has them, libraries of others, and what is "
    "reached without privacy. Adult has its own file for tests; COMPAS and German are split anew for every run. ε is "
    "what each learner means by it: ours and the corrected ones under one person more or less; diffprivlib's "
    "logistic regression and the published constants under one person replaced; DP-EBM with a δ of 1e-5 besides."
)
_ALIKE = (
    "One decision for all is a row: an accuracy that it has too says nothing. Balanced accuracy and AUC, in the tables "
    "by analysis, are ½ for it."
)


def training_section(output: Output, rows: pd.DataFrame) -> Section:
    """All tables and pictures of the comparison.

    Args:
        output: For the files.
        rows: Of all runs.
    """
    rows = rows.assign(epsilon=rows["epsilon"].map(_as_text))
    found, compared = means(rows), at_equal_parity(rows)
    output.csv(found, "training-means")
    output.csv(compared, "training-comparisons")
    shown = [tables.summary_table(compared), tables.beaten_table(compared), tables.short_table(found)]
    shown += [
        tables.figures_table(found, dataset, "-".join(sensitive)) for dataset in DATASETS for sensitive in SENSITIVE
    ]
    pictures = [
        output.picture(
            figures.against_parity(found, epsilon),
            f"training-parity-{epsilon}",
            f"Accuracy against the parity ratio at ε = {epsilon}. Curves: ours as learned and decided for rising "
            "ratios, at one charge. Points: others as they are; squares: after the parity step by exact counts; "
            "crosses: with a threshold for each group; with an asterisk: without privacy. Bars are two standard errors "
            "either way.",
        )
        for epsilon in (EPSILONS if set(EPSILONS) <= set(rows["epsilon"]) else QUICK_EPSILONS)
    ]
    pictures.append(
        output.picture(
            figures.at_epsilon(found),
            "training-accuracy",
            f"Accuracy over ε after the parity step for a ratio of {RATIO}: of ours by its own noisy counts, of all "
            "others by exact counts. Dotted: one decision for all. Dots and dashes: two scores without privacy.",
        )
    )
    return Section(
        "Private and fair learners", (_ABOUT, _ALIKE), tables=tuple(map(output.table, shown)), pictures=tuple(pictures)
    )


def _as_text(epsilon: str | float) -> str:
    """The ε of a row: files of numbers alone were read as such."""
    return epsilon if isinstance(epsilon, str) else f"{epsilon:g}"
