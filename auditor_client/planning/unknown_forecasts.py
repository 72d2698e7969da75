"""Forecast what an audit shows if some people's group is unknown, by how many they are (spec 11, section 1).

The unknown of each block are supposed to be accepted as often as the others of it. The part that they leave open stays
at any ε: a forecast shows when more budget would not help.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.question import Question
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.unknown_figures import SetEstimate
from auditor_client.estimation.unknown_groups import Layout, has_layout, unknown_people
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasts import UnknownForecast
from auditor_client.planning.simulated_audits import SimulatedAudits

SHARES: Final = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Of people whose group is unknown."""
AUDITS: Final = 6
DRAWS: Final = 512


def forecast_unknown(
    question: Question, reading: Reading, simulated: Callable[[Question], SimulatedAudits]
) -> tuple[UnknownForecast, ...]:
    """Forecast the sets of the first metric's ratio by the share of the unknown, ascending.

    Empty where nobody's group can be unknown, or figures would not be bounded.

    Args:
        question: With what is assumed of the people.
        reading: How the answer would be read.
        simulated: Audits of the first metric that ask a question.
    """
    request = question.request
    without_bounds = request.chain is not None or request.edges is not None or request.by is not None
    if without_bounds or reading.unknown_mode == "group" or not has_layout(question.groups):
        return ()
    layout = Layout.of(question.groups)
    return tuple(
        _forecast(share, simulated(question.changed(assumption=supposing(request.assumption, layout, share))), reading)
        for share in SHARES
    )


def supposing(assumption: Assumption, layout: Layout, share: float) -> Assumption:
    """Return the assumption with a share of each block's people unknown, who are accepted as the others of it are."""
    groups = len(layout.declared) + len(layout.unknown)
    supposed_shares = assumption.shares or (1.0,) * groups
    if len(supposed_shares) != groups or not any(supposed_shares[index] for index in layout.declared):
        return assumption  # which is refused where it is used
    sizes = {index: supposed_shares[index] for index in layout.declared}
    smallest = min((index for index in layout.declared if sizes[index] > 0), key=sizes.__getitem__)
    rates = [
        assumption.rates[index] if assumption.rates else assumption.ratio if index == smallest else 1.0
        for index in layout.declared
    ]
    blocks = [
        [member for member, block in enumerate(layout.block) if block == number]
        for number in range(len(layout.unknown))
    ]
    shares, relative = [0.0] * groups, [0.0] * groups
    for index, rate in zip(layout.declared, rates, strict=True):
        shares[index], relative[index] = sizes[index] * (1 - share), rate
    for index, members in zip(layout.unknown, blocks, strict=True):
        of_block = [sizes[layout.declared[member]] for member in members]
        shares[index] = share * sum(of_block)
        weighted = sum(size * rates[member] for size, member in zip(of_block, members, strict=True))
        relative[index] = weighted / (sum(of_block) or 1.0)
    return assumption.model_copy(update={"shares": tuple(shares), "rates": tuple(relative)})


def _forecast(share: float, audits: SimulatedAudits, reading: Reading) -> UnknownForecast:
    """The mean set over some simulated audits, and how often there would be a verdict."""
    rng, sets = np.random.default_rng(0), []
    factor = math.inf if reading.unknown_odds is None else reading.unknown_odds
    for _ in range(AUDITS):
        people = unknown_people(audits.measurements(rng), "bounds", reading.level, Drawing(DRAWS))
        if people is not None:
            sets.append(people.sets().estimates(factor)[0])
    threshold = reading.threshold_of(audits.question.metrics[0])
    verdicts = [] if threshold is None else [estimate.against(threshold) for estimate in sets]
    decided = None if threshold is None else sum(each is not Verdict.UNDECIDED for each in verdicts) / len(verdicts)
    nearest, farthest, low, high = (_mean(sets, end) for end in ("least", "most", "low", "high"))
    mean = SetEstimate(nearest, farthest, low, high, reading.level)
    return UnknownForecast(share, mean.reciprocal() if audits.ratio_kind.adverse else mean, decided)


def _mean(sets: Sequence[SetEstimate], end: str) -> float:
    return float(np.mean([getattr(estimate, end) for estimate in sets]))
