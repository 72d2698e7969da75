"""`holder admin apply`: accounts, datasets, caps, approvals and budgets as a file states them.

The file is the wanted state of what it names. What it does not name stays as it is, and nothing is ever removed.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from holder_service.cli.calls import AdminKey, Url, call, clear_errors, fail, path_of
from holder_service.cli.ledger import LEDGER
from holder_service.cli.output import AsJson, notify, show
from holder_service.cli.times import end_of_day
from shared.wire import limits

commands = typer.Typer()
RESTORED: Final = "restore"


def _text(given: Any) -> Any:
    """Amounts and dates, which YAML reads as numbers and dates unless they are quoted, as texts."""
    if isinstance(given, dt.date):
        return given.isoformat()
    return str(given) if isinstance(given, (int, float)) and not isinstance(given, bool) else given


Amount = Annotated[str, BeforeValidator(_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WantedAccount(_Strict):
    """An account; its first key is printed when it is opened."""

    role: str = "auditor"
    display_name: str | None = None
    disabled: bool = False


class WantedAmount(_Strict):
    """A cap in ε, or in ρ read at a δ."""

    epsilon: Amount | None = None
    rho: Amount | None = None
    delta: Amount | None = None

    def body(self) -> dict[str, str]:
        """The amounts that are given, as the interface takes them."""
        given = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        return {name: text for name, text in given.items() if text is not None}


class WantedBudget(WantedAmount):
    """An auditor's budget with the population of a dataset."""

    dataset: str
    auditor: str
    expires: Amount | None = None


class WantedApproval(_Strict):
    """The approval of requests about a population. A condition that the file does not name stays as it is."""

    required: bool = True
    days: int = limits.APPROVAL_DAYS_DEFAULT
    in_full: bool | None = None
    second_officer: bool | None = None


class Wanted(_Strict):
    """A file of provisioning."""

    accounts: dict[str, WantedAccount] = Field(default_factory=dict)
    datasets: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    caps: dict[str, WantedAmount] = Field(default_factory=dict)
    approvals: dict[str, WantedApproval] = Field(default_factory=dict)
    budgets: tuple[WantedBudget, ...] = ()


@dataclass(frozen=True, slots=True)
class ProvisioningStep:
    """A call that brings the holder closer to the file."""

    what: str
    method: str
    path: str
    body: dict[str, Any]


class _Holder:
    """The present state of the holder, as its interface returns it."""

    def __init__(self, url: str, key: str) -> None:
        self._at = url, key
        self.accounts = {one["auditor"]: one for one in self._get(path_of("auditors"))["auditors"]}
        self.datasets = {one["name"]: one for one in self._get("/v1/datasets")["datasets"]}
        self.budgets = {(one["auditor"], one["population"]): one for one in self._get(path_of("budgets"))["budgets"]}

    def newest(self, population: str, *kinds: str) -> dict[str, Any] | None:
        """The newest entry of some kinds about a population."""
        found = [entry for kind in kinds for entry in self._entries(kind, population)]
        return max(found, key=lambda entry: int(entry["sequence"]), default=None)

    def _entries(self, kind: str, population: str) -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            page = self._get(LEDGER, kind=kind, population=population, limit=1000, after=after)
            yield from page["entries"]
            after = page["next"]

    def _get(self, path: str, **params: Any) -> Any:
        return call("GET", path, *self._at, params=params)


@commands.command("apply")
def apply_file(
    file: Annotated[Path, typer.Argument(help="YAML with accounts, datasets, caps, approvals and budgets.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    url: Url = "", key: AdminKey = "", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Bring accounts, datasets, caps, approvals and budgets to what a file states. A second run changes nothing.

    What the file does not name stays as it is, and nothing is removed. Keys of new accounts are printed once.
    docs/operations.md has an example.
    """
    wanted = _read(file)
    changes = list(_changes(wanted, file.parent, _Holder(url, key)))
    issued: list[dict[str, str]] = []
    for change in () if dry_run else changes:
        answer = call(change.method, change.path, url, key, json=change.body)
        if "key" in answer:
            issued.append({"account": answer["auditor"], "key": answer["key"]})
    rows = [(change.what,) for change in changes]
    show({"changes": [change.what for change in changes], "keys": issued}, ("would change" if dry_run else "changed",),
         rows, as_json)  # fmt: skip
    if not as_json:
        for one in issued:
            print(f"The key of {one['account']}, shown this once:\n{one['key']}")
        if not changes:
            notify("The holder is as the file states it.")


def _read(file: Path) -> Wanted:
    """Read the file; a fault ends the command, with all faults named."""
    import yaml

    try:
        with clear_errors():
            document = yaml.safe_load(file.read_bytes())
        return Wanted.model_validate({} if document is None else document)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        fail(f"{file} is not valid YAML{'' if mark is None else f', line {mark.line + 1}'}.")
    except ValidationError as error:
        faults = [f"  {'.'.join(map(str, one['loc'])) or 'the file'}: {one['msg']}" for one in error.errors()]
        fail("\n".join([f"{file} does not fit:", *faults]))


def _changes(wanted: Wanted, folder: Path, holder: _Holder) -> Iterator[ProvisioningStep]:
    for name, account in wanted.accounts.items():
        yield from _account_changes(name, account, holder.accounts.get(name))
    populations = {name: one["population"] for name, one in holder.datasets.items()}
    for name, source in wanted.datasets.items():
        document = _declaration(source, folder)
        population = populations[name] = document.get("population") or name
        cap = wanted.caps.get(population)
        if name not in holder.datasets and "cap" not in document and cap is not None:
            document = {**document, "cap": cap.body()}
        if not _is_declared(document, name, holder.datasets.get(name)):
            yield ProvisioningStep(f"declare dataset {name}", "PUT", path_of("datasets", name), document)
    for population, cap in wanted.caps.items():
        yield from _cap_changes(population, cap, holder)
    for population, approval in wanted.approvals.items():
        body = approval.model_dump(exclude_none=True)
        if not _approved_alike(approval, holder.newest(population, "approval-required")):
            what = f"require approvals for {population}" if approval.required else f"end approvals for {population}"
            yield ProvisioningStep(what, "PUT", path_of("populations", population, "approval"), body)
    for budget in wanted.budgets:
        if budget.dataset not in populations:
            fail(
                f"The file grants a budget on {budget.dataset}, but this dataset does not exist. Add it to `datasets`."
            )
        yield from _budget_changes(budget, holder.budgets.get((budget.auditor, populations[budget.dataset])))


def _account_changes(name: str, account: WantedAccount, now: dict[str, Any] | None) -> Iterator[ProvisioningStep]:
    if now is None:
        body = {"name": name, "role": account.role, "display_name": account.display_name, "expires": None}
        yield ProvisioningStep(f"open account {name} ({account.role})", "POST", path_of("auditors"), body)
    elif now["role"] != account.role:
        fail(f"Account {name} has the role {now['role']}, not {account.role}. Roles cannot change: use another name.")
    changed: dict[str, Any] = {}
    if account.disabled != (now is not None and now["disabled"]):
        changed["disabled"] = account.disabled
    if now is not None and account.display_name != now["display_name"]:
        changed["display_name"] = account.display_name
    if changed:
        said = ", ".join(f"{field} {value}" for field, value in changed.items())
        yield ProvisioningStep(f"change account {name}: {said}", "PATCH", path_of("auditors", name), changed)


def _declaration(source: str | dict[str, Any], folder: Path) -> dict[str, Any]:
    """A declaration, which the file has itself or names; a fault ends the command."""
    import yaml

    if isinstance(source, dict):
        return source
    with clear_errors():
        content = (folder / source).read_bytes()
    try:
        document = yaml.safe_load(content)
    except yaml.YAMLError:
        document = None
    if not isinstance(document, dict):
        fail(f"{folder / source} is not a declaration in JSON or YAML.")
    return document


def _is_declared(document: dict[str, Any], name: str, now: dict[str, Any] | None) -> bool:
    """Whether a dataset is declared so already; what does not fit is left to the holder to refuse."""
    from shared.contract.datasets import DatasetDeclaration, DatasetDescription

    if now is None:
        return False
    try:
        wanted, described = DatasetDeclaration.model_validate(document), DatasetDescription.model_validate(now)
    except ValidationError:
        return False
    return (
        (wanted.population or name, wanted.relation, wanted.records_max, wanted.table)
        == (described.population, described.relation, described.records_max, described.table)
        and wanted.metadata in (None, described.metadata)
    )  # fmt: skip


def _cap_changes(population: str, cap: WantedAmount, holder: _Holder) -> Iterator[ProvisioningStep]:
    from shared.contract.datasets import CapChange

    newest = holder.newest(population, "population", "cap")
    if newest is not None and newest.get("detail", {}).get("closed_by") == RESTORED:
        fail(
            f"The cap of {population} was closed by a restore. Find out what was charged after the copy was made "
            f"(`holder admin missing`), and set the cap yourself: `holder admin cap {population} EPSILON`."
        )
    try:
        limit = CapChange.model_validate({"cap": cap.body()}).cap
    except ValidationError as error:
        fail(f"The cap of {population} does not fit: {error.errors()[0]['msg'].removeprefix('Value error, ')}")
    if newest is None:  # the declaration states it
        return
    now = newest["cap"]
    if (limit.epsilon_nano if limit.rho_nano is None else 0, limit.delta_nano, limit.rho_nano) != (
        now["limit_epsilon_nano"], now["limit_delta_nano"], now.get("limit_rho_nano")
    ):  # fmt: skip
        said = ", ".join(f"{name} {text}" for name, text in cap.body().items())
        yield ProvisioningStep(f"set the cap of {population}: {said}", "PUT", path_of("populations", population, "cap"),
                     {"cap": cap.body()})  # fmt: skip


def _approved_alike(approval: WantedApproval, newest: dict[str, Any] | None) -> bool:
    now = {} if newest is None else newest["detail"]
    if not approval.required or now.get("approval_days") is None:
        return not approval.required and now.get("approval_days") is None
    return now["approval_days"] == approval.days and all(
        getattr(approval, name) in (None, now.get(name, False)) for name in ("in_full", "second_officer")
    )


def _budget_changes(budget: WantedBudget, now: dict[str, Any] | None) -> Iterator[ProvisioningStep]:
    wanted = budget.body()
    expires = end_of_day(budget.expires)
    if now is not None and _same_amounts(wanted, now["limit"]) and _same_time(expires, now["expires"]):
        return
    said = ", ".join(f"{name} {text}" for name, text in wanted.items())
    until = "" if expires is None else f", until {expires}"
    path = path_of("datasets", budget.dataset, "budgets", budget.auditor)
    yield ProvisioningStep(f"grant {budget.auditor} on {budget.dataset}: {said}{until}", "PUT", path,
                 {**wanted, "expires": expires})  # fmt: skip


def _same_amounts(wanted: dict[str, str], now: dict[str, str]) -> bool:
    from decimal import Decimal, InvalidOperation

    names = ("rho",) if "rho" in wanted else ("epsilon", "delta")
    if ("rho" in wanted) != ("rho" in now):
        return False
    try:
        return all(Decimal(wanted.get(name, "0")) == Decimal(now.get(name, "0")) for name in names)
    except InvalidOperation:
        return False


def _same_time(wanted: str | None, now: str | None) -> bool:
    if wanted is None or now is None:
        return wanted is now
    try:
        return dt.datetime.fromisoformat(wanted) == dt.datetime.fromisoformat(now)
    except (TypeError, ValueError):
        return False
