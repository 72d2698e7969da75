"""What administrators call: auditors and keys, datasets and records, populations, budgets (4-interface)."""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from holder_service.records.formats import RecordFormat
from holder_service.services import access, budgets, columns, datasets
from holder_service.services.access import IssuedKey
from holder_service.services.overlaps import OverlapLook, look_at_overlap
from holder_service.storage.accounts import Account, ApiKey
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import Administrator, PathColumn, PathName, TheHolder
from holder_service.web.edge.uploads import body_of, load_upload
from holder_service.web.rest.documentation import FILE_BODY, PROBLEM_RESPONSES
from shared.columns import ColumnDescription
from shared.datasets import AccountChange, Budget, BudgetGrant, DatasetDeclaration, NewAuditor
from shared.metadata import DatasetMetadata
from shared.request_model import RequestModel
from shared.text import Name
from shared.timestamps import Timestamp

router = APIRouter(prefix="/v1/admin", tags=["administrator"], route_class=StrictRoute, responses=PROBLEM_RESPONSES)


class NewKey(RequestModel):
    """A further key; without an expiry it holds until it is withdrawn."""

    expires: Timestamp | None = None


class PopulationMerge(RequestModel):
    """Which population joins the one in the path."""

    population: Name


class PopulationPair(RequestModel):
    """Two populations that may share people."""

    population: Name
    other: Name


class LoadOptions(RecordFormat):
    """How a file of records is written, and whether it is loaded."""

    check: bool = Field(default=False, description="Check everything that a load would, and keep nothing.")

    @property
    def form(self) -> RecordFormat:
        """How the file is written."""
        return RecordFormat(**self.model_dump(exclude={"check"}))


class LoadedRecords(BaseModel):
    """What a load made: the number of the new version, or none where the file was only checked."""

    dataset: str
    version: int | None


class AuditorsColumn(ColumnDescription):
    """A derived column, and whose it is."""

    auditor: str


class ShownKey(BaseModel):
    """A new key, shown this once."""

    auditor: str
    key_id: str
    key: str

    @classmethod
    def of(cls, issued: IssuedKey) -> Self:
        """What is shown of a key that was issued."""
        return cls(auditor=issued.account, key_id=issued.key_id, key=issued.text)


@router.post("/auditors", status_code=201)
def open_account(holder: TheHolder, caller: Administrator, new: NewAuditor) -> ShownKey:
    """Open an account; its first key is shown in the answer and never again."""
    return ShownKey.of(access.open_account(holder.store, actor=caller.name, new=new))


@router.get("/auditors")
def list_accounts(holder: TheHolder, _: Administrator) -> dict[str, Any]:
    """All accounts with their keys' ids and times."""
    found = access.every_account(holder.store)
    return {"auditors": [_account_document(account, keys) for account, keys in found]}


@router.patch("/auditors/{auditor}", status_code=204)
def change_account(holder: TheHolder, caller: Administrator, auditor: PathName, change: AccountChange) -> None:
    """Disable an account, or let it call again; change its display name, which null takes away."""
    if change.disabled is not None:
        access.set_disabled(holder.store, actor=caller.name, account=auditor, disabled=change.disabled)
    if "display_name" in change.model_fields_set:
        access.set_display_name(holder.store, actor=caller.name, account=auditor, display_name=change.display_name)


@router.post("/auditors/{auditor}/keys", status_code=201)
def issue_key(holder: TheHolder, caller: Administrator, auditor: PathName, new: NewKey) -> ShownKey:
    """Give an account a further key, shown in the answer and never again."""
    return ShownKey.of(access.issue_key(holder.store, actor=caller.name, account=auditor, expires=new.expires))


@router.delete("/auditors/{auditor}/keys/{key}", status_code=204)
def withdraw_key(holder: TheHolder, caller: Administrator, auditor: PathName, key: PathName) -> None:
    """Make a key invalid at once."""
    access.withdraw_key(holder.store, actor=caller.name, account=auditor, key_id=key)


@router.put("/datasets/{dataset}")
def declare_dataset(
    holder: TheHolder, caller: Administrator, dataset: PathName, declaration: DatasetDeclaration
) -> dict[str, Any]:
    """Declare a dataset and its population, or change of them what may change."""
    declared = datasets.declare(
        holder.store, actor=caller.name, name=dataset, declaration=declaration, files=holder.files
    )
    now = declared.dataset
    return {
        "dataset": now.name, "population": now.population, "version": now.version, "warnings": declared.warnings,
    }  # fmt: skip


@router.put("/datasets/{dataset}/metadata", status_code=204)
def write_metadata(holder: TheHolder, caller: Administrator, dataset: PathName, metadata: DatasetMetadata) -> None:
    """Write anew what people read of a dataset; no plan, price or release changes, and nothing is loaded again."""
    datasets.describe(holder.store, actor=caller.name, name=dataset, words=metadata)


@router.put("/datasets/{dataset}/records", openapi_extra=FILE_BODY)
async def load_records(
    holder: TheHolder, caller: Administrator, dataset: PathName, request: Request, how: Annotated[LoadOptions, Query()]
) -> LoadedRecords:
    """Load records from CSV or Parquet as a new version: all of them, or none and the version before stays.

    How the file is written is declared, and never guessed from it. All its faults are answered at once, up to twenty.
    """
    version = await load_upload(
        holder, actor=caller.name, dataset=dataset, receive=body_of(request, how.form, check=how.check)
    )
    return LoadedRecords(dataset=dataset, version=version)


@router.delete("/datasets/{dataset}", status_code=204)
def retire_dataset(holder: TheHolder, caller: Administrator, dataset: PathName) -> None:
    """Take a dataset, its records and its derived columns away; nothing that was spent comes back."""
    datasets.retire(holder.store, actor=caller.name, name=dataset, files=holder.files)


@router.get("/datasets/{dataset}/columns")
def list_columns(holder: TheHolder, _: Administrator, dataset: PathName) -> dict[str, list[AuditorsColumn]]:
    """All derived columns about a dataset, with the auditors that made them."""
    found = columns.every_auditors(holder.store, holder.files, dataset=dataset)
    return {"columns": [AuditorsColumn(auditor=auditor, **dict(column)) for auditor, column in found]}


@router.delete("/datasets/{dataset}/columns/{column}", status_code=204)
def delete_column(holder: TheHolder, caller: Administrator, dataset: PathName, column: PathColumn) -> None:
    """Delete anybody's derived column with its values; what was released about it stays."""
    columns.take_away(
        holder.store, holder.files, actor=caller.name, dataset=dataset, identity=column, auditor=None
    )  # fmt: skip


@router.post("/populations/{population}/merge", status_code=204)
def merge_populations(holder: TheHolder, caller: Administrator, population: PathName, merge: PopulationMerge) -> None:
    """Join another population to this one; their spending is added."""
    datasets.merge(holder.store, actor=caller.name, into=population, source=merge.population)


@router.post("/populations/overlaps")
def look_at_populations(holder: TheHolder, caller: Administrator, pair: PopulationPair) -> OverlapLook:
    """Look whether two populations share people: a band with noise, charged to both caps; each look is an entry.

    Exact figures are shown on the holder's own machine alone, by `holder overlaps`.
    """
    return look_at_overlap(holder.store, holder.files, actor=caller.name, one=pair.population, other=pair.other)


@router.put("/datasets/{dataset}/budgets/{auditor}")
def set_budget(
    holder: TheHolder, caller: Administrator, dataset: PathName, auditor: PathName, grant: BudgetGrant
) -> Budget:
    """Grant, raise, lower or (with "0") revoke an auditor's budget on the dataset's population."""
    return budgets.set_limit(holder.store, actor=caller.name, dataset=dataset, auditor=auditor, grant=grant)


@router.get("/budgets")
def list_budgets(
    holder: TheHolder,
    _: Administrator,
    population: Annotated[Name | None, Query()] = None,
    auditor: Annotated[Name | None, Query()] = None,
) -> dict[str, list[Budget]]:
    """Every auditor's budget with every population, of one of them where named."""
    return {"budgets": budgets.every_budget(holder.store, population=population, auditor=auditor)}


def _account_document(account: Account, keys: list[ApiKey]) -> dict[str, Any]:
    shown = [
        {"key_id": key.id, "created": key.created, "expires": key.expires, "withdrawn": key.withdrawn} for key in keys
    ]
    return {
        "auditor": account.name, "role": account.role, "created": account.created, "disabled": account.disabled,
        "display_name": account.display_name, "keys": shown,
    }  # fmt: skip
