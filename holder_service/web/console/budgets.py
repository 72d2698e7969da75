"""The console's page of budgets: what each auditor was granted, has spent and has left; granted and revoked here."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from holder_service.domain.errors import InvalidRequest
from holder_service.services.accounts import access
from holder_service.services.datasets import budgets
from holder_service.services.releases import approvals
from holder_service.services.running import overview
from holder_service.web.console.forms import Form, one_kind
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import CheckedForm, ConsoleRoute, OfficerVisit, Visit, Visitor, or_again
from holder_service.web.console.words import loss
from shared.contract.approvals import ApprovalSetting
from shared.contract.datasets import BudgetGrant
from shared.wire import limits

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/budgets")
def list_budgets(
    visit: Visitor,
    dataset: Annotated[str, Query()] = "",
    auditor: Annotated[str, Query()] = "",
    population: Annotated[str, Query()] = "",
) -> Response:
    """Every population's budgets; the forms are filled with what is named, to change it."""
    populations = [state for state in overview.every_population(visit.store) if state.rehearsal_of is None]
    chosen = next((state for state in populations if dataset in {one.name for one in state.datasets}), None)
    return visit.page(
        "budgets.html.j2", section="budgets", populations=populations, dataset=dataset, auditor=auditor,
        balance=chosen.accounts.get(auditor) if chosen else None, now=visit.store.clock(),
        strict=next((state.population for state in populations if state.population.name == population), None),
        days_default=limits.APPROVAL_DAYS_DEFAULT, days_max=limits.APPROVAL_DAYS_MAX,
        spent=visit.store.look_up(visit.store.sums.spent_by_purpose),
        names=access.display_names(visit.store), notices=visit.notices(),
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


def _list_again(visit: Visit) -> Response:
    return list_budgets(visit)


@router.post("/budgets/approval")
@or_again(_list_again)
def require_approval(visit: OfficerVisit, form: CheckedForm) -> Response:
    """Have whatever is asked about a population approved first, or no longer."""
    population = form.text("population")
    if not population:
        raise InvalidRequest("No population is chosen. Choose one first.")
    flags = {name: {"yes": True, "no": False}.get(form.values.get(name, "")) for name in ("in_full", "second_officer")}
    required = form.text("required") == "required"
    setting = ApprovalSetting.model_validate({"required": required, "days": form.whole_number("days"), **flags})
    approvals.set_required(visit.store, actor=visit.actor, population=population, setting=setting)
    done = (
        f"Requests about population {population} need an approval; a request expires after {setting.days} days."
        if setting.required
        else f"Approvals are not required for population {population}."
    )
    return visit.done(f"{ROOT}/budgets", done)
