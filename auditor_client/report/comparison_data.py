"""Two audits side by side, as data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import Change, Comparison
from auditor_client.findings.finding import Finding
from auditor_client.findings.verdicts import BOTH
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.facts import Fact, model_digest, model_facts, outcome_fact
from auditor_client.report.formats import group_words, known, points, ratio, scope_words, sensitive_words
from auditor_client.report.headlines import few_sentence, whom
from auditor_client.report.judged_words import judged_fact
from auditor_client.report.metric_names import compared_figure, difference_title, equality, ratio_title
from auditor_client.report.prose import level_words
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.subject import subject
from shared.wire.wording import date, joined, listed, said, said_of, sentence, signed


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One figure of both audits, and what changed."""

    name: str
    first: str
    second: str
    change: str
    interval: str
    population: str


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """Everything that is shown of a comparison; `tables` are the headlines by fewer sensitive columns."""

    headline: str
    change: str
    level: str
    facts: tuple[Fact, ...]
    first: str
    second: str
    ratio_change: str
    change_mark: Mark
    change_ticks: tuple[Tick, ...]
    figures: tuple[ChangeRow, ...]
    notes: tuple[str, ...]
    cost: str
    tables: tuple[str, ...] = ()


_CHANGES: Final[Mapping[Change, str]] = {
    Change.CLOSER: sentence("Among {whom}, the second model is closer to {title} for {columns}."),
    Change.FARTHER: sentence("Among {whom}, the second model is farther from {title} for {columns}."),
    Change.NONE: sentence("Among {whom}, both models are equally close to {title} for {columns}."),
    Change.UNDECIDED: sentence("Among {whom}, it is undecided which model is closer to {title} for {columns}."),
}
_RATIO: Final = sentence("Its ratio is {second} instead of {first}, a change of {change}{interval}.")
_DIFFERENCE: Final = sentence(
    "Its difference is {second} instead of {first} percentage points, a change of {change}{interval}."
)
_CHANGES_BY_THEMSELVES: Final = sentence(
    "Joint intervals cover all figures of one audit at once. The intervals of these changes are separate: each "
    "covers one figure."
)
_OTHER_PEOPLE: Final = said(
    "The audits may count different people: their scopes differ, or who has a decision. Part of the change may come "
    "from that."
)
_OPEN_RATIO: Final = sentence(
    "The ratio changed by {ends} ({level} interval): the answers do not show it more closely."
)
_OPEN_DIFFERENCE: Final = sentence(
    "The difference changed by {ends} percentage points ({level} interval): the answers do not show it more closely."
)
_ONE_FIGURE: Final = sentence("Only {title} was compared: accuracy and other figures may have changed either way.")

Tables = Sequence[tuple[Finding, Finding, Comparison]]
"""The audits and what changed, by fewer sensitive columns."""


def comparison_data(
    first: Finding, second: Finding, metric: str, change: Comparison, tables: Tables = ()
) -> ComparisonData:
    """Everything that is to be shown of a comparison; `tables` are the same by fewer sensitive columns."""
    axis = LinearAxis.around_zero([change.ratio.low, change.ratio.high])
    of_ratio = _row(ratio_title(metric), "ratio", change, ratio)
    of_difference = _row(
        said("{difference}, in percentage points", difference=difference_title(metric)), "difference", change, points
    )
    selection = metric in BOTH
    return ComparisonData(
        headline=_headline((first, second), metric, change, (of_ratio, of_difference)),
        change=change.change.value.replace(" ", "-"),
        level=level_words(change.ratio),
        facts=_facts(first, second, change),
        first=_name(first),
        second=_name(second),
        ratio_change=of_ratio.change,
        change_mark=axis.mark(change.ratio, change.population_ratio),
        change_ticks=axis.ticks,
        # Of rates that are no selection rates the difference is read first.
        figures=(of_ratio, of_difference) if selection else (of_difference, of_ratio),
        notes=(
            said(_ONE_FIGURE, title=compared_figure(metric)),
            *(() if _same_people(first, second) else (_OTHER_PEOPLE,)),
            *change.notes,
            *_joint(first, second),
        ),
        cost=_cost(first, second),
        tables=tuple(comparison_data(before, after, metric, changed).headline for before, after, changed in tables),
    )


def _same_people(first: Finding, second: Finding) -> bool:
    """Whether both audits count the people of one scope."""
    return set(first.question.scope) == set(second.question.scope)


def _headline(
    audits: tuple[Finding, Finding], metric: str, change: Comparison, rows: tuple[ChangeRow, ChangeRow]
) -> str:
    """Return which model is closer to parity in which figure, and by how much; the rows are of ratio and difference."""
    level = level_words(change.ratio)

    def filled(row: ChangeRow, moved: Estimate, known_as: str, open_as: str) -> str:
        if moved.defined and not moved.known:
            return said(open_as, ends=row.interval, level=level)
        interval = said(" ({level} interval {ends})", level=level, ends=row.interval) if row.interval else ""
        return said(known_as, first=row.first, second=row.second, change=row.change, interval=interval)

    second = audits[1]
    counted = whom(second) if _same_people(*audits) else said("the people whom each audit counts")
    words = {"whom": counted, "title": equality(metric)}
    changed = said(_CHANGES[change.change], columns=listed(sensitive_words(second.question)), **words)
    by_ratio = filled(rows[0], change.ratio, _RATIO, _OPEN_RATIO)
    by_difference = filled(rows[1], change.difference, _DIFFERENCE, _OPEN_DIFFERENCE)
    # Both figures: the ratio may move where the difference does not, if the second model refuses more people of all.
    figures = (by_ratio, by_difference) if metric in BOTH else (by_difference, by_ratio)
    few = dict.fromkeys(sentence for finding in audits for sentence in few_sentence(finding))
    return joined([changed, *figures, *few])


def _facts(first: Finding, second: Finding, change: Comparison) -> tuple[Fact, ...]:
    """Return what both audits are about, and which each of them is."""
    answers = [(said("First"), first), (said("Second"), second)]
    scopes = [_scope_facts(finding) for finding in (first, second)]
    common = scopes[0] == scopes[1]
    return (
        Fact(
            said("Dataset"),
            said("{dataset}, version {version}", dataset=second.question.words.title, version=second.release.version),
        ),
        Fact(said("Compared by"), listed(sensitive_words(second.question))),
        *(scopes[1] if common else ()),
        *_judged(second.question, change),
        *([Fact(said("Holder"), second.holder_url, exact=True)] if second.holder_url else []),
        *(
            fact
            for (which, finding), scope in zip(answers, scopes, strict=True)
            for fact in (
                Fact(said("{which}: audited", which=which), subject(finding.question).sentence),
                *(
                    replace(one, term=said("{which}: {term}", which=which, term=one.term))
                    for one in (
                        *model_facts(finding.question),
                        outcome_fact(finding.question, finding.about),
                        *(() if common else scope),
                    )
                ),
                Fact(said("{which}: answered", which=which), date(finding.release.created.astimezone(UTC), time=True)),
                Fact(said("{which}: receipt", which=which), finding.receipt.name, exact=True),
            )
        ),
    )


def _scope_facts(finding: Finding) -> tuple[Fact, ...]:
    scope = scope_words(finding.question)
    return (Fact(said("Within"), listed(scope)),) if scope else ()


def _judged(question: Inquiry, change: Comparison) -> tuple[Fact, ...]:
    """Return which groups are compared, if not all of them: those that both audits judge."""
    if change.second.rule is None:
        return ()
    facts = [Fact(said("Judged"), judged_fact(change.second.rule))]
    small = [group for group in change.second.left_out if None not in group or change.second.unknown is None]
    if small:
        names = (joined(group_words(question, group), ", ") for group in small)
        facts.append(Fact(said("Not shown to be large enough"), listed(names)))
    return tuple(facts)


def _name(finding: Finding) -> str:
    provenance, audited = finding.question.source.provenance, subject(finding.question)
    model = said_of(
        len(finding.rules),
        "model {digest}, one rule",
        "model {digest}, {number} rules",
        digest=model_digest(finding.model),
    )
    exact = audited.name if audited.made_already else model
    candidates = [finding.about.model_name, None if provenance is None else provenance.description, exact]
    return joined([part for part in candidates if part], ", ")


def _joint(first: Finding, second: Finding) -> tuple[str, ...]:
    """Say that intervals of changes do not hold together, where those of the audits do."""
    return (said(_CHANGES_BY_THEMSELVES),) if first.reading.joint or second.reading.joint else ()


def _cost(first: Finding, second: Finding) -> str:
    spent = [finding for finding in (first, second) if not finding.reused]
    if not spent:
        return said("Nothing was spent: saved answers had every count.")
    if len(spent) == 1:
        return said(
            "Spent: {loss}. The other audit was answered from the same counts.",
            loss=charge_words(spent[0].release),
        )
    if first.release.id == second.release.id:
        return said("Spent: {loss}, once.", loss=charge_words(first.release))
    return said(
        "Spent: {first} and {second}.",
        first=charge_words(first.release),
        second=charge_words(second.release),
    )


def _row(name: str, figure: str, change: Comparison, words: Callable[[float], str]) -> ChangeRow:
    def changed(number: float) -> str:
        return signed(words(number))

    moved, population = getattr(change, figure), getattr(change, f"population_{figure}")
    return ChangeRow(
        name,
        known(getattr(change.first, figure), words),
        known(getattr(change.second, figure), words),
        known(moved, changed),
        interval_text(moved, changed),
        interval_text(population, changed),
    )
