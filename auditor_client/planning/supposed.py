"""The people whom a forecast is about, as they are supposed to be: by an assumption, by own data, by an audit."""

import math
from dataclasses import dataclass

import numpy as np

from auditor_client.asking.question import Question
from auditor_client.asking.request import FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE, PREDICTIVE
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.judged_groups import GROUPS_MIN
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.findings.answers import OF_EVERYBODY, RATES, CountSupport, Location, Rate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of

_OF_REFUSED = (FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE)


@dataclass(frozen=True, slots=True, eq=False)
class SupposedCounts:
    """The people whom one rate is about: of each group, shape (K,) each, in people."""

    accepted: IntArray
    refused: IntArray

    def ratio(self, rule: SizeRule | None = None, *, adverse: bool = False) -> float:
        """The ratio of the smallest and the largest rate of the groups that are large enough; on demand of refusal.

        NaN where nobody is accepted, or fewer than two are.
        """
        sizes = self.accepted + self.refused
        judged = range(len(sizes)) if rule is None else rule.met(sizes.tolist())
        if len(judged) < GROUPS_MIN:
            return math.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = ((self.refused if adverse else self.accepted) / sizes)[list(judged)]
            return float(np.nanmin(rates) / np.nanmax(rates))


def assumed_counts(
    question: Question, metric: str, location: Location, supports: CountSupport | None
) -> SupposedCounts:
    """The people whom one rate is about, as the assumption and the auditor's own data have them.

    Raises:
        QuestionRefused: The assumption does not fit the groups, or own data have one decision alone.
    """
    assumption = question.request.assumption
    if supports is not None:
        favourable, complement = (
            sum(map(supports, cells.among(question.plan))) for cells in (location.favourable, location.complement)
        )
        people = complement if location.complement_is == "everybody" else favourable + complement
        if not 0 < favourable < people:
            raise QuestionRefused("In your own data the tree makes one decision for everybody within the scope.")
        assumption = assumption.model_copy(update={"people": people, "accepted": favourable / people})
    elif metric in _OF_REFUSED:
        share = assumption.positive if metric == FALSE_DISCOVERY_RATE else 1 - assumption.positive
        refused_people = max(round(assumption.supposed_people * (1 - assumption.accepted)), 1)
        assumption = assumption.model_copy(update={"people": refused_people, "accepted": share})
    elif metric == PREDICTIVE:
        accepted_people = max(round(assumption.supposed_people * assumption.accepted), 1)
        assumption = assumption.model_copy(update={"people": accepted_people, "accepted": assumption.positive})
    elif question.labelled and not OF_EVERYBODY.issuperset(RATES[metric]):
        positive_people = max(round(assumption.supposed_people * assumption.positive), 1)
        assumption = assumption.model_copy(update={"people": positive_people})
    adverse = RATES[metric][0].ratio_kind.adverse
    if adverse:  # then the supposed ratio is that of the adverse rates
        assumption = assumption.model_copy(update={"accepted": 1 - assumption.accepted})
    counted, sizes = (np.array(counts, dtype=np.int64) for counts in assumption.counts(len(question.groups)))
    accepted = sizes - counted if adverse else counted
    return SupposedCounts(accepted, sizes - accepted)


def estimated_counts(finding: Finding, metric: str, rate: Rate) -> SupposedCounts:
    """The people whom one rate is about, as an audit estimated them; none where a group may have nobody."""
    groups = parity_of(finding.estimates[metric], rate).groups
    figures = np.array([(group.accepted.value, group.size.value) for group in groups])
    counted, sizes = np.nan_to_num(figures).round().astype(np.int64).T
    counted, not_counted = np.minimum(counted, sizes), np.maximum(sizes - counted, 0)
    return SupposedCounts(not_counted, counted) if rate.ratio_kind.adverse else SupposedCounts(counted, not_counted)
