"""A planned audit as data: its price and what could be expected of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from auditor_client.asking.question import Question
from auditor_client.findings.about import About
from auditor_client.findings.answers import RATES
from auditor_client.findings.reading import Reading
from auditor_client.planning.capacity import Capacity
from auditor_client.planning.forecasts import (
    Chance,
    Expectation,
    Forecast,
    JoinedForecast,
    MisreportedForecast,
    StepForecast,
    StrataForecast,
    TableForecast,
    UnknownForecast,
)
from auditor_client.report.axes import interval_text
from auditor_client.report.facts import Fact, subject_facts
from auditor_client.report.formats import percent, points, ratio, threshold_percent, whole
from auditor_client.report.judged_words import judged_fact
from auditor_client.report.known_totals import KnowingRow, knowing_rows
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.outcome import outcome
from auditor_client.report.prose import level_of_reading, noise_words
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.subject import stage_names
from auditor_client.report.widths import WidthCurve, planned_curve, width_words
from auditor_client.text import amounts_words, loss_words
from shared.contract.datasets import Budget
from shared.kinds.plans import Quote
from shared.privacy.noise import AdditiveNoise, Noise, of_two_holders
from shared.wire.wording import figure, joined, listed, said, said_of, sentence

_MOSTLY: Final = 0.5
_ENOUGH: Final = sentence("The interval of the {metric} ratio is expected to be {width} wide.")
_NOT_ENOUGH: Final = sentence(
    "The remaining budget is too small. The interval of the {metric} ratio is expected to be {width} wide."
)
_CORRECTED: Final = sentence(
    "Corrected for wrongly recorded groups, the interval of the {metric} ratio is expected to be {width} wide; with "
    "the groups as recorded, {recorded}. The other figures of this plan are about the groups as recorded."
)
_UNKNOWN: Final = sentence(
    "The number of people in the dataset is not known. The forecast assumes {people}. Give the number with --people."
)
_PUBLIC: Final = sentence(
    "The forecast assumes {people} people, the holder’s own public number. Give another number with --people."
)
_WOULD_BE: Final = sentence("With {people} people the interval would be {width} wide.")
_RULES_FROM: Final = sentence("From {people} people on, the strategy auto would count each rule separately.")
_CHANCES: Final = sentence(
    "How many of 100 audits would give each verdict, for each possible value of the ratio (simulated {fewest} to "
    "{most} times each, standard error at most {error} in 100):"
)
_LOOKS: Final = sentence(
    "Interim looks until the verdict is decided. Each look has a level of {each}, so that all hold together at "
    "{level}. The last look costs the most. If the assumption is right, at least this many of 100 audits would be "
    "decided by each look:"
)
_TABLES: Final = sentence(
    "The same charge covers {number} tables. This compares the noise on a count with that of {number} separate audits "
    "that share the charge equally (standard deviation, in people):"
)
_STRATA: Final = sentence(
    "The same charge covers {number} values of {column}. For one value with {people} people, the interval is "
    "expected to be {within} wide. For everybody, the noise of all {number} values adds up; without {column}, the "
    "interval would be {without} wide."
)
_JOINED: Final = sentence(
    "Combined with the saved answers, the interval is expected to be {then} wide. The saved answers ({kept}) alone "
    "give {now}."
)
_NOTHING_KEPT: Final = sentence("No saved answer can be combined with it.")
_FIT: Final = sentence("{number} fit into the remaining budget, including this one.")
_FIT_OTHERWISE: Final = {
    "laplace": sentence("With Laplace noise of the same variance: {number}."),
    "gaussian": sentence("With Gaussian noise of the same variance: {number}."),
}
_APPROVED_FIRST: Final = sentence(
    "A budget officer of the holder must approve it before it is answered. Nothing is charged until then."
)
_SOME_BLOCKS: Final = sentence(
    "Charged to {number} of {all} blocks. The budget of the other blocks stays whole; an audit of everybody would be "
    "charged to all {all}."
)
_EVERY_BLOCK: Final = sentence(
    "Charged to all {all} blocks. An audit of one block (--block) leaves the budget of the others whole."
)
_SUPPOSES: Final = sentence("This assumes {assumption}.")
_OWN_DATA: Final = sentence("This assumes {assumption}; the numbers of people come from your own data.")
_ADVERSE_RATES: Final = sentence("The compared rates are those of {adverse}.")


@dataclass(frozen=True, slots=True)
class ChanceRow:
    """The chance of each verdict at one true ratio."""

    ratio: str
    fails: str
    undecided: str
    meets: str


@dataclass(frozen=True, slots=True)
class LookRow:
    """The cost and forecast of one interim look."""

    number: int
    step: str
    together: str
    width: str
    decided: str


@dataclass(frozen=True, slots=True)
class StepForecastRow:
    """The forecast of one step of a chain for the smallest group."""

    stage: str
    passing: str
    points: str
    ratio: str


@dataclass(frozen=True, slots=True)
class UnknownForecastRow:
    """The set of ratios that a share of people of unknown group would leave open."""

    share: str
    worst: str
    best: str
    interval: str
    decided: str


@dataclass(frozen=True, slots=True)
class MisreportedForecastRow:
    """The forecast of a corrected audit at one privacy loss."""

    loss: str
    width: str
    recorded: str
    decided: str


@dataclass(frozen=True, slots=True)
class TableForecastRow:
    """The noise on a count in one table: of the one answer, of an audit of it alone, and how they compare."""

    table: str
    together: str
    separate: str
    times: str


@dataclass(frozen=True, slots=True)
class PlanData:
    """Everything that is shown of a plan.

    `supposed` says what is not known of the people and what difference that makes; it is empty if their number is.
    `strata` says what comparing within strata gives and costs; it is empty without any. `joined` says what the answer
    would give together with kept ones; it is empty where it is to be read by itself. `looks` are empty where one answer
    is meant, and `tables` where it has one table.
    """

    supposed: str
    strata: str
    joined: str
    headline: str
    enough: bool
    facts: tuple[Fact, ...]
    table_title: str
    rows: tuple[Expectation, ...]
    chosen: str
    gives: Mapping[str, str]
    knowing: tuple[KnowingRow, ...]
    unknown: tuple[UnknownForecastRow, ...]
    misreported: tuple[MisreportedForecastRow, ...]
    steps: tuple[StepForecastRow, ...]
    tables_title: str
    tables: tuple[TableForecastRow, ...]
    looks_title: str
    looks: tuple[LookRow, ...]
    chances_title: str
    chances: tuple[ChanceRow, ...]
    curve: WidthCurve
    assumption: str


_GIVES = {
    "verdict": said("the figures alone, as exactly as the loss allows"),
    "rules": said("the figures, and every rule’s share in them"),
    "pafer": said("what the published procedure gives"),
}


def plan_data(
    question: Question, quote: Quote, forecast: Forecast, budget: Budget, capacity: Capacity | None, *, about: About
) -> PlanData:
    """Everything that is to be shown of a plan."""
    charge, left = quote.price, budget.left
    enough = charge.fits_in(left)
    favourable = sum(rule.favourable for rule in question.rules)
    metric, counted = METRIC_WORDS[question.metrics[0]].within, outcome(question, about)
    adverse = RATES[question.metrics[0]][0].ratio_kind.adverse
    return PlanData(
        supposed=_supposed(forecast) or _public_number(question, forecast),
        strata="" if forecast.strata is None else _strata(question, forecast.strata),
        joined="" if forecast.joined is None else _joined(forecast.joined),
        headline=_headline(forecast, metric, enough=enough),
        enough=enough,
        facts=(
            Fact(said("Cost at most") if forecast.looks else said("Cost"), _price(quote, budget)),
            *_blocks(question, quote),
            *([Fact(said("Approval"), said(_APPROVED_FIRST))] if question.dataset.approval is not None else []),
            *([] if capacity is None else [Fact(said("Audits of this width"), _fitting(capacity))]),
            *subject_facts(question, about),
            Fact(
                said("Rules"),
                said(
                    "{number}, {favourable} of them with {outcome}",
                    number=whole(len(question.rules)),
                    favourable=whole(favourable),
                    outcome=counted.name,
                ),
            ),
            Fact(said("Figures"), listed([METRIC_WORDS[name].title for name in question.metrics])),
            Fact(said("Intervals"), level_of_reading(forecast.reading)),
            *([] if forecast.reading.rule is None else [Fact(said("Judged"), judged_fact(forecast.reading.rule))]),
            Fact(said("Strategy"), question.strategy),
            *(
                Fact(
                    said("Noise on each count of {batch}", batch=batch.name), noise_words(_counted(batch.noise, quote))
                )
                for batch in quote.batches
            ),
        ),
        table_title=said(
            "Expected of the {metric} ratio at {charge}, by strategy:", metric=metric, charge=loss_words(charge)
        ),
        rows=forecast.strategies,
        chosen=question.strategy,
        gives=_GIVES,
        knowing=knowing_rows(forecast.knowing, question, supported=forecast.from_supports),
        unknown=tuple(_unknown_row(row, adverse=adverse) for row in forecast.unknown),
        misreported=tuple(map(_misreported_row, forecast.misreported)),
        steps=tuple(_step_row(*row) for row in zip(stage_names(question), forecast.chain, strict=False)),
        tables_title=said(_TABLES, number=len(forecast.tables)) if forecast.tables else "",
        tables=tuple(_table_row(question, row) for row in forecast.tables),
        looks_title=_looks_title(forecast.reading),
        looks=tuple(_look_rows(forecast)),
        chances_title=_chances_title(forecast),
        chances=tuple(_chance_row(chance, adverse=adverse) for chance in forecast.chances),
        curve=planned_curve(forecast),
        assumption=joined(
            [
                said(_OWN_DATA if forecast.from_supports else _SUPPOSES, assumption=forecast.assumption),
                *([said(_ADVERSE_RATES, adverse=counted.adverse)] if adverse else []),
            ]
        ),
    )


def _headline(forecast: Forecast, metric: str, *, enough: bool) -> str:
    """Say how wide the interval is expected to be, and whether the budget is enough."""
    if not forecast.misreported:
        return said(_ENOUGH if enough else _NOT_ENOUGH, metric=metric, width=width_words(forecast.chosen.width))
    corrected = forecast.misreported[0]
    widths = width_words(corrected.width), width_words(corrected.recorded_width)
    width = said(_CORRECTED, metric=metric, width=widths[0], recorded=widths[1])
    return width if enough else joined([said("The remaining budget is too small."), width])


def _misreported_row(forecast: MisreportedForecast) -> MisreportedForecastRow:
    """A privacy loss, and what a corrected audit would show at it."""
    return MisreportedForecastRow(
        loss_words(forecast.loss),
        width_words(forecast.width),
        width_words(forecast.recorded_width),
        said("no verdict") if forecast.decided is None else percent(forecast.decided),
    )


def _unknown_row(forecast: UnknownForecast, *, adverse: bool) -> UnknownForecastRow:
    """A share of unknown people, and what it leaves open."""
    ends = forecast.ratio.least, forecast.ratio.most
    worst, best = reversed(ends) if adverse else ends
    return UnknownForecastRow(
        percent(forecast.share),
        ratio(worst),
        ratio(best),
        interval_text(forecast.ratio.interval(), ratio),
        said("no verdict") if forecast.decided is None else percent(forecast.decided),
    )


def _step_row(name: str, step: StepForecast) -> StepForecastRow:
    """A step of a chain; an interval that most simulated audits lack is none."""
    return StepForecastRow(
        name,
        percent(step.passing),
        points(step.rate_width),
        said("{low} to {high}", low=ratio(step.ratio_low), high=ratio(step.ratio_high))
        if step.bounded > _MOSTLY
        else said("cannot tell"),
    )


def _table_row(question: Question, row: TableForecast) -> TableForecastRow:
    return TableForecastRow(
        said("By {columns}", columns=listed(question.words.columns(row.sensitive))),
        figure(row.together, 1, "decimal"),
        figure(row.separate, 1, "decimal"),
        figure(row.times, 2, "decimal"),
    )


def _price(quote: Quote, budget: Budget) -> str:
    if quote.rehearsal is not None:
        return charge_words(quote)
    if quote.blocks is not None and quote.blocks.charged:
        return said(
            "at most {charge} about people of {blocks}; {left} is left there",
            charge=loss_words(quote.charge), blocks=quote.blocks.words, left=loss_words(budget.left),
        )  # fmt: skip
    return said("{charge}; {left} is left", charge=charge_words(quote), left=loss_words(budget.left))


def _blocks(question: Question, quote: Quote) -> tuple[Fact, ...]:
    """Return how many blocks of people are charged, where there are blocks and some are."""
    domain = question.dataset.table.block_domain
    if domain is None or quote.blocks is None or not quote.blocks.charged:
        return ()
    charged = sum(each.blocks for each in quote.blocks.charged)
    words = said(
        _EVERY_BLOCK if charged == domain.count else _SOME_BLOCKS, number=whole(charged), all=whole(domain.count)
    )
    return (Fact(said("Blocks of people"), words),)


def _counted(noise: Noise, quote: Quote) -> Noise:
    """Return the noise that figures will rest on: of two holders who share a register, that of both."""
    return of_two_holders(noise) if quote.shares is not None and isinstance(noise, AdditiveNoise) else noise


def _supposed(forecast: Forecast) -> str:
    by_people = forecast.other_people
    if by_people is None:
        return ""
    sentences = [said(_UNKNOWN, people=whole(forecast.assumption.supposed_people))]
    sentences += [
        said(_WOULD_BE, people=whole(people), width=width_words(expected.width))
        for people, expected in by_people.items()
    ]
    if forecast.rules_from is not None:
        sentences.append(said(_RULES_FROM, people=whole(forecast.rules_from)))
    return joined(sentences)


def _public_number(question: Question, forecast: Forecast) -> str:
    """Return whose number of people is supposed, where it is the holder's."""
    metadata = question.dataset.metadata
    if metadata is None or metadata.people is None or forecast.from_supports:
        return ""
    if forecast.assumption.people != metadata.people:
        return ""
    return said(_PUBLIC, people=whole(metadata.people))


def _fitting(capacity: Capacity) -> str:
    sentences = [said(_FIT, number=whole(capacity.asked))]
    if capacity.other is not None:
        noise, number = capacity.other
        sentences.append(said(_FIT_OTHERWISE[noise], number=whole(number)))
    return joined(sentences)


def _strata(question: Question, strata: StrataForecast) -> str:
    return said(
        _STRATA,
        number=strata.number,
        column=said("“{column}”", column=question.words.column(question.strata[0].column)),
        people=whole(strata.people),
        within=width_words(strata.within.width),
        without=width_words(strata.without.width),
    )


def _joined(of_kept: JoinedForecast) -> str:
    if of_kept.now is None:
        return said(_NOTHING_KEPT)
    return said(
        _JOINED,
        then=width_words(of_kept.then.width),
        kept=said_of(of_kept.kept, "one answer", "{number} answers"),
        now=width_words(of_kept.now.width),
    )


def _looks_title(reading: Reading) -> str:
    looks = reading.looks
    if looks is None:
        return ""
    return said(_LOOKS, each=threshold_percent(round(looks.each, 4)), level=threshold_percent(looks.level))


def _look_rows(forecast: Forecast) -> Iterator[LookRow]:
    if forecast.reading.looks is None:
        return
    decided = accumulate((1 - (expected.undecided or 0) for expected in forecast.looks), max)
    of_each = zip(forecast.reading.looks.steps, forecast.looks, decided, strict=True)
    for number, (step, expected, share) in enumerate(of_each, start=1):
        step_words, together = amounts_words([step]), amounts_words([expected.asked])
        yield LookRow(number, step_words, together, width_words(expected.width), f"{100 * share:.0f}")


def _chances_title(forecast: Forecast) -> str:
    if not forecast.chances:
        return ""
    numbers = [chance.simulated for chance in forecast.chances]
    error = max(chance.error for chance in forecast.chances)
    return said(_CHANCES, fewest=min(numbers), most=max(numbers), error=figure(100 * error, 1, "decimal"))


def _chance_row(chance: Chance, *, adverse: bool) -> ChanceRow:
    """Return how likely each verdict is, by true ratio as it is reported: that of adverse rates is 1 or more."""
    true_ratio = 1 / chance.ratio if adverse else chance.ratio
    shares = (f"{100 * share:.0f}" for share in (chance.fails, chance.undecided, chance.meets))
    return ChanceRow(figure(true_ratio, 2, "decimal"), *shares)
