"""Texts about the study of misreported groups that figures rest on."""

from auditor_client.asking.question import Question
from auditor_client.report.formats import whole
from shared.wire.wording import joined, said


def study_words(question: Question) -> str:
    """Return which study of misreported groups the figures rest on; empty without one."""
    study = question.request.group_study
    if study is None:
        return ""
    people = said("a study of {people} people", people=whole(sum(map(sum, study.people))))
    return people if study.source is None else joined([people, study.source], ", ")


def trusted_study(question: Question) -> tuple[str, ...]:
    """Return what is taken on trust of a study."""
    if question.request.group_study is None:
        return ()
    return (
        said(
            "This report also relies on the study of wrongly recorded groups: its people must be recorded as those of "
            "the register are, and the errors must not depend on the decision. The answers cannot show whether this is "
            "true."
        ),
    )
