"""A new audit: what is audited, what is asked, what it would cost and show, and the question itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from fastapi import APIRouter, Response

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import AUTO, METRICS, MODEL, AuditRequest
from auditor_client.auditor import Auditor
from auditor_client.audits.asking import Asking, LinkRequest, OnHand, UntilDecided
from auditor_client.audits.fields import FILES
from auditor_client.audits.planned import PlannedAudit
from auditor_client.audits.stored_answers import asked_before
from auditor_client.desk.audits import report
from auditor_client.desk.desk import Desk, KeepFile, PricedDraft, SentForm
from auditor_client.desk.drafts import draft_of
from auditor_client.desk.fields import (
    field_of,
    first_fields,
    in_labels,
    link_fields,
    sections,
    values_of,
)
from auditor_client.desk.pages import Sent, TheDesk, go, page, section_of
from auditor_client.desk.waiting import AskedAudit
from auditor_client.errors import AuditorError, ModelRefused, QuestionRefused, ReceiptsDamaged, SignInNeeded
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.about import About
from auditor_client.findings.reading import Reading
from auditor_client.models.files import model_file, refuse_file
from auditor_client.models.readers import READERS
from auditor_client.planning.forecasts import Expectation
from auditor_client.report.widths import width_words
from auditor_client.text import losses_words
from shared.contract.datasets import Budget, DatasetDescription
from shared.privacy.amounts import NO_LOSS

router = APIRouter()
KINDS: Final = (AuditRequest, Reading, Assumption, OnHand, UntilDecided, About)
REFRESH_S: Final = 2
PLAN_WITHOUT: Final = ("reuse", "estimator", "negative", "too_large", "edition")


@dataclass(frozen=True, slots=True)
class Offer:
    """What could be asked at one ε, or ρ: its price, and what is expected of it.

    Attributes:
        name, amount: Of what is spent, as the request has it; no amount of what costs nothing.
        width: Of the interval, in per cent of the widest that is offered.
        planned: Whether it is the ε that was typed.
        fits: Whether the budget suffices.
        kept: Whether its answer is kept, so that asking spends nothing.
    """

    name: str
    amount: str
    cost: str
    interval: str
    width: float
    planned: bool
    fits: bool
    kept: bool


@dataclass(slots=True)
class AuditDraft(PricedDraft[PlannedAudit]):
    """An audit, or a comparison of two models, as far as it was typed.

    Attributes:
        model, other: Files of models; None if a column holds the decisions, or there is no second one.
        decision: That column.
        chain: The stages of a chain of decisions; empty for one decision.
        decisions: What the model or the column can decide, of which some are the good outcome; empty if not known.
    """

    section: ClassVar[str] = "New audit"
    template: ClassVar[str] = "draft.html.j2"
    apart: ClassVar[tuple[str, ...]] = ("metrics",)
    asking: ClassVar[str] = "Asking"

    model: Path | None = None
    other: Path | None = None
    decision: str | None = None
    chain: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/new/{self.id}"

    @property
    def subject(self) -> str:
        """What is audited, in a few words."""
        if self.chain:
            return f"the chain {' → '.join(self.chain)}"
        if self.model is None:
            return f"the decisions in {self.decision}"
        return self.model.name if self.other is None else f"{self.model.name} and {self.other.name}"

    @property
    def every_file(self) -> dict[str, Path]:
        """All files that it is asked with, by argument."""
        models = {"model": self.model, "other": self.other}
        return {**self.files, **{name: path for name, path in models.items() if path is not None}}

    def form(self, _: Auditor, dataset: DatasetDescription, budget: Budget, receipts: Receipts) -> dict[str, Any]:
        """The fields of a question; once it is planned, its price and what is expected of it at each ε."""
        planned = self.planned
        asked_otherwise = planned is not None and (
            self.other is not None or "until_decided" in self.typed
            or (planned.plan.version != dataset.version and not self.typed.get("version"))
        )  # fmt: skip
        return {
            "first": first_fields(dataset), "more": sections(dataset), "metrics": METRICS,
            "plan": None if planned is None else planned.view.data,
            "offers": [] if planned is None else offers(planned, budget, None if asked_otherwise else receipts),
        }  # fmt: skip

    def take(self, _: DatasetDescription, sent: SentForm, keep_file: KeepFile) -> None:
        """Take what was typed, and the files that were sent."""
        chosen = {name: ",".join(sent.chosen.get(name, ())) for name in ("sensitive", "metrics", "favourable")}
        self.typed = {**sent.typed, **chosen}
        for name in FILES:
            if name in sent.files:
                upload = sent.files[name]
                self.files[name] = keep_file(self.folder, upload.filename or name, upload.file)
            if f"without_{name}" in sent.typed:
                self.files.pop(name, None)
        if not self.typed["sensitive"]:
            raise QuestionRefused("Choose the columns whose groups are compared (`sensitive`).")
        Asking.of(self._sensitive, self.typed.get("epsilon") or None, None, self.arguments)

    @property
    def _sensitive(self) -> tuple[str, ...]:
        return tuple(self.typed["sensitive"].split(","))

    @property
    def arguments(self) -> dict[str, Any]:
        """What was typed and sent, as the arguments of `Auditor.audit` other than model, dataset, groups and ε."""
        typed = {name: text for name, text in self.typed.items() if name not in ("sensitive", "epsilon")}
        given: dict[str, Any] = {**values_of(typed, KINDS), **self.files}
        if self.chain:
            given["chain"] = list(self.chain)
        return given if self.decision is None else {**given, "decision": self.decision}

    def price(self, auditor: Auditor) -> PlannedAudit:
        """Look what the question would cost and show."""
        arguments = {name: value for name, value in self.arguments.items() if name not in PLAN_WITHOUT}
        width = _number(self.typed.get("target_width", "").strip())
        planned = auditor.plan(
            self.model,
            self.dataset,
            self._sensitive,
            self.typed.get("epsilon") or None,
            target_width=width,
            **arguments,
        )
        _ = planned.view.data
        return planned

    def asked(self, chosen: Mapping[str, str]) -> AskedAudit:
        """The audit at the ε or ρ that was chosen, of the version that it was priced for.

        Raises:
            QuestionRefused: It is not priced.
        """
        planned, keywords = self.planned, self.arguments
        if planned is None:
            raise QuestionRefused("This request does not have a price yet. Look at its price first.")
        keywords |= {name: chosen[name] for name in ("epsilon", "rho") if chosen.get(name)}
        epsilon = keywords.pop("epsilon", None)
        if keywords.get("strategy", AUTO) == AUTO and planned.question.request.edges is None and self.other is None:
            keywords["strategy"] = planned.question.strategy  # what was planned is asked, also at another ε
        return AskedAudit(
            subject=f"{'Audit' if self.other is None else 'Comparison'} of {self.subject}",
            dataset=self.dataset,
            sensitive=self._sensitive,
            epsilon=epsilon,
            keywords={name: value for name, value in keywords.items() if name not in self.files},
            files=self.every_file,
            asked_for=self.asked_for,
            version=planned.plan.version,
        )


@router.get("/new")
def show_new(desk: TheDesk) -> Response:
    """Choose what is audited, and about whom."""
    return _new(desk)


def _new(desk: Desk, sent: SentForm | None = None, fault: str = "") -> Response:
    with desk.auditor() as auditor:
        datasets = auditor.datasets()
    typed = {} if sent is None else sent.typed
    named = field_of(fault, ("dataset", "chain", "model", "decision", "other"))
    return page(
        desk, "new.html.j2", section="New audit", datasets=datasets, typed=typed, fault=in_labels(fault), named=named,
        status=422 if fault else 200,
    )  # fmt: skip


@router.post("/new")
def begin(desk: TheDesk, sent: Sent) -> Response:
    """Keep the model's file, and ask further."""
    dataset, decision = sent.typed.get("dataset", ""), sent.typed.get("decision", "").strip()
    chain = tuple(name.strip() for name in sent.typed.get("chain", "").split(",") if name.strip())
    if not dataset:
        return _new(desk, sent, "Choose the `dataset` to audit.")
    if chain and (fault := _fault_of_chain(chain, decision, sent)):
        return _new(desk, sent, fault)
    if not chain and bool(decision) == ("model" in sent.files):
        return _new(desk, sent, "`model`: choose a file, or name a column of decisions, not both or neither.")
    if decision and "other" in sent.files:
        return _new(desk, sent, "A second model (`other`) is compared with a first model. Leave `decision` empty.")
    if decision and decision not in _columns(desk, dataset, decision):
        return _new(
            desk, sent, f"`decision`: {decision!r} is not a column of this dataset. Send a file of decisions first."
        )
    draft = desk.draft(AuditDraft, dataset)
    draft.decision, draft.chain = decision or None, chain
    if "other" not in sent.files:  # a name is one model's
        upload = sent.files.get("model")
        draft.defaults["model_name"] = decision or (upload.filename if upload else None) or ""
    for name, upload in sent.files.items():
        path = desk.keep_file(draft.folder, upload.filename or name, upload.file)
        try:
            _require_model_file(path)
        except ModelRefused as error:
            desk.drop(draft)
            return _new(desk, sent, f"`{name}`: {error}")
        draft.model, draft.other = (path, draft.other) if name == "model" else (draft.model, path)
    draft.decisions = _decisions(desk, draft)
    return go(desk, f"/new/{draft.id}")


def _fault_of_chain(chain: Sequence[str], decision: str, sent: SentForm) -> str:
    """What is wrong with a chain that was typed, as far as the page sees it; empty if nothing is."""
    if decision or "other" in sent.files:
        return "A `chain` has stages instead of one decision and of a second model: leave `decision` and `other` empty."
    if (MODEL in chain) != ("model" in sent.files):
        return "A `chain` names the stage model exactly where a model’s file is chosen."
    return ""


def _decisions(desk: Desk, draft: AuditDraft) -> tuple[str, ...]:
    """What the first model or the column can decide; empty where the question has to say more before it is known."""
    if draft.chain:  # which end of a chain is good, the kind of its decision says
        return ()
    try:
        with desk.auditor() as auditor:
            found = auditor.decisions(draft.model, draft.dataset, decision=draft.decision)
    except SignInNeeded:
        raise
    except AuditorError:
        return ()
    return () if any("," in one for one in found) else found


def _require_model_file(path: Path) -> None:
    """Refuse a file of a kind that no reader reads, before anything else is typed.

    Raises:
        ModelRefused: So it is.
    """
    content = model_file(path)
    if not any(reader.is_file(content) for reader in READERS):
        refuse_file(content, path.name)


def _columns(desk: Desk, dataset: str, asked: str) -> set[str]:
    """A dataset's columns and the auditor's own; where the holder does not answer, the one that is asked for."""
    try:
        with desk.auditor() as auditor:
            declared = [column.name for column in auditor.dataset(dataset).columns]
            return {*declared, *(one.column.name for one in auditor.columns(dataset))}
    except SignInNeeded:
        raise
    except AuditorError:
        return {asked}


def offers(planned: PlannedAudit, budget: Budget, receipts: Receipts | None) -> list[Offer]:
    """What could be asked at smaller and larger ε, ascending; what was planned alone, where the others have no price.

    The budget is what is left now. Where there are receipts, an answer among them is free.

    They have none if they are free, refine an answer, or are in ε where the account adds up ρ: the holder says that of
    a plan alone.
    """
    request, terms = planned.question.request, planned.question.dataset.terms
    of_plan_alone = request.refines is not None or (terms.kind == "zcdp" and request.rho is None)
    alone = request.loss.is_nothing or of_plan_alone
    curve = (planned.expectation,) if alone else planned.forecast.curve
    widest = max(one.width for one in curve) or 1.0
    return [_offer(planned, one, 100 * one.width / widest, budget, receipts) for one in curve]


def _offer(
    planned: PlannedAudit, expected: Expectation, width: float, budget: Budget, receipts: Receipts | None
) -> Offer:
    question = planned.question
    is_planned = expected.asked == planned.expectation.asked
    asked = question if is_planned else question.at(expected.asked.rho_nano or expected.asked.epsilon_nano)
    losses = [planned.quote.price] if is_planned else [batch.loss for batch in asked.plan.batches]
    name, amount = next(iter(expected.amount.items()))
    kept = receipts is not None and asked_before(receipts, asked, budget.auditor)
    return Offer(
        name=name, amount="" if question.request.loss.is_nothing else amount, cost=losses_words(losses),
        interval=width_words(expected.width), width=round(width, 2), planned=is_planned,
        fits=kept or question.dataset.charged(sum(losses, NO_LOSS)).fits_in(budget.left), kept=kept,
    )  # fmt: skip


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise QuestionRefused(f"`target_width`: {text!r} is not a number. Write one, such as 0.05.") from None


@router.get("/new/{draft}/plan")
def show_plan(desk: TheDesk, draft: str) -> Response:
    """The whole plan, as `auditor plan --report` writes it."""
    planned = draft_of(desk, draft).planned
    if not isinstance(planned, PlannedAudit):
        raise ReceiptsDamaged("This request does not have a price yet. Look at its price first.")
    return report(planned, "en")


@router.get("/tasks/{task}")
def show_task(desk: TheDesk, task: str) -> Response:
    """What is being done; once it is done, the way to its result."""
    found = desk.tasks.find(task)
    if found is None:
        raise ReceiptsDamaged(
            "This work has expired. Repeat the request to get an answer that was already charged, at no further cost."
        )
    ended = found.ended  # what ends while the page is made is looked at again
    if found.result is not None:
        return go(desk, found.result)
    if found.fault is not None and found.needs_sign_in:
        desk.back = found.back
        raise SignInNeeded(found.fault)
    fault = None if found.fault is None else in_labels(found.fault)
    response = page(desk, "task.html.j2", section=section_of(found.back), task=found, fault=fault)
    if not ended:
        response.headers["Refresh"] = str(REFRESH_S)
    return response


@router.get("/decisions/{dataset}")
def show_link(desk: TheDesk, dataset: str) -> Response:
    """The form by which decisions, scores or labels of one's own are sent."""
    return _link(desk, dataset, {}, "")


def _link(desk: Desk, dataset: str, typed: dict[str, str], fault: str) -> Response:
    with desk.auditor() as auditor:
        fields, columns = link_fields(auditor.dataset(dataset)), auditor.columns(dataset)
    return page(
        desk, "decisions.html.j2", section="New audit", dataset=dataset, fields=fields, columns=columns, typed=typed,
        fault=in_labels(fault), named=field_of(fault, [one.name for one in fields]) or "decisions",
        status=422 if fault else 200,
    )  # fmt: skip


@router.post("/decisions/{dataset}")
def link(desk: TheDesk, dataset: str, sent: Sent) -> Response:
    """Send the values of a file, one for each person, and go on to audit them."""
    values = values_of(sent.typed, (LinkRequest,))
    if "decisions" not in sent.files or "name" not in values:
        fault = "Choose a file, and enter a name for the column (`name`)."
        return _link(desk, dataset, dict(sent.typed), fault)
    draft = desk.draft(AuditDraft, dataset)
    upload = sent.files["decisions"]
    file: Path = desk.keep_file(draft.folder, upload.filename or "decisions.csv", upload.file)
    try:
        with desk.auditor() as auditor:
            auditor.link(file, dataset, **values)
    except SignInNeeded:
        raise
    except AuditorError as error:
        return _link(desk, dataset, dict(sent.typed), str(error))
    file.unlink()
    draft.decision = values["name"]
    draft.decisions = _decisions(desk, draft)
    return go(desk, f"/new/{draft.id}")
