"""What was audited, in words: a tree, a model behind a score, or decisions that were made already."""

from dataclasses import dataclass

from auditor_client.asking.question import Question
from auditor_client.models.read_model import Provenance
from auditor_client.report.formats import whole


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report speaks about.

    Attributes:
        name: As the subject of a sentence, in the singular: "the tree".
        kind: What it is: "a decision tree".
        sentence: What was audited, and how it was read.
        about: Which decisions the figures are about.
        made_already: Whether somebody made the decisions, and no model.
    """

    name: str
    kind: str
    sentence: str
    about: str
    made_already: bool = False

    @property
    def capital(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[0].upper() + self.name[1:]


def subject(question: Question) -> Subject:
    """What a question is about."""
    decision, source = question.request.decision, question.source
    if decision is not None:
        linked = decision in question.column_ids
        whence = "linked by the auditor" if linked else "as the holder’s records have it"
        return Subject(
            f"the column “{decision}”",
            "decisions",
            f"The decisions in the column “{decision}”, {whence}.",
            f"in the column “{decision}”, {whence}",
            made_already=True,
        )
    name, kind = ("the tree", "a decision tree") if source.score is None and not source.columns else _MODEL
    if source.provenance is None:
        sentence = "A decision tree, given as it is." if kind != _MODEL[1] else "A model, given as it is."
    else:
        sentence = provenance_words(source.provenance)
    return Subject(name, kind, sentence, f"of {name} as it was read, not about what was decided in practice")


_MODEL = ("the model", "a model")


def provenance_words(read: Provenance) -> str:
    """What was read, and what it was compared with, as a sentence."""
    what = read.description[0].upper() + read.description[1:]
    if read.compared_with is None:
        return f"{what}. Nothing was there that it could be compared with."
    if read.bound is None:
        return f"{what}, read exactly: {whole(read.differing)} of {whole(read.probes)} probes differ."
    largest = "" if read.largest is None else f", and scores differ by at most {read.largest:.1g}"
    return (
        f"{what}, read but for rounding: {whole(read.differing)} of {whole(read.probes)} probes are decided otherwise"
        f"{largest} (rounding may make {read.bound:.1g})."
    )
