"""What administrators call: auditors and keys, datasets and records, populations, budgets (4-interface)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from holder_service.records.formats import RecordFormat, RecordsUrl
from holder_service.services.accounts import access, populations
from holder_service.services.columns import columns
from holder_service.services.datasets import budgets, datasets
from holder_service.services.datasets.overlaps import OverlapLook, look_at_overlap
from holder_service.services.running import loads, notices, rehearsal_publishing
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import (
    PathAuditor,
    PathColumn,
    PathDataset,
    PathKey,
    PathPopulation,
    TheHolder,
)
from holder_service.web.edge.roles import OFFICERS, Administrator, Officer, Reader, Steward
from holder_service.web.edge.uploads import body_of, load_upload, load_url
from holder_service.web.rest.answers import (
    AccountList,
    AuditorsColumn,
    AuditorsColumnList,
    BudgetList,
    DeclaredDataset,
    ListedAccount,
    LoadedRecords,
    LoadList,
    NoticeList,
    RehearsedDataset,
    ShownKey,
)
from holder_service.web.rest.contract import FILE_BODY, refusals
from shared.contract.datasets import (
    AccountChange,
    Budget,
    BudgetGrant,
    CapChange,
    DatasetDeclaration,
    NewAuditor,
    PopulationCap,
)
from shared.contract.metadata import DatasetMetadata
from shared.contract.rehearsals import RehearsalRequest
from shared.wire.request_model import RequestModel
from shared.wire.text import Name
from shared.wire.timestamps import Timestamp

router = APIRouter(prefix="/v1/admin", tags=["administrator"], route_class=StrictRoute)


class NewKey(RequestModel):
    """A further key."""

    expires: Timestamp | None = None
    """When it ends; without it, when it is withdrawn."""


class PopulationMerge(RequestModel):
    """Which population joins the one in the path."""

    population: Name
    """The population that joins; its name is gone then."""


class PopulationPair(RequestModel):
    """Two populations that may share people."""

    population: Name
    """The one."""
    other: Name
    """The other."""


class LoadOptions(RecordFormat):
    """How a file of records is written, and whether it is loaded."""

    check: bool = Field(
        default=False, description="Compare the file with the declaration, not with earlier loads, and keep nothing."
    )

    @property
    def form(self) -> RecordFormat:
        """How the file is written."""
        return RecordFormat(**self.model_dump(include=set(RecordFormat.model_fields)))


class RecordsSource(LoadOptions):
    """Where files of records are, and how they are written."""

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """The URL of a file, or of a folder of files that end in .csv or .parquet."""


@router.post("/auditors", status_code=201, openapi_extra=refusals("conflict", "restore-unrecorded"))
def open_account(holder: TheHolder, caller: Administrator, response: Response, new: NewAuditor) -> ShownKey:
    """Open an account; its first key is shown in the answer and never again."""
    issued = access.open_account(holder.store, actor=caller.name, new=new)
    response.headers["Location"] = f"/v1/admin/auditors/{issued.account}"
    return ShownKey.of(issued)


@router.get("/auditors")
def list_accounts(holder: TheHolder, _: Reader) -> AccountList:
    """All accounts with their keys' ids and times."""
    found = access.every_account(holder.store)
    return AccountList(auditors=tuple(ListedAccount.of(account, keys) for account, keys in found))


@router.get("/auditors/{auditor}", openapi_extra=refusals("not-found"))
def show_account(holder: TheHolder, _: Reader, auditor: PathAuditor) -> ListedAccount:
    """One account with its keys' ids and times."""
    return ListedAccount.of(*access.read_account(holder.store, auditor))


@router.patch(
    "/auditors/{auditor}", status_code=204, openapi_extra=refusals("not-found", "conflict", "restore-unrecorded")
)
def change_account(holder: TheHolder, caller: Administrator, auditor: PathAuditor, change: AccountChange) -> None:
    """Disable an account, or let it call again; change its display name, which null takes away."""
    if change.disabled is not None:
        access.set_disabled(holder.store, actor=caller.name, account=auditor, disabled=change.disabled)
    if "display_name" in change.model_fields_set:
        access.set_display_name(holder.store, actor=caller.name, account=auditor, display_name=change.display_name)


@router.post("/auditors/{auditor}/keys", status_code=201, openapi_extra=refusals("not-found", "restore-unrecorded"))
def issue_key(
    holder: TheHolder, caller: Administrator, response: Response, auditor: PathAuditor, new: NewKey
) -> ShownKey:
    """Give an account a further key, shown in the answer and never again."""
    issued = access.issue_key(holder.store, actor=caller.name, account=auditor, expires=new.expires)
    response.headers["Location"] = f"/v1/admin/auditors/{auditor}/keys/{issued.key_id}"
    return ShownKey.of(issued)


@router.delete(
    "/auditors/{auditor}/keys/{key}",
    status_code=204,
    openapi_extra=refusals("not-found", "conflict", "restore-unrecorded"),
)
def withdraw_key(holder: TheHolder, caller: Administrator, auditor: PathAuditor, key: PathKey) -> None:
    """Make a key invalid at once."""
    access.withdraw_key(holder.store, actor=caller.name, account=auditor, key_id=key)


@router.put(
    "/datasets/{dataset}", openapi_extra=refusals("invalid-amount", "already-charged", "conflict", "restore-unrecorded")
)
def declare_dataset(
    holder: TheHolder, caller: Steward, dataset: PathDataset, declaration: DatasetDeclaration
) -> DeclaredDataset:
    """Declare a dataset and its population, or change of them what may change; a data steward states no cap."""
    declared = datasets.declare(
        holder.store, actor=caller.name, name=dataset, declaration=declaration, files=holder.files,
        sets_cap=OFFICERS.admits(caller),
    )  # fmt: skip
    now = declared.dataset
    return DeclaredDataset(dataset=now.name, population=now.population, version=now.version, warnings=declared.warnings)


@router.put("/datasets/{dataset}/metadata", status_code=204, openapi_extra=refusals("not-found", "restore-unrecorded"))
def write_metadata(holder: TheHolder, caller: Steward, dataset: PathDataset, metadata: DatasetMetadata) -> None:
    """Write anew what people read of a dataset; no plan, price or release changes, and nothing is loaded again."""
    datasets.describe(holder.store, actor=caller.name, name=dataset, words=metadata)


@router.post(
    "/datasets/{dataset}/rehearsal",
    status_code=201,
    openapi_extra=refusals("not-found", "invalid-amount", "conflict", "restore-unrecorded"),
)
def publish_rehearsal(
    holder: TheHolder, caller: Steward, response: Response, dataset: PathDataset, request: RehearsalRequest
) -> RehearsedDataset:
    """Publish a rehearsal of a dataset, or publish it anew: invented people, about whom every auditor may ask freely.

    They are drawn from the declaration and from the marginals that you publish, never from records.
    """
    published = rehearsal_publishing.publish(holder, actor=caller.name, name=dataset, request=request)
    response.headers["Location"] = f"/v1/datasets/{published.dataset}"
    return RehearsedDataset.model_validate(published, from_attributes=True)


@router.put(
    "/datasets/{dataset}/records",
    openapi_extra={**FILE_BODY, **refusals("not-found", "invalid-records", "conflict", "restore-unrecorded")},
)
async def load_records(
    holder: TheHolder,
    caller: Steward,
    dataset: PathDataset,
    request: Request,
    how: Annotated[LoadOptions, Query()],
) -> LoadedRecords:
    """Load records from CSV or Parquet as a new version: all of them, or none and the version before stays.

    How the file is written is declared, and never guessed from it. All its faults are answered at once, up to twenty.
    """
    version = await load_upload(
        holder, actor=caller.name, dataset=dataset, receive=body_of(request, how.form, check=how.check)
    )
    return LoadedRecords(dataset=dataset, version=version)


@router.post(
    "/datasets/{dataset}/records",
    openapi_extra=refusals("not-found", "invalid-records", "conflict", "restore-unrecorded"),
)
async def load_records_from(
    holder: TheHolder, caller: Steward, dataset: PathDataset, source: RecordsSource
) -> LoadedRecords:
    """Load files that the holder reads by itself as a new version: all of them, or none and the version before stays.

    They are under a folder that its operator allows (`HOLDER_RECORDS_ROOTS`). Each person key is in one record of all
    files. Faults name the file, its line or row group and record, and the column.
    """
    version = await load_url(
        holder, actor=caller.name, dataset=dataset, source=RecordsUrl(source.url, source.form), check=source.check
    )
    return LoadedRecords(dataset=dataset, version=version)


@router.get("/datasets/{dataset}/records/loads", openapi_extra=refusals("not-found"))
def list_loads(holder: TheHolder, _: Steward, dataset: PathDataset) -> LoadList:
    """The loads of a dataset that are under way: what each does, and how much of that is done.

    How a load ended is answered to whoever loads.
    """
    return LoadList.of(loads.under_way(holder.store, holder.files, dataset))


@router.delete("/datasets/{dataset}", status_code=204, openapi_extra=refusals("not-found", "restore-unrecorded"))
def retire_dataset(holder: TheHolder, caller: Steward, dataset: PathDataset) -> None:
    """Take a dataset, its records, its derived columns and its rehearsal away; nothing that was spent comes back."""
    datasets.retire(holder.store, actor=caller.name, name=dataset, files=holder.files)


@router.get("/datasets/{dataset}/columns", openapi_extra=refusals("not-found"))
def list_columns_of_auditors(holder: TheHolder, _: Reader, dataset: PathDataset) -> AuditorsColumnList:
    """All derived columns about a dataset, with the auditors that made them."""
    found = columns.every_auditors(holder.store, holder.files, dataset=dataset)
    return AuditorsColumnList(
        columns=tuple(AuditorsColumn(auditor=auditor, **dict(column)) for auditor, column in found)
    )


@router.delete(
    "/datasets/{dataset}/columns/{column}", status_code=204, openapi_extra=refusals("not-found", "restore-unrecorded")
)
def delete_column_of_auditor(holder: TheHolder, caller: Steward, dataset: PathDataset, column: PathColumn) -> None:
    """Delete anybody's derived column with its values; what was released about it stays."""
    columns.take_away(
        holder.store, holder.files, actor=caller.name, dataset=dataset, identity=column, auditor=None
    )  # fmt: skip


@router.post(
    "/populations/{population}/merge",
    status_code=204,
    openapi_extra=refusals("not-found", "already-charged", "conflict", "restore-unrecorded"),
)
def merge_populations(
    holder: TheHolder, caller: Administrator, population: PathPopulation, merge: PopulationMerge
) -> None:
    """Join another population to this one; their spending is added."""
    populations.merge(holder.store, actor=caller.name, into=population, source=merge.population)


@router.post("/populations/overlaps", openapi_extra=refusals("not-found", "conflict", "restore-unrecorded"))
def look_at_populations(holder: TheHolder, caller: Administrator, pair: PopulationPair) -> OverlapLook:
    """Look whether two populations share people: a band with noise, charged to both caps; each look is an entry.

    Exact figures are shown on the holder's own machine alone, by `holder overlaps`.
    """
    return look_at_overlap(
        holder.store, holder.engine, holder.files, actor=caller.name, one=pair.population, other=pair.other
    )


@router.put(
    "/datasets/{dataset}/budgets/{auditor}",
    openapi_extra=refusals("not-found", "invalid-amount", "conflict", "restore-unrecorded"),
)
def set_budget(
    holder: TheHolder, caller: Officer, dataset: PathDataset, auditor: PathAuditor, grant: BudgetGrant
) -> Budget:
    """Grant, raise, lower or (with "0") revoke an auditor's budget on the dataset's population."""
    return budgets.set_limit(holder.store, actor=caller.name, dataset=dataset, auditor=auditor, grant=grant)


@router.put(
    "/populations/{population}/cap",
    openapi_extra=refusals("not-found", "invalid-amount", "already-charged", "conflict", "restore-unrecorded"),
)
def set_cap(holder: TheHolder, caller: Officer, population: PathPopulation, change: CapChange) -> PopulationCap:
    """Set what all auditors together may be charged about a population, and nothing else of its datasets."""
    return budgets.set_cap(holder.store, actor=caller.name, population=population, cap=change.cap)


@router.get("/budgets")
def list_budgets(
    holder: TheHolder,
    _: Reader,
    population: Annotated[Name | None, Query(description="Only budgets with this population.")] = None,
    auditor: Annotated[Name | None, Query(description="Only budgets of this auditor.")] = None,
) -> BudgetList:
    """Every auditor's budget with every population, of one of them where named."""
    found = budgets.every_budget(holder.store, population=population, auditor=auditor)
    return BudgetList(budgets=tuple(found))


@router.get("/notices")
def list_notices(holder: TheHolder, _: Reader) -> NoticeList:
    """What to act on now: populations without a cap, caps and budgets nearly spent, budgets and keys that end soon.

    All of it follows from the ledger, accounts and keys. From when on there is a notice, `HOLDER_NOTICE_PERCENT` and
    `HOLDER_NOTICE_DAYS` say.
    """
    return NoticeList(notices=notices.now_of(holder.store, holder.settings.thresholds))
