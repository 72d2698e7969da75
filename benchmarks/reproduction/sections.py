"""The parts of the page, from the results that are there; and the page's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.reproduction import claims, figures, published, slips, tables
from benchmarks.reproduction.experiment_1 import Analysis
from benchmarks.reproduction.methods import LAPLACE, PRODUCT
from benchmarks.reproduction.page import Picture, Section
from benchmarks.reproduction.summaries import (
    baseline_tests,
    errors,
    mechanism_tests,
    recalls,
    speeds,
    verdicts,
)
from benchmarks.reproduction.tables import Table

ANALYSIS: Final = ("dataset", "sensitive")
BY_METHOD: Final = (*ANALYSIS, "method", "epsilon")
BY_LEAF: Final = (*ANALYSIS, "leaf", "epsilon")
SLIPS: Final = (
    "In the published comparison the exponential mechanism’s utility is divided by 100, and the Gaussian’s variance "
    "stands where its standard deviation belongs: that is what the published figures fit, and docs/reproduction.md "
    "says how to check it. With the noise that their ε asks for, both are of the order of Laplace. Dashed: as "
    "published. Full: the holder’s own mechanisms."
)
PRODUCT_ADDS: Final = (
    "The same ε, spent on one disjoint histogram instead of a root query and rules, and the posterior of the true "
    "counts instead of replaced answers. And it need not answer: what it says of the four-fifths rule is right, wrong "
    "or undecided."
)
UAR: Final = (
    "UAR asks how often the first decimal of SP is right. It says nothing of how sure an auditor may be; the "
    "product’s verdicts do. Below each of the paper’s maps are the product’s, at the same ε and leaf fraction."
)
SPEED: Final = (
    "Each of ours was counted, charged, signed, stored and verified. The pandas procedure only selects, counts and "
    "adds noise. The slips are drawn without the holder, many at once."
)
MAP_FIGURES: Final = dict(zip(published.SIGNIFICANCE_NUMBERS, ("A4", "A5", "A6", "A7", "A8", "A9"), strict=True))


@dataclass(frozen=True, slots=True)
class Output:
    """A folder of CSV files, figures and the page."""

    folder: Path

    def table(self, table: Table) -> Table:
        """Keep a table as CSV."""
        self.csv(table.frame(), table.name)
        return table

    def csv(self, frame: pd.DataFrame, name: str) -> None:
        """Keep figures as CSV."""
        (self.folder / "tables").mkdir(parents=True, exist_ok=True)
        frame.to_csv(self.folder / "tables" / f"{name}.csv", index=False)

    def picture(self, figure: Figure, name: str, caption: str) -> Picture:
        """Keep a figure as PNG and SVG."""
        return Picture(name, caption, figures.save(figure, self.folder / "figures", name))


def data_sections(output: Output, found: Sequence[Analysis]) -> list[Section]:
    """Tables 3 and 4."""
    return [Section("Data", tables=(output.table(tables.table_3()), output.table(tables.table_4(found))))]


def table_5_section(output: Output, rows: pd.DataFrame, adult: Analysis) -> Section:
    """Table 5, how far the published figures lie from ours, and what noise they fit.

    Args:
        output: For the files.
        rows: The runs at the table's ε.
        adult: By ethnicity.
    """
    found = errors(rows, BY_METHOD)
    output.csv(found, "table-5-errors")
    distances = tables.table_5_distances(found)
    output.csv(distances, "table-5-distances")
    fits = output.table(tables.slips_table(slips.fits(adult.case)))
    return Section("Table 5", tables=(output.table(tables.table_5(found)), fits))


def experiment_1_sections(output: Output, rows: pd.DataFrame) -> list[Section]:
    """Figure 1 as published, without the slips, and with the product on the same axes."""
    found = errors(rows, BY_METHOD)
    output.csv(found, "figure-1-errors")
    tests = mechanism_tests(rows, LAPLACE.name, "exponential-as-published")
    output.csv(tests, "figure-1-t-tests")
    calibrated = mechanism_tests(rows, LAPLACE.name, "exponential")
    output.csv(calibrated, "figure-1-t-tests-calibrated")
    judged = verdicts(rows[rows["method"] == PRODUCT.name], (*ANALYSIS, "epsilon"))
    output.csv(judged, "figure-1-verdicts")
    runs = int(found["runs"].min())
    band = f"Each point is the mean of {runs} runs; the band is two standard errors either way."
    return [
        Section("Experiment 1: claims", claims=tuple(claims.of_experiment_1(rows, found))),
        Section(
            "Figure 1, as published",
            pictures=(
                output.picture(
                    figures.figure_1(found, tests),
                    "figure-1",
                    f"AASPE over ε, and the share of invalid answers. The exponential mechanism has its slip. {band}",
                ),
            ),
        ),
        Section(
            "The mechanisms without their slips",
            (SLIPS,),
            pictures=(
                output.picture(figures.figure_1_calibrated(found), "figure-1-calibrated", f"AASPE over ε. {band}"),
            ),
        ),
        Section(
            "What the product adds",
            (
                PRODUCT_ADDS,
                _verdicts_in_words(judged),
            ),
            pictures=(
                output.picture(
                    figures.figure_1_product(found), "figure-1-product", f"AASPE over ε, paper and product. {band}"
                ),
                output.picture(
                    figures.figure_1_verdicts(judged),
                    "figure-1-verdicts",
                    "The product’s verdicts on the four-fifths rule.",
                ),
            ),
        ),
    ]


def experiment_2_sections(output: Output, rows: pd.DataFrame) -> list[Section]:
    """Tables 6 to 12, with the curves that they are taken from."""
    found, tests = errors(rows, BY_LEAF), baseline_tests(rows)
    output.csv(found, "experiment-2-errors")
    output.csv(tests, "experiment-2-t-tests")
    shown = [tables.table_6(found), *tables.significance_tables(tests), tables.significance_at_leaf_01(tests)]
    curves = output.picture(
        figures.leaf_curves(found, tests),
        "experiment-2",
        "AASPE of the paper’s procedure over the minimum leaf fraction, and of the baseline that guesses from [0, 1].",
    )
    quality = _quality(rows, found)
    return [
        Section(
            "Experiment 2",
            ("A star: the paper’s procedure errs less than the baseline, p < .05, one-sided.",),
            claims=tuple(claims.of_experiment_2(tests, quality)),
            tables=tuple(map(output.table, shown)),
            pictures=(curves,),
        )
    ]


def experiment_2_1_sections(output: Output, rows: pd.DataFrame) -> list[Section]:
    """Figures A4 to A9, and the product's verdicts instead of UAR."""
    quality = _quality(rows, errors(rows, BY_LEAF))
    output.csv(quality, "experiment-2.1")
    pictures = []
    for key, part in quality.groupby(list(ANALYSIS), sort=False):
        dataset, sensitive = map(str, key)
        name = MAP_FIGURES.get((dataset, tuple(sensitive.split("-"))))
        heading = published.title(dataset, sensitive)
        caption = f"Figure {name}. {heading}." if name else f"{heading}; not in the paper."
        file = f"figure-{name}" if name else f"figure-{dataset}-{sensitive}"
        pictures.append(output.picture(figures.maps(part, heading), file, caption))
    return [
        Section(
            "Experiment 2.1",
            (UAR,),
            pictures=tuple(pictures),
        )
    ]


def speed_table(parts: dict[str, pd.DataFrame], plain: dict[str, tuple[float, float]]) -> Table:
    """Estimates per second of one process: this command's, and the paper's procedure written in pandas.

    Args:
        parts: Results by experiment.
        plain: The speeds of `pandas_procedure`, by data set.
    """
    rows = []
    for name, frame in parts.items():
        groups = (
            frame.groupby("method", sort=False) if "method" in frame else [("both procedures, with the tree", frame)]
        )
        for method, part in groups:
            rows.append((name, str(method), f"{len(part):,}", *(f"{rate:,.0f}" for rate in speeds(part))))
    for name, rates in plain.items():
        rows.append(
            ("the paper’s procedure in pandas", published.title(name), "–", *(f"{rate:,.0f}" for rate in rates))
        )
    rows.append(("the authors’ run logs, 6 to 13 hours an analysis", "Adult", "4,000", "0.1 to 0.2", "–"))
    return Table(
        "speed",
        "Estimates per second of one process",
        ("what", "method or data", "estimates", "per second", "per second of processor"),
        tuple(rows),
        (SPEED,),
    )


def _verdicts_in_words(judged: pd.DataFrame) -> str:
    wrong, undecided, coverage = (float(judged[column].mean()) for column in ("wrong", "undecided", "coverage"))
    return (
        f"Over all analyses and ε {wrong:.2%} of the verdicts are wrong and {undecided:.0%} undecided; "
        f"{coverage:.1%} of the 95 % intervals hold the truth."
    )


def _quality(rows: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """By analysis, leaf fraction and ε: UAR, AASPE and their difference, and the product's error and verdicts."""
    by = list(BY_LEAF)
    product = errors(rows, BY_LEAF, estimate="product").rename(columns={"aaspe": "product_aaspe"})
    quality = (
        recalls(rows, BY_LEAF)
        .merge(found[[*by, "aaspe"]], on=by)
        .merge(product[[*by, "product_aaspe"]], on=by)
        .merge(verdicts(rows, BY_LEAF), on=by)
    )
    return quality.assign(uar_less_aaspe=quality["uar"] - quality["aaspe"])
