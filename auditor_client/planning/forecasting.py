"""What an audit would show, before anything is spent, and what more budget would buy after it (3-estimation §3).

Releases about assumed people are simulated and estimated as the audit would be. A forecast is as good as what
was assumed, and touches neither records nor budget: the noise follows from the plan, the people from the
auditor's assumption, its own attribute-free data, or an audit's estimates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import numpy as np

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.choice import rules_from
from auditor_client.asking.group_totals import GroupTotals
from auditor_client.asking.question import Question
from auditor_client.asking.request import STRATEGIES
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.exchange.expected_noise import expected_noise, expected_rho_nano
from auditor_client.findings.answers import (
    OF_EVERYBODY,
    RATES,
    CountSupport,
    Rate,
    RateCounts,
    size_bounds,
    with_outcomes,
)
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import rule_counts
from auditor_client.findings.reading import Reading
from auditor_client.findings.verdicts import metrics_estimated
from auditor_client.planning.chain_forecasts import forecast_chain
from auditor_client.planning.forecasts import (
    Chance,
    Expectation,
    Forecast,
    JoinedForecast,
    Knowledge,
    Outlook,
    StrataForecast,
)
from auditor_client.planning.joined_plans import joinable_plans, located_plan
from auditor_client.planning.misreported_forecasts import forecast_misreported
from auditor_client.planning.simulated_audits import SimulatedAudits
from auditor_client.planning.supposed import SupposedCounts, assumed_counts, estimated_counts
from auditor_client.planning.table_forecasts import forecast_tables
from auditor_client.planning.unknown_forecasts import forecast_unknown
from shared.contract.schema import Schema
from shared.kinds.plans import Plan
from shared.privacy.amounts import (
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    NO_LOSS,
    RHO_NANO_MAX,
    RHO_NANO_MIN,
    Loss,
    format_nano,
)

AUDITS_AT_ONCE: Final = 10
AUDITS_MAX: Final = 200
GROUPS_MAX: Final = 1200
"""How many audits a forecast simulates at most, and how many groups' answers: many groups make do with fewer."""
PRECISION: Final = 0.03
"""Relative standard error of the expected width at which a forecast is good enough."""
CURVE: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
"""At which multiples of the planned ε the curve is drawn."""
OUTLOOK: Final = (2.0, 4.0, 8.0)
CORRECTED: Final = (4.0, 16.0)
"""At which multiples a corrected figure is forecast too."""
WIDTH_TOLERANCE: Final = 0.02
"""How close to the wanted width, relative to it, the search for ε stops."""
TRUE_RATIOS: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
"""At which true ratios the chance of a verdict is simulated."""
CHANCE_AUDITS_AT_ONCE: Final = 100
CHANCE_AUDITS_MAX: Final = 800
CHANCE_GROUPS_MAX: Final = 4800
CHANCE_ERROR: Final = 0.02
"""The standard error at which a chance is good enough; and how many audits, and groups' answers, it takes at most."""
KNOWING_GROUPS: Final = 80
KNOWING_GROUPS_MAX: Final = 20
"""For how many groups' answers altogether it is simulated what knowledge buys, and with how many groups supports are
supposed that nobody gave, which bind all groups together.
"""
OTHER_PEOPLE: Final = (1_000, 100_000)
"""For which numbers of people a forecast is made where theirs is not known, other than the supposed one."""


READING: Final = Reading()

Key = TypeVar("Key")


def forecast(
    question: Question,
    *,
    supports: CountSupport | None = None,
    reading: Reading = READING,
    kept: Sequence[Plan] | None = None,
) -> Forecast:
    """Forecast a question, put by every strategy, and at smaller and larger ε.

    People and acceptance are the question's assumption, or those of the auditor's own data, where `supports` counts.
    `kept` are the plans of answers that this one would be joined with; None if it is to be read by itself. Each look of
    a reading is as exact as one answer at what all looks up to it lose together (docs/adr/0053).

    Raises:
        QuestionRefused: The assumption does not fit the groups, or supports are needed.
    """
    has_people = question.request.assumption.people is not None or supports is not None
    original, people_max = question, question.dataset.records_max
    if not has_people:
        question = _about(original, min(original.request.assumption.supposed_people, people_max))
    assumption = question.request.assumption
    each = _of_each(question, supports, reading)
    chosen = expectation(question, supports=supports, reading=each)

    def expected(put: Question) -> Expectation:
        if put == question:
            return chosen
        return expectation(put, supports=supports, reading=_of_each(put, supports, reading))

    other_numbers = [people for people in OTHER_PEOPLE if people <= people_max and people != assumption.people]
    return Forecast(
        chosen,
        strategies=(chosen,)
        if question.request.chain is not None
        else tuple(_by(STRATEGIES, lambda name: expected(question.changed(strategy=name))).values()),
        curve=tuple(_by(_multiples(question, CURVE), lambda nano: expected(question.at(nano))).values()) or (chosen,),
        assumption=assumption,
        from_supports=supports is not None,
        reading=reading,
        chances=chances(question, supports=supports, reading=each),
        other_people=None if has_people else _by(other_numbers, lambda people: expected(_about(question, people))),
        rules_from=rules_from(original) if question.strategy == "verdict" and not has_people else None,
        knowing=knowing(question, chosen, supports=supports, reading=each),
        strata=_of_strata(question, supports, each) if question.strata else None,
        joined=None if kept is None else _joined(question, kept, supports, each),
        chain=forecast_chain(question, reading, supports=supports),
        unknown=forecast_unknown(question, each, lambda put: _audits(put, None, None, False, each)),
        misreported=forecast_misreported(
            [question, *(question.at(nano) for nano in _multiples(question, CORRECTED))],
            each,
            lambda put: _audits(put, supports, None, False, each),
        ),
        tables=forecast_tables(question) if reading.has_intervals else (),
        looks=() if reading.looks is None else tuple(expected(question.at(nano)) for nano in reading.looks.amounts),
    )


def _by(keys: Iterable[Key], expected: Callable[[Key], Expectation]) -> dict[Key, Expectation]:
    """Return what is expected by each of some changes, but for those that could not be asked, or not be read."""
    expectations = {}
    for key in keys:
        with suppress(QuestionRefused, EstimationRefused):  # for example half an ε that the holder does not accept
            expectations[key] = expected(key)
    return expectations


def _joined(
    question: Question, saved_plans: Sequence[Plan], supports: CountSupport | None, reading: Reading
) -> JoinedForecast:
    """Return what the answer would show with those that are kept, and what they show without it."""
    joinable = joinable_plans(question, saved_plans)
    before = [*joinable, *([question.plan] if question.plan in saved_plans else [])]

    def together(plans: Sequence[Plan]) -> Expectation:
        return expectation(question, supports=supports, reading=reading, plans=plans)

    return JoinedForecast(len(before), together(before) if before else None, together([question.plan, *joinable]))


def _of_strata(question: Question, supports: CountSupport | None, reading: Reading) -> StrataForecast:
    """Return what one of the strata would show, and everybody without them."""
    whole, number = question.changed(by=None), len(question.strata)
    people = max(question.request.assumption.supposed_people // number, 1)
    return StrataForecast(
        number,
        people,
        within=expectation(_about(whole.changed(known_totals=None), people), reading=reading),
        without=expectation(whole, supports=supports, reading=reading),
    )


def knowing(
    question: Question, chosen: Expectation, *, supports: CountSupport | None = None, reading: Reading = READING
) -> dict[Knowledge, Expectation]:
    """Return what the question would show by what is known beforehand: how many people groups have, or rules, or both.

    The same answers about the same people are estimated each time, and compared with what is chosen. Group totals that
    are not given are taken to be exact; they say nothing of rates of a part of the people.
    """
    groups, totals = len(question.groups), question.request.known_totals
    people = _audits(question, supports, None, False, reading).people
    if totals is None and OF_EVERYBODY.issuperset(RATES[question.metrics[0]]):
        sizes = (people[0].accepted + people[0].refused).tolist()
        totals = GroupTotals(people=tuple((size, size) for size in sizes))
    supportable = question.supportable and (supports is not None or groups <= KNOWING_GROUPS_MAX)
    expectations = {}
    for supported, sized in itertools.product((False, True), dict.fromkeys((None, totals))):
        if supportable if supported else not question.counts_first_group_alone:
            audits = _audits(question.changed(known_totals=sized), None, people, supported, reading)
            number = AUDITS_AT_ONCE if audits.local else max(KNOWING_GROUPS // groups, AUDITS_AT_ONCE)
            ranges = audits.ranges(number, np.random.default_rng(0))
            expectations[Knowledge(supported, sized is not None)] = _expected(question, audits, ranges, None)
    same = expectations.get(Knowledge(supports is not None, question.request.known_totals is not None), chosen)
    width, error = chosen.width / (same.width or 1.0), chosen.error / (same.error or 1.0)
    return {
        knowledge: replace(expected, width=width * expected.width, error=error * expected.error)
        for knowledge, expected in expectations.items()
    }


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
        return put, expectation(put, supports=supports, reading=_of_each(put, supports, reading)).width

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
        candidate, width_there = at(middle)
        if width_there <= width:
            best, reached, high = candidate, width_there, middle
        else:
            low = middle
    return best


def expectation(
    question: Question,
    *,
    supports: CountSupport | None = None,
    people: Sequence[SupposedCounts] | None = None,
    supported: bool = False,
    reading: Reading = READING,
    plans: Sequence[Plan] | None = None,
    seed: int = 0,
) -> Expectation:
    """Return what a question would show on average, for its first metric; the same seed gives the same forecast.

    Args:
        supports: Counts a cell in the auditor's own data.
        people: The people of each of the metric's rates; by default as the question's assumption has them.
        supported: Whether the answer is estimated with the exact supports of its cells, as it is with `supports`.
        reading: How the answer would be read: its threshold and its level.
        plans: The plans whose answers are joined; by default the question's own is read by itself.
    """
    audits = _audits(question, supports, people, supported, reading, plans=plans)
    groups = len(question.groups) * len(audits.people)
    audits_max = AUDITS_AT_ONCE if audits.slow else max(min(AUDITS_MAX, GROUPS_MAX // groups), AUDITS_AT_ONCE)
    ranges = _simulated(audits, AUDITS_AT_ONCE, audits_max, _precise, seed)
    return _expected(question, audits, ranges, reading.threshold_of(question.metrics[0]))


def _expected(question: Question, audits: SimulatedAudits, ranges: FloatArray, bar: float | None) -> Expectation:
    """Return what simulated audits show on average, with the threshold of the verdict, if there is to be one."""
    value, low, high = ranges.T
    adverse = audits.ratio_kind.adverse
    true = min((counts.ratio(audits.rule, adverse=adverse) for counts in audits.people), default=np.nan)
    return Expectation(
        strategy=question.strategy,
        asked=question.request.loss,
        width=float((high - low).mean()),
        error=float(np.abs(value - true).mean()),
        undecided=None if bar is None else float(((low < bar) & (high >= bar)).mean()),
    )


def chances(
    question: Question, *, supports: CountSupport | None = None, reading: Reading = READING, seed: int = 0
) -> tuple[Chance, ...]:
    """Return how often the audit would give a verdict, by what the ratio truly is.

    Empty where there is to be no verdict, and where groups were perturbed at their source. A ratio that the assumed
    share of accepted people does not admit is left out.
    """
    bar = reading.threshold_of(question.metrics[0])
    if bar is None or question.request.mechanism == "randomised_response":
        return ()
    rows = []
    for ratio in TRUE_RATIOS:
        assumption = _with_ratio(question, ratio, reading.rule)
        audits = _audits(question.changed(assumption=assumption), supports, None, False, reading)
        adverse = audits.ratio_kind.adverse
        if not all(abs(counts.ratio(reading.rule, adverse=adverse) - ratio) < 0.01 for counts in audits.people):
            continue
        groups = len(question.groups) * len(audits.people)
        audits_max = max(min(CHANCE_AUDITS_MAX, CHANCE_GROUPS_MAX // groups), CHANCE_AUDITS_AT_ONCE)
        audits_max = max(audits_max // 4, CHANCE_AUDITS_AT_ONCE) if audits.slow else audits_max
        enough = partial(_is_known, ratio, bar)
        ranges = _simulated(audits, CHANCE_AUDITS_AT_ONCE, audits_max, enough, seed)
        rows.append(_chance(ratio, ranges, bar))
    return tuple(rows)


def _with_ratio(question: Question, ratio: float, rule: SizeRule | None) -> Assumption:
    """The question's assumption with this ratio of the smallest group that is large enough to all the others."""
    assumption = question.request.assumption.model_copy(update={"ratio": ratio, "rates": None})
    if rule is None:
        return assumption
    _, sizes = assumption.counts(len(question.groups))
    smallest = min(rule.met(sizes), key=sizes.__getitem__, default=None)
    rates = tuple(ratio if group == smallest else 1.0 for group in range(len(sizes)))
    return assumption.model_copy(update={"rates": rates})


def _is_known(ratio: float, bar: float, ranges: FloatArray) -> bool:
    """Whether a chance is known well enough."""
    return _chance(ratio, ranges, bar).error <= CHANCE_ERROR


def _chance(ratio: float, ranges: FloatArray, bar: float) -> Chance:
    _, low, high = ranges.T
    return Chance(ratio, float((low >= bar).mean()), float((high < bar).mean()), len(ranges))


def _audits(
    question: Question,
    supports: CountSupport | None,
    people: Sequence[SupposedCounts] | None,
    supported: bool,
    reading: Reading,
    *,
    metric: str | None = None,
    plans: Sequence[Plan] | None = None,
) -> SimulatedAudits:
    """Audits that ask a question, for one of its metrics; by default the first.

    `plans` are those whose answers are estimated together; by default the question's own alone.
    """
    metric = metric or question.metrics[0]
    own = located_plan(question, metric, question.plan)
    people = people or [assumed_counts(question, metric, location, supports) for location in own.locations]
    bounds = [size_bounds(question, rate) for rate in RATES[metric]][: len(own.locations)]
    has_supports = supported or supports is not None
    located = (own,) if plans is None else tuple(located_plan(question, metric, plan) for plan in plans)
    kind = RATES[metric][0].ratio_kind
    return SimulatedAudits(question, located, people, bounds, has_supports, reading.level, reading.rule, kind)


def _of_each(question: Question, supports: CountSupport | None, reading: Reading) -> Reading:
    """How each interval would be read: where all are to hold together, at the level that one supposed audit needs.

    What bands of a score say in addition is left out.

    Raises:
        EstimationRefused: So many figures are not shown to hold together.
    """
    if not reading.joint:
        return reading
    counts: dict[Rate, RateCounts] = {}
    for metric in question.metrics:
        audits = _audits(question, supports, None, False, reading, metric=metric)
        measured = audits.measurements(np.random.default_rng(0))
        for rate, location, measurement in zip(RATES[metric], audits.asked[0].locations, measured, strict=True):
            parts = (location.favourable.among(question.plan), location.complement.among(question.plan))
            counts[rate] = RateCounts(measurement, *(tuple(cell.id for cell in cells) for cells in parts))
    counts = with_outcomes(counts, metrics_estimated(question, reading))
    rules = rule_counts(question, counts, reading)
    return reading.of_each(counts, question.reference, rules=rules).model_copy(update={"joint": False})


def _simulated(
    audits: SimulatedAudits, at_once: int, audits_max: int, enough: Callable[[FloatArray], bool], seed: int
) -> FloatArray:
    """Value, low and high of the ratio in as many audits as are enough, or the most; the same seed, the same noise."""
    rng = np.random.default_rng(seed)
    ranges = audits.ranges(at_once, rng)
    while len(ranges) < audits_max and not enough(ranges):
        ranges = np.concatenate([ranges, audits.ranges(at_once, rng)])
    return ranges


def outlook(finding: Finding) -> Outlook | None:
    """What more budget would buy after an audit: the same question at larger ε, for people as they were estimated.

    Where nothing was to be paid, because the groups were perturbed at their source: what that perturbation's loss
    would have bought of a holder who has the true groups.

    Returns:
        None where there is no interval, or nobody is accepted as far as the answer shows, or figures are corrected for
        misreported groups: it would be about the groups as they are recorded.
    """
    question, metric = finding.question, finding.metrics[0]
    reading = finding.reading.model_copy(update={"level": finding.ratio.level, "joint": False})
    corrected = question.request.group_study is not None
    if corrected or not finding.reading.has_intervals or not finding.ratio.defined:
        return None
    people = [estimated_counts(finding, metric, rate) for rate in RATES[metric]]
    if question.request.mechanism == "randomised_response":
        spent = perturbation_nano(question.dataset.table, question.plan.sensitive)
        central = question.changed(mechanism="laplace", epsilon=format_nano(spent))
        expected = expectation(central, people=people, reading=reading)
        return Outlook(
            now=finding.first.ratio_kind.reported(finding.ratio).width,
            asked=NO_LOSS,
            curve=(),
            left=None,
            central=expected,
        )
    supported = next(iter(finding.counts.values())).measurement.supports is not None
    finite = all(np.isfinite(counts.ratio(finding.reading.rule)) for counts in people)
    larger = [question.at(nano) for nano in _multiples(question, OUTLOOK)] if finite else []
    curve = tuple(
        expectation(put, people=people, supported=supported, reading=reading, plans=_with(put, finding))
        for put in larger
    )
    left = None if finding.budget is None else finding.budget.left
    priced = zip(larger, curve, strict=True)
    enough = [expected for put, expected in priced if left is not None and _charge(put).fits_in(left)]
    return Outlook(
        now=finding.first.ratio_kind.reported(finding.ratio).width,
        asked=question.request.loss,
        curve=curve,
        left=left,
        affordable=enough[-1] if enough else None,
    )


def _with(question: Question, finding: Finding) -> list[Plan] | None:
    """The plans whose answers a further one would be joined with, and its own; None if they are not joined."""
    answers = finding.stored.answers
    return None if len(answers) == 1 else [question.plan, *(answer.release.plan for answer in answers)]


def _about(question: Question, people: int) -> Question:
    """The question about another number of people."""
    return question.changed(assumption=question.request.assumption.model_copy(update={"people": people}))


def _multiples(question: Question, factors: Sequence[float]) -> Iterator[int]:
    """Multiples of a question's ε, as far as halves of them are within the public range; none without ε.

    Of ρ, which grows with the square of ε, the squares of the factors.
    """
    loss = question.request.loss
    if loss.rho_nano is None:
        low, high, nanos = EPSILON_NANO_MIN, EPSILON_NANO_MAX, (loss.epsilon_nano * factor for factor in factors)
    else:
        low, high, nanos = RHO_NANO_MIN, RHO_NANO_MAX, (loss.rho_nano * factor**2 for factor in factors)
    return (round(nano) for nano in nanos if 2 * low <= round(nano) <= high)


def _charge(question: Question) -> Loss:
    """Return what a question would be charged, if the holder finds the cells of each of its batches disjoint."""
    plan, schema, relation = question.plan, question.schema, question.dataset.neighbouring
    loss = NO_LOSS
    for batch in plan.batches:
        if question.dataset.terms.kind == "sum":
            loss += batch.loss
            continue
        noise = expected_noise(batch, relation, schema, plan.sensitive)
        changed = relation.counts_that_change(len(question.groups), moved=batch.names_sensitive(schema))
        loss += question.dataset.terms.of(expected_rho_nano(batch, noise, changed)[-1])
    return loss


def perturbation_nano(schema: Schema, sensitive: Sequence[str]) -> int:
    """Return what a person's perturbed reports have cost, ε in units of 10⁻⁹, within the public range of ε."""
    columns = (schema.by_name[name] for name in sensitive)
    loss = sum(
        column.randomised_response.epsilon(len(column.values)) for column in columns if column.randomised_response
    )
    return min(max(round(loss * NANO_PER_UNIT), EPSILON_NANO_MIN), EPSILON_NANO_MAX)


def _precise(ranges: FloatArray) -> bool:
    """Whether the mean width is known well enough; two batches at least, because one may agree by chance."""
    widths = ranges[:, 2] - ranges[:, 1]
    precise = np.std(widths) <= PRECISION * np.mean(widths) * math.sqrt(len(widths))
    return len(widths) >= 2 * AUDITS_AT_ONCE and bool(precise)
