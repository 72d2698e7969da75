"""The expected width of an interval against ε, as data for a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.planning.forecasts import Expectation, Forecast, Outlook
from auditor_client.report.axes import LinearAxis, Tick
from auditor_client.text import asked_words, loss_words
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.wire.wording import figure, joined, plain, said, sentence

_WOULD_BE: Final = sentence(
    "The interval of the ratio is {now} wide at {spent}. With {more}, asked as a new question, it would be about "
    "{width} wide."
)
_WOULD_DECIDE: Final = sentence(
    "The interval of the ratio is {now} wide at {spent}. With {more}, asked as a new question, it would be about "
    "{width} wide, and {decided} of 100 audits would give a verdict."
)


@dataclass(frozen=True, slots=True)
class WidthPoint:
    """One ε or ρ, its position in the picture (in per cent, from the left and from the top), and what is expected."""

    x: float
    y: float
    amount: str
    width: str
    undecided: str
    marked: bool


@dataclass(frozen=True, slots=True)
class WidthCurve:
    """The picture: ε or ρ, as `symbol` says, to the right, logarithmic; width upwards, linear from 0."""

    symbol: str
    points: tuple[WidthPoint, ...]
    path: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    words: str


def planned_curve(forecast: Forecast) -> WidthCurve:
    """Width against ε before an audit; the planned ε is marked."""
    chosen = forecast.chosen
    words = said(
        "At {asked} the interval of the ratio is expected to be {width} wide.",
        asked=asked_words(chosen.asked), width=width_words(chosen.width),
    )  # fmt: skip
    return _curve(forecast.curve, chosen.asked, words)


def remaining_curve(outlook: Outlook | None) -> WidthCurve | None:
    """Return what more budget would buy, after an audit; None where nothing is known of it."""
    if outlook is None or not outlook.curve or not math.isfinite(outlook.now):
        return None
    better = outlook.curve[-1]
    sentences = [
        said(
            _WOULD_BE if better.undecided is None else _WOULD_DECIDE,
            now=width_words(outlook.now),
            spent=asked_words(outlook.asked),
            more=asked_words(better.asked),
            width=width_words(better.width),
            decided=f"{100 * (1 - (better.undecided or 0.0)):.0f}",
        )
    ]
    if outlook.left is not None and outlook.affordable is None:
        sentences.append(said("The remaining budget is too small for a larger loss than this audit spent."))
    elif outlook.left is not None and outlook.affordable is not None:
        sentences.append(
            said(
                "The remaining budget, {left}, is enough for an interval about {width} wide.",
                left=loss_words(outlook.left), width=width_words(outlook.affordable.width),
            )
        )  # fmt: skip
    here = Expectation("", outlook.asked, outlook.now, 0.0, None)
    return _curve((here, *outlook.curve), outlook.asked, joined(sentences))


def width_words(width: float) -> str:
    """The width of a ratio's interval."""
    return figure(width, 3, "decimal") if width >= 0.0005 else said("0.001 or less")


def _curve(expected: Sequence[Expectation], marked: Loss, words: str) -> WidthCurve:
    logarithms = [math.log(max(_nano(point.asked), 1)) for point in expected]  # randomised response costs nothing
    low, high = min(logarithms), max(logarithms)
    top = max(point.width for point in expected)
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if top <= 4 * step or step == 0.5)
    height = step * math.ceil(top / step - 1e-9) or step
    heights = LinearAxis(0.0, height, round(height / step))
    points = tuple(
        WidthPoint(
            x=round(100 * (logarithm - low) / (high - low or 1.0), 2),
            y=round(100 - 100 * point.width / height, 2),
            amount=plain(_nano(point.asked) / NANO_PER_UNIT, 3),
            width=width_words(point.width),
            undecided="" if point.undecided is None else f"{100 * point.undecided:.0f}",
            marked=point.asked == marked,
        )
        for point, logarithm in zip(expected, logarithms, strict=True)
    )
    return WidthCurve(
        symbol="ε" if marked.rho_nano is None else "ρ",
        points=points,
        path=" ".join(f"{point.x},{point.y}" for point in points),
        x_ticks=tuple(Tick(point.x, point.amount) for point in points),
        y_ticks=tuple(Tick(round(100 - tick.position, 2), tick.label) for tick in heights.ticks),
        words=words,
    )


def _nano(loss: Loss) -> int:
    return loss.epsilon_nano if loss.rho_nano is None else loss.rho_nano
