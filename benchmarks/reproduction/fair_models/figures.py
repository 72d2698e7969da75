"""The comparison's pictures: accuracy against parity, and accuracy at ε."""

from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduction.fair_models.peers import NAMES
from benchmarks.reproduction.fair_models.rivals import AS_IT_IS, BY_GROUP, PARITY_STEP, RATIO
from benchmarks.reproduction.fair_models.runs import OURS, RIVALS, SOURCES, WITHOUT_PRIVACY
from benchmarks.reproduction.fair_models.summaries import ENOUGH
from benchmarks.reproduction.fair_models.without_privacy import CONSTANT, LOGISTIC, TWO_SCORES
from benchmarks.reproduction.figures import STYLE, finished, panels, parts_of

COLOURS: Final = {"fair_tree": "#0072B2", "fair_linear": "#000000"} | dict(
    zip(NAMES, ("#E69F00", "#009E73", "#D55E00", "#CC79A7"), strict=True)
)
SOURCE_COLOURS: Final = dict(
    zip(SOURCES, ("#999999", "#56B4E9", "#BBBBBB", "#F0E442", "#777777", "#8C6D31"), strict=True)
)
MARKERS: Final = {AS_IT_IS: "o", PARITY_STEP: "s", BY_GROUP: "x"}
BOUNDS: Final = ((LOGISTIC, AS_IT_IS, "P"), (TWO_SCORES, PARITY_STEP, "*"))


def against_parity(found: pd.DataFrame, epsilon: str) -> Figure:
    """Accuracy over the parity ratio at one ε, nine panels: ours as curves over wanted ratios, all others as points.

    Args:
        found: As `summaries.means` gives.
        epsilon: As in its column.
    """
    figure, axes = panels("row")
    with mpl.rc_context(STYLE):
        for axis, part in parts_of(axes, found[found["epsilon"].isin([epsilon, WITHOUT_PRIVACY])]):
            here, without = part[part["epsilon"] == epsilon], part[part["epsilon"] == WITHOUT_PRIVACY]
            for name in OURS:
                curve = here[here["learner"] == name].fillna({"wanted": 0}).sort_values("wanted")
                _points(axis, curve, COLOURS[name], "-o", name)
            for name in RIVALS:
                for step, marker in MARKERS.items():
                    some = here[(here["learner"] == name) & (here["step"] == step)]
                    label = f"{name}" if step == AS_IT_IS else "_"
                    _points(axis, some, (COLOURS | SOURCE_COLOURS)[name], marker, label)
            for name, step, marker in BOUNDS:
                some = without[(without["learner"] == name) & (without["step"] == step)]
                _points(axis, some, "#D00000", marker, f"{name} *")
            constant = without[without["learner"] == CONSTANT]["accuracy"]
            axis.axhline(float(constant.iloc[0]), color="grey", linestyle=":", label=CONSTANT)
            axis.axvline(ENOUGH, color="grey", linewidth=0.5)
        return finished(figure, axes, "accuracy", "parity ratio")


def at_epsilon(found: pd.DataFrame) -> Figure:
    """Accuracy over ε, nine panels, after the parity step: ours, others, the constant and the bound without privacy."""
    private = found[(found["epsilon"] != WITHOUT_PRIVACY) & (found["step"] == PARITY_STEP)]
    private = private[private["wanted"].isna() | (private["wanted"] == RATIO)]
    private = private.assign(epsilon=private["epsilon"].astype(float))
    figure, axes = panels("row")
    with mpl.rc_context(STYLE):
        for axis, part in parts_of(axes, private):
            for name in (*OURS, *RIVALS):
                curve = part[part["learner"] == name].sort_values("epsilon")
                if len(curve):
                    colour, line = (COLOURS | SOURCE_COLOURS)[name], "-o" if name in OURS else "--"
                    axis.plot(curve["epsilon"], curve["accuracy"], line, color=colour, label=name, markersize=3)
                    if curve["accuracy_se"].notna().all():
                        low, high = (curve["accuracy"] + sign * 2 * curve["accuracy_se"] for sign in (-1, 1))
                        axis.fill_between(curve["epsilon"], low, high, color=colour, alpha=0.12, linewidth=0)
            analysis = part[["dataset", "sensitive"]].drop_duplicates()
            without = found[found["epsilon"] == WITHOUT_PRIVACY].merge(analysis)
            for name, style in ((CONSTANT, ":"), (TWO_SCORES, "-.")):
                level = float(without[without["learner"] == name]["accuracy"].iloc[0])
                axis.axhline(level, color="grey", linestyle=style, label=name)
            axis.set_xscale("log")
        return finished(figure, axes, f"accuracy after the parity step (ratio {RATIO})")


def _points(axis: Axes, some: pd.DataFrame, colour: str, marker: str, label: str) -> None:
    """Means with error bars of two standard errors in accuracy."""
    if len(some):
        xs: Sequence[float] = some["ratio"].tolist()
        errors = (2 * some["accuracy_se"].fillna(0)).tolist()
        axis.errorbar(
            xs, some["accuracy"].tolist(), errors, fmt=marker, color=colour, markersize=3.5, linewidth=0.8, label=label
        )
