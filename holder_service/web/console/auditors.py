"""The console's pages about accounts and their keys: opened, issued, withdrawn, disabled."""

from typing import get_args

from fastapi import APIRouter, Response

from holder_service.domain.errors import Conflict
from holder_service.services.accounts import access
from holder_service.services.accounts.access import IssuedKey
from holder_service.services.datasets import budgets
from holder_service.services.releases import watching
from holder_service.storage.accounts import ApiKey
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import AdministratorVisit, CheckedForm, ConsoleRoute, Visit, Visitor, or_again
from holder_service.web.console.words import beside
from holder_service.web.edge.dependencies import PathName
from shared.contract.datasets import AccountChange, NewAuditor, Role

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/auditors")
def list_accounts(visit: Visitor) -> Response:
    """All accounts."""
    found = access.every_account(visit.store)
    return visit.page("auditors.html.j2", section="auditors", accounts=found, now=visit.store.clock().isoformat(),
        roles=get_args(Role),
    )  # fmt: skip


@router.post("/auditors")
@or_again(list_accounts)
def open_account(visit: AdministratorVisit, form: CheckedForm) -> Response:
    """Open an account, and show its first key."""
    new = NewAuditor.model_validate(
        {
            "name": form.name("name"),
            "role": form.text("role"),
            "expires": form.timestamp("expires"),
            "display_name": form.text("display_name") or None,
        }
    )
    return _key_page(visit, access.open_account(visit.store, actor=visit.actor, new=new))


@router.get("/auditors/{auditor}")
def show_account(visit: Visitor, auditor: PathName) -> Response:
    """An account, its keys, budgets and watches."""
    account, keys = access.read_account(visit.store, auditor)
    return visit.page(
        "auditor.html.j2", section="auditors", account=account, keys=keys, newest=_newest_key(keys),
        budgets=budgets.every_budget(visit.store, auditor=auditor), watches=watching.of_auditor(visit.store, auditor),
        now=visit.store.clock().isoformat(), notices=visit.notices(),
    )  # fmt: skip


@router.post("/auditors/{auditor}/keys")
@or_again(show_account)
def issue_key(visit: AdministratorVisit, auditor: PathName, form: CheckedForm) -> Response:
    """Give an account a further key, and show it."""
    if form.text("newest") != _newest_key(access.read_account(visit.store, auditor)[1]):
        # The answer is a page and no redirect, because the key is shown only there.
        raise Conflict(
            "This form was already sent, or another administrator issued a key at the same time. Look "
            "at the keys below before you send it again."
        )
    issued = access.issue_key(visit.store, actor=visit.actor, account=auditor, expires=form.timestamp("expires"))
    return _key_page(visit, issued)


@router.post("/auditors/{auditor}/keys/{key}/withdraw")
@or_again(show_account)
def withdraw_key(visit: AdministratorVisit, auditor: PathName, key: PathName, _: CheckedForm) -> Response:
    """Make a key invalid at once."""
    access.withdraw_key(visit.store, actor=visit.actor, account=auditor, key_id=key)
    return visit.done(f"{ROOT}/auditors/{auditor}", f"Key {key} is withdrawn.")


@router.post("/auditors/{auditor}/display-name")
@or_again(show_account)
def set_display_name(visit: AdministratorVisit, auditor: PathName, form: CheckedForm) -> Response:
    """Change what people read of an account."""
    change = AccountChange(display_name=form.text("display_name") or None)
    access.set_display_name(visit.store, actor=visit.actor, account=auditor, display_name=change.display_name)
    return visit.done(f"{ROOT}/auditors/{auditor}", f"{auditor} is shown as {beside(auditor, change.display_name)}.")


@router.post("/auditors/{auditor}/state")
@or_again(show_account)
def set_disabled(visit: AdministratorVisit, auditor: PathName, form: CheckedForm) -> Response:
    """Stop an account from calling, or let it call again."""
    disabled = form.text("disabled") == "true"
    access.set_disabled(visit.store, actor=visit.actor, account=auditor, disabled=disabled)
    said = f"{auditor} {'may no longer call' if disabled else 'may call again'}."
    return visit.done(f"{ROOT}/auditors/{auditor}", said)


def _key_page(visit: Visit, issued: IssuedKey) -> Response:
    return visit.page("key.html.j2", section="auditors", issued=issued)


def _newest_key(keys: list[ApiKey]) -> str:
    return keys[-1].id if keys else ""
