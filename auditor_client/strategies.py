"""What to ask: a tree's rules as a plan, and a release as a measurement (3-estimation §1).

A strategy says which cells go into which batches at what share of ε, and which of the answered cells
count the accepted people. Both follow from the rules alone, so a plan can be rebuilt from a release
and compared. The rules are taken as they come: merge siblings that decide alike first
(`Tree.merged`), because a split that changes no decision only adds noise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.errors import EstimationRefused, HolderLied, QuestionRefused
from auditor_client.estimation.measurements import ComplementKind, Measurement, NoisyCounts
from auditor_client.models.tree import DecisionRule
from shared.amounts import EPSILON_NANO_MAX, EPSILON_NANO_MIN, InvalidAmount, format_nano, parse_nano
from shared.plans import Batch, Laplace, Plan
from shared.releases import Release
from shared.rules import Cell, Rule

EVERYBODY: Final = Cell(id="everybody", any_of=(Rule(all_of=()),))


@dataclass(frozen=True, slots=True)
class Part:
    """Some cells of one batch.

    Attributes:
        batch: The batch's name.
        cells: The places of the cells in it.
    """

    batch: str
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a strategy's answers stand: the accepted, and beside them the refused or everybody."""

    favourable: Part
    complement: Part
    complement_is: ComplementKind


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to ask for statistical parity.

    Attributes:
        batches: The batches for some rules at a total ε, in nano-units.
        layout: What the cells of those batches count.
    """

    batches: Callable[[Sequence[DecisionRule], int], tuple[Batch, ...]]
    layout: Callable[[Sequence[DecisionRule]], Layout]


def build_plan(
    rules: Sequence[DecisionRule],
    *,
    strategy: str,
    sensitive: Sequence[str],
    epsilon: str,
    version: int | None,
    draw: int = 1,
) -> Plan:
    """Put a tree's rules into a plan.

    Args:
        rules: All rules of the tree: disjoint, and together they cover everybody.
        strategy: "pafer" (the paper's) or "verdict" (the most accurate for SP alone).
        sensitive: The columns whose combinations of values are the groups.
        epsilon: The whole plan's loss, as a decimal string.
        version: Of the records; None is the current one.
        draw: 1, or more for a further, independent and charged draw.

    Raises:
        EstimationRefused: All rules decide alike, so there is nothing to ask.
        QuestionRefused: There is no such strategy, or ε is not one that it can use.
    """
    if strategy not in STRATEGIES:
        raise QuestionRefused(f"There is no strategy {strategy!r}: use one of {', '.join(STRATEGIES)}.")
    _require_a_question(rules)
    return Plan(
        sensitive=tuple(sensitive),
        version=version,
        draw=draw,
        batches=STRATEGIES[strategy].batches(rules, _epsilon_nano(epsilon)),
    )


def measurement(release: Release, rules: Sequence[DecisionRule], strategy: str) -> Measurement:
    """Read a release as the measurement that a strategy's plan makes.

    Args:
        release: A verified answer.
        rules: The rules that were asked about, as `build_plan` took them.
        strategy: The strategy of the plan.

    Raises:
        EstimationRefused: The release answers another plan than these rules give, or counts one group only.
        HolderLied: The answer does not fit the release's own plan.
    """
    plan = release.plan
    asked = build_plan(
        rules,
        strategy=strategy,
        sensitive=plan.sensitive,
        epsilon=format_nano(sum(batch.epsilon for batch in plan.batches)),
        version=plan.version,
        draw=plan.draw,
    )
    if asked != plan:
        raise EstimationRefused(f"The release answers another plan than these rules give with strategy {strategy!r}.")
    _require_its_answer(release)
    layout = STRATEGIES[strategy].layout(rules)
    return Measurement(
        groups=release.batches[0].groups,
        favourable=_counts(release, layout.favourable),
        complement=_counts(release, layout.complement),
        complement_is=layout.complement_is,
    )


def _counts(release: Release, part: Part) -> NoisyCounts:
    batch = release.batch(part.batch)
    return NoisyCounts.of([batch.cells[place].counts for place in part.cells], batch.noise)


def _require_a_question(rules: Sequence[DecisionRule]) -> None:
    favourable = sum(rule.favourable for rule in rules)
    if not favourable:
        raise EstimationRefused(
            "No leaf of the tree is favourable: it accepts nobody, whoever they are, so there is no ratio and nothing "
            "to ask. Name the model's favourable class if it has one."
        )
    if favourable == len(rules):
        raise EstimationRefused(
            "Every leaf of the tree is favourable: it accepts everybody, whoever they are, so the ratio is 1 and "
            "there is nothing to ask."
        )


def _require_its_answer(release: Release) -> None:
    """Refuse a release whose batches are not those of its own plan."""
    asked = [(batch.name, [cell.id for cell in batch.cells]) for batch in release.plan.batches]
    answered = [(batch.name, [cell.id for cell in batch.cells]) for batch in release.batches]
    if asked != answered or len({batch.groups for batch in release.batches}) != 1:
        raise HolderLied("The answer has other batches, cells or groups than its plan asks for.")
    if any(batch.counted_groups is not None for batch in release.batches):
        raise EstimationRefused(
            "The holder counted one group only, because features are public under this dataset's relation. An estimate "
            "would need the rules' supports, which no estimator takes yet: ask with two sensitive columns."
        )


def _epsilon_nano(epsilon: str) -> int:
    try:
        nano = parse_nano(epsilon)
    except InvalidAmount as error:
        raise QuestionRefused(f"epsilon: {error}") from error
    if EPSILON_NANO_MIN <= nano <= EPSILON_NANO_MAX:
        return nano
    raise QuestionRefused(
        f"epsilon lies between {format_nano(EPSILON_NANO_MIN)} and {format_nano(EPSILON_NANO_MAX)}; not at {epsilon}."
    )


def _batch(name: str, epsilon_nano: int, cells: Sequence[Cell]) -> Batch:
    return Batch(name=name, mechanism=Laplace(name="laplace"), epsilon=format_nano(epsilon_nano), cells=tuple(cells))  # type: ignore[arg-type]  # the validator reads strings


def _pafer_batches(rules: Sequence[DecisionRule], epsilon_nano: int) -> tuple[Batch, ...]:
    half = epsilon_nano // 2
    if half < EPSILON_NANO_MIN:
        raise QuestionRefused(
            f"Strategy 'pafer' halves epsilon, so it takes at least {format_nano(2 * EPSILON_NANO_MIN)}."
        )
    cells = [Cell(id=rule.rule.id or f"rule-{place}", any_of=(rule.rule,)) for place, rule in enumerate(rules)]
    favourable = [cell for cell, rule in zip(cells, rules, strict=True) if rule.favourable]
    return _batch("everybody", half, [EVERYBODY]), _batch("favourable", epsilon_nano - half, favourable)


def _pafer_layout(rules: Sequence[DecisionRule]) -> Layout:
    favourable = sum(rule.favourable for rule in rules)
    return Layout(Part("favourable", tuple(range(favourable))), Part("everybody", (0,)), "everybody")


def _verdict_batches(rules: Sequence[DecisionRule], epsilon_nano: int) -> tuple[Batch, ...]:
    unions = [
        Cell(id=name, any_of=tuple(rule.rule for rule in rules if rule.favourable == favourable))
        for name, favourable in (("favourable", True), ("unfavourable", False))
    ]
    return (_batch("verdict", epsilon_nano, unions),)


def _verdict_layout(_: Sequence[DecisionRule]) -> Layout:
    return Layout(Part("verdict", (0,)), Part("verdict", (1,)), "unfavourable")


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "pafer": Strategy(_pafer_batches, _pafer_layout),
    "verdict": Strategy(_verdict_batches, _verdict_layout),
}
