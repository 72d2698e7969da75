"""The console's page of budgets: what each auditor was granted, has spent and has left; granted and revoked here."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from holder_service.services import access, budgets, overview
from holder_service.web.console.forms import Form, one_kind
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import CheckedForm, ConsoleRoute, OfficerVisit, Visit, Visitor, or_again
from holder_service.web.console.words import loss
from shared.datasets import BudgetGrant

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/budgets")
def list_budgets(
    visit: Visitor, dataset: Annotated[str, Query()] = "", auditor: Annotated[str, Query()] = ""
) -> Response:
    """Every population's budgets; the form is filled with the one that is named, to change it."""
    populations = [state for state in overview.every_population(visit.store) if state.rehearsal_of is None]
    chosen = next((state for state in populations if dataset in {one.name for one in state.datasets}), None)
    return visit.page(
        "budgets.html.j2", section="budgets", populations=populations, dataset=dataset, auditor=auditor,
        balance=chosen.accounts.get(auditor) if chosen else None, now=visit.store.clock(),
        names=access.display_names(visit.store),
        auditors=[found.name for found, _ in access.every_account(visit.store) if found.role == "auditor"],
    )  # fmt: skip


def _list_of(visit: Visit, form: Form) -> Response:
    return list_budgets(visit, form.text("dataset"), form.text("auditor"))


@router.post("/budgets")
@or_again(_list_of)
def set_budget(visit: OfficerVisit, form: CheckedForm) -> Response:
    """Grant, raise, lower or revoke a budget."""
    dataset, auditor = form.text("dataset"), form.text("auditor")
    grant = BudgetGrant.model_validate(
        one_kind(form) | {"delta": form.text("delta") or "0", "expires": form.timestamp("expires")}
    )
    budget = budgets.set_limit(visit.store, actor=visit.actor, dataset=dataset, auditor=auditor, grant=grant)
    limit, left = loss(budget.limit), loss(budget.remaining)
    text = f"The budget of {auditor} with population {budget.population} is now {limit}; {left} is left."
    if budget.left != budget.remaining:
        text += f" Of this {loss(budget.left)} can be spent: the population's cap admits no more."
    return visit.done(f"{ROOT}/budgets", text)
