"""A trained model, as data: what it cost, how fair and how accurate it is on its own records, and on others."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from auditor_client.asking.training import PROMISING
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.findings.decided_tree import DecidedLeaf, DecidedTree
from auditor_client.findings.finding import Finding
from auditor_client.findings.rehearsals import of_rehearsal
from auditor_client.findings.training import Trained, audited_accuracy
from auditor_client.report.axes import LinearAxis, Tick, interval_text
from auditor_client.report.facts import Fact
from auditor_client.report.formats import known, percent, ratio, verdict_words, whole
from auditor_client.report.headlines import headline as audit_headline
from auditor_client.report.mending_data import ACCURACY, NO_MORE_ACCURATE, RatioBar
from auditor_client.report.prose import level_words
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.trained_scores_data import ScoreTable, score_table
from auditor_client.rule_words import Condition
from auditor_client.text import loss_words
from shared.kinds.trainings import Pflr, PflrStar, PrivateFairTree, TrainedTree, TrainingStep
from shared.privacy.amounts import NO_LOSS, Loss, format_nano
from shared.wire.wording import decimal, figure, joined, listed, plain, said, said_of, sentence, signed

_RATIOS: Final = LinearAxis(0.0, 1.0, 2)
_DECIDED: Final = {True: said("favourable"), False: said("unfavourable")}
_BUYS: Final = {
    "choices": said("choosing splits"),
    "counts": said("counting people by label and group"),
    "sums": said("noisy sums"),
}
_SURE: Final = sentence(
    "In at least {level} of trainings, every such statement is true. It rests on a bound that covers all decisions "
    "of the leaves at once, so it stays true although the decisions were chosen by noisy counts."
)
_ESTIMATED: Final = sentence(
    "This is an estimate from the counts by which its decisions were chosen. It is not shown at {level}: audit the "
    "model before you rely on it."
)
_SHOWN_AT: Final = sentence(
    "If a new training with epsilon {epsilon} found the same counts, it would show that some decisions are enough. "
    "This training cost {spent}."
)
_ENOUGH: Final = sentence(
    "The decisions below come nearest to it. If a new training with epsilon {epsilon} found the same counts, it "
    "would show that some decisions are enough. This training cost {spent}. You can request a smaller ratio "
    "without a charge."
)
_NEVER: Final = said(
    "The decisions below come nearest to it. No decisions that were tried would be enough, even if the same counts "
    "did not contain noise. You can request a smaller ratio without a charge."
)
_USELESS: Final = said(
    "The decisions below meet it, but they are not right about more people than one decision for everybody. One "
    "decision for everybody is as fair and does not need a model. Train with other features, more levels or a "
    "larger epsilon."
)


@dataclass(frozen=True, slots=True)
class TrainedFigure:
    """One figure by one way of deciding, with its interval."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class StepLine:
    """A part of ε: what it bought, and how large the noise was."""

    name: str
    buys: str
    epsilon: str
    noise: str


@dataclass(frozen=True, slots=True)
class LeafLine:
    """One leaf: whom it reaches, how many they are, what it decides, and what that costs."""

    conditions: tuple[tuple[Condition, ...], ...]
    decides: str
    changed: bool
    cost: str
    people: str
    interval: str


@dataclass(frozen=True, slots=True)
class AuditedPart:
    """The finding of an audit of the model."""

    title: str
    headline: str
    verdict: str
    figures: tuple[TrainedFigure, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Everything that is shown of a trained model."""

    verdict: str
    headline: str
    explanation: str
    cost: str
    level: str
    facts: tuple[Fact, ...]
    steps: tuple[StepLine, ...]
    wanted: float
    bars: tuple[RatioBar, ...]
    ticks: tuple[Tick, ...]
    figures: tuple[TrainedFigure, ...]
    leaves: tuple[LeafLine, ...]
    scores: ScoreTable | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    audit: AuditedPart | None
    total: str


def training_data(trained: Trained, audit: Finding | None) -> TrainingData:
    """Everything that is to be shown of a trained model, and of an audit of it if there is one."""
    tree = trained.tree
    by_group = not isinstance(trained.release.training.algorithm, PrivateFairTree)
    return TrainingData(
        verdict="none" if tree is None or trained.useless else "meets" if tree.met else "undecided",
        headline=_headline(trained, audited=audit is not None),
        explanation=_explanation(trained, audited=audit is not None),
        cost=_cost(trained),
        level=percent_level(trained.reading.level),
        facts=tuple(_facts(trained)),
        steps=tuple(step_line(step, by_group=by_group) for step in trained.release.steps),
        wanted=100 * trained.wanted,
        bars=() if tree is None else _bars(trained, tree),
        ticks=_RATIOS.ticks,
        figures=() if tree is None else _figures(tree),
        leaves=tuple(_learned(trained)) if tree is None else tuple(_leaf(trained, leaf) for leaf in tree.leaves),
        scores=score_table(trained.release.model, trained.words),
        warnings=tuple(_warnings(trained)),
        notes=tuple(_notes(trained)),
        audit=None if audit is None else _audited(audit),
        total=said("{loss} was spent now in all.", loss=loss_words(spent_now(trained, audit))),
    )


def spent_now(trained: Trained, audit: Finding | None) -> Loss:
    """Return what training and audit charged now, without what was charged for kept answers before."""
    parts = [NO_LOSS if trained.reused else trained.release.charge]
    if audit is not None:
        parts.append(NO_LOSS if audit.reused else audit.release.charge)
    return sum(parts, NO_LOSS)


def training_description(trained: Trained) -> str:
    """Return what reports say of the model's file: what it was trained from."""
    release = trained.release
    marked = f"{of_rehearsal(release)}a "
    kind = "tree" if isinstance(release.model, TrainedTree) else "score"
    return (
        f"{marked}{kind} trained by {release.training.algorithm.name} on {release.dataset}, version {release.version}, "
        f"for epsilon {format_nano(release.training.epsilon)}: training {release.id.removeprefix('sha256:')[:12]}"
    )


def percent_level(level: float) -> str:
    """A level as reports write it."""
    return level_words(Estimate(0.0, 0.0, 0.0, level, ""))


def _sensitive(trained: Trained) -> tuple[str, ...]:
    return trained.release.training.sensitive


def _columns(trained: Trained) -> str:
    return listed(trained.words.columns(_sensitive(trained)))


def _headline(trained: Trained, *, audited: bool) -> str:
    tree, words = trained.tree, {"wanted": plain(trained.wanted), "columns": _columns(trained)}
    if trained.alike:
        return said("The trained tree decides alike about everybody, so it is not useful.")
    if tree is None and audited:
        return said("A model was trained. The people it decides about were not counted by group.")
    if tree is None:
        return said("A model was trained. The people it decides about were not counted by group: audit it.")
    if tree.estimated:
        return said(
            "The trained tree is estimated to meet a ratio of {wanted} for {columns}, but this is not shown.", **words
        )
    if trained.useless:
        return said(
            "No decisions of the trained tree’s leaves were found that meet a ratio of {wanted} for {columns} and are "
            "better than deciding alike about everybody.",
            **words,
        )
    if not tree.met:
        return said(
            "The training does not show any decisions of the tree’s leaves that bring the ratio for {columns} to "
            "{wanted}.",
            **words,
        )
    if not tree.changed:
        return said("The trained tree meets a ratio of {wanted} for {columns} as it learned to decide.", **words)
    return said_of(
        len(tree.changed),
        "With one leaf decided otherwise than it learned, the trained tree meets a ratio of {wanted} for {columns}.",
        "With {number} leaves decided otherwise than they learned, the trained tree meets a ratio of {wanted} for "
        "{columns}.",
        **words,
    )


def _explanation(trained: Trained, *, audited: bool) -> str:
    tree = trained.tree
    if tree is None and audited:
        return said("The audit below shows how fairly it decides.")
    if tree is None:
        return said("Only an audit shows how fairly it decides.")
    if tree.met:
        return said(_SURE, level=percent_level(trained.reading.level))
    level, spent = percent_level(trained.reading.level), charge_words(trained.release)
    if tree.estimated:
        sentences = [said(_ESTIMATED, level=level)]
        if tree.epsilon_needed is not None:
            sentences.append(said(_SHOWN_AT, epsilon=plain(tree.epsilon_needed), spent=spent))
        return joined(sentences)
    if trained.useless:
        return _USELESS
    if tree.epsilon_needed is None:
        return _NEVER
    return said(_ENOUGH, epsilon=plain(tree.epsilon_needed), spent=spent)


def _cost(trained: Trained) -> str:
    release = trained.release
    if trained.reused:
        return said(
            "Nothing was spent now: the answer was saved, and {charge} was charged for it once.",
            charge=charge_words(release),
        )
    if release.rehearsal is not None:
        return said("Spent: {loss}, once.", loss=charge_words(release))
    return said(
        "{charge} was spent, and {left} was left of the budget then.",
        charge=loss_words(release.charge), left=loss_words(release.remaining),
    )  # fmt: skip


def _facts(trained: Trained) -> Iterator[Fact]:
    release, words = trained.release, trained.words
    training = release.training
    yield Fact(said("Trained on"), said("{dataset}, version {version}", dataset=words.title, version=release.version))
    yield Fact(said("Algorithm"), training.algorithm.name, exact=True)
    yield Fact(said("Predicts"), words.column(training.label))
    yield Fact(said("Compared by"), _columns(trained))
    yield Fact(said("May use"), listed(words.columns([feature.column for feature in training.features])))
    if trained.tree is not None and trained.tree.left_out:
        groups = [joined(words.group(_sensitive(trained), group), ", ") for group in trained.tree.left_out]
        yield Fact(said("Groups left out"), joined(groups, "; "))
    yield Fact(said("Receipt"), trained.kept.receipt.name, exact=True)


def step_line(step: TrainingStep, *, by_group: bool) -> StepLine:
    """A part of ε as it is shown; `by_group` is whether counts are by group."""
    buys = _BUYS[step.measures] if by_group or step.measures != "counts" else said("counting people by label")
    return StepLine(step.name, buys, decimal(step.epsilon), plain(step.scale, 3))


def _bars(trained: Trained, tree: DecidedTree) -> tuple[RatioBar, ...]:
    in_ratio = partial(ratio, apart_from=trained.wanted)
    return tuple(
        RatioBar(name, known(estimate, in_ratio), interval_text(estimate, in_ratio), _RATIOS.mark(estimate))
        for name, estimate in (
            (said("As it learned to decide"), tree.ratio_learned),
            (said("As it is decided"), tree.ratio),
        )
    )


def _figures(tree: DecidedTree) -> tuple[TrainedFigure, ...]:
    return tuple(
        TrainedFigure(name, known(estimate, percent), interval_text(estimate, percent))
        for name, estimate in (
            (said("If everybody were decided alike"), tree.accuracy_of_none),
            (said("As it learned to decide"), tree.accuracy_learned),
            (said("As it is decided"), tree.accuracy),
        )
    )


def _leaf(trained: Trained, leaf: DecidedLeaf) -> LeafLine:
    changed = leaf.favourable != leaf.learned
    return LeafLine(
        conditions=tuple(map(trained.words.rule, leaf.rules)),
        decides=_DECIDED[leaf.favourable],
        changed=changed,
        cost=signed(figure(leaf.cost)) if changed else "",
        people=whole(leaf.everybody.value),
        interval=interval_text(leaf.everybody, whole),
    )


def _learned(trained: Trained) -> Iterator[LeafLine]:
    """The leaves of a tree that nobody was counted of by group."""
    for leaf in trained.learned:
        conditions = tuple(map(trained.words.rule, leaf.rules))
        yield LeafLine(conditions, _DECIDED[leaf.favourable], changed=False, cost="", people="", interval="")


def _warnings(trained: Trained) -> Iterator[str]:
    """Say that the learner of a publication promises no parity, and what it does instead."""
    algorithm = trained.release.training.algorithm
    if algorithm.name in PROMISING:
        return
    yield said(
        "{algorithm} is a published learner. It does not promise a ratio of the groups’ rates and ignored the "
        "requested {wanted}. To train for a ratio, use fair_tree or fair_linear.",
        algorithm=algorithm.name, wanted=plain(trained.wanted),
    )  # fmt: skip
    match algorithm:
        case PrivateFairTree():
            yield said(
                "In that method, fair means that people with nearly the same values are treated alike. The method "
                "does not use groups. The groups’ rates may differ as far as their values do."
            )
        case Pflr(penalty=0):
            yield said("Its penalty was 0, so it ignores fairness. It is plain private logistic regression.")
        case Pflr():
            yield said(
                "In that method, fair means that the score and the group vary little together. The groups’ shares "
                "above the threshold may still differ much."
            )
        case PflrStar():
            group = trained.groups[algorithm.lowered]
            yield said(
                "In that method, fair means that the scores of {group} are lowered as far as they vary with the "
                "group, whatever they would be otherwise. If this is the worse-off group, the method makes the "
                "model less fair for it.",
                group=joined(trained.words.group(_sensitive(trained), group), ", "),
            )


def _notes(trained: Trained) -> Iterator[str]:
    tree = trained.tree
    if tree is not None:
        if not tree.accuracy.low > tree.accuracy_of_none.high:
            yield NO_MORE_ACCURATE
        yield said(
            "These statements are about the people whom the model was trained on, based on counts of them. For "
            "other people it may be less fair and less accurate. Audit it on another dataset, or on a later "
            "version."
        )
        yield ACCURACY
        yield said(
            "A leaf decides differently from what it learned where that brings the groups’ rates closer with the "
            "fewest additional wrong decisions. Decisions count as enough only if they are right about more people "
            "than one decision for everybody. Another ratio costs nothing."
        )
    columns = _columns(trained)
    match trained.release.training.algorithm:
        case PrivateFairTree():
            yield said("The model does not read {columns}, and people were not counted by it.", columns=columns)
        case Pflr() | PflrStar():
            yield said(
                "The model does not read {columns}. Noisy sums by it were used to limit how the score varies with it.",
                columns=columns,
            )
        case _:
            yield said(
                "The model does not read {columns}. People were counted by it, with noise, to decide the leaves.",
                columns=columns,
            )


def _audited(audit: Finding) -> AuditedPart:
    parity, accuracy = audit.parity, audited_accuracy(audit)
    in_ratio = partial(ratio, apart_from=parity.threshold)
    question = audit.question
    figures = [TrainedFigure(said("Ratio"), known(parity.ratio, in_ratio), interval_text(parity.ratio, in_ratio))]
    if accuracy is not None:
        figures.append(TrainedFigure(said("Accuracy"), known(accuracy, percent), interval_text(accuracy, percent)))
    return AuditedPart(
        title=said("{dataset}, version {version}", dataset=question.words.title, version=question.plan.version),
        headline=audit_headline(audit),
        verdict=verdict_words(parity.verdict.value if parity.ratio.defined else Verdict.UNDECIDED.value),
        figures=tuple(figures),
        facts=(
            Fact(
                said("Spent"),
                said("nothing: a saved answer has every count") if audit.reused else charge_words(audit.release),
            ),
            Fact(said("Receipt"), audit.receipt.name, exact=True),
        ),
    )
