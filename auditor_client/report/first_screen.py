"""The first screen beside the finding: limits of the report, and the five facts that name it."""

from datetime import UTC

from auditor_client.asking.question import Question
from auditor_client.findings.finding import Finding
from auditor_client.report.facts import Fact, model_digest, outcome_fact
from auditor_client.report.people import people_facts
from auditor_client.report.subject import subject
from shared.contract.metadata import DatasetMetadata
from shared.wire.wording import date, said


def limits(question: Question) -> tuple[str, ...]:
    """Return what a reader might take from the finding and may not, as three ends of "This report does not say"."""
    audited = subject(question)
    return (
        said("why the groups differ: a difference is not a cause"),
        said("whether the decisions are lawful or unlawful"),
        said("whether the recorded decisions are complete and right")
        if audited.made_already
        else said("how decisions were made in practice: the figures are about what {name} decides", name=audited.name),
    )


def first_facts(finding: Finding) -> tuple[Fact, ...]:
    """Return what was audited, which decision is counted, about how many people, as of when, and by whom."""
    about, metadata = finding.about, finding.question.dataset.metadata or DatasetMetadata()
    dataset = Fact(said("Dataset"), finding.question.words.title)
    as_of = Fact(said("Answered"), date(finding.release.created.astimezone(UTC)))
    if metadata.reference_date is not None:
        as_of = Fact(said("Records as of"), metadata.reference_date)
    return (
        _audited(finding),
        outcome_fact(finding.question, about),
        next(iter(people_facts(finding)), dataset),
        as_of,
        Fact(said("Audited by"), about.organisation or about.author or finding.release.auditor),
    )


def _audited(finding: Finding) -> Fact:
    """The model by its name, or else by its digest; decisions by their column, and a chain by its stages."""
    question, audited = finding.question, subject(finding.question)
    if audited.made_already or question.request.chain is not None:
        return Fact(said("Audited"), audited.sentence)
    return Fact(said("Model"), finding.about.model_name or model_digest(finding.model))
