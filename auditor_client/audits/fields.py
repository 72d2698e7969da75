"""How the fields of requests and readings are typed, for the commands' flags and the desk's forms alike."""

from collections.abc import Mapping, Sequence
from typing import Final

from auditor_client.asking.request import AUTO, MECHANISMS, METRICS, STRATEGIES
from auditor_client.asking.training import ALGORITHMS
from auditor_client.audits.asking import COLUMN_TYPES
from auditor_client.findings.reading import ESTIMATORS

CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "metrics": METRICS,
    "strategy": (AUTO, *STRATEGIES),
    "mechanism": MECHANISMS,
    "estimator": ESTIMATORS,
    "type": COLUMN_TYPES,
    "algorithm": ALGORITHMS,
}
"""The values that a field offers, where its type does not list them."""
HOLD_COMMAS: Final = ("where", "missing", "features")
"""Fields whose values may hold commas, so that commas do not separate them."""
FILES: Final = ("supports_from", "group_totals", "misreported")
"""Fields that are files."""
