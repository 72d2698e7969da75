"""The console's pages about accounts and their keys: opened, issued, withdrawn, disabled."""

from fastapi import APIRouter, Response

from holder_service.domain.errors import Conflict, NotFound
from holder_service.services import accounts, budgets
from holder_service.services.accounts import IssuedKey
from holder_service.storage.accounts import Account, ApiKey
from holder_service.web.console.forms import Form
from holder_service.web.console.pages import ROOT, Refusal
from holder_service.web.console.session import CheckedForm, ConsoleRoute, Visit, Visitor
from holder_service.web.edge.dependencies import PathName
from shared.datasets import NewAuditor

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/auditors")
def list_accounts(visit: Visitor) -> Response:
    """All accounts."""
    return _list_page(visit)


@router.post("/auditors")
def open_account(visit: Visitor, form: CheckedForm) -> Response:
    """Open an account, and show its first key."""

    def work() -> Response:
        new = NewAuditor.model_validate(
            {"name": form.name("name"), "role": form.text("role"), "expires": form.timestamp("expires")}
        )
        return _key_page(visit, accounts.open_account(visit.store, actor=visit.actor, new=new))

    return visit.attempt(work, lambda refusal: _list_page(visit, form, refusal))


@router.get("/auditors/{auditor}")
def show_account(visit: Visitor, auditor: PathName) -> Response:
    """An account, its keys and budgets."""
    return _account_page(visit, auditor)


@router.post("/auditors/{auditor}/keys")
def issue_key(visit: Visitor, auditor: PathName, form: CheckedForm) -> Response:
    """Give an account a further key, and show it."""

    def work() -> Response:
        if form.text("newest") != _newest_key(_found(visit, auditor)[1]):
            # The answer is a page and no redirect, because the key is shown only there.
            raise Conflict(
                "This form was sent before, or somebody else issued a key meanwhile: look at the keys below."
            )
        issued = accounts.issue_key(visit.store, actor=visit.actor, account=auditor, expires=form.timestamp("expires"))
        return _key_page(visit, issued)

    return visit.attempt(work, lambda refusal: _account_page(visit, auditor, form, refusal))


@router.post("/auditors/{auditor}/keys/{key}/withdraw")
def withdraw_key(visit: Visitor, auditor: PathName, key: PathName, form: CheckedForm) -> Response:
    """Make a key invalid at once."""

    def work() -> Response:
        accounts.withdraw_key(visit.store, actor=visit.actor, account=auditor, key_id=key)
        return visit.done(_path(auditor), f"Key {key} is withdrawn.")

    return visit.attempt(work, lambda refusal: _account_page(visit, auditor, form, refusal))


@router.post("/auditors/{auditor}/state")
def set_disabled(visit: Visitor, auditor: PathName, form: CheckedForm) -> Response:
    """Stop an account from calling, or let it call again."""

    def work() -> Response:
        disabled = form.text("disabled") == "true"
        accounts.set_disabled(visit.store, actor=visit.actor, account=auditor, disabled=disabled)
        return visit.done(_path(auditor), f"{auditor} {'may no longer call' if disabled else 'may call again'}.")

    return visit.attempt(work, lambda refusal: _account_page(visit, auditor, form, refusal))


def _list_page(visit: Visit, form: Form | None = None, refusal: Refusal | None = None) -> Response:
    return visit.page(
        "auditors.html.j2", section="auditors", refusal=refusal, entered=form,
        accounts=accounts.every_account(visit.store), now=visit.store.clock().isoformat(),
    )  # fmt: skip


def _account_page(visit: Visit, name: str, form: Form | None = None, refusal: Refusal | None = None) -> Response:
    account, keys = _found(visit, name)
    return visit.page(
        "auditor.html.j2", section="auditors", refusal=refusal, entered=form, account=account, keys=keys,
        newest=_newest_key(keys), budgets=budgets.every_budget(visit.store, auditor=name),
        now=visit.store.clock().isoformat(),
    )  # fmt: skip


def _key_page(visit: Visit, issued: IssuedKey) -> Response:
    return visit.page("key.html.j2", section="auditors", issued=issued)


def _found(visit: Visit, name: str) -> tuple[Account, list[ApiKey]]:
    for account, keys in accounts.every_account(visit.store):
        if account.name == name:
            return account, keys
    raise NotFound(f"There is no account {name!r}.")


def _newest_key(keys: list[ApiKey]) -> str:
    return keys[-1].id if keys else ""


def _path(auditor: str) -> str:
    return f"{ROOT}/auditors/{auditor}"
