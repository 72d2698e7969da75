"""The figures of a score's bands, as data for pictures and tables, before anything is drawn."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import ParityEstimate
from auditor_client.report.axes import LinearAxis, Tick, interval_text
from auditor_client.report.formats import known, percent, ratio, threshold_percent, whole
from auditor_client.rule_words import value_words
from shared.wire.wording import joined, listed, said, said_of

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.impact import ImpactRatio
    from auditor_client.estimation.score_bands import ScoreFigures, ThresholdCurve

_SHARES: Final = LinearAxis(0.0, 1.0, 5, lambda value: f"{100 * value:.0f}")
_TICKS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class PictureLine:
    """A line of a picture, or a region: points in per cent from the left and from the top, as SVG writes them."""

    name: str
    points: str


@dataclass(frozen=True, slots=True)
class CurvePicture:
    """Lines over the thresholds or the bands; `region` is what the interval covers, `reference` a height to compare."""

    lines: tuple[PictureLine, ...]
    region: PictureLine | None
    reference: float | None
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    alternative: str
    caption: str


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """One threshold: the ratio, its interval, its verdict, and every group's rate."""

    threshold: str
    ratio: str
    interval: str
    verdict: str
    rates: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, slots=True)
class GroupBars:
    """One group's distribution: of each band its share, the interval and the height of the bar in per cent."""

    group: str
    shares: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """One group as the bias audits of New York's Local Law 144 list it, with intervals."""

    group: str
    people: str
    rate: str
    rate_interval: str
    impact: str
    interval: str


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One band's share of people with the label, by group, with intervals."""

    band: str
    rates: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ScoreData:
    """All that the report says of a score.

    Attributes:
        groups: Their names.
        level: Of every statement, in words.
        joint: Whether it is of all statements together.
        conclusion: At which thresholds the rule is met.
        ratios: The ratio over the thresholds.
        rates: The groups' rates over the thresholds.
        thresholds: The same as a table.
        distributions: By group.
        bands: What each band holds.
        impact: The table of impact ratios; its rates are at the decisions' own threshold, else at the median.
        impact_title: Which of the two.
        decides: Whether decisions are made at one of the thresholds; impact ratios then stand by themselves.
        calibration: By band; empty without a label.
        calibration_picture: The same as a picture; None without a label.
        auc: By group, value and interval; empty without a label.
    """

    groups: tuple[str, ...]
    level: str
    joint: bool
    conclusion: str
    ratios: CurvePicture
    rates: CurvePicture
    thresholds: tuple[ThresholdRow, ...]
    distributions: tuple[GroupBars, ...]
    bands: tuple[str, ...]
    impact: tuple[ImpactRow, ...]
    impact_title: str
    decides: bool
    calibration: tuple[LabelledRow, ...]
    calibration_picture: CurvePicture | None
    auc: tuple[tuple[str, str, str], ...]


_RATES_ABOVE: Final = said(
    "These are the rates of scores above a threshold. If hardly anybody is below it, they are nearly the same in "
    "all groups, whichever people are below. If being below is a burden, compare the rates of the people below "
    "instead."
)


def score_data(
    figures: "ScoreFigures",
    names: tuple[str, ...],
    *,
    chosen: float | None,
    threshold: float,
    level: str,
    joint: bool,
    assistive: bool = True,
) -> ScoreData:
    """Everything to be shown.

    Args:
        figures: What the bands say.
        names: Of the groups, in the figures' order.
        chosen: The edge that decisions are made at; None without one.
        threshold: Of the ratio, that verdicts are about.
        level: Of every statement, in words; `joint`: whether it is of all of them together.
        assistive: Whether a score above a threshold is known to be what people want; else the rates below it count too.
    """
    bands = _band_names(figures.edges)
    return ScoreData(
        groups=names,
        level=level,
        joint=joint,
        conclusion=joined([_conclusion(figures.acceptance, threshold), *([] if assistive else [_RATES_ABOVE])]),
        ratios=_ratio_picture(figures.acceptance, threshold, level),
        rates=_rate_picture(
            [[group.rate for group in parity.groups] for parity in figures.acceptance.parities],
            names, [value_words(edge) for edge in figures.edges], said("Rates of the groups at every threshold"),
        ),
        thresholds=tuple(
            _threshold_row(edge, parity, chosen=edge == chosen)
            for edge, parity in zip(figures.edges, figures.acceptance.parities, strict=True)
        ),
        distributions=tuple(map(_bars, names, figures.distribution)),
        bands=bands,
        impact=tuple(map(impact_row, ((name,) for name in names), figures.impact)),
        impact_title=(
            said("Selection rates and impact ratios at the threshold {threshold}", threshold=value_words(chosen))
            if chosen is not None
            else said(
                "Scoring rates and impact ratios: above {threshold}, near the median",
                threshold=value_words(figures.edges[figures.median]),
            )
        ),
        decides=chosen is not None,
        calibration=tuple(map(_labelled_row, bands, figures.calibration or ())),
        calibration_picture=None
        if figures.calibration is None
        else _rate_picture(
            [[group.rate for group in parity.groups] for parity in figures.calibration],
            names, bands, said("People of each band with the label, by group"),
        ),
        auc=tuple(map(_auc_row, names, figures.auc or ())),
    )  # fmt: skip


def _conclusion(curve: "ThresholdCurve", threshold: float) -> str:
    meeting, share = [value_words(edge) for edge in curve.meeting()], threshold_percent(threshold)
    if not meeting:
        return said_of(
            len(curve.thresholds),
            "At the one threshold it is not shown that the lowest rate is at least {share} of the highest.",
            "At none of the {number} thresholds is it shown that the lowest rate is at least {share} of the highest.",
            share=share,
        )
    first = said(
        "The smallest threshold at which it is shown that the lowest rate is at least {share} of the highest is "
        "{threshold}.",
        share=share, threshold=meeting[0],
    )  # fmt: skip
    if len(meeting) == 1:
        return first
    return joined([first, said("It is shown at {thresholds}, all of them together.", thresholds=listed(meeting))])


def _threshold_row(edge: float, parity: ParityEstimate, *, chosen: bool) -> ThresholdRow:
    return ThresholdRow(
        value_words(edge),
        known(parity.ratio, ratio),
        interval_text(parity.ratio, ratio),
        parity.verdict.value,
        tuple(known(group.rate, percent) for group in parity.groups),
        chosen,
    )


def impact_row(group: tuple[str, ...], impact: "ImpactRatio") -> ImpactRow:
    """One group of a table of impact ratios, by what people read of it."""
    return ImpactRow(
        joined(group, ", "),
        whole(impact.size.value),
        known(impact.rate, percent),
        interval_text(impact.rate, percent),
        known(impact.ratio, ratio),
        interval_text(impact.ratio, ratio),
    )


def _labelled_row(band: str, parity: ParityEstimate) -> LabelledRow:
    rates = [group.rate for group in parity.groups]
    return LabelledRow(band, tuple((known(rate, percent), interval_text(rate, percent)) for rate in rates))


def _auc_row(name: str, auc: Estimate) -> tuple[str, str, str]:
    return name, known(auc, ratio), interval_text(auc, ratio)


def _ratio_picture(curve: "ThresholdCurve", threshold: float, level: str) -> CurvePicture:
    xs = _positions(len(curve.thresholds))
    ratios = [parity.ratio for parity in curve.parities]
    points = [(x, estimate) for x, estimate in zip(xs, ratios, strict=True) if estimate.defined]
    region = [(x, estimate.high) for x, estimate in points] + [(x, estimate.low) for x, estimate in reversed(points)]
    return CurvePicture(
        lines=(PictureLine(said("Ratio"), _points((x, estimate.value) for x, estimate in points if estimate.known)),),
        region=PictureLine(said("Interval"), _points(region)),
        reference=_height(threshold),
        x_ticks=_ticks(list(map(value_words, curve.thresholds))),
        y_ticks=tuple(Tick(100 - tick.position, tick.label) for tick in LinearAxis(0.0, 1.0, 5).ticks),
        alternative=said("The lowest rate divided by the highest, at every threshold"),
        caption=said(
            "The lowest rate divided by the highest, at every threshold; the region is the {level} interval, which "
            "holds at all thresholds together. The dashed line is {threshold}.",
            level=level,
            threshold=threshold_percent(threshold),
        ),
    )


def _rate_picture(
    rates: Sequence[Sequence[Estimate]], names: Sequence[str], labels: Sequence[str], title: str
) -> CurvePicture:
    xs = _positions(len(rates))
    lines = [
        PictureLine(name, _points((x, of[k].value) for x, of in zip(xs, rates, strict=True) if of[k].known))
        for k, name in enumerate(names)
    ]
    return CurvePicture(
        lines=tuple(lines),
        region=None,
        reference=None,
        x_ticks=_ticks(labels),
        y_ticks=tuple(Tick(100 - tick.position, tick.label) for tick in _SHARES.ticks),
        alternative=title,
        caption=said("{title}, in per cent. The table has every value and interval.", title=title),
    )


def _bars(name: str, shares: Sequence[Estimate]) -> GroupBars:
    values = [share.value if share.known else 0.0 for share in shares]
    tallest = max(values) or 1.0
    return GroupBars(
        name,
        tuple(
            (known(share, percent), interval_text(share, percent), round(100 * value / tallest, 2))
            for share, value in zip(shares, values, strict=True)
        ),
    )


def _band_names(edges: Sequence[float]) -> tuple[str, ...]:
    words = list(map(value_words, edges))
    between = [said("{low} to {high}", low=low, high=high) for low, high in itertools.pairwise(words)]
    return (said("at most {value}", value=words[0]), *between, said("above {value}", value=words[-1]))


def _positions(number: int) -> list[float]:
    return [round(100 * (index + 0.5) / number, 2) for index in range(number)]


def _ticks(labels: Sequence[str]) -> tuple[Tick, ...]:
    step = -(-len(labels) // _TICKS_MAX)
    ticks = [Tick(x, label) for x, label in zip(_positions(len(labels)), labels, strict=True)]
    return tuple(ticks[::step])


def _height(share: float) -> float:
    return round(100 - 100 * share, 2)


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{_height(value)}" for x, value in pairs)
