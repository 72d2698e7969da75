"""What is about to be asked, from its form over its price to its result: the same way for every kind of request."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response

from auditor_client.auditor import Auditor
from auditor_client.desk.approvals import answer_or_wait
from auditor_client.desk.desk import Desk, PricedDraft, RequestDraft
from auditor_client.desk.fields import field_of, require_purpose
from auditor_client.desk.pages import Sent, TheDesk, fault_text, go, page
from auditor_client.desk.shown_prices import changed_since
from auditor_client.desk.tasks import Step
from auditor_client.errors import AuditorError, QuestionRefused, ReceiptsDamaged, SignInNeeded

router = APIRouter()


def draft_of(desk: Desk, id_: str) -> PricedDraft[Any]:
    """A draft with a page of its own, by its id.

    Raises:
        ReceiptsDamaged: It was forgotten, or never there.
    """
    found = desk.drafts.get(id_)
    if isinstance(found, PricedDraft):
        return found
    raise ReceiptsDamaged("This request has expired. Start it again.")


@router.get("/new/{draft}")
@router.get("/trainings/new/{draft}")
def show_draft(desk: TheDesk, draft: str) -> Response:
    """The form and, once it is priced, the price and what it buys."""
    return _form(desk, draft_of(desk, draft))


def _form(desk: Desk, draft: PricedDraft[Any]) -> Response:
    with desk.auditor() as auditor:
        dataset, budget = auditor.dataset(draft.dataset), auditor.budget(draft.dataset)
        form = draft.form(auditor, dataset, budget, desk.kept.receipts)
    fields = (*form["first"], *(one for section in form["more"].values() for one in section))
    names = {"asked_for", "sensitive", "epsilon", *draft.apart, *(one.name for one in fields)}
    return page(
        desk, draft.template, section=draft.section, about=dataset, asked_for=desk.settings.asked_for, draft=draft,
        dataset=dataset, budget=budget, fault=fault_text(QuestionRefused(draft.fault)),
        named=field_of(draft.fault, names), status=422 if draft.fault else 200, **form,
    )  # fmt: skip


@router.post("/new/{draft}")
@router.post("/trainings/new/{draft}")
def price(desk: TheDesk, draft: str, sent: Sent) -> Response:
    """Look what it would cost and show; spends nothing."""
    found = draft_of(desk, draft)
    found.planned, found.fault, found.notice = None, "", ""
    try:
        with desk.auditor() as auditor:
            dataset = auditor.dataset(found.dataset)
        found.take(dataset, sent, desk.keep_file)
        require_purpose(dataset, found.asked_for)
    except SignInNeeded:
        desk.back = found.path
        raise
    except AuditorError as error:
        found.fault = str(error)
        return _form(desk, found)

    def act(step: Step) -> str:
        with desk.auditor(step) as auditor:
            return _priced(auditor, found)

    return begin(desk, found, "Asking for the price", act)


def _priced(auditor: Auditor, draft: PricedDraft[Any], notice: str = "") -> str:
    """Look what a draft would cost; gives where that is shown."""
    draft.planned, draft.notice = None, notice
    draft.planned = draft.price(auditor)
    return f"{draft.path}#planned"


@router.post("/new/{draft}/ask")
@router.post("/trainings/new/{draft}/ask")
def ask(desk: TheDesk, draft: str, sent: Sent) -> Response:
    """Ask what was priced, unless what its price was shown for has changed: then the new price is shown."""
    found = draft_of(desk, draft)
    if found.planned is None:
        return go(desk, found.path)
    asked, priced_for = found.asked(sent.typed), found.planned.dataset

    def act(step: Step) -> str:
        with desk.auditor(step) as auditor:
            changed = changed_since(priced_for, auditor.dataset(found.dataset), pinned="version" in asked.keywords)
            if changed:
                return _priced(auditor, found, changed)
        return answer_or_wait(desk, asked, step)

    return begin(desk, found, found.asking, act)


def begin(desk: Desk, draft: RequestDraft, title: str, act: Callable[[Step], str]) -> Response:
    """Do something about a draft; where it is refused, its own page says why."""

    def or_why_not(step: Step) -> str:
        try:
            return act(step)
        except SignInNeeded:
            raise
        except AuditorError as error:
            draft.fault = str(error)
            return draft.path

    draft.fault = ""
    return go(desk, f"/tasks/{desk.tasks.begin(title, draft.path, or_why_not).id}")
