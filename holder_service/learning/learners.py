"""The algorithms that a training may name (7-training §2)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from holder_service.learning import fair_linear, fair_tree, pflr, private_fair_tree
from holder_service.learning.measuring import LearningStep, Measuring
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Schema
from shared.kinds.trainings import TrainedCounts, TrainedScore, TrainedTree, Training


class Learner(Protocol):
    """Learns a model; a module is one."""

    def steps(self, training: Training, schema: Schema) -> tuple[LearningStep, ...]:
        """The steps that it will take, in order, whatever the records are.

        What they cost adds up to ε, and the size of each bounds its work whatever was chosen before.

        Args:
            training: It fits the schema.
            schema: The declared columns.

        Raises:
            TooLarge: A step would count too much.
        """

    def learn(
        self, training: Training, schema: Schema, measuring: Measuring
    ) -> tuple[TrainedTree | TrainedScore, TrainedCounts | None]:
        """Take the steps, and make a model of what they give; nothing else is seen of the records."""


LEARNERS: Final[Mapping[str, Learner]] = MappingProxyType(
    {
        "fair_tree": fair_tree,
        "private_fair_tree": private_fair_tree,
        "pflr": pflr,
        "pflr_star": pflr,
        "fair_linear": fair_linear,
    }
)
"""By the name of the algorithm."""


def offered(schema: Schema, relation: NeighbouringRelation) -> tuple[str, ...]:
    """The algorithms that a training about a dataset may name; none where it has no label or nobody to be fair to."""
    has_label = any(column.label and not column.nullable for column in schema.columns)
    has_groups = any(schema.by_name[name].group_values for name in schema.sensitive)
    has_features = any(not column.label and schema.may_be_named(column.name) for column in schema.columns)
    protects_records = relation.name != "sensitive_attribute"
    return tuple(LEARNERS) if has_label and has_groups and has_features and protects_records else ()
