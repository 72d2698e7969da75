"""What an audit would show, before anything is spent, and what more budget would buy after it (3-estimation §3).

Releases about assumed people are simulated and estimated as the audit would be. A forecast is as good as what
was assumed, and touches neither records nor budget: the noise follows from the plan, the people from the
auditor's assumption, its own attribute-free data, or an audit's estimates.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auditor_client.asking.question import Question
from auditor_client.asking.request import PREDICTIVE, STRATEGIES
from auditor_client.errors import AuditorError, QuestionRefused
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts, Supports
from auditor_client.estimation.posterior import Posterior, worst_ratio
from auditor_client.exchange.expected_noise import expected_noise
from auditor_client.findings.answers import RATES, AskedCells, BatchCells, CountSupport, Location, Rate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasts import Expectation, Forecast, Outlook
from auditor_client.planning.simulation import simulated_answers
from shared.amounts import EPSILON_NANO_MAX, EPSILON_NANO_MIN, NANO_PER_UNIT, format_nano
from shared.schema import Schema

RELEASES_AT_ONCE: Final = 10
RELEASES_MAX: Final = 200
GROUPS_MAX: Final = 1200
"""How many answers a forecast simulates at most, and how many groups' answers: many groups make do with fewer."""
PRECISION: Final = 0.03
"""Relative standard error of the expected width at which a forecast is good enough."""
SIMULATION_DRAWS: Final = 1024
CURVE: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
"""At which multiples of the planned ε the curve is drawn."""
OUTLOOK: Final = (2.0, 4.0, 8.0)
WIDTH_TOLERANCE: Final = 0.02
"""How close to the wanted width, relative to it, the search for ε stops."""


READING: Final = Reading()
_NOTHING: Final = (0.5, 0.0, 1.0)
"""A ratio that the answers leave undefined counts as an interval from 0 to 1, which says as little."""


@dataclass(frozen=True, slots=True, eq=False)
class AssumedCounts:
    """The people whom one rate is about, as they are assumed to be: of each group, shape (K,) each, in people."""

    accepted: IntArray
    refused: IntArray

    @property
    def ratio(self) -> float:
        """The ratio of the smallest and the largest rate; NaN where nobody is accepted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = self.accepted / (self.accepted + self.refused)
            return float(np.nanmin(rates) / np.nanmax(rates))


def forecast(question: Question, *, supports: CountSupport | None = None, reading: Reading = READING) -> Forecast:
    """Forecast a question, put by every strategy, and at smaller and larger ε.

    People and acceptance are the question's assumption, or those of the auditor's own data, where `supports` counts.

    Raises:
        QuestionRefused: The assumption does not fit the groups, or supports are needed.
    """

    def expected(put: Question) -> Expectation:
        return chosen if put == question else expectation(put, supports=supports, reading=reading)

    chosen = expectation(question, supports=supports, reading=reading)
    strategies = []
    for strategy in STRATEGIES:
        try:
            strategies.append(expected(question.changed(strategy=strategy)))
        except QuestionRefused:
            continue  # for example half an ε that the holder does not accept
    curve = tuple(expected(put) for put in _at_multiples(question, CURVE))
    return Forecast(chosen, tuple(strategies), curve or (chosen,), question.request.assumption, supports is not None)


def smallest_epsilon(
    question: Question, width: float, *, supports: CountSupport | None = None, reading: Reading = READING
) -> Question:
    """The question at the smallest ε whose expected interval is as narrow as wanted.

    The expected width falls as ε grows, so ε is bisected on a logarithmic scale; each try simulates the same
    noise, scaled.

    Raises:
        QuestionRefused: Not even the largest ε is expected to reach it, or the width is none.
    """
    if not 0 < width < 1:
        raise QuestionRefused(f"The width of the ratio's interval lies between 0 and 1; not at {width}.")

    def at(nano: int) -> tuple[Question, float]:
        put = question.at(nano)
        return put, expectation(put, supports=supports, reading=reading).width

    low, high = 2 * EPSILON_NANO_MIN, EPSILON_NANO_MAX
    best, reached = at(high)
    if not reached <= width:
        raise QuestionRefused(
            f"Not even the largest epsilon is expected to make the interval {width} wide: {reached:.3f} is what it "
            "gives on what is assumed of the people. Ask for fewer groups, or assume more people."
        )
    while high > low * 1.01 and not width * (1 - WIDTH_TOLERANCE) <= reached <= width:
        # A multiple of 0.001 is easier to read, and as good.
        middle = round(math.sqrt(low * high) / EPSILON_NANO_MIN) * EPSILON_NANO_MIN
        if not low < middle < high:
            break
        candidate, found = at(middle)
        if found <= width:
            best, reached, high = candidate, found, middle
        else:
            low = middle
    return best


def expectation(
    question: Question,
    *,
    supports: CountSupport | None = None,
    assumed: Sequence[AssumedCounts] | None = None,
    supported: bool = False,
    reading: Reading = READING,
    seed: int = 0,
) -> Expectation:
    """What a question would show on average, for its first metric; the same seed gives the same forecast.

    Args:
        supports: Counts a cell in the auditor's own data.
        assumed: The people of each of the metric's rates; by default as the question's assumption has them.
        supported: Whether the answer is estimated with the exact supports of its cells, as it is with `supports`.
        reading: How the answer would be read: its threshold and its level.
    """
    metric = question.metrics[0]
    cells = AskedCells(question.plan)
    located = [cells.locate(question, rate) for rate in RATES[metric]]
    locations = [location for location in located if location is not None]
    people = assumed or [_assumed(question, metric, location, supports) for location in locations]
    supported = supported or supports is not None
    groups = len(people[0].accepted)
    rng = np.random.default_rng(seed)
    # Estimates with known totals over the groups, as supports and reports give them, take many times as long.
    slow = supported or question.request.mechanism == "randomised_response"
    fast_max = max(min(RELEASES_MAX, GROUPS_MAX // (groups * len(people))), RELEASES_AT_ONCE)
    releases_max = RELEASES_AT_ONCE if slow else fast_max
    ranges: list[tuple[float, float, float]] = []
    while len(ranges) < releases_max and not _precise(ranges):
        for _ in range(RELEASES_AT_ONCE):
            measured = [
                _measurement(question, location, counts, supported, rng)
                for location, counts in zip(locations, people, strict=True)
            ]
            ranges.append(_range(measured, reading.level, seed))
    (value, low, high), bar = np.array(ranges).T, reading.threshold_of(metric)
    true = min((counts.ratio for counts in people), default=np.nan)
    return Expectation(
        strategy=question.strategy,
        epsilon_nano=question.request.epsilon_nano,
        width=float((high - low).mean()),
        error=float(np.abs(value - true).mean()),
        undecided=None if bar is None else float(((low < bar) & (high >= bar)).mean()),
    )


def outlook(finding: Finding) -> Outlook | None:
    """What more budget would buy after an audit: the same question at larger ε, for people as they were estimated.

    Where nothing was to be paid, because the groups were perturbed at their source: what that perturbation's loss
    would have bought of a holder who has the true groups.

    Returns:
        None where there is no interval, or nobody is accepted as far as the answer shows.
    """
    question, metric = finding.question, finding.metrics[0]
    if not finding.reading.has_intervals or not finding.ratio.defined:
        return None
    people = [_estimated(finding, metric, rate) for rate in RATES[metric]]
    if question.request.mechanism == "randomised_response":
        spent = perturbation_nano(question.dataset.table, question.plan.sensitive)
        central = question.changed(mechanism="laplace", epsilon=format_nano(spent))
        expected = expectation(central, assumed=people, reading=finding.reading)
        return Outlook(now=finding.ratio.width, epsilon_nano=0, curve=(), remaining_nano=None, central=expected)
    supported = next(iter(finding.counts.values())).measurement.supports is not None
    larger = _at_multiples(question, OUTLOOK) if all(np.isfinite(counts.ratio) for counts in people) else ()
    budget = finding.budget
    return Outlook(
        now=finding.ratio.width,
        epsilon_nano=question.request.epsilon_nano,
        curve=tuple(expectation(put, assumed=people, supported=supported, reading=finding.reading) for put in larger),
        remaining_nano=None if budget is None else budget.left.epsilon_nano,
    )


def _at_multiples(question: Question, factors: Sequence[float]) -> Iterator[Question]:
    """The question at multiples of its ε, as far as halves of them are within the public range; none without ε."""
    for nano in (round(question.request.epsilon_nano * factor) for factor in factors):
        if 2 * EPSILON_NANO_MIN <= nano <= EPSILON_NANO_MAX:
            yield question.at(nano)


def perturbation_nano(schema: Schema, sensitive: Sequence[str]) -> int:
    """What a person's perturbed reports have cost, ε in units of 10⁻⁹, within the public range of ε."""
    columns = (schema.by_name[name] for name in sensitive)
    loss = sum(
        column.randomised_response.epsilon(len(column.values)) for column in columns if column.randomised_response
    )
    return min(max(round(loss * NANO_PER_UNIT), EPSILON_NANO_MIN), EPSILON_NANO_MAX)


def _assumed(question: Question, metric: str, location: Location, supports: CountSupport | None) -> AssumedCounts:
    """The people whom one rate is about, as the assumption and the auditor's own data have them."""
    assumption = question.request.assumption
    groups = len(question.dataset.table.groups(question.plan.sensitive))
    if supports is not None:
        favourable, complement = (
            sum(map(supports, asked.among(question.plan))) for asked in (location.favourable, location.complement)
        )
        people = complement if location.complement_is == "everybody" else favourable + complement
        if not 0 < favourable < people:
            raise QuestionRefused("In your own data the tree makes one decision for everybody within the scope.")
        assumption = assumption.model_copy(update={"people": people, "accepted": favourable / people})
    elif metric == PREDICTIVE:
        accepted_people = max(round(assumption.people * assumption.accepted), 1)
        assumption = assumption.model_copy(update={"people": accepted_people, "accepted": assumption.positive})
    elif question.labelled and RATES[metric] != (Rate.ACCEPTANCE,):
        positive_people = max(round(assumption.people * assumption.positive), 1)
        assumption = assumption.model_copy(update={"people": positive_people})
    accepted, sizes = (np.array(counts, dtype=np.int64) for counts in assumption.counts(groups))
    return AssumedCounts(accepted, sizes - accepted)


def _estimated(finding: Finding, metric: str, rate: Rate) -> AssumedCounts:
    """The people whom one rate is about, as an audit estimated them; none where a group may have nobody."""
    groups = parity_of(finding.estimates[metric], rate).groups
    figures = np.array([(group.accepted.value, group.size.value) for group in groups])
    accepted, sizes = np.nan_to_num(figures).round().astype(np.int64).T
    return AssumedCounts(np.minimum(accepted, sizes), np.maximum(sizes - accepted, 0))


def _measurement(
    question: Question, location: Location, assumed: AssumedCounts, supported: bool, rng: np.random.Generator
) -> Measurement:
    """One simulated answer about assumed people."""
    schema, plan = question.dataset.table, question.plan
    groups = schema.groups(plan.sensitive)
    halved = question.counts_first_group_alone

    def answered(total: IntArray, asked: BatchCells) -> tuple[NoisyCounts, tuple[int, ...]]:
        """The answer about some people, evenly spread over cells, and the cells' supports."""
        cells = _spread(total, len(asked.cells))
        noise = expected_noise(
            plan.batches[asked.batch], question.dataset.neighbouring, question.schema, plan.sensitive
        )
        counts = simulated_answers(cells, noise, schema, plan.sensitive, rng)
        return NoisyCounts(counts[:, :1] if halved else counts, noise), tuple(cells.sum(axis=1).tolist())

    everybody = assumed.accepted + assumed.refused
    favourable, accepted = answered(assumed.accepted, location.favourable)
    complement, others = answered(
        everybody if location.complement_is == "everybody" else assumed.refused, location.complement
    )
    supports = Supports(accepted, others) if supported or halved else None
    return Measurement(groups, favourable, complement, location.complement_is, supports=supports)


def _spread(total: IntArray, cells: int) -> IntArray:
    """Each group's people over some cells as evenly as can be, shape (R, K)."""
    whole, rest = np.divmod(total, cells)
    return whole[None] + (np.arange(cells)[:, None] < rest[None])


def _range(measured: Sequence[Measurement], level: float, seed: int) -> tuple[float, float, float]:
    """Value and interval of the ratio, estimated as an audit is, with fewer draws."""
    try:
        posteriors = [Posterior.of(one, level=level, seed=seed, draws=SIMULATION_DRAWS) for one in measured]
        ratio, _ = worst_ratio(posteriors)
    except AuditorError:
        return _NOTHING
    return (ratio.value, ratio.low, ratio.high) if ratio.defined else _NOTHING


def _precise(ranges: Sequence[tuple[float, float, float]]) -> bool:
    """Whether the mean width is known well enough; two batches at least, because one may agree by chance."""
    if len(ranges) < 2 * RELEASES_AT_ONCE:
        return False
    widths = [high - low for _, low, high in ranges]
    return bool(np.std(widths) <= PRECISION * np.mean(widths) * math.sqrt(len(widths)))
