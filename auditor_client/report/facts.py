"""Terms with their texts, and those that every report names its subject by."""

from dataclasses import dataclass
from typing import Final

from auditor_client.asking.inquiry import ModelDigest
from auditor_client.asking.question import Question
from auditor_client.findings.about import NOTHING, About
from auditor_client.report.formats import group_words, scope_words, sensitive_words
from auditor_client.report.known_totals import totals_words
from auditor_client.report.misreported_study import study_words
from auditor_client.report.outcome import outcome
from auditor_client.report.subject import subject
from shared.wire.wording import joined, listed, said

_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Fact:
    """A term and its text; an `exact` text (digest, key) is for copying."""

    term: str
    text: str
    exact: bool = False


def subject_facts(question: Question, about: About = NOTHING) -> tuple[Fact, ...]:
    """Return what was audited, which decision is counted, about whom, compared by what."""
    scope, reference, totals = scope_words(question), question.reference, totals_words(question)
    study = study_words(question)
    return (
        Fact(said("Audited"), subject(question).sentence),
        *model_facts(question),
        outcome_fact(question, about),
        Fact(
            said("Dataset"),
            said("{dataset}, version {version}", dataset=question.words.title, version=question.plan.version),
        ),
        Fact(said("Compared by"), listed(sensitive_words(question))),
        *([Fact(said("Within"), listed(scope))] if scope else []),
        *(Fact(said("Within each value of"), question.words.column(stratum.column)) for stratum in question.strata[:1]),
        *([Fact(said("Compared with"), joined(group_words(question, reference), ", "))] if reference else []),
        *([Fact(said("Group totals"), totals)] if totals else []),
        *([Fact(said("Wrongly recorded groups are corrected with"), study)] if study else []),
    )


def outcome_fact(question: Question, about: About = NOTHING) -> Fact:
    """Which decision is counted, and what it means; of a punitive decision the burden first, as figures count it."""
    counted = outcome(question, about)
    if question.request.intervention != "punitive":
        return Fact(said("Decision counted"), counted.full)
    both = said("{adverse}; the good outcome is {outcome}", adverse=counted.adverse, outcome=counted.full)
    return Fact(said("Decision counted"), both)


def model_facts(question: Question) -> tuple[Fact, ...]:
    """Which model, by the same digest in every report, and its file, if it came from one; none of mere decisions."""
    if subject(question).made_already:
        return ()
    model = question.model
    file = () if model.file is None else (Fact(said("Model file"), model.file, exact=True),)
    return (
        Fact(said("Model"), said("{digest}, the beginning of the digest of its rules", digest=model_digest(model))),
        *file,
    )


def model_digest(model: ModelDigest) -> str:
    """Return what a model is named by: the beginning of the digest of its rules, whether it has a file or not."""
    return model.rules.removeprefix("sha256:")[:_DIGITS]
