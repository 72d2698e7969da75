"""Forecast what an audit shows once it is corrected for misreported groups (spec 11, section 2).

The people are supposed to be recorded as the study expects, at random. More budget narrows the noise alone: what the
study and the records leave open stays, and a forecast at several ε shows from where on more would not help.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from auditor_client.asking.question import Question
from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import Posterior, worst_of
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasts import MisreportedForecast
from auditor_client.planning.simulated_audits import SimulatedAudits
from auditor_client.planning.supposed import SupposedCounts

AUDITS: Final = 6
DRAWS: Final = 256


def forecast_misreported(
    questions: Sequence[Question], reading: Reading, simulated: Callable[[Question], SimulatedAudits]
) -> tuple[MisreportedForecast, ...]:
    """Forecast the width of the first metric's ratio, corrected and as recorded; empty without a study.

    Args:
        questions: The question at each ε, with what is assumed of the people and the study.
        reading: How the answer would be read.
        simulated: Audits of the first metric that ask a question.
    """
    forecasts = []
    for question in questions:
        study = question.request.group_study
        if study is not None:
            forecasts.append(_forecast(question, simulated(question), study.counts, reading))
    return tuple(forecasts)


def _forecast(
    question: Question, audits: SimulatedAudits, confusion: ConfusionCounts, reading: Reading
) -> MisreportedForecast:
    """The mean widths over some simulated audits, and how often there would be a verdict."""
    rng, threshold = np.random.default_rng(0), reading.threshold_of(question.metrics[0])
    widths, verdicts = [], []
    for _ in range(AUDITS):
        recorded_people = [_recorded(people, confusion, rng) for people in audits.people]
        measured = replace(audits, people=recorded_people).measurements(rng)
        corrected = [replace(measurement, confusion=confusion) for measurement in measured]
        as_recorded, ratio = (_ratio(answer, reading.level) for answer in (measured, corrected))
        widths.append((ratio.width, as_recorded.width))
        verdicts.append(None if threshold is None else ratio.against(threshold))
    width, recorded_width = map(float, np.nan_to_num(widths, nan=1.0).mean(axis=0))
    decided = None if threshold is None else sum(verdict is not Verdict.UNDECIDED for verdict in verdicts) / AUDITS
    return MisreportedForecast(question.request.loss, width, recorded_width, decided)


def _recorded(people: SupposedCounts, confusion: ConfusionCounts, rng: np.random.Generator) -> SupposedCounts:
    """The same people by the groups as they are recorded."""
    return SupposedCounts(confusion.recorded(people.accepted, rng), confusion.recorded(people.refused, rng))


def _ratio(measured: Sequence[Measurement], level: float) -> Estimate:
    """The lowest rate, or odds, divided by the highest."""
    posteriors = [
        Posterior.of(measurement, level, Drawing(DRAWS, seed=index)) for index, measurement in enumerate(measured)
    ]
    figures = worst_of(posteriors, range(len(measured[0].groups)), threshold=None)
    return figures.ratio_kind.reported(figures.ratio)
