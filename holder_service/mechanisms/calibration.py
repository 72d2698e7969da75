"""The mechanism that answers a batch at the loss that it names, under a neighbouring relation."""

from collections.abc import Sequence

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.exponential import ExponentialMechanism
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.randomised_response import RandomisedResponseMechanism
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Schema
from shared.kinds.plans import Batch, Exponential, Gaussian, Laplace


def mechanism_of(
    batch: Batch, *, relation: NeighbouringRelation, schema: Schema, sensitive: Sequence[str]
) -> Mechanism:
    """Calibrate the mechanism of a batch that fits the schema: a class of disjoint cells costs exactly `batch.loss`.

    Raises:
        ValueError: It would release counts as they are that were not perturbed at their source.
    """
    groups, moved = schema.group_count(sensitive), batch.names_sensitive(schema)
    mechanism, loss = batch.mechanism, batch.loss
    if isinstance(mechanism, Laplace):
        return LaplaceMechanism.calibrated(epsilon_nano=loss.epsilon_nano, sensitivity=relation.l1(groups, moved=moved))
    if isinstance(mechanism, Gaussian):
        return GaussianMechanism.calibrated(loss=loss, squared_sensitivity=relation.l2_squared(groups, moved=moved))
    if isinstance(mechanism, Exponential):
        return ExponentialMechanism.calibrated(
            epsilon_nano=loss.epsilon_nano,
            upper=mechanism.upper,
            counts_that_change=relation.counts_that_change(groups, moved=moved),
        )
    if relation.name != "sensitive_attribute":
        raise ValueError("Randomised response protects the group alone, and this relation protects the whole record.")
    return RandomisedResponseMechanism.declared(schema, sensitive)
