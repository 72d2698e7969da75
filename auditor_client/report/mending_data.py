"""A relabelled tree, as data: what changes, what comes of it, and how sure that is."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.mending import LeafChange, Mended
from auditor_client.findings.rehearsals import of_rehearsal
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.facts import Fact, model_digest, subject_facts
from auditor_client.report.formats import group_words, known, percent, ratio, sensitive_words, whole
from auditor_client.report.prose import level_words
from auditor_client.report.rehearsal import charge_words
from auditor_client.rule_words import Condition
from shared.wire.wording import figure, joined, listed, plain, said, said_of, sentence, signed

_RATIOS: Final = LinearAxis(0.0, 1.0, 2)
_SURE: Final = sentence(
    "In at least {level} of audits, every such statement is true. It rests on a bound that covers all choices of "
    "leaves at once, so it stays true although the leaves were chosen by noisy counts."
)
_ENOUGH: Final = sentence(
    "The changes below come nearest to it. If a new audit with epsilon {epsilon} found the same counts, it would "
    "show that some changes are enough. This audit spent {spent}."
)
_NEVER: Final = said(
    "The changes below come nearest to it. No set of changes that was tried would be enough, even if the same "
    "counts did not contain noise."
)
ACCURACY: Final = said(
    "Accuracy is the share of the people with a label whose decision is favourable exactly if their label is true: a "
    "favourable decision counts as right where the label is true."
)
NO_MORE_ACCURATE: Final = said(
    "With these changes, the tree is not shown to be more accurate than the same decision for everybody."
)
_NOTES: Final = (
    said("These statements are about the people who were counted, not about a population that they represent."),
    said(
        "Leaves are chosen by their gain: how much closer the groups’ rates come, for each person about whom the "
        "tree then decides wrongly (leaf relabelling: Kamiran, Calders and Pechenizkiy 2010)."
    ),
    ACCURACY,
    said("Other figures, such as equal opportunity, may have become better or worse: audit the relabelled tree."),
)


@dataclass(frozen=True, slots=True)
class MendedFigure:
    """One figure before and after, with intervals."""

    name: str
    before: str
    before_interval: str
    after: str
    after_interval: str


@dataclass(frozen=True, slots=True)
class RatioBar:
    """The ratio before or after, as a bar."""

    name: str
    value: str
    interval: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One leaf: whom it reaches, what it decides before and after, its cost and its people, group by group."""

    conditions: tuple[tuple[Condition, ...], ...]
    before: str
    after: str
    cost: str
    people: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MendingData:
    """Everything that is shown of a relabelled tree."""

    met: bool
    headline: str
    explanation: str
    cost: str
    level: str
    facts: tuple[Fact, ...]
    wanted: float
    bars: tuple[RatioBar, ...]
    ticks: tuple[Tick, ...]
    figures: tuple[MendedFigure, ...]
    groups: tuple[str, ...]
    changes: tuple[ChangeLine, ...]
    notes: tuple[str, ...]


def mending_data(mended: Mended) -> MendingData:
    """Everything that is to be shown of a relabelled tree."""
    question = mended.finding.question
    in_ratio = partial(ratio, apart_from=mended.wanted)
    bars = tuple(
        RatioBar(name, known(estimate, in_ratio), interval_text(estimate, in_ratio), _RATIOS.mark(estimate))
        for name, estimate in ((said("Before"), mended.ratio_before), (said("After"), mended.ratio))
    )
    return MendingData(
        met=mended.met,
        headline=_headline(mended),
        explanation=_explanation(mended),
        cost=said("Nothing was spent: the saved answer has every count."),
        level=level_words(mended.ratio),
        facts=(
            *subject_facts(question, mended.finding.about),
            Fact(said("Receipt"), mended.finding.receipt.name, exact=True),
            Fact(
                said("Relabelled tree, the beginning of its digest"),
                mended.digest.removeprefix("sha256:")[:12],
                exact=True,
            ),
        ),
        wanted=100 * mended.wanted,
        bars=bars,
        ticks=_RATIOS.ticks,
        figures=(
            MendedFigure(said("Ratio"), bars[0].value, bars[0].interval, bars[1].value, bars[1].interval),
            _accuracy(mended.accuracy_before, mended.accuracy),
        ),
        groups=tuple(joined(group_words(question, group), ", ") for group in question.groups),
        changes=tuple(_change(mended, change) for change in mended.changes),
        notes=_NOTES if mended.accuracy.low > mended.accuracy_of_none.high else (NO_MORE_ACCURATE, *_NOTES),
    )


def model_description(mended: Mended) -> str:
    """Return what reports say of the relabelled tree's file: what it was mended from."""
    provenance, digest = mended.finding.question.source.provenance, model_digest(mended.finding.model)
    name = mended.finding.about.model_name or (None if provenance is None else provenance.description)
    before = f"model {digest}" if name is None else f"{name[:100]}, model {digest}"
    number = len(mended.changes)
    marked = of_rehearsal(mended.finding.release)
    return f"{marked}a tree mended from {before}: {number} {'leaf' if number == 1 else 'leaves'} changed"


def _headline(mended: Mended) -> str:
    words = {"wanted": plain(mended.wanted), "columns": listed(sensitive_words(mended.finding.question))}
    number = len(mended.changes)
    if not mended.met:
        return said(
            "The audit does not show any changes of leaves that bring the ratio for {columns} to {wanted}.", **words
        )
    if not number:
        return said("The tree meets a ratio of {wanted} for {columns} as it is. It does not need changes.", **words)
    return said_of(
        number,
        "With one leaf relabelled, the tree meets a ratio of {wanted} for {columns}.",
        "With {number} leaves relabelled, the tree meets a ratio of {wanted} for {columns}.",
        **words,
    )


def _explanation(mended: Mended) -> str:
    if mended.met:
        return said(_SURE, level=level_words(mended.ratio))
    if mended.epsilon_needed is None:
        return _NEVER
    return said(_ENOUGH, epsilon=plain(mended.epsilon_needed), spent=charge_words(mended.finding.release))


def _accuracy(before: Estimate, after: Estimate) -> MendedFigure:
    texts = [text for share in (before, after) for text in (known(share, percent), interval_text(share, percent))]
    return MendedFigure(said("Accuracy"), *texts)


def _change(mended: Mended, change: LeafChange) -> ChangeLine:
    return ChangeLine(
        conditions=tuple(map(mended.finding.question.words.rule, change.rules)),
        before=change.before,
        after=change.after,
        cost=signed(figure(change.cost)),
        people=tuple((whole(estimate.value), interval_text(estimate, whole)) for estimate in change.people),
    )
