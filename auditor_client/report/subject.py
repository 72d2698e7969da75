"""The subject of an audit, in words: a tree, a model behind a score, or decisions that were made already."""

from dataclasses import dataclass
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.question import Question
from auditor_client.asking.request import MODEL
from auditor_client.models.read_model import Provenance
from auditor_client.report.formats import whole
from auditor_client.report.rehearsal import MARK
from shared.wire.wording import joined, plain, said, sentence

_MADE_IN_A_REHEARSAL: Final = sentence(
    "The model was made in a rehearsal of {dataset}, of invented people: it learned nothing about real ones."
)
_NAMED_INPUTS: Final = sentence(
    "The auditor named its inputs: {inputs}. What stands before the model in use, such as a scaler or an encoder, was "
    "not read."
)
_INPUTS_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a report.

    Attributes:
        name: As the subject of a sentence, in the singular: "the tree".
        kind: The report's heading: "Fairness audit of a decision tree".
        sentence: What was audited, and how it was read.
        about: Which decisions the figures are about.
        made_already: Whether somebody made the decisions, and no model.
    """

    name: str
    kind: str
    sentence: str
    about: str
    made_already: bool = False


def subject(question: Question) -> Subject:
    """Return what a question is about."""
    decision, source = question.request.decision, question.source
    if decision is not None:
        linked = decision in question.column_ids
        whence = said("linked by the auditor") if linked else said("as the holder’s records have it")
        return Subject(
            said("the decision practice in the column “{column}”", column=decision),
            said("Fairness audit of decisions"),
            said("The decisions in the column “{column}”, {whence}.", column=decision, whence=whence),
            said("in the column “{column}”, {whence}", column=decision, whence=whence),
            made_already=True,
        )
    if question.request.chain is not None:
        return _of_chain(question)
    if source.score is None and not source.columns:
        name, kind, remark = (
            said("the tree"),
            said("Fairness audit of a decision tree"),
            said("A decision tree, given as it is."),
        )
    else:
        name, kind, remark = said("the model"), said("Fairness audit of a model"), said("A model, given as it is.")
    sentence = remark if source.provenance is None else provenance_words(source.provenance)
    about = said("of {name} as it was read, not about what was decided in practice", name=name)
    return Subject(name, kind, sentence, about)


def _of_chain(question: Question) -> Subject:
    """A chain of decisions, some of which a model may make."""
    stages, read = joined(stage_names(question), " → "), question.source.provenance
    with_model = MODEL in (question.request.chain or ())
    whole = said(
        "The chain of decisions {stages}: a person reaches a stage if all stages up to it are true.", stages=stages
    )
    return Subject(
        said("the chain of decisions"),
        said("Fairness audit of a chain of decisions"),
        joined([whole, provenance_words(read)]) if with_model and read is not None else whole,
        said("in the chain of decisions {stages}", stages=stages),
        made_already=not with_model,
    )


def stage_titles(question: Inquiry) -> tuple[str, ...]:
    """The titles of the stages of a question's chain."""
    return tuple(
        said("the model’s decision") if name == MODEL else question.words.column(name)
        for name in question.request.chain or ()
    )


def stage_names(question: Inquiry) -> tuple[str, ...]:
    """The stages of a question's chain as sentences name them."""
    return tuple(said("“{column}”", column=title) for title in stage_titles(question))


def provenance_words(read: Provenance) -> str:
    """Return what was read, what it was compared with, and how its inputs were named, as sentences."""
    if not read.inputs:
        return _read_words(read)
    pairs = [f"{column} ← {own}" for column, own in read.inputs]
    listed = [*pairs[:_INPUTS_SHOWN], *(["…"] if len(pairs) > _INPUTS_SHOWN else [])]
    return joined([_read_words(read), said(_NAMED_INPUTS, inputs=", ".join(listed))])


def _read_words(read: Provenance) -> str:
    """Return what was read, and what it was compared with."""
    what = read.description[0].upper() + read.description[1:]
    if read.compared_with is None:
        return said("{what}. It was not compared with another reading of the same model.", what=what)
    differing, probes = whole(read.differing), whole(read.probes)
    if read.bound is None:
        return said(
            "{what}, read exactly: {differing} of {probes} probes differ.",
            what=what,
            differing=differing,
            probes=probes,
        )
    sentence = said(
        "{what}, read exactly except for rounding: {differing} of {probes} probes are decided differently.",
        what=what, differing=differing, probes=probes,
    )  # fmt: skip
    if read.largest is None:
        return joined([sentence, said("Rounding may make scores differ by {bound}.", bound=plain(read.bound, 1))])
    return joined(
        [
            sentence,
            said(
                "Scores differ by at most {largest}; rounding may make {bound}.",
                largest=plain(read.largest, 1), bound=plain(read.bound, 1),
            ),
        ]
    )  # fmt: skip


def rehearsed_model_words(question: Question) -> str:
    """Say that a model was made in a rehearsal, behind the mark of one; nothing of other models."""
    read = question.source.provenance
    if read is None or read.rehearsal_of is None:
        return ""
    return joined([MARK, said(_MADE_IN_A_REHEARSAL, dataset=read.rehearsal_of)], ": ")
