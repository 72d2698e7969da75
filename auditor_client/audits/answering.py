"""From a question to its answer: a kept one, or the holder's, verified and kept before anything is read from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from auditor_client.asking.question import Question
from auditor_client.audits.asking import Asking, require_joinable
from auditor_client.audits.chains import refined_release
from auditor_client.audits.questioning import PosedQuestion
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import (
    asked_before,
    cell_supports,
    finding,
    joinable,
    kept_plans,
    reusable_answer,
    supports_of,
)
from auditor_client.errors import HolderRefused, HolderUnavailable, QuestionRefused
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS, PricedPlan
from auditor_client.exchange.columns import require_ready
from auditor_client.exchange.two_holders import TwoHolders, require_halves
from auditor_client.findings.about import About
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.notes import Note, Notes
from auditor_client.text import loss_words
from shared.contract.datasets import Budget
from shared.kinds.plans import Plan, Quote
from shared.kinds.refining import charged_before
from shared.privacy.amounts import NO_LOSS, Loss, parse_nano


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question of which everything is checked that can be checked before anything is spent.

    Attributes:
        posed: The question.
        answer: The kept answer that it has, or what the holder's would cost.
        supports: By cell id of that answer, how many people the cell applies to; None if that is not known.
    """

    posed: PosedQuestion
    answer: StoredAnswer | PricedPlan
    supports: Mapping[str, int] | None


class Answering:
    """Has questions answered: from the receipts of one directory, or by one holder."""

    def __init__(self, exchange: Exchange, notes: Notes[Note], about: About, second: Exchange | None = None) -> None:
        self._exchange = exchange
        self._second = second
        self._notes = notes
        self._about = about
        self._on_step = exchange.on_step

    def kept(self, posed: PosedQuestion, asking: Asking, second: Question | None = None) -> StoredAnswer | None:
        """A kept answer that has what a question needs, and what a second question needs if there is one.

        None if there is none, or it is not to be looked for. Supports that were given by cell are of the question's own
        cells, not of a kept answer's.
        """
        if not asking.own.reuse or asking.own.supports is not None:
            return None
        return reusable_answer(
            self._exchange.receipts, posed.question, posed.auditor, posed.data, second=second, join=asking.own.join
        )

    def is_free(self, posed: PosedQuestion, asking: Asking, kept: StoredAnswer | None) -> bool:
        """Whether a question has an answer already, a kept one or the holder's to the very same, and may have it."""
        before = asking.own.reuse and asked_before(self._exchange.receipts, posed.question, posed.auditor)
        return before or kept is not None

    def prepared(self, posed: PosedQuestion, asking: Asking, kept: StoredAnswer | None) -> PreparedQuestion:
        """A question checked and priced; nothing is spent.

        Args:
            posed: The question.
            asking: What is on hand.
            kept: The answer that it is to have; None to ask the holder.

        Raises:
            QuestionRefused: What has to be known of it is not on hand, or the holder would charge something else.
        """
        question, data = posed.question, posed.data
        require_joinable(question.request, asking.reading, asking.own)
        supports = cell_supports(question, asking.own.supports, data)
        if kept is None:
            return PreparedQuestion(posed, self.priced(question, posed.auditor), supports)
        return PreparedQuestion(posed, kept, supports_of(kept, question, data, None))

    def answered(
        self, prepared: PreparedQuestion, asking: Asking, before: tuple[StoredAnswer, ...] = ()
    ) -> AuditResult:
        """Ask unless the answer is kept, keep what it was about, and only then estimate.

        The figures rest on the answers `before` it too.
        """
        (question, data), answer = (prepared.posed.question, prepared.posed.data), prepared.answer
        receipts = self._exchange.receipts
        if isinstance(answer, StoredAnswer):
            for exchange in (self._exchange, *([] if self._second is None else [self._second])):
                exchange.receipts.pin(exchange.holder.keys())  # a holder whose key changed is noticed here too
            stored = answer
        else:
            repeated = asked_before(receipts, question, prepared.posed.auditor)
            self._on_step("Waiting for the answer")
            both = self._both(question)
            answers = (self._exchange.charged(answer),) if both is None else both.answered(answer)
            stored = replace(StoredAnswer.of(*answers), repeated=repeated)
        stored = replace(stored, supports=prepared.supports, others=before)
        if asking.own.join:
            stored = replace(
                stored, others=joinable(self._exchange.receipts, question, stored, data, prepared.supports)
            )
        return self.found(question, stored, asking)

    def kept_plans(self, posed: PosedQuestion, asking: Asking) -> tuple[Plan, ...] | None:
        """The plans of the kept answers among which are those to join; None where none is to be joined.

        Raises:
            QuestionRefused: What is wanted is estimated from one answer.
        """
        require_joinable(posed.question.request, asking.reading, asking.own)
        return kept_plans(self._exchange.receipts, posed.question, posed.auditor) if asking.own.join else None

    def found(self, question: Question, stored: StoredAnswer, asking: Asking) -> AuditResult:
        """What an answer says, once it is kept what it was about."""
        self._on_step("Estimating")
        reading, about = asking.reading.settled(question.metrics), asking.about.over(self._about)
        self._notes.keep(Note.of(question, stored, reading, about))
        budget_now = self._budget_now(question.dataset.name)
        if budget_now is not None:
            budget_now = budget_now.about(stored.release.blocks, question.dataset.table.block_domain)
        return finding(question, stored, reading, holder_url=self._exchange.holder.url, budget=budget_now, about=about)

    def priced(self, question: Question, auditor: str) -> PricedPlan:
        """A question with its price, if it is the one that was meant; what it needs is made first.

        Raises:
            QuestionRefused: The holder would charge something else.
        """
        both = self._both(question)
        if both is not None and question.source.columns:
            both.require_one_account(question.dataset.name)
        for exchange in (self._exchange,) if both is None else (both.first, both.second):
            for held in question.source.columns:
                require_ready(exchange.holder, question.dataset.name, held, self._on_step)
        refined = refined_release(self._exchange.receipts, question.plan)
        context = RequestContext(question.dataset, auditor, question.schema, refined)
        priced = self._exchange.priced(PLANS, question.plan, context)
        if both is not None:
            both.priced(priced)
        quote = priced.quote
        before = charged_before(question.plan, None if refined is None else refined.plan)
        pairs = list(zip(question.plan.batches, quote.batches, strict=True))
        if quote.price.kind == "zcdp":
            meant = _of_one_class(quote)
            as_meant = all(asked.loss.is_nothing or priced.composition["classes"] == 1 for asked, priced in pairs)
        else:
            meant = sum((asked.loss - charged for (asked, _), charged in zip(pairs, before, strict=True)), NO_LOSS)
            as_meant = quote.price == meant or (question.dataset.blocks is not None and quote.price.fits_in(meant))
        if as_meant:
            return priced
        raise QuestionRefused(
            f"The holder would charge {loss_words(quote.price)} for a plan that was meant to cost "
            f"{loss_words(meant)}: it does not find the model's rules disjoint. Nothing was spent. Lower epsilon, or "
            "report it to the holder's administrator."
        )

    def _both(self, question: Question) -> TwoHolders | None:
        """Both holders of a shared register; None where one holder has the values.

        Raises:
            QuestionRefused: The dataset is shared and one holder is named, or the reverse. Nothing was spent.
        """
        if question.dataset.shares is None and self._second is None:
            return None
        if self._second is None:
            raise QuestionRefused(
                f"Dataset {question.dataset.name!r} is shared by two holders, and one alone cannot answer. Name both "
                "(`holders`). Nothing was spent."
            )
        require_halves(question.dataset, self._second.holder.dataset(question.dataset.name))
        return TwoHolders(self._exchange, self._second)

    def _budget_now(self, dataset: str) -> Budget | None:
        """The account after an audit; None if the holder does not answer: the finding does not depend on it."""
        try:
            return self._exchange.holder.budget(dataset)
        except (HolderUnavailable, HolderRefused):
            return None


def _of_one_class(quote: Quote) -> Loss:
    """What a plan in ρ would cost, if the holder found the cells of each of its batches disjoint."""
    rho_nano = sum(parse_nano(one.rho) // one.composition["classes"] for one in quote.batches if one.rho is not None)
    return Loss.of_rho(rho_nano, quote.price.delta_nano)
