"""The rules' shares in the disparity, as data for pictures: ranked bars with intervals, and flipped rules."""

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Final

from auditor_client.asking.inquiry import Inquiry, LabelValue, leaf_of, stratum_of
from auditor_client.errors import AuditorError
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import Attribution, ParityEstimate
from auditor_client.findings.answers import RATES, Rate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import RULES_SHOWN_MAX, attribution, flipped, has_rules, leaf_names, parity_of
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text, ratio_axis, ratio_threshold
from auditor_client.report.formats import group_words, known, ratio
from auditor_client.report.metric_names import rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.rule_words import Condition
from shared.wire.wording import figure, joined, said, said_of, sentence, signed

FLIPS_TRIED_MAX: Final = 32
FLIPS_SHOWN_MAX: Final = 8
_LABELLED: Final = {
    LabelValue.POSITIVE: said("with a true label"),
    LabelValue.NEGATIVE: said("with a false label"),
    LabelValue.MISSING: said("with no label"),
}
_WITH: Final = sentence("with {outcome}")
_WIDENS: Final = sentence(
    "Rule {rule} contributes most: it widens the gap by {points} percentage points, against “{disadvantaged}”{part}."
)
_NARROWS: Final = sentence(
    "Rule {rule} contributes most: it narrows the gap by {points} percentage points, in favour of “{disadvantaged}”."
)


@dataclass(frozen=True, slots=True)
class RuleBar:
    """One rule's share; `so_far` is the sum of the shares from the first, which has the number 1, to this one."""

    number: int
    name: str
    people: str
    conditions: tuple[tuple[Condition, ...], ...]
    share: str
    interval: str
    so_far: str
    mark: Mark
    clear: bool


@dataclass(frozen=True, slots=True)
class Flip:
    """The ratio if a rule decided the other way; `change` is what the rule would do then."""

    name: str
    change: str
    conditions: tuple[tuple[Condition, ...], ...]
    ratio: str
    interval: str
    mark: Mark
    verdict: str


@dataclass(frozen=True, slots=True)
class RuleBars:
    """The rules of the largest shares in the disparity of two groups."""

    first: str
    second: str
    rate: str
    compared: str
    difference: str
    difference_interval: str
    bars: tuple[RuleBar, ...]
    left_out: int
    ticks: tuple[Tick, ...]
    flips: tuple[Flip, ...]
    ratio_ticks: tuple[Tick, ...]
    threshold: float | None
    ratio: str
    conclusion: str
    warnings: tuple[str, ...]


def rule_bars(finding: Finding) -> RuleBars | None:
    """The attribution of the first metric's first rate; None where the answer does not distinguish rules.

    Raises:
        AuditorError: The answers allow no shares: the exponential mechanism's, or of fewer than two groups with people.
    """
    rate = RATES[finding.metrics[0]][0]
    if not has_rules(finding, rate):
        return None
    current, kind = parity_of(finding.first, rate).ratio, rate.ratio_kind
    bar = None if finding.threshold is None else ratio_threshold(kind, finding.threshold)
    shares = attribution(finding, rate=rate)
    ranked = shares.ranking[:RULES_SHOWN_MAX]
    axis = LinearAxis.around_zero([value for share in ranked for value in (share.share.low, share.share.high)])
    names = finding.counts[rate].favourable
    sums = itertools.accumulate(share.share.value for share in ranked)
    bars = tuple(
        RuleBar(
            number=number,
            name=names[ranked_share.rule],
            people=_people(finding.question, names[ranked_share.rule]),
            conditions=_conditions(finding, names[ranked_share.rule]),
            share=_points(share.value),
            interval=interval_text(share, _points),
            so_far=_points(so_far),
            mark=axis.mark(share),
            clear=share.low > 0 or share.high < 0,
        )
        for number, (ranked_share, so_far) in enumerate(zip(ranked, sums, strict=True), 1)
        for share in (ranked_share.share,)
    )
    first, second = (joined(group_words(finding.question, group), ", ") for group in (shares.first, shares.second))
    return RuleBars(
        first=first,
        second=second,
        rate=rate_words(rate.counted, outcome_of(finding)).name,
        compared=said("highest {rate} divided by the lowest", rate=rate_words(rate, outcome_of(finding)).name)
        if kind.adverse
        else said("lowest {rate} divided by the highest", rate=rate_words(rate, outcome_of(finding)).name),
        difference=_points(shares.difference.value),
        difference_interval=interval_text(shares.difference, _points),
        bars=bars,
        left_out=len(shares.shares) - len(ranked),
        ticks=axis.ticks,
        flips=_flips(finding, rate, current.value),
        ratio_ticks=ratio_axis(kind, narrow=True).ticks,
        threshold=None if bar is None else ratio_axis(kind).position(bar),
        ratio=known(current, partial(ratio, apart_from=bar)),
        conclusion=_conclusion(shares, bars, first, second),
        warnings=shares.warnings,
    )


def _people(question: Inquiry, name: str) -> str:
    """Return whom of a rule's people a cell counts, where they are counted label by label, or by strata."""
    name, stratum = stratum_of(name, question)
    labels = _LABELLED.items() if question.labelled else ()
    words_of_label = (words for value, words in labels if name.endswith(f", {value.value}"))
    of_stratum = [] if stratum is None else [question.words.value(stratum.column, stratum.value)]
    return joined([*of_stratum, *itertools.islice(words_of_label, 1)], ", ")


def _flips(finding: Finding, rate: Rate, now: float) -> tuple[Flip, ...]:
    """The rules whose reversal moves the ratio, as it is now, most."""
    leaves, counted = leaf_names(finding, rate), outcome_of(finding)
    if len(leaves) > FLIPS_TRIED_MAX:
        return ()
    tried = [(name, favourable, _flip(finding, name, rate)) for name, favourable in leaves.items()]
    moved = [(name, favourable, flip) for name, favourable, flip in tried if flip is not None and flip.ratio.defined]
    moved.sort(key=lambda one: -abs(one[2].ratio.value - now))
    return tuple(
        Flip(
            name=name,
            change=said(_WITH, outcome=counted.adverse if favourable else counted.name),
            conditions=_conditions(finding, name),
            ratio=known(flip.ratio, ratio),
            interval=interval_text(flip.ratio, ratio),
            mark=ratio_axis(flip.ratio_kind).mark(flip.ratio),
            verdict="" if flip.verdict is Verdict.NONE or finding.both_outcomes else flip.verdict.value,
        )
        for name, favourable, flip in moved[:FLIPS_SHOWN_MAX]
    )


def _flip(finding: Finding, name: str, rate: Rate) -> ParityEstimate | None:
    """The figure if a rule decided the other way; None where the tree would then make one decision for everybody."""
    try:
        return flipped(finding, name, rate)
    except AuditorError:
        return None


def _conditions(finding: Finding, name: str) -> tuple[tuple[Condition, ...], ...]:
    """The model's rules of a leaf, or of a cell that is a leaf's people of one label."""
    question = finding.question
    wanted = leaf_of(name, question)
    leaves = (*question.leaves(favourable=True), *question.leaves(favourable=False))
    rules = next((leaf.rules for leaf in leaves if leaf.name == wanted), ())
    return tuple(map(question.words.rule, rules))


def _conclusion(shares: Attribution, bars: tuple[RuleBar, ...], first: str, second: str) -> str:
    clear = [bar for bar in bars if bar.clear]
    if not clear:
        return said(
            "The noise is as large as the share of every single rule: the answer does not show which rules cause "
            "the disparity."
        )
    top, other_count = clear[0], len(clear) - 1
    share, gap = shares.ranking[bars.index(top)].share.value, shares.difference.value
    widens = not share * gap < 0
    contributes = said(
        _WIDENS if widens else _NARROWS,
        rule=top.number,
        points=figure(abs(share), 1, "decimal"),
        disadvantaged=first if gap < 0 else second,
        part=said(", {share} of it", share=figure(share / gap, 0, "percent"))
        if widens and 0 < share / (gap or math.inf) <= 1
        else "",
    )
    if not other_count:
        return contributes
    more = said_of(
        other_count,
        "One more of the rules shown differs clearly from zero.",
        "{number} more of the rules shown differ clearly from zero.",
    )
    return joined([contributes, more])


def _points(share: float) -> str:
    """A share, which is in percentage points, with its sign."""
    return signed(figure(share, 1, "decimal")) if math.isfinite(share) else said("undefined")
