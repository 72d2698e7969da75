"""A trained model and what is known of it: by the counts that were paid for, or of a model without them, nothing.

Rests on the kept answer alone and spends nothing, so another ratio costs nothing either.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from auditor_client.dataset_words import DatasetWords
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings.decided_tree import DecidedTree, decided_tree, reached_leaves, rules_of
from auditor_client.findings.finding import Finding
from auditor_client.findings.leaf_counts import leaves_of, read_leaves
from auditor_client.findings.reading import Reading
from auditor_client.findings.rehearsals import require_marked_alike
from auditor_client.models.tree import DecisionRule
from shared.contract.datasets import DatasetDescription
from shared.contract.metadata import ColumnWords, DatasetMetadata
from shared.contract.rules import Rule
from shared.contract.schema import Group
from shared.kinds.trained_scores import LABEL_SCORE, with_scores
from shared.kinds.trainings import PrivateFairTree, TrainedTree, TrainingRelease
from shared.wire.wording import said

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.trained_leaves import Search


@dataclass(frozen=True, slots=True)
class LearnedLeaf:
    """A leaf that somebody can come to, of a tree whose people were not counted by group; it decides as it learned."""

    rules: tuple[Rule, ...]
    favourable: bool


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model that a holder learned, and what its answer says of it.

    Attributes:
        dataset: The declaration of the people whom it was learned from.
        kept: The holder's verified answer, and its receipt.
        reused: Whether the answer was there before, so that nothing was spent now.
        wanted: The smallest ratio of the groups' rates of favourable decisions that is wanted.
        reading: How the answer is read.
        tree: The tree with its leaves decided; None of a model whose people were not counted by group.
    """

    dataset: DatasetDescription
    kept: KeptAnswer[TrainingRelease]
    reused: bool
    wanted: float
    reading: Reading
    tree: DecidedTree | None

    @property
    def release(self) -> TrainingRelease:
        """The holder's verified answer."""
        return self.kept.release

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in order."""
        return self.dataset.table.groups(self.release.training.sensitive)

    @property
    def words(self) -> DatasetWords:
        """The texts for people of the dataset's names."""
        metadata, model = self.dataset.metadata or DatasetMetadata(), self.release.model
        if not isinstance(model, TrainedTree) or model.scores is None:
            return DatasetWords(self.dataset.name, self.dataset.table, metadata)
        columns = {**metadata.columns, **_score_words(model, metadata, self.release.training.label)}
        schema = with_scores(self.dataset.table, model)
        return DatasetWords(self.dataset.name, schema, metadata.model_copy(update={"columns": columns}))

    @cached_property
    def learned(self) -> tuple[LearnedLeaf, ...]:
        """The leaves of a tree whose people were not counted by group; none of any other model."""
        model = self.release.model
        if self.tree is not None or not isinstance(model, TrainedTree):
            return ()
        reached = reached_leaves(model, self.dataset)
        return tuple(LearnedLeaf(rules, model.leaves[index].favourable) for index, rules in reached.items())

    @property
    def rules(self) -> tuple[DecisionRule, ...]:
        """The rules of a tree as it decides; none of a score."""
        if self.tree is not None:
            return self.tree.rules
        return rules_of([(rule, leaf.favourable) for leaf in self.learned for rule in leaf.rules])

    @property
    def met(self) -> bool:
        """Whether the ratio is shown to be met; never where nobody was counted by group."""
        return self.tree is not None and self.tree.met

    @property
    def alike(self) -> bool:
        """Whether a tree whose people were not counted by group decides alike about everybody."""
        return len({leaf.favourable for leaf in self.learned}) == 1

    @property
    def useless(self) -> bool:
        """Whether decisions are shown to meet the ratio, and none that were found are better than one for everybody."""
        tree = self.tree
        if tree is None or tree.met or tree.estimated:
            return False
        return tree.ratio.defined and tree.ratio.low >= self.wanted

    @property
    def usable(self) -> bool:
        """Whether it is a model to go on with.

        One that was decided for the ratio is if it is shown or estimated to meet it; of others an audit says it, unless
        they decide alike about everybody.
        """
        return not self.alike if self.tree is None else self.tree.met or self.tree.estimated


def trained(
    dataset: DatasetDescription,
    kept: KeptAnswer[TrainingRelease],
    *,
    ratio: float,
    reading: Reading,
    reused: bool = False,
    search: "Search | None" = None,
) -> Trained:
    """Read a verified answer for a wanted ratio of statistical parity.

    Args:
        dataset: The declaration of the people whom it was learned from.
        kept: The answer.
        ratio: The wanted one, within (0, 1].
        reading: Its level, and how large groups have to be for the ratio to be about them.
        reused: Whether the answer was there before.
        search: What finds the leaves' decisions; by default `estimation.fair_choice.most_accurate`.

    Raises:
        QuestionRefused: The ratio is none, fewer than two groups are large enough, or dataset or answer alone is of a
            rehearsal.
        EstimationRefused: The counts are none that a holder answers.
    """
    require_ratio(ratio)
    require_marked_alike(dataset, [kept.release])
    model, tree = kept.release.model, None
    if isinstance(model, TrainedTree) and not isinstance(kept.release.training.algorithm, PrivateFairTree):
        tree = decided_tree(dataset, kept.release, model, ratio=ratio, reading=reading, search=search)
    return Trained(dataset=dataset, kept=kept, reused=reused, wanted=ratio, reading=reading, tree=tree)


def require_ratio(ratio: float) -> None:
    """Refuse a wanted ratio that is none, before anything is spent.

    Raises:
        QuestionRefused: So it is.
    """
    if not 0 < ratio <= 1:
        raise QuestionRefused("The wanted `ratio` of the groups' rates is a number above 0 and at most 1.")


def _score_words(model: TrainedTree, metadata: DatasetMetadata, label: str) -> dict[str, ColumnWords]:
    """Return what people read of a trained tree's scores."""
    written = metadata.columns.get(label)
    titles = (
        said("points for {label}", label=(written and written.title) or label),
        said("points for the worst-off group"),
    )
    # Made without validating: that would leave of a text that is said in every language the English one.
    return {
        name: ColumnWords.model_construct(title=titles[not name.startswith(LABEL_SCORE)]) for name in model.scores or {}
    }


def audited_accuracy(finding: Finding) -> Estimate | None:
    """The share of people in an audit's answer whom the tree decides about rightly; None where it does not say it.

    A tree that was fixed before it was audited, so the interval is for it alone.
    """
    from auditor_client.estimation.leaf_choices import ChoiceBounds  # noqa: PLC0415 - takes a second to import

    question = finding.question
    try:
        counts = read_leaves(finding.release, question)
    except QuestionRefused:
        return None
    favourable = len(question.leaves(favourable=True))
    decisions = [index < favourable for index in range(len(leaves_of(question)))]
    groups = list(range(len(question.groups)))
    return ChoiceBounds(counts, groups, 1.0, finding.reading.level).accuracy_of_one(decisions)
