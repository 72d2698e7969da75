"""What to ask: a tree's rules as a plan (3-estimation §1).

A strategy says which cells go into which batches at what share of the loss. The cells follow from the
rules, the figures that are wanted and the scope alone, so a plan can be built again and compared. The
rules are taken as they come: merge siblings that decide alike first (`Tree.merged`), because a split
that changes no decision only adds noise. How the answers are read is in `answers`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from auditor_client.asking.mechanisms import Spending
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.models.tree import DecisionRule
from shared.plans import Batch, Plan
from shared.rules import Cell, Predicate, Rule

EVERYBODY: Final = Cell(id="everybody", any_of=(Rule(all_of=()),))

PARITY: Final = "statistical-parity"
OPPORTUNITY: Final = "equal-opportunity"
ODDS: Final = "equalized-odds"
PREDICTIVE: Final = "predictive-parity"
METRICS: Final = (PARITY, OPPORTUNITY, ODDS, PREDICTIVE)
STRATEGIES: Final = ("verdict", "rules", "pafer")
"""Each is described at its function below."""


class Truth(Enum):
    """A value of the label: what a person turned out to be."""

    POSITIVE = "y = 1"
    NEGATIVE = "y = 0"
    MISSING = "y missing"

    def predicate(self, label: str) -> Predicate:
        """The people of this value, by the dataset's label column."""
        if self is Truth.MISSING:
            return Predicate(column=label, op="is_missing")
        return Predicate(column=label, op="eq", value=self is Truth.POSITIVE)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an audit is to find out, before it is decided how to ask.

    Attributes:
        rules: All rules of the tree: disjoint, and together they cover everybody.
        metrics: Of `METRICS`, each once.
        scope: Predicates that restrict every cell; none for everybody in the register.
        label: The dataset's label column; needed for all figures but statistical parity.
        label_nullable: Whether a person's label may be missing.
    """

    rules: tuple[DecisionRule, ...]
    metrics: tuple[str, ...] = (PARITY,)
    scope: tuple[Predicate, ...] = ()
    label: str | None = None
    label_nullable: bool = False

    def __post_init__(self) -> None:
        unknown = [metric for metric in self.metrics if metric not in METRICS]
        if unknown or not self.metrics or len(set(self.metrics)) != len(self.metrics):
            raise QuestionRefused(f"Name metrics, each once, of {', '.join(METRICS)}.")
        if self.labelled and self.label is None:
            raise QuestionRefused(
                "The dataset declares no label, and all figures but statistical-parity compare the decisions with one."
            )

    @property
    def labelled(self) -> bool:
        """Whether some figure needs the label."""
        return self.metrics != (PARITY,)

    def leaves(self, favourable: bool) -> tuple["LeafRules", ...]:
        """The leaves of one decision; what a leaf needed several rules for is together."""
        # Copies of one node of the model may have been merged to leaves of either decision.
        of_other = {rule.leaf.origin for rule in self.rules if rule.favourable != favourable}
        leaves: dict[str, list[Rule]] = {}
        for rule in self.rules:
            if rule.favourable == favourable:
                apart = rule.leaf.origin is None or rule.leaf.origin in of_other
                leaves.setdefault(rule.leaf.id if apart else str(rule.leaf.origin), []).append(rule.rule)
        return tuple(LeafRules(name, tuple(rules)) for name, rules in leaves.items())

    def truths(self, favourable: bool) -> tuple[Truth | None, ...]:
        """The values of the label by which the cells of one decision are split; (None,) if they are not."""
        if not self.labelled:
            return (None,)
        wanted = {truth for metric in self.metrics for truth in self._needed(metric, favourable)}
        return tuple(truth for truth in Truth if truth in wanted)

    def every_truth(self) -> tuple[Truth, ...]:
        """All values that the label can have."""
        return (Truth.POSITIVE, Truth.NEGATIVE, *([Truth.MISSING] if self.label_nullable else []))

    def _needed(self, metric: str, favourable: bool) -> tuple[Truth, ...]:
        if metric == PARITY:
            return self.every_truth()
        if metric == OPPORTUNITY:
            return (Truth.POSITIVE,)
        if metric == ODDS:
            return (Truth.POSITIVE, Truth.NEGATIVE)
        return (Truth.POSITIVE, Truth.NEGATIVE) if favourable else ()

    def restricted(self, rule: Rule, truth: Truth | None) -> Rule:
        """A rule within the scope, and for the people of one value of the label."""
        more = list(self.scope)
        if truth is not None and self.label is not None:
            more.append(truth.predicate(self.label))
        return Rule(id=rule.id, all_of=(*rule.all_of, *more)) if more else rule


@dataclass(frozen=True, slots=True)
class LeafRules:
    """A leaf of the tree and the rules that lead to it: one, or several where one conjunction cannot say it."""

    name: str
    rules: tuple[Rule, ...]


def leaf_of(cell: str, subject: Subject) -> str:
    """The leaf whose people a cell counts: its id without the label's value."""
    if subject.labelled:
        for truth in Truth:
            cell = cell.removesuffix(f", {truth.value}")
    return cell


def build_plan(
    subject: Subject,
    *,
    strategy: str,
    sensitive: Sequence[str],
    spending: Spending,
    version: int | None,
    draw: int = 1,
) -> Plan:
    """Put what is to be found out into a plan.

    Args:
        subject: What is to be found out.
        strategy: One of `STRATEGIES`.
        sensitive: The columns whose combinations of values are the groups.
        spending: The whole plan's loss, and by which mechanism.
        version: Of the records; None is the current one.
        draw: 1, or more for a further, independent and charged draw.

    Raises:
        EstimationRefused: All rules decide alike, so there is nothing to ask.
        QuestionRefused: There is no such strategy, or it cannot use this ε.
    """
    builders = {"verdict": _verdict, "rules": _rules, "pafer": _pafer}
    if strategy not in builders:
        raise QuestionRefused(f"There is no strategy {strategy!r}: use one of {', '.join(STRATEGIES)}, or auto.")
    _require_a_question(subject)
    batches = tuple(builders[strategy](subject, spending))
    return Plan(sensitive=tuple(sensitive), version=version, draw=draw, batches=batches)


def _require_a_question(subject: Subject) -> None:
    favourable = sum(rule.favourable for rule in subject.rules)
    if not favourable:
        raise EstimationRefused(
            "No leaf of the tree is favourable: it accepts nobody, whoever they are, so there is no ratio and nothing "
            "to ask. Name the model's favourable class if it has one."
        )
    if favourable == len(subject.rules) and subject.metrics != (PREDICTIVE,):
        raise EstimationRefused(
            "Every leaf of the tree is favourable: it accepts everybody, whoever they are, so the ratio is 1 and "
            "there is nothing to ask. Predictive parity alone could be asked."
        )


def _verdict(subject: Subject, spending: Spending) -> Iterator[Batch]:
    """{favourable union, unfavourable union}, all at the full loss: the best accuracy, no rule by itself."""
    cells: list[Cell] = []
    for name, favourable in (("favourable", True), ("unfavourable", False)):
        union = LeafRules(name, tuple(rule.rule for rule in subject.rules if rule.favourable == favourable))
        cells += _cells(subject, (union,), subject.truths(favourable))
    yield spending.batch("verdict", cells)


def _rules(subject: Subject, spending: Spending) -> Iterator[Batch]:
    """Every leaf at the full loss: they cover everybody, so no root query is needed."""
    cells: list[Cell] = []
    for favourable in (True, False):
        cells += _cells(subject, subject.leaves(favourable), subject.truths(favourable))
    yield spending.batch("rules", cells)


def _pafer(subject: Subject, spending: Spending) -> Iterator[Batch]:
    """The paper's: everybody with half the loss, each favourable rule with the other half."""
    favourable = _cells(subject, subject.leaves(favourable=True), subject.truths(favourable=True))
    everybody = _cells(subject, (LeafRules("everybody", EVERYBODY.any_of),), subject.truths(favourable=False))
    if not everybody:  # predictive parity alone asks about the accepted
        yield spending.batch("favourable", favourable)
        return
    first, second = spending.halves()
    yield first.batch("everybody", everybody)
    yield second.batch("favourable", favourable)


def _cells(subject: Subject, leaves: Iterable[LeafRules], truths: Iterable[Truth | None]) -> list[Cell]:
    """A cell for each leaf and value of the label."""
    leaves = [leaf for leaf in leaves if leaf.rules]
    return [
        Cell(
            id=leaf.name if truth is None else f"{leaf.name}, {truth.value}",
            any_of=tuple(subject.restricted(rule, truth) for rule in leaf.rules),
        )
        for truth in truths
        for leaf in leaves
    ]
