"""What kind of decision an audit is about, and which figure it therefore begins with (Saleiro et al. 2018, *Aequitas*).

A decision is *assistive* if being selected is good, and *punitive* if it is a burden. The four-fifths rule compares how
often groups get the favourable outcome; of a punitive decision it is the adverse outcome that has to be compared.
"""

from typing import Final

from auditor_client.asking.request import (
    ADVERSE,
    FALSE_DISCOVERY_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_OMISSION_RATE,
    FALSE_POSITIVE_RATE,
    PARITY,
    AuditRequest,
)
from auditor_client.errors import QuestionRefused
from shared.contract.datasets import DatasetDescription
from shared.contract.metadata import Intervention

_KINDS: Final[dict[str, Intervention]] = {
    FALSE_POSITIVE_RATE: "punitive",
    FALSE_DISCOVERY_RATE: "punitive",
    FALSE_NEGATIVE_RATE: "assistive",
    FALSE_OMISSION_RATE: "assistive",
}
"""The decisions whose errors these metrics count."""


def declared_intervention(request: AuditRequest, dataset: DatasetDescription) -> Intervention | None:
    """Return what the dataset declares of the column of decisions that a request names; None if nothing."""
    if request.decision is None or dataset.metadata is None:
        return None
    words = dataset.metadata.columns.get(request.decision)
    return None if words is None else words.intervention


def of_intervention(request: AuditRequest, dataset: DatasetDescription) -> AuditRequest:
    """The request with the kind of decision settled; of a punitive one the adverse ratio takes the first place.

    Raises:
        QuestionRefused: A metric counts the errors of another kind of decision.
    """
    intervention = request.intervention or declared_intervention(request, dataset)
    for metric in request.metrics:
        kind = _KINDS.get(metric)
        if None not in (kind, intervention) and kind != intervention:
            raise QuestionRefused(
                f"The metric {metric} counts the errors of {kind} decisions, but this decision is {intervention}. "
                f"Use {' or '.join(other for other, of_other in _KINDS.items() if of_other == intervention)}."
            )
    if intervention != "punitive" or request.metrics[0] != PARITY:
        return request.changed(intervention=intervention)
    rest = tuple(metric for metric in request.metrics[1:] if metric != ADVERSE)
    bands = (PARITY,) if request.edges is not None else ()
    return request.changed(intervention=intervention, metrics=(ADVERSE, *bands, *rest))
