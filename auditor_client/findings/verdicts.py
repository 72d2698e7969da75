"""The verdict of an audit: of its first figure, or of both outcomes where nobody said what kind of decision it is.

Where hardly anybody gets the adverse outcome, the ratio of favourable rates cannot fail, whoever bears the burden;
where hardly anybody is chosen, the adverse ratio cannot. So an audit that does not say its kind of decision
(`intervention`) has both figures, and a verdict only where both agree (docs/choosing-a-metric.md).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from auditor_client.asking.request import ADVERSE, PARITY
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.drawing import EDITIONS
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import OddsEstimate, ParityEstimate

if TYPE_CHECKING:
    from auditor_client.asking.question import Question
    from auditor_client.findings.reading import Reading

BOTH: Final = (PARITY, ADVERSE)
RARE: Final = 0.9
"""Above this favourable rate over all groups the ratio of favourable rates says little about the adverse outcome."""
BURDEN: Final = 1.25
"""1/.8: an adverse ratio that is surely above it is never passed over, whatever threshold the audit names."""


def metrics_estimated(question: "Question", reading: "Reading") -> tuple[str, ...]:
    """The metrics that were asked for, and the figure of the other outcome where the kind of decision is not said."""
    metrics = question.metrics
    unsaid = question.request.intervention is None and metrics[0] in BOTH
    if not (unsaid and reading.has_intervals and EDITIONS[reading.edition].both_outcomes):
        return metrics
    return (*metrics, *(metric for metric in BOTH if metric not in metrics))


def require_bounds(question: "Question", reading: "Reading") -> None:
    """Refuse bounds over the unknown, before anything is spent, where nobody's group can be unknown.

    Raises:
        QuestionRefused: Bounds were asked for, and no sensitive column can be missing, or several can.
    """
    if reading.unknown_mode != "bounds":
        return
    columns = [name for name in question.request.sensitive if question.schema.by_name[name].nullable]
    if not columns:
        raise QuestionRefused(
            "No sensitive column of this audit can have missing values: everybody's group is known, so there is "
            "nothing to bound. Leave `unknown` and `unknown_odds` out."
        )
    if len(columns) > 1:
        raise QuestionRefused(
            f"The sensitive columns {', '.join(columns)} can have missing values. Bounds over the unknown are made "
            "for one such column at a time: name one of them."
        )


def both_outcomes(
    estimates: Mapping[str, ParityEstimate | OddsEstimate], intervention: str | None, edition: int
) -> tuple[tuple[str, ParityEstimate], ...]:
    """Both outcomes' figures where nobody said which counts, that of the rarer outcome first; else none."""
    unsaid = intervention is None and EDITIONS[edition].both_outcomes and next(iter(estimates)) in BOTH
    found = [(metric, estimates[metric]) for metric in BOTH if metric in estimates]
    both = tuple((metric, estimate) for metric, estimate in found if isinstance(estimate, ParityEstimate))
    if not unsaid or len(both) < len(BOTH):
        return ()
    overall = both[0][1].overall
    return both[::-1] if overall is not None and overall.value > 1 / 2 else both


def combined_verdict(both: Sequence[tuple[str, ParityEstimate]]) -> Verdict:
    """The verdict of both outcomes' figures: theirs if they agree, else that it depends on the kind of decision.

    It depends too where the favourable outcome is that of nearly everybody and the adverse ratio is surely above 1.25:
    a lenient threshold does not make a burden that the groups bear so differently a pass.
    """
    figures = dict(both)
    favourable, adverse = figures[PARITY], figures[ADVERSE]
    if favourable.verdict is not adverse.verdict:
        return Verdict.DEPENDS
    rare = favourable.overall is not None and favourable.overall.value > RARE
    if favourable.verdict is Verdict.MEETS and rare and adverse.ratio.low > BURDEN:
        return Verdict.DEPENDS
    return favourable.verdict
