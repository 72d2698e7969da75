"""Answers about invented people, and about real ones: never read as one."""

from collections.abc import Iterable

from auditor_client.errors import QuestionRefused
from shared.contract.datasets import DatasetDescription
from shared.kinds.releases import AnswerToRequest


def require_marked_alike(dataset: DatasetDescription, answers: Iterable[AnswerToRequest]) -> None:
    """Refuse to read answers for a dataset of which they, or it, alone are a rehearsal; or of two that are rehearsed.

    Raises:
        QuestionRefused: So it is.
    """
    declared = None if dataset.rehearsal is None else dataset.rehearsal.of
    for answer in answers:
        said = None if answer.rehearsal is None else answer.rehearsal.of
        if said != declared:
            raise QuestionRefused(
                f"The answer {answer.id} is about {_words(said)}, but this audit is about {_words(declared)}. "
                "Use an answer about the same people."
            )


def require_alike(one: DatasetDescription, other: DatasetDescription, what: str) -> None:
    """Refuse what would bring a rehearsal and real people together.

    Raises:
        QuestionRefused: One of the datasets alone is a rehearsal; `what` says what was wanted.
    """
    if (one.rehearsal is None) != (other.rehearsal is None):
        rehearsal, real = (one, other) if other.rehearsal is None else (other, one)
        raise QuestionRefused(
            f"{what}: {rehearsal.name!r} is a rehearsal, and the people of {real.name!r} are real. Rehearse both, or "
            "neither."
        )


def of_dataset(dataset: DatasetDescription, name: str | None) -> bool:
    """Whether what is kept of a dataset is what was asked for by name; of all, if no name was given, but rehearsals."""
    return dataset.rehearsal is None if name is None else dataset.name == name


def rehearsal_member(answer: AnswerToRequest) -> dict[str, str]:
    """Return what a model's file says besides of the answer that it was made from, if that is of a rehearsal."""
    return {} if answer.rehearsal is None else {"rehearsal_of": answer.rehearsal.of}


def of_rehearsal(answer: AnswerToRequest) -> str:
    """Return what begins the description of a model that was made from a rehearsal; nothing of others."""
    return "" if answer.rehearsal is None else f"REHEARSAL of {answer.rehearsal.of}, about invented people: "


def _words(of: str | None) -> str:
    return "real people" if of is None else f"invented people, for a rehearsal of {of}"
