"""The report as data, in its order, before anything is drawn.

Texts and positions only; the page adds no fact of its own. Texts from outside (names of
columns, categories, datasets) are unchanged here: the page escapes them.
"""

import shlex
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Final

from auditor_client.asking.bands import chosen_edge
from auditor_client.errors import AuditorError
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.findings import insight
from auditor_client.findings.finding import Finding
from auditor_client.planning.forecasts import Outlook
from auditor_client.report import headlines, prose
from auditor_client.report.chain_data import ChainData, chain_data
from auditor_client.report.direct_use import direct_use_words
from auditor_client.report.facts import Fact, subject_facts
from auditor_client.report.figures import MetricSection, metric_section
from auditor_client.report.first_screen import first_facts, limits
from auditor_client.report.formats import group_words, scope_words, sensitive_words
from auditor_client.report.judged_words import judged_fact
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.model_warnings import model_warnings
from auditor_client.report.outcome import Outcome, outcome_of
from auditor_client.report.people import few_warning, people_facts
from auditor_client.report.prose import Paragraph
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.rule_bars import RuleBars, rule_bars
from auditor_client.report.rule_lines import RuleLine, rule_lines
from auditor_client.report.rule_tree import TreeNode, rule_tree
from auditor_client.report.score_pictures import ImpactRow, ScoreData, impact_row, score_data
from auditor_client.report.strata_data import StrataData, strata_data
from auditor_client.report.subject import Subject, rehearsed_model_words, subject
from auditor_client.report.table_data import TablesData, tables_data
from auditor_client.report.widths import WidthCurve, remaining_curve
from auditor_client.text import amounts_words, loss_words
from shared.contract.metadata import DatasetMetadata
from shared.kinds.releases import Release
from shared.privacy.amounts import NANO_PER_UNIT, NO_LOSS
from shared.wire.wording import date, figure, joined, listed, plain, said, sentence

if TYPE_CHECKING:
    from auditor_client.estimation.impact import ImpactRatio

_DECIDED: Final = sentence(
    "Decided at interim look {number} of at most {most}. The looks so far cost {spent} together. All losses, "
    "{all}, were fixed before the first answer."
)
_OPEN: Final = sentence(
    "Still undecided at interim look {number} of at most {most}. The looks so far cost {spent} together. All "
    "losses, {all}, were fixed before the first answer."
)


@dataclass(frozen=True, slots=True)
class AuditData:
    """The whole report.

    `headline` is whole; of it the page has `heading` and both `outcomes` by themselves, where nobody said which counts.
    `facts` stand before the results and `question` behind them, `limits` is what the report does not say. `no_bars`
    says why an answer rule by rule has no `bars`; it is empty if it has them or was not asked for.
    """

    subject: Subject
    model_name: str
    rehearsed: str
    verdict: str
    headline: str
    heading: str
    outcomes: tuple[str, ...]
    explanation: str
    limits: tuple[str, ...]
    facts: tuple[Fact, ...]
    reused: str
    joined: str
    looks: str
    question: tuple[Fact, ...]
    level: str
    level_by_itself: str
    sensitive: tuple[str, ...]
    direct_use: str
    shared: bool
    sections: tuple[MetricSection, ...]
    tables: TablesData | None
    strata: StrataData | None
    chain: ChainData | None
    impact: tuple[tuple[str, tuple[ImpactRow, ...]], ...]
    scores: ScoreData | None
    bars: RuleBars | None
    no_bars: str
    outcome: Outcome
    scope: tuple[str, ...]
    tree: tuple[TreeNode, ...]
    favourable: tuple[RuleLine, ...]
    unfavourable: tuple[RuleLine, ...]
    cost: tuple[Fact, ...]
    more: WidthCurve | None
    meaning: tuple[Paragraph, ...]
    warnings: tuple[str, ...]
    receipt: tuple[Fact, ...]
    command: str
    versions: tuple[Fact, ...]


def audit_data(finding: Finding) -> AuditData:
    """Everything that the report of an audit says."""
    first, words = finding.first, finding.question.words
    bars, no_bars = _bars(finding)
    warnings = [
        *few_warning(finding),
        *model_warnings(finding),
        *(warning for estimate in finding.estimates.values() for warning in estimate.warnings),
    ]
    return AuditData(
        subject=subject(finding.question),
        model_name=finding.about.model_name or "",
        rehearsed=rehearsed_model_words(finding.question),
        verdict=finding.verdict.value if first.ratio.defined else "undefined",
        headline=headlines.headline(finding),
        heading=headlines.heading(finding),
        outcomes=headlines.outcomes(finding),
        explanation=headlines.explanation(finding),
        limits=limits(finding.question),
        facts=first_facts(finding),
        reused=_reused(finding),
        joined=_joined(finding),
        looks=_looks(finding),
        question=_question(finding),
        level=prose.level_of(finding),
        level_by_itself=prose.level_by_itself(finding),
        sensitive=sensitive_words(finding.question),
        direct_use=direct_use_words(finding),
        shared=finding.stored.second is not None,
        sections=tuple(metric_section(finding, metric) for metric in finding.metrics),
        tables=tables_data(finding),
        strata=strata_data(finding),
        chain=chain_data(finding),
        impact=tuple(
            (
                said("By {columns}", columns=listed(words.columns(columns))),
                tuple(impact_row(words.group(columns, impact.group), impact) for impact in ratios),
            )
            for columns, ratios in _impact_ratios(finding).items()
        ),
        scores=None
        if finding.scores is None
        else score_data(
            finding.scores,
            tuple(joined(group_words(finding.question, group), ", ") for group in finding.scores.groups),
            chosen=chosen_edge(finding.question),
            threshold=finding.reading.selection_threshold,
            level=prose.level_of(finding),
            joint=finding.reading.joint,
            assistive=finding.intervention == "assistive",
        ),
        bars=bars,
        no_bars=no_bars,
        outcome=outcome_of(finding),
        scope=scope_words(finding.question),
        tree=rule_tree(finding),
        favourable=rule_lines(finding.question, favourable=True),
        unfavourable=rule_lines(finding.question, favourable=False),
        cost=_cost(finding),
        more=None,
        meaning=prose.paragraphs(finding),
        warnings=tuple(dict.fromkeys([*warnings, *(bars.warnings if bars else ())])),
        receipt=_receipt(finding),
        command=f"auditor verify {shlex.quote(str(finding.receipt.parent))}",
        versions=tuple(Fact(name, version) for name, version in finding.versions.items()),
    )


def _impact_ratios(finding: Finding) -> "dict[tuple[str, ...], tuple[ImpactRatio, ...]]":
    """Return the impact ratios of decisions; the stages of a chain have ratios of their own."""
    return {} if finding.chain is not None else insight.impact_ratios(finding)


def _bars(finding: Finding) -> tuple[RuleBars | None, str]:
    """The rules' shares; where the answers allow none, why; nothing of bands and stages, which are no rules."""
    if finding.scores is not None or finding.chain is not None:
        return None, ""
    try:
        return rule_bars(finding), ""
    except AuditorError as refusal:
        return None, refusal.args[0]


def with_outlook(report: AuditData, outlook: Outlook | None) -> AuditData:
    """The same, with what more budget would give."""
    return replace(report, cost=(*report.cost, *_central(outlook)), more=remaining_curve(outlook))


def _reused(finding: Finding) -> str:
    if finding.stored.repeated:
        return said(
            "Answered before, on {day}: nothing was charged now.", day=date(finding.release.created.astimezone(UTC))
        )
    if not finding.reused:
        return ""
    return said(
        "Nothing was spent: a saved answer of {day} already has every count that this request needs.",
        day=date(finding.release.created.astimezone(UTC)),
    )


def _joined(finding: Finding) -> str:
    """Return from which answers the figures are estimated, if there are several."""
    answers = finding.stored.answers
    if len(answers) == 1:
        return ""
    return said(
        "Estimated from {number} answers together ({losses}), each with noise of its own.",
        number=len(answers),
        losses=joined((loss_words(answer.release.price) for answer in answers), "; "),
    )


def _looks(finding: Finding) -> str:
    """Return which look it is, of which that were settled, and what they cost; empty if the question was asked once."""
    looks, number = finding.reading.looks, finding.look
    if looks is None or number is None:
        return ""
    return said(
        _OPEN if finding.open else _DECIDED,
        number=number,
        most=len(looks.amounts),
        spent=amounts_words(looks.losses[number - 1 : number]),
        all=amounts_words(looks.losses),
    )


def _question(finding: Finding) -> tuple[Fact, ...]:
    release = finding.release
    return (
        *_written(finding),
        *people_facts(finding),
        *subject_facts(finding.question, finding.about),
        Fact(said("Groups"), str(len(finding.counts[next(iter(finding.counts))].measurement.groups))),
        *([] if finding.reading.rule is None else [Fact(said("Judged"), judged_fact(finding.reading.rule))]),
        Fact(said("Figures"), listed([METRIC_WORDS[metric].title for metric in finding.metrics])),
        Fact(said("Privacy loss"), loss_words(release.loss)),
        Fact(said("Strategy"), finding.strategy),
        Fact(said("Estimator"), finding.estimator),
        Fact(said("Asked by"), release.auditor),
        Fact(said("Answered"), date(release.created.astimezone(UTC), time=True)),
    )


def _written(finding: Finding) -> tuple[Fact, ...]:
    """Return what the auditor wrote of model and audit, and the holder of its records."""
    about, dataset = finding.about, finding.question.dataset
    of_records = dataset.metadata or DatasetMetadata()
    label, dataset_words = finding.question.label if finding.question.labelled else None, finding.question.words
    facts = {
        said("Name of the model"): about.model_name,
        said("Owner of the model"): about.model_owner,
        said("Purpose"): about.purpose,
        said("Label"): None
        if label is None
        else said("the column “{column}”", column=dataset_words.column(label.name)),
        said("A true label means"): None if label is None else _label_words(finding, label.name),
        said("Audited by"): about.organisation,
        said("Author"): about.author,
        said("Records of"): dataset.organisation,
        said("Records as of"): of_records.reference_date,
        said("Source of the records"): of_records.source,
    }
    return tuple(Fact(term, text) for term, text in facts.items() if text is not None)


def _label_words(finding: Finding, label: str) -> str | None:
    """Return what a true label means, where the holder wrote it."""
    words = finding.question.words
    of_label = words.metadata.columns.get(label)
    return None if of_label is None or "true" not in of_label.values else words.value(label, value=True)


def _cost(finding: Finding) -> tuple[Fact, ...]:
    release, budget = finding.release, finding.budget
    if release.rehearsal is not None:
        left = said("no limit: it is a rehearsal")
    elif budget is None:
        left = said("{loss} when the answer was made", loss=loss_words(release.remaining))
    else:
        left = said(
            "{left} of {limit}, for the population {population}",
            left=loss_words(budget.left),
            limit=loss_words(budget.limit),
            population=budget.population,
        )
    cost = Fact(said("This audit cost"), charge_words(release))
    if release.rehearsal is None and (finding.reused or finding.stored.repeated):
        cost = Fact(
            said("This audit cost"),
            said("nothing; the saved answer cost {loss} when it was made", loss=charge_words(release)),
        )
    of_first = finding.stored.second is not None
    facts = [
        cost,
        Fact(said("Left of the budget at the first holder") if of_first else said("Left of the budget"), left),
    ]
    if finding.stored.others:
        before = sum((other.release.charge for other in finding.stored.others), NO_LOSS)
        facts.append(
            Fact(said("The answers joined with it"), said("{loss} when they were made", loss=loss_words(before)))
        )
    facts.append(
        Fact(
            said("Protected"),
            f"{prose.relation_words(release.relation)} ({release.relation})",
        )
    )
    if finding.stored.second is not None:
        columns = listed([*finding.question.dataset.sensitive], "or")
        by = said("two holders, neither of which has anybody’s {columns}", columns=columns)
        facts.append(Fact(said("Answered by"), by))
    noises = dict.fromkeys(batch.noise for answer in finding.stored.answers for batch in answer.release.batches)
    return (*facts, *(Fact(said("Noise on each count"), prose.noise_words(noise)) for noise in noises))


def _second_receipt(second: KeptAnswer[Release]) -> tuple[Fact, ...]:
    """Return the facts that prove the second holder's half of the answer."""
    release = second.release
    return (
        Fact(said("Second holder’s release"), release.id, exact=True),
        Fact(said("Second holder’s ledger entry"), f"{release.ledger.sequence}, {release.ledger.hash}", exact=True),
        Fact(said("Second holder’s signing key"), f"{release.key} (Ed25519) {second.key.public_key}", exact=True),
        Fact(said("Second holder’s signature"), release.signature, exact=True),
    )


def _central(outlook: Outlook | None) -> tuple[Fact, ...]:
    """Return how the local model's error compares with the central one's at the same loss."""
    if outlook is None or outlook.central is None:
        return ()
    central = outlook.central
    words = said(
        "the perturbation cost each person ε = {epsilon}. From a holder who has the true groups, that loss would give "
        "an interval of the ratio about {width} wide, with a mean error of {error}; this one is {now} wide",
        epsilon=plain(central.asked.epsilon_nano / NANO_PER_UNIT, 3),
        width=figure(central.width, 3, "decimal"),
        error=figure(central.error, 3, "decimal"),
        now=figure(outlook.now, 3, "decimal"),
    )
    return (Fact(said("Perturbed at the source"), words),)


def _receipt(finding: Finding) -> tuple[Fact, ...]:
    release, second = finding.release, finding.stored.second
    return (
        Fact(said("Holder"), finding.holder_url, exact=True),
        *(() if second is None else _second_receipt(second)),
        Fact(said("Release"), release.id, exact=True),
        *([] if release.plan.refines is None else [Fact(said("Refines release"), release.plan.refines, exact=True)]),
        Fact(said("Ledger entry"), f"{release.ledger.sequence}, {release.ledger.hash}", exact=True),
        Fact(said("Signing key"), f"{release.key} (Ed25519) {finding.key.public_key}", exact=True),
        Fact(said("Signature"), release.signature, exact=True),
        Fact(said("Receipt file"), finding.receipt.name, exact=True),
        *(
            Fact(said("Joined with release"), f"{other.release.id}, {other.release.ledger.hash}", exact=True)
            for other in finding.stored.others
        ),
        Fact(said("Rules"), finding.model.rules, exact=True),
        *(
            Fact(said("Column {name}", name=name), column, exact=True)
            for name, column in finding.question.column_ids.items()
        ),
    )
