"""A trained tree, its leaves decided for a wanted ratio by the counts that were paid for (7-training §2).

Rests on the answer alone and spends nothing, so another ratio costs nothing either.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.drawing import DRAWS
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import NoisyCounts
from auditor_client.findings.leaf_counts import epsilon_needed, ratio_if
from auditor_client.findings.reading import Reading
from auditor_client.models.bands import joined_rules
from auditor_client.models.boxes import Space
from auditor_client.models.tree import DecisionRule, Leaf
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Rule
from shared.contract.schema import Group
from shared.kinds.trained_scores import with_scores
from shared.kinds.trainings import TrainedTree, TrainingRelease

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import LeafCounts
    from auditor_client.estimation.trained_leaves import Search

DECISIONS: Final = {True: "favourable", False: "unfavourable"}
"""What a trained tree calls what it decides."""


@dataclass(frozen=True, slots=True)
class DecidedLeaf:
    """A leaf that somebody can come to.

    Attributes:
        rules: What leads to it.
        learned: Whether it is favourable by itself: if more of its people have the label than not, as counted.
        favourable: Whether it is for the wanted ratio.
        people: How many people of each group it reaches, in the order of the groups, each by itself.
        everybody: How many of all groups.
        cost: How many more people of all groups it decides wrongly so than by itself; 0 if it decides as learned.
    """

    rules: tuple[Rule, ...]
    learned: bool
    favourable: bool
    people: tuple[Estimate, ...]
    everybody: Estimate
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedTree:
    """A trained tree with the decisions of its leaves for a wanted ratio, and what is known of it.

    All figures are about the records that it was trained on, and the intervals of ratio and accuracy hold for every
    choice of decisions together, the learned ones among them.

    Attributes:
        met: Whether the ratio is shown to be met.
        estimated: If not, whether it is estimated to be: not by a bound for all decisions, and so it may well be false.
            If neither, these are the decisions that come nearest to it.
        leaves: All that somebody can come to.
        ratio_learned, ratio: The statistical parity ratio by the learned decisions, undefined where these are all
            alike, and by those for the wanted ratio.
        accuracy_learned, accuracy: The share of people whose decision is favourable just if the label is true.
        accuracy_of_none: The same if everybody were decided alike, as most have the label or not.
        left_out: Groups that the ratio is not about, as the reading says how large they have to be.
        epsilon_needed: About what a new training would have to cost for the ratio to be shown to be met; None if it is
            met, or if nothing that was found reaches it.
    """

    met: bool
    estimated: bool
    leaves: tuple[DecidedLeaf, ...]
    ratio_learned: Estimate
    ratio: Estimate
    accuracy_learned: Estimate
    accuracy: Estimate
    accuracy_of_none: Estimate
    left_out: tuple[Group, ...]
    epsilon_needed: float | None

    @property
    def changed(self) -> tuple[DecidedLeaf, ...]:
        """The leaves that decide otherwise than they learned."""
        return tuple(leaf for leaf in self.leaves if leaf.favourable != leaf.learned)

    @property
    def rules(self) -> tuple[DecisionRule, ...]:
        """The rules of the tree so decided."""
        return rules_of([(rule, leaf.favourable) for leaf in self.leaves for rule in leaf.rules])


def rules_of(decisions: Sequence[tuple[Rule, bool]]) -> tuple[DecisionRule, ...]:
    """What rules that exclude each other decide; of bands that lie behind each other and decide alike, one rule."""
    return tuple(
        DecisionRule(rule.model_copy(update={"id": str(index)}), Leaf(str(index), DECISIONS[favourable], favourable))
        for index, (rule, favourable) in enumerate(joined_rules(decisions))
    )


def decided_tree(
    dataset: DatasetDescription,
    release: TrainingRelease,
    model: TrainedTree,
    *,
    ratio: float,
    reading: Reading,
    search: "Search | None" = None,
) -> DecidedTree:
    """The leaves of a release's tree, decided for a wanted ratio.

    Args:
        dataset: The declaration of the people whom it was learned from.
        release: Of a tree with the counts of its leaves.
        model: That tree.
        ratio: The wanted one, within (0, 1].
        reading: Its level, and how large groups have to be for the ratio to be about them.
        search: What finds the decisions; by default `estimation.fair_choice.most_accurate`.

    Raises:
        QuestionRefused: Fewer than two groups are large enough, or the tree has one leaf.
        EstimationRefused: It comes without counts.
    """
    from auditor_client.estimation.fair_choice import most_accurate  # noqa: PLC0415 - takes a second to import
    from auditor_client.estimation.trained_leaves import decide_leaves  # noqa: PLC0415 - takes a second to import

    groups = dataset.table.groups(release.training.sensitive)
    rules = reached_leaves(model, dataset)
    if len(rules) < 2:
        raise QuestionRefused("The trained tree has one leaf that anybody can come to, so it decides alike about all.")
    reached = list(rules)
    counts, learned = _leaf_counts(release, reached), [model.leaves[index].favourable for index in reached]
    left_out = _left_out(counts, groups, reading)
    judged = [index for index, group in enumerate(groups) if group not in left_out]
    if len(judged) < 2:
        raise QuestionRefused("Fewer than two groups are large enough to be compared: leave `judged` out.")
    found = decide_leaves(
        counts, learned, groups=judged, ratio=ratio, level=reading.level, search=search or most_accurate
    )

    def within(decisions: Sequence[bool], low: float, high: float) -> Estimate:
        one = ratio_if(counts, decisions, groups, reading, but=left_out)
        return replace(one, low=low, high=high).stretched_to(one.value) if one.defined else one

    return DecidedTree(
        met=found.shown,
        estimated=found.estimated,
        leaves=tuple(
            DecidedLeaf(
                rules=rules[leaf],
                learned=learned[index],
                favourable=found.decisions[index],
                people=counts.people_of(index, reading.level),
                everybody=counts.everybody_in(index, reading.level),
                cost=found.costs[index] if found.decisions[index] != learned[index] else 0.0,
            )
            for index, leaf in enumerate(reached)
        ),
        ratio_learned=within(learned, *found.ratio_ends_learned),
        ratio=within(found.decisions, *found.ratio_ends),
        accuracy_learned=found.accuracy_learned,
        accuracy=found.accuracy,
        accuracy_of_none=found.accuracy_of_none,
        left_out=left_out,
        epsilon_needed=epsilon_needed(release.training.epsilon, found.bearable),
    )


def reached_leaves(model: TrainedTree, dataset: DatasetDescription) -> dict[int, tuple[Rule, ...]]:
    """The rules of the leaves that somebody can come to, by index: of all others it is public that nobody is there."""
    space = Space.of(
        with_scores(dataset.table, model), [rule.all_of for leaf in model.leaves for rule in leaf.cell.any_of]
    )
    rules = {
        index: tuple(
            rule.model_copy(update={"all_of": space.needed(rule.all_of)})
            for rule in leaf.cell.any_of
            if space.reached(rule.all_of)
        )
        for index, leaf in enumerate(model.leaves)
    }
    return {index: left for index, left in rules.items() if left}


def _leaf_counts(release: TrainingRelease, leaves: Sequence[int]) -> "LeafCounts":
    """The counts of some leaves, in their order."""
    from auditor_client.estimation.leaf_choices import LeafCounts  # noqa: PLC0415 - takes a second to import

    if release.counts is None:
        raise EstimationRefused("The tree comes without the counts of its leaves: do not use it.")
    counted, noise = [release.counts.leaves[index] for index in leaves], release.counts.noise
    return LeafCounts.of(
        [
            [NoisyCounts.of([of_leaf], noise) for of_leaf in of_value]
            for of_value in ([one.positive for one in counted], [one.negative for one in counted])
        ]
    )


def _left_out(counts: "LeafCounts", groups: tuple[Group, ...], reading: Reading) -> tuple[Group, ...]:
    """The groups that are not shown to be as large as the reading wants; whatever the leaves decide."""
    from auditor_client.estimation.posterior import estimate_parity  # noqa: PLC0415 - takes a second to import

    if reading.rule is None:
        return ()
    some = counts.decided(groups, [index == 0 for index in range(counts.leaves)])
    drawing = reading.drawing(DRAWS)
    return estimate_parity(some, threshold=None, level=reading.level, drawing=drawing, rule=reading.rule).left_out
