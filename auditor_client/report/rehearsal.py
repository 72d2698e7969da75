"""Texts of a rehearsal's report: that its people are invented, before all else; and that it cost nothing."""

from collections.abc import Iterable
from typing import Final

from auditor_client.text import loss_words, readable
from shared.contract.datasets import DatasetDescription
from shared.contract.rehearsals import Rehearsal
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import AnswerToRequest
from shared.wire.wording import joined, listed, said, sentence

MARK: Final = said("REHEARSAL")
_NOBODY: Final = sentence(
    "All people in this report are invented from the declaration of {dataset}. The figures do not say anything "
    "about real people. Nothing was charged."
)
_MARGINALS: Final = sentence(
    "The people were invented from marginals that an administrator published: those of {columns}."
)


def rehearsal_in(datasets: Iterable[DatasetDescription]) -> Rehearsal | None:
    """Return what is rehearsed, if people of any of the datasets are invented."""
    return next((dataset.rehearsal for dataset in datasets if dataset.rehearsal is not None), None)


def marked(rehearsal: Rehearsal | None, text: str) -> str:
    """A short text, such as a title, behind the mark of a rehearsal, if it is one."""
    return text if rehearsal is None else f"{MARK} of {rehearsal.of}: {text}"


def rehearsal_words(rehearsal: Rehearsal) -> str:
    """Return what stands at the top of everything that is about a rehearsal, behind the mark."""
    sentences = [said(_NOBODY, dataset=rehearsal.of)]
    if rehearsal.marginals:
        sentences.append(said(_MARGINALS, columns=listed(sorted(rehearsal.marginals))))
    return joined(sentences)


def rehearsal_line(rehearsal: Rehearsal) -> str:
    """The same as one line, with the mark."""
    return readable(joined([MARK, rehearsal_words(rehearsal)], ": "))


def charge_words(answer: AnswerToRequest | QuoteBase) -> str:
    """Return what is charged, by each holder; of a rehearsal nothing, and what the same costs about real people."""
    if answer.rehearsal is None:
        loss = loss_words(answer.charge)
        shared = getattr(answer, "shares", None) is not None
        return said("{loss} at each of the two holders", loss=loss) if shared else loss
    return said("nothing, as a rehearsal; about real people it would cost {loss}", loss=loss_words(answer.price))
