"""One question asked at growing loss until its verdict is decided (8-time §2, docs/adr/0053-until-decided.md).

All looks are settled, written down with the receipts, and made into plans before the first of them is asked: at which
loss the next one is does not depend on what the last one showed; only whether there is a next one does. In an account
of ε each look refines the one before, for the difference. In one of ρ, where nothing is refined, each look is a
further draw of Gaussian noise for the difference, and is read joined with all before it.

Whoever is interrupted asks again: what was answered is answered again for nothing, and the looks go on.
"""

from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from auditor_client.asking.question import Question
from auditor_client.audits.answering import Answering
from auditor_client.audits.asking import Asking
from auditor_client.audits.questioning import PosedQuestion, Step
from auditor_client.audits.result import AuditResult
from auditor_client.durable_files import write_durably
from auditor_client.errors import QuestionRefused, ReceiptsDamaged
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.looks import Looks
from auditor_client.report.formats import threshold_percent
from auditor_client.text import amounts_words, loss_words
from shared.privacy.amounts import Loss, format_nano, parse_nano

FOLDER: Final = "looks"
"""Of a receipts directory: what looks were settled, named by the release of the first."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Has questions answered at growing loss; `receipts` are those that `answering` keeps."""

    answering: Answering
    receipts: Receipts
    on_step: Step

    def decided(self, posed: PosedQuestion, asking: Asking, left: Loss) -> AuditResult:
        """Look until the verdict is decided (`Finding.open`), or the most is spent; gives the last look.

        Args:
            posed: The question at the most that all looks may lose together.
            asking: How answers are read, at the level of all looks together, and what is on hand.
            left: What the account has left.

        Raises:
            QuestionRefused: It cannot be asked so, or may cost more than is left; nothing is spent.
        """
        looks = settled_looks(posed.question, asking)
        questions = chained(posed.question, looks, posed.auditor)
        releases = [_identity(question, posed.auditor) for question in questions]
        taken = next((n for n, one in enumerate(releases) if not self.receipts.path(one).exists()), len(releases))
        rest = looks.losses[-1] if not taken else looks.losses[-1] - looks.losses[taken - 1]
        if not posed.question.dataset.charged(rest).fits_in(left):
            raise QuestionRefused(
                f"Until it is decided it may cost {loss_words(rest)}, and {loss_words(left)} is left: lower the most "
                "(`epsilon`, or `rho`), or ask the holder for more. Nothing was spent."
            )
        self._settle(looks, releases[0])
        self.on_step(
            f"Looking up to {len(looks.amounts)} times, at {amounts_words(looks.losses)}, which is the most that they "
            f"cost together; each at {threshold_percent(round(looks.each, 4))}, so that all hold together at "
            f"{threshold_percent(looks.level)}"
        )
        of_look = replace(asking, reading=asking.reading.of_look(looks))
        before: tuple[StoredAnswer, ...] = ()
        for number, question in enumerate(questions, start=1):
            self.on_step(
                f"Look {number} of at most {len(questions)}, for {amounts_words(looks.steps[number - 1 : number])}"
            )
            prepared = self.answering.prepared(replace(posed, question=question), of_look, None)
            found = self.answering.answered(prepared, of_look, before)
            if not found.open:
                break
            if looks.kind == "zcdp":
                before = (*before, replace(found.stored, others=()))
        return found

    def _settle(self, looks: Looks, first: str) -> None:
        """Write the looks down before the first is asked, or find them as they were written.

        Raises:
            QuestionRefused: The first was answered before, and these were not the looks that were settled then.
            ReceiptsDamaged: What was settled cannot be read or written.
        """
        path = self.receipts.directory / FOLDER / self.receipts.path(first).name
        try:
            settled = Looks.model_validate_json(path.read_bytes()) if path.exists() else None
            if not self.receipts.path(first).exists():
                write_durably(path, f"{looks.model_dump_json(indent=1)}\n".encode())
                return
        except (OSError, ValidationError) as error:
            raise ReceiptsDamaged(
                f"The looks in {path} cannot be read or written. Restore them from a copy."
            ) from error
        if settled is None or (settled.kind, settled.amounts) != (looks.kind, looks.amounts):
            were = "" if settled is None else f" They were settled at {amounts_words(settled.losses)}."
            raise QuestionRefused(
                f"The first of these looks was answered before these looks were settled.{were} Looks that are chosen "
                "after an answer do not hold together: take them as they were, begin with another (`first_look`), or "
                "with another `draw`. Nothing was spent."
            )


def settled_looks(question: Question, asking: Asking) -> Looks:
    """The looks at which a question is asked until there is a verdict.

    Raises:
        QuestionRefused: It cannot be asked so.
    """
    request, reading, first = question.request, asking.reading, asking.looking.first_look
    reading.require_verdict(question.metrics)
    for name, given in (("refines", request.refines is not None), ("join", asking.own.join)):
        if given:
            raise QuestionRefused(
                f"`until_decided` asks a question of its own, from its first look on: leave `{name}` out."
            )
    if request.mechanism == "randomised_response":
        raise QuestionRefused("Randomised response costs nothing, and has one answer: leave `until_decided` out.")
    in_rho = question.dataset.terms.kind == "zcdp"
    if in_rho and request.rho is None:
        raise QuestionRefused(
            "In an account that adds up rho nothing is refined for the difference, and looks are further Gaussian "
            "draws: name the most as `rho` instead of `epsilon`."
        )
    if not in_rho and request.mechanism != "laplace":
        raise QuestionRefused(
            f"Answers of mechanism {request.mechanism!r} cannot be refined, so further looks would be charged whole: "
            "ask until decided with `mechanism` laplace."
        )
    return Looks.of(None if first is None else parse_nano(first), request.loss, reading.level)


def chained(question: Question, looks: Looks, auditor: str) -> tuple[Question, ...]:
    """The question of each look: known before the first answer, as a release is named by what it answers."""
    found: list[Question] = []
    for number, (loss, step) in enumerate(zip(looks.amounts, looks.steps, strict=True)):
        if looks.kind == "zcdp":
            rho = format_nano(step.rho_nano or 0)
            found.append(question.changed(rho=rho, draw=question.request.draw + number))
        else:
            refines = _identity(found[-1], auditor) if found else None
            found.append(question.changed(epsilon=format_nano(loss), refines=refines))
    return tuple(found)


def _identity(question: Question, auditor: str) -> str:
    """Of the release that answers a question."""
    return question.plan.identity(auditor=auditor, dataset=question.dataset.name)
