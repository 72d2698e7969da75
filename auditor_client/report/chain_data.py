"""A chain of decisions as data: a funnel of each group, and what each step adds to the ratio of the chain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.finding import Finding
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.formats import group_words, known, percent, scope_words, whole
from auditor_client.report.prose import level_of
from auditor_client.report.subject import stage_names
from shared.wire.wording import figure, joined, listed, said, sentence, signed

if TYPE_CHECKING:
    from auditor_client.estimation.chain_figures import ChainComparison, ChainFigures

DECIMALS: Final = 2
"""Of contributions, which are shown so that they add up."""
_TIMES: Final = sentence(
    "{share} of the group {group} and {other} of the group {reference} reach {stage}: {ratio} times as often ({level} "
    "interval {interval})."
)
_NOT_KNOWN: Final = sentence(
    "The answers do not show how often the group {group} reaches {stage}, compared with the group {reference}."
)
_DECISIVE: Final = sentence(
    "The step to {stage} makes the difference: there the group {group} goes on {ratio} times as often as the group "
    "{reference} ({level} interval {interval}), and every other step moves the ratio less."
)
_SAME: Final = sentence("The answers do not show that these two groups reach {stage} at different rates.")
_NO_STEP: Final = sentence("The answers do not show which step makes the difference.")
_MORE_OFTEN: Final = sentence(
    "At {stages} the group {group} goes on more often than the group {reference}; the answers do not show that one "
    "step alone makes most of the difference."
)
_LESS_OFTEN: Final = sentence(
    "At {stages} the group {group} goes on less often than the group {reference}; the answers do not show that one "
    "step alone makes most of the difference."
)
_BETWEEN: Final = sentence(
    "The group {group} reaches {stage} between {low} and {high} times as often as the group {reference} ({level} "
    "interval): the answers do not show it more closely."
)
_CONTRADICTING: Final = sentence(
    "{people} people ({level} interval {interval}) reached a stage without reaching an earlier one. They count as "
    "not having reached it. Their number was counted at a charge of its own."
)
_HIT_RATE: Final = sentence(
    "Of those who reach {before}, {rate} of the group {group} ({interval}) and {other} of the group {reference} "
    "({other_interval}) reach {stage}. If {stage} means that a suspicion was right, this is the hit rate."
)
_INFRAMARGINAL: Final = sentence(
    "A hit rate is an average over everybody who was selected, but a threshold decides about the last person "
    "selected. Groups whose risks are spread differently have different hit rates under one threshold. They can "
    "have equal hit rates under two thresholds (inframarginality). So equal or different hit rates alone do not "
    "show whether the threshold was the same."
)
_SELECTED_ONLY: Final = sentence(
    "The outcome is known only for people who were selected. It does not show what would have been found among the "
    "others. A selection that searches one group more finds more in that group."
)
_RANDOM_SAMPLE: Final = sentence(
    "Was a random sample checked too? Audit the same chain for that sample alone, and compare its hit rates with "
    "these. The people in that sample were not chosen by a profile."
)


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """One stage of a group's funnel; `mark` is the step's rate on an axis from nobody to everybody."""

    name: str
    mark: Mark
    rate: str
    rate_interval: str
    reached: str
    reached_interval: str
    people: str
    people_interval: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """The people of one group at each stage; `people` are all of it."""

    group: str
    people: str
    people_interval: str
    stages: tuple[FunnelStage, ...]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step for one group against the reference."""

    name: str
    ratio: str
    interval: str
    chain: str
    chain_interval: str
    contribution: str
    contribution_interval: str
    decisive: bool


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """One group against the reference: the steps, and the sum of their contributions."""

    group: str
    reference: str
    rows: tuple[StepRow, ...]
    total: str
    total_interval: str
    sentence: str
    cause: str


@dataclass(frozen=True, slots=True)
class ChainData:
    """All that a report says of a chain; `outcome_test` are paragraphs, and none where it was not asked for."""

    level: str
    stages: tuple[str, ...]
    ticks: tuple[Tick, ...]
    funnels: tuple[Funnel, ...]
    comparisons: tuple[ComparisonTable, ...]
    contradicting: str
    outcome_test: tuple[str, ...]
    scoped: bool


def chain_data(finding: Finding) -> ChainData | None:
    """Return what the report of an audit says of a chain; None without one."""
    figures = finding.chain
    if figures is None:
        return None
    names, level = stage_names(finding.question), level_of(finding)
    axis = LinearAxis(0.0, 1.0, 4, lambda value: figure(100 * value))
    return ChainData(
        level=level,
        stages=names,
        ticks=axis.ticks,
        funnels=tuple(
            Funnel(
                _name(finding, index),
                whole(figures.people[index].value),
                _interval(figures.people[index]),
                tuple(_stage(figures, axis, name, number, index) for number, name in enumerate(names)),
            )
            for index in range(len(figures.groups))
        ),
        comparisons=tuple(_comparison(finding, figures, comparison, names) for comparison in figures.comparisons),
        contradicting=""
        if figures.contradicting is None
        else said(
            _CONTRADICTING,
            people=whole(figures.contradicting.value),
            level=level,
            interval=_interval(figures.contradicting),
        ),
        outcome_test=tuple(_outcome_test(finding, figures, names)) if finding.reading.outcome_test else (),
        scoped=bool(scope_words(finding.question)),
    )


def shown_contributions(comparison: "ChainComparison") -> tuple[tuple[str, ...], str]:
    """The contributions of the steps, rounded so that they add up to their rounded sum, and that sum.

    Each is rounded down, and those with the largest rest are rounded up. Empty where the answers
    cannot tell them.
    """
    values = [step.contribution.value for step in comparison.steps]
    if not all(_has_ends(ratio) and ratio.known for step in comparison.steps for ratio in (step.ratio, step.chain)):
        return ("",) * len(values), ""
    scaled = [value * 10**DECIMALS for value in values]
    total, units = round(sum(scaled)), [math.floor(value) for value in scaled]
    largest_rest = sorted(range(len(values)), key=lambda step: units[step] - scaled[step])
    for step in largest_rest[: total - sum(units)]:
        units[step] += 1
    return tuple(map(_contribution, units)), _contribution(total)


def _contribution_interval(estimate: Estimate) -> str:
    """The interval of a logarithm; empty where it has no ends."""
    return interval_text(estimate, lambda end: signed(figure(end, DECIMALS, "decimal"))) if _has_ends(estimate) else ""


def _contribution(unit: int) -> str:
    return signed(figure(unit / 10**DECIMALS, DECIMALS, "decimal"))


def _stage(figures: "ChainFigures", axis: LinearAxis, name: str, number: int, group: int) -> FunnelStage:
    step = figures.steps[number]
    rate, reached, people = step.rates[group], step.reached[group], step.people[group]
    return FunnelStage(
        name,
        axis.mark(rate),
        known(rate, percent),
        interval_text(rate, percent),
        known(reached, percent),
        interval_text(reached, percent),
        whole(people.value),
        _interval(people),
    )


def _comparison(
    finding: Finding, figures: "ChainFigures", comparison: "ChainComparison", names: Sequence[str]
) -> ComparisonTable:
    group, reference = figures.groups.index(comparison.group), figures.groups.index(figures.reference)
    contributions, total = shown_contributions(comparison)
    rows = tuple(
        StepRow(
            name,
            *_ratio(step.ratio),
            *_ratio(step.chain),
            contribution,
            _contribution_interval(step.contribution),
            number == comparison.decisive,
        )
        for number, (name, step, contribution) in enumerate(zip(names, comparison.steps, contributions, strict=True))
    )
    chain, last = comparison.steps[-1].chain, figures.steps[-1]
    words = {
        "group": _quoted(finding, group),
        "reference": _quoted(finding, reference),
        "stage": names[-1],
        "level": level_of(finding),
        "share": known(last.reached[group], percent),
        "other": known(last.reached[reference], percent),
        "ratio": _times(chain.value),
        "interval": interval_text(chain, _times),
        "low": _times(chain.low),
        "high": _times(chain.high),
    }
    return ComparisonTable(
        words["group"],
        words["reference"],
        rows,
        total,
        _contribution_interval(comparison.log_ratio),
        said(_sentence(chain), **words),
        _cause(comparison, names, words),
    )


def _cause(comparison: "ChainComparison", names: Sequence[str], words: dict[str, str]) -> str:
    """Return which step makes the difference, if the figures carry that."""
    chain = comparison.steps[-1].chain
    if not _has_ends(chain) or chain.low <= 0:
        return ""
    if chain.low <= 1 <= chain.high:
        return said(_SAME, stage=names[-1])
    if comparison.decisive is None:
        moving = [name for name, step in zip(names, comparison.steps, strict=True) if _moves(step.ratio, chain)]
        way = _MORE_OFTEN if chain.low > 1 else _LESS_OFTEN
        return said(way, **{**words, "stages": listed(moving)}) if moving else said(_NO_STEP)
    ratio = comparison.steps[comparison.decisive].ratio
    return said(
        _DECISIVE,
        **{
            **words,
            "stage": names[comparison.decisive],
            "ratio": _times(ratio.value),
            "interval": interval_text(ratio, _times),
        },
    )


def _sentence(chain: Estimate) -> str:
    """The sentence that says as much of a ratio as the answers do."""
    if not _has_ends(chain) or chain.low <= 0:
        return _NOT_KNOWN
    return _TIMES if chain.known else _BETWEEN


def _moves(step: Estimate, chain: Estimate) -> bool:
    """Whether a step's whole interval lies on the side of 1 on which the chain's lies."""
    return _has_ends(step) and (step.low > 1 if chain.low > 1 else step.high < 1)


def _outcome_test(finding: Finding, figures: "ChainFigures", names: Sequence[str]) -> Sequence[str]:
    reference = figures.groups.index(figures.reference)
    last = figures.steps[-1].rates
    hits = [
        said(
            _HIT_RATE,
            before=names[-2],
            stage=names[-1],
            group=_quoted(finding, index),
            reference=_quoted(finding, reference),
            rate=known(last[index], percent),
            interval=interval_text(last[index], percent),
            other=known(last[reference], percent),
            other_interval=interval_text(last[reference], percent),
        )
        for index in range(len(figures.groups))
        if index != reference and last[index].known and last[reference].known
    ]
    return [*hits, said(_INFRAMARGINAL), said(_SELECTED_ONLY), said(_RANDOM_SAMPLE)]


def _ratio(estimate: Estimate) -> tuple[str, str]:
    """A ratio and its interval; that the answers cannot tell where it has no ends."""
    if not _has_ends(estimate):
        return said("cannot tell"), ""
    return known(estimate, _times), interval_text(estimate, _times)


def _has_ends(estimate: Estimate) -> bool:
    """Whether the answers tell a figure at all: it has both ends."""
    return all(map(math.isfinite, (estimate.value, estimate.low, estimate.high)))


def _times(ratio: float) -> str:
    return figure(ratio, 1 if ratio >= 10 else DECIMALS, "decimal")


def _interval(people: Estimate) -> str:
    return interval_text(people, whole)


def _name(finding: Finding, group: int) -> str:
    return joined(group_words(finding.question, finding.question.groups[group]), ", ")


def _quoted(finding: Finding, group: int) -> str:
    return said("“{group}”", group=_name(finding, group))
