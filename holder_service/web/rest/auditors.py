"""What auditors call: datasets, budget, quotes, releases, and the ledger's hashes (4-interface)."""

import logging
import time
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import ColumnNotReady
from holder_service.services import budgets, datasets, ledger_reading, releases
from holder_service.services.datasets import relation_of
from holder_service.services.holder import Holder
from holder_service.storage import metadata
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease, releases_of
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import AnyCaller, Auditor, PathDataset, TheHolder, TheSlots
from holder_service.web.edge.ledger_lane import outcome
from holder_service.web.edge.public_times import wait_until_public
from holder_service.web.edge.telemetry import note_release
from holder_service.web.rest.answers import DatasetList, ReleaseList, ReleaseSummary
from holder_service.web.rest.contract import refusals
from shared import limits
from shared.datasets import Budget, ColumnLimits, DatasetDescription, Limits
from shared.plans import Plan, Quote, mechanism_names
from shared.releases import LedgerPosition, Release, SigningKeys

router = APIRouter(route_class=StrictRoute)
ReleaseId = Annotated[
    str, Path(pattern="^sha256:[0-9a-f]{64}$", description="The release's id.", examples=["sha256:" + "0" * 64])
]
PLAN_REFUSALS: Final = ("not-found", "invalid-amount", "invalid-plan", "unknown-column", "sensitive-column")
_log = logging.getLogger(__name__)


@router.get("/v1/keys", tags=["public"], openapi_extra=refusals("unavailable"))
async def signing_keys(holder: TheHolder) -> SigningKeys:
    """The public keys that releases are signed with."""
    return await run_in_threadpool(holder.public_keys)


@router.get("/v1/datasets", tags=["everybody"])
async def list_datasets(holder: TheHolder, _: AnyCaller) -> DatasetList:
    """Every dataset that the holder offers."""

    def work() -> DatasetList:
        found = datasets.every_dataset(holder.store)
        return DatasetList(datasets=tuple(_description(holder, dataset) for dataset in found))

    return await run_in_threadpool(work)


@router.get("/v1/datasets/{dataset}", tags=["everybody"], openapi_extra=refusals("not-found"))
async def describe_dataset(holder: TheHolder, _: AnyCaller, dataset: PathDataset) -> DatasetDescription:
    """Columns, groups, relation, mechanisms and limits of a dataset."""

    def work() -> DatasetDescription:
        return _description(holder, datasets.read_dataset(holder.store, dataset))

    return await run_in_threadpool(work)


@router.get("/v1/datasets/{dataset}/budget", tags=["auditor"], openapi_extra=refusals("not-found"))
async def show_budget(holder: TheHolder, caller: Auditor, dataset: PathDataset) -> Budget:
    """What the caller was granted, has spent and has left."""
    return await run_in_threadpool(budgets.budget_of, holder.store, dataset=dataset, auditor=caller.name)


@router.post("/v1/datasets/{dataset}/quotes", tags=["auditor"], openapi_extra=refusals(*PLAN_REFUSALS))
async def quote_plan(holder: TheHolder, caller: Auditor, dataset: PathDataset, plan: Plan) -> Quote:
    """A plan's price and noise; touches neither records nor budget."""
    return await run_in_threadpool(releases.quote, holder.store, auditor=caller.name, dataset=dataset, plan=plan)


@router.post(
    "/v1/datasets/{dataset}/releases",
    tags=["auditor"],
    status_code=201,
    response_model=Release,
    responses={200: {"model": Release, "description": "The plan was answered before: the same bytes, at no cost"}},
    openapi_extra=refusals(
        *PLAN_REFUSALS, "budget-exhausted", "cap-exhausted", "column-not-ready", "conflict", "no-records",
        "restore-unrecorded", "version-gone",
    ),
)  # fmt: skip
async def release_plan(
    holder: TheHolder, slots: TheSlots, caller: Auditor, dataset: PathDataset, plan: Plan
) -> Response:
    """Answer a plan: charged once, however often it is asked."""
    quantum_ms = holder.settings.release_quantum_ms
    async with slots.taken(caller.name):
        # From here the deadline runs. Whoever asks cannot stretch the time that the work has: the body is there, and
        # how long a plan waits for its slot depends on public deadlines alone.
        begun_s = time.monotonic()
        try:
            prepared = await run_in_threadpool(
                releases.prepare, holder.store, holder.files, auditor=caller.name, dataset=dataset, plan=plan
            )
        except ColumnNotReady:
            holder.preparation.wake()  # the process that was at it may have been ended
            raise
        if isinstance(prepared, StoredRelease):
            return Response(prepared.body, 200, media_type="application/json")
        work_s = prepared.priced.work_s(holder.pace.factors)
        deadline_s = slots.draws.deadline_s(begun_s=begun_s, work_s=work_s, quantum_ms=quantum_ms)
        try:
            async with slots.draws.turn:
                drawn = await run_in_threadpool(releases.draw, prepared, engine=holder.engine)
        finally:
            due_s, overran = await wait_until_public(begun_s, deadline_s)
            _note_deadline(deadline_s, overran=overran)
        try:
            entered = await outcome(
                releases.enter(holder.store, drawn=drawn, key_id=caller.key_id, signing=holder.signing)
            )
        finally:
            await wait_until_public(due_s, quantum_ms / 1000)
    stored = entered.release
    location = {"Location": f"/v1/datasets/{dataset}/releases/{stored.id}"} if entered.new else None
    return Response(stored.body, 201 if entered.new else 200, location, "application/json")


@router.get("/v1/datasets/{dataset}/releases", tags=["auditor"], openapi_extra=refusals("not-found"))
async def list_releases(
    holder: TheHolder,
    caller: Auditor,
    dataset: PathDataset,
    after: Annotated[
        int, Query(ge=0, le=limits.INTEGER_MAX, description="Only releases whose ledger entry is behind this number.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="The most releases in a page.")] = 100,
) -> ReleaseList:
    """The caller's own releases about a dataset, in the order of their ledger entries, a page at a time."""

    def work() -> list[tuple[str, int, int, str]]:
        with holder.store.database.read() as connection:
            datasets.require_dataset(connection, dataset, or_retired=True)
            return releases_of(connection, auditor=caller.name, dataset=dataset, after=after, limit=limit)

    found = await run_in_threadpool(work)
    return ReleaseList(
        releases=tuple(
            ReleaseSummary(id=identity, version=version, sequence=sequence, created=created)
            for identity, version, sequence, created in found
        ),
        next=found[-1][2] if len(found) == limit else None,
    )


@router.get(
    "/v1/datasets/{dataset}/releases/{release_id}",
    tags=["auditor"],
    response_model=Release,
    openapi_extra=refusals("not-found", "restore-unrecorded"),
)
async def show_release(holder: TheHolder, caller: Auditor, dataset: PathDataset, release_id: ReleaseId) -> Response:
    """One of the caller's releases again, byte for byte."""
    stored = await run_in_threadpool(
        releases.require_release, holder.store, auditor=caller.name, dataset=dataset, identity=release_id
    )
    return Response(stored.body, 200, media_type="application/json")


@router.get("/v1/ledger/head", tags=["everybody"])
async def ledger_head(holder: TheHolder, _: AnyCaller) -> LedgerPosition:
    """Sequence and hash of the newest entry, and nothing else of it."""
    return await run_in_threadpool(ledger_reading.head, holder.store)


@router.get("/v1/ledger/entries/{sequence}", tags=["everybody"], openapi_extra=refusals("not-found"))
async def ledger_entry(
    holder: TheHolder,
    _: AnyCaller,
    sequence: Annotated[int, Path(ge=1, le=limits.INTEGER_MAX, description="The entry's number, from 1.")],
) -> LedgerPosition:
    """The hash of one entry, to compare with a receipt's."""
    return LedgerPosition(
        sequence=sequence, hash=await run_in_threadpool(ledger_reading.hash_at, holder.store, sequence)
    )


def _description(holder: Holder, dataset: Dataset) -> DatasetDescription:
    with holder.store.database.read() as connection:
        relation = relation_of(connection, dataset)
        words = metadata.of_dataset(connection, dataset.name)
    return DatasetDescription(
        name=dataset.name,
        population=dataset.population,
        relation=relation.name,
        version=dataset.version,
        person_key=dataset.schema.person_key,
        people=dataset.schema.people,
        columns=dataset.schema.columns,
        sensitive=dataset.schema.sensitive,
        mechanisms=mechanism_names(dataset.schema),
        records_max=dataset.records_max,
        release_quantum_ms=holder.settings.release_quantum_ms,
        limits=Limits(derived_columns=ColumnLimits()),
        metadata=None if words == metadata.NOTHING else words,
        organisation=holder.settings.organisation,
        sensitive_in_rules=dataset.schema.sensitive_in_rules,
    )


def _note_deadline(deadline_s: float, *, overran: bool) -> None:
    """For log and metrics; called at the public time, or the time of a line would show when the draw was done."""
    note_release(deadline_s=deadline_s, overran=overran)
    if overran:
        _log.warning("release overran its deadline", extra={"deadline_ms": round(deadline_s * 1000)})
