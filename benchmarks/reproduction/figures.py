"""The paper's figures in their own form, and the product on the same axes; each as PNG and SVG."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduction.methods import (
    EXPONENTIAL,
    EXPONENTIAL_AS_PUBLISHED,
    GAUSSIAN,
    GAUSSIAN_AS_PUBLISHED,
    LAPLACE,
    PRODUCT,
    Method,
)
from benchmarks.reproduction.published import SENSITIVE, TABLE_3, title
from benchmarks.reproduction.summaries import SIGNIFICANT

# Okabe and Ito's colours, which colour-blind readers distinguish.
COLOURS: Final = {
    LAPLACE.name: "#0072B2",
    EXPONENTIAL.name: "#E69F00",
    GAUSSIAN.name: "#009E73",
    EXPONENTIAL_AS_PUBLISHED.name: "#D55E00",
    GAUSSIAN_AS_PUBLISHED.name: "#CC79A7",
    PRODUCT.name: "#000000",
}
VERDICT_COLOURS: Final = {"right": "#009E73", "undecided": "#DDDDDD", "wrong": "#D55E00"}
ERROR_MIN: Final = 1e-3
"""Where logarithmic axes begin, in units of SP."""
MAPS: Final = (
    ("uar", "UAR, the paper's procedure"),
    ("aaspe", "AASPE, the paper's procedure"),
    ("uar_less_aaspe", "UAR − AASPE, the paper's procedure"),
    ("product_aaspe", "AASPE, the product"),
    ("right", "four-fifths rule: right verdicts, the product"),
    ("wrong", "four-fifths rule: wrong verdicts, the product"),
)
# The same picture has the same bytes, and its text stays text.
STYLE: Final[Any] = {"svg.hashsalt": "pafer", "svg.fonttype": "none", "font.size": 8, "axes.grid": True,
                                 "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip


def figure_1(errors: pd.DataFrame, tests: pd.DataFrame) -> Figure:
    """As published: Laplace and the exponential mechanism with its slip; the share of invalid answers of Laplace.

    Args:
        errors: By dataset, sensitive, method and epsilon, as `summaries.errors` gives.
        tests: Laplace against exponential, as `summaries.mechanism_tests` gives.
    """
    figure, axes = panels()
    for axis, part in parts_of(axes, errors):
        for method in (LAPLACE, EXPONENTIAL_AS_PUBLISHED):
            _curve(axis, part, method)
        laplace = part[part["method"] == LAPLACE.name]
        axis.plot(laplace["epsilon"], laplace["invalid"], color="grey", linestyle=":", label="invalid answers, Laplace")
        here = tests.merge(part[["dataset", "sensitive"]].drop_duplicates())
        starred = here[(here["p"] < SIGNIFICANT) & (here["difference"] < 0)]
        axis.plot(starred["epsilon"], np.full(len(starred), -0.03), "*", color="#0072B2", markersize=3,
                  label="Laplace is better, p < .05")  # fmt: skip
        axis.set_ylim(-0.06, 1)
    return finished(figure, axes, "AASPE; share of invalid answers")


def figure_1_calibrated(errors: pd.DataFrame) -> Figure:
    """Every mechanism with its slip and without, on a logarithmic axis."""
    figure, axes = panels()
    for axis, part in parts_of(axes, errors):
        for method in (LAPLACE, EXPONENTIAL, GAUSSIAN, EXPONENTIAL_AS_PUBLISHED, GAUSSIAN_AS_PUBLISHED):
            _curve(axis, part, method, dashed=method.slipped is not None)
        axis.set(yscale="log", ylim=(ERROR_MIN, 1))
    return finished(figure, axes, "AASPE")


def figure_1_product(errors: pd.DataFrame) -> Figure:
    """The paper's procedure with Laplace noise and the product, on a logarithmic axis."""
    figure, axes = panels()
    for axis, part in parts_of(axes, errors):
        for method in (LAPLACE, PRODUCT):
            _curve(axis, part, method)
        axis.set(yscale="log", ylim=(ERROR_MIN, 1))
    return finished(figure, axes, "AASPE")


def figure_1_verdicts(verdicts: pd.DataFrame) -> Figure:
    """What the product says of the four-fifths rule, as shares of its runs, by ε.

    Args:
        verdicts: By dataset, sensitive and epsilon, as `summaries.verdicts` gives.
    """
    figure, axes = panels()
    for axis, part in parts_of(axes, verdicts):
        shares = [part[kind] for kind in VERDICT_COLOURS]
        axis.stackplot(part["epsilon"], *shares, labels=list(VERDICT_COLOURS), colors=list(VERDICT_COLOURS.values()))
        axis.set_ylim(0, 1)
    return finished(figure, axes, "share of verdicts")


def maps(table: pd.DataFrame, heading: str) -> Figure:
    """Figures A4 to A9: over ε and minimum leaf fraction, UAR, AASPE and their difference; below, the product.

    Args:
        table: Of one analysis: `leaf`, `epsilon`, and a column for each of `MAPS`.
        heading: Of the analysis.
    """
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(9.5, 5.6), layout="constrained")
        for axis, (column, name) in zip(figure.subplots(2, 3, sharex=True, sharey=True).flat, MAPS, strict=True):
            grid = table.pivot_table(index="leaf", columns="epsilon", values=column, dropna=False)
            low = -1 if column == "uar_less_aaspe" else 0
            image = axis.pcolormesh(
                np.arange(len(grid.columns)), grid.index, grid.to_numpy(), cmap="viridis", vmin=low, vmax=1,
                shading="nearest", rasterized=True,
            )  # fmt: skip
            axis.set_title(name, fontsize=8)
            axis.set_xticks(np.arange(len(grid.columns)), [f"{epsilon:g}" for epsilon in grid.columns])
            figure.colorbar(image, ax=axis)
        figure.supxlabel("ε", fontsize=9)
        figure.supylabel("minimum leaf fraction", fontsize=9)
        figure.suptitle(heading, fontsize=10)
    return figure


def leaf_curves(errors: pd.DataFrame, baseline: pd.DataFrame) -> Figure:
    """Experiment 2: AASPE over the minimum leaf fraction, a curve for each ε, and the random baseline.

    Args:
        errors: By dataset, sensitive, leaf and epsilon.
        baseline: As `summaries.baseline_tests` gives.
    """
    rows = errors["dataset"].nunique()
    columns = int(errors.groupby("dataset")["sensitive"].nunique().max())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 2.9 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axis, part in parts_of(axes, errors):
            for (epsilon, curve), shade in zip(part.groupby("epsilon"), np.linspace(0.9, 0.1, 5), strict=False):
                axis.plot(curve["leaf"], curve["aaspe"], color=mpl.colormaps["viridis"](shade), label=f"ε = {epsilon}")
            guesses = baseline.merge(part[["dataset", "sensitive"]].drop_duplicates()).groupby("leaf")["baseline"]
            axis.plot(guesses.mean().index, guesses.mean(), color="grey", linestyle=":", label="random baseline")
            axis.set_ylim(0, 1)
        return finished(figure, axes, "AASPE", "minimum leaf fraction")


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write PNG and SVG; gives the SVG as text for the page."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure.savefig(folder / f"{name}.png", dpi=150)
        figure.set_layout_engine("none")  # the layout is found; finding it again would take as long as drawing
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    (folder / f"{name}.svg").write_text(text, encoding="utf-8")
    return text[text.index("<svg") :]


def panels(sharey: Literal["all", "row"] = "all") -> tuple[Figure, Any]:
    """Nine panels: data sets down, sensitive attributes across."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 8), layout="constrained")
        return figure, figure.subplots(len(TABLE_3), len(SENSITIVE), sharex=True, sharey=sharey)


def parts_of(axes: Any, table: pd.DataFrame) -> Sequence[tuple[Axes, pd.DataFrame]]:
    """Each panel and its part of a table."""
    parts = []
    for row, (dataset, of_dataset) in zip(axes, table.groupby("dataset", sort=False), strict=True):
        for axis, (sensitive, part) in zip(row, of_dataset.groupby("sensitive", sort=False), strict=False):
            axis.set_title(title(str(dataset), str(sensitive)), fontsize=8)
            parts.append((axis, part))
        for axis in row[of_dataset["sensitive"].nunique() :]:
            axis.set_axis_off()
    return parts


def _curve(axis: Axes, part: pd.DataFrame, method: Method, *, dashed: bool = False) -> None:
    """A method's AASPE over ε with a band of two standard errors either way."""
    here = part[part["method"] == method.name]
    colour = COLOURS[method.name]
    axis.plot(here["epsilon"], here["aaspe"], color=colour, linestyle="--" if dashed else "-", label=method.label)
    low = np.maximum(here["aaspe"] - 2 * here["se"], ERROR_MIN)
    axis.fill_between(here["epsilon"], low, here["aaspe"] + 2 * here["se"], color=colour, alpha=0.15, linewidth=0)


def finished(figure: Figure, axes: Any, ylabel: str, xlabel: str = "ε") -> Figure:
    figure.supxlabel(xlabel, fontsize=9)
    figure.supylabel(ylabel, fontsize=9)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False, fontsize=8
    )
    return figure
