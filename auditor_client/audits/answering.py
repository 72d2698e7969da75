"""From a question to its answer: a kept one, or the holder's, verified and kept before anything is read from it."""

from dataclasses import replace

from auditor_client.asking.question import Question
from auditor_client.audits.asking import Asking
from auditor_client.audits.questioning import PosedQuestion, Step
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import (
    asked_before,
    cell_supports,
    finding,
    reusable_answer,
    stored_supports,
)
from auditor_client.errors import HolderLied, HolderRefused, HolderUnavailable, QuestionRefused, ReceiptsDamaged
from auditor_client.exchange.columns import require_ready
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import check_quote, verified_release
from auditor_client.findings.about import About
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, Notes
from auditor_client.text import loss_words
from shared.amounts import NO_LOSS
from shared.datasets import Budget
from shared.plans import Quote


class Answering:
    """Has questions answered: from the receipts of one directory, or by one holder."""

    def __init__(self, holder: HolderClient, receipts: Receipts, notes: Notes, about: About, on_step: Step) -> None:
        self._holder = holder
        self._receipts = receipts
        self._notes = notes
        self._about = about
        self._on_step = on_step

    def answered(self, posed: PosedQuestion, asking: Asking) -> AuditResult:
        """Ask or find the answer, keep what it was about, and only then estimate."""
        question, data = posed.question, posed.data
        known = cell_supports(question, asking.own.supports, data)
        count = None if data is None else data.count
        # Supports that were given by cell are of the question's own cells, not of a kept answer's.
        wanted = asking.own.reuse and asking.own.supports is None
        stored = reusable_answer(self._receipts, question, posed.auditor, count) if wanted else None
        if stored is None:
            stored = self._release(question, self.quote(question), posed.auditor)
        else:
            self._receipts.pin(self._holder.keys())  # a holder whose key changed is noticed here too
            known = None if data is None else stored_supports(stored, question, data)
        return self.found(question, replace(stored, supports=known), asking)

    def found(self, question: Question, stored: StoredAnswer, asking: Asking) -> AuditResult:
        """What an answer says, once it is kept what it was about."""
        self._on_step("Estimating")
        reading, about = asking.reading.settled(question.metrics), asking.about.over(self._about)
        self._notes.keep(Note.of(question, stored, reading, about))
        budget_now = self._budget_now(question.dataset.name)
        return finding(question, stored, reading, holder_url=self._holder.url, budget=budget_now, about=about)

    def is_kept(self, posed: PosedQuestion, asking: Asking) -> bool:
        """Whether a question has an answer already, so that nothing would be spent on it."""
        count = None if posed.data is None else posed.data.count
        return asking.own.reuse and (
            asked_before(self._receipts, posed.question, posed.auditor)
            or reusable_answer(self._receipts, posed.question, posed.auditor, count) is not None
        )

    def quote(self, question: Question) -> Quote:
        """The price of a question, if it is the one that was meant; what it needs is made first.

        Raises:
            QuestionRefused: The holder would charge something else.
        """
        for held in question.source.columns:
            require_ready(self._holder, question.dataset.name, held, self._on_step)
        self._on_step("Asking for the price")
        quote = self._holder.quote(question.dataset.name, question.plan)
        check_quote(quote, plan=question.plan, dataset=question.dataset, schema=question.schema)
        meant = sum((batch.loss for batch in question.plan.batches), NO_LOSS)
        if quote.charge == meant:
            return quote
        raise QuestionRefused(
            f"The holder would charge {loss_words(quote.charge)} for a plan that was meant to cost "
            f"{loss_words(meant)}: it does not find the model's rules disjoint. Nothing was spent. Lower epsilon, or "
            "report it to the holder's administrator."
        )

    def _release(self, question: Question, quote: Quote, auditor: str) -> StoredAnswer:
        """Ask, verify, keep the receipt: in this order, and nothing is used before."""
        plan = question.plan
        keys = self._receipts.pin(self._holder.keys())
        self._on_step("Waiting for the answer")
        try:
            unverified = self._holder.release(question.dataset.name, plan)
        except HolderUnavailable as error:
            raise HolderUnavailable(
                f"{error} The plan was made for version {plan.version} of the records: pin it if you ask again later."
            ) from error
        try:
            if all(key.id != unverified.document.get("key") for key in keys.keys):
                keys = self._receipts.pin(self._holder.keys())  # signed with a key that was made in between
            release = verified_release(
                unverified.document,
                keys=keys,
                plan=plan,
                quote=quote,
                dataset=question.dataset,
                auditor=auditor,
                schema=question.schema,
            )
            receipt = self._receipts.keep(release.id, unverified.body)
        except HolderLied as error:
            raise HolderLied(f"{error} {self._evidence(unverified.body)}") from error
        key = next(key for key in keys.keys if key.id == release.key)
        return StoredAnswer(release, unverified.document, receipt, key)

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; a failure to keep it must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self._receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"

    def _budget_now(self, dataset: str) -> Budget | None:
        """The account after an audit; None if the holder does not answer: the finding does not depend on it."""
        try:
            return self._holder.budget(dataset)
        except (HolderUnavailable, HolderRefused):
            return None
