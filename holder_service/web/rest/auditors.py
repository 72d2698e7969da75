"""What auditors call about datasets and budget; and about the ledger's hashes, `positions` (4-interface)."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import NotFound
from holder_service.learning.learners import offered
from holder_service.services.accounts.populations import relation_of
from holder_service.services.datasets import budgets, datasets
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.releases import approvals
from holder_service.services.running.holder import Holder
from holder_service.storage import ledger, metadata
from holder_service.storage.datasets import Dataset
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder
from holder_service.web.edge.roles import AnyCaller, Auditor
from holder_service.web.rest.answers import DatasetList
from holder_service.web.rest.contract import refusals
from shared.contract.datasets import Budget, DatasetDescription, limits_of
from shared.kinds.plans import mechanism_names
from shared.kinds.releases import LedgerPosition, SigningKeys
from shared.wire import limits
from shared.wire.identity_providers import SignInOffer

router = APIRouter(route_class=StrictRoute)
positions = APIRouter(route_class=StrictRoute)


@router.get("/v1/keys", tags=["public"], openapi_extra=refusals("unavailable"))
async def signing_keys(holder: TheHolder) -> SigningKeys:
    """The public keys that releases are signed with."""
    return await run_in_threadpool(holder.public_keys)


@router.get("/v1/sign-in", tags=["public"], openapi_extra=refusals("not-found"))
async def sign_in_offer(holder: TheHolder) -> SignInOffer:
    """Where auditors sign in as people, with a program of their own."""
    oidc = holder.settings.oidc
    if oidc is not None and oidc.offer is not None:
        return oidc.offer
    raise NotFound("This holder does not offer sign-in to auditors. Ask its administrator for a key.")


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


@positions.get("/v1/ledger/head", tags=["everybody"])
async def ledger_head(holder: TheHolder, _: AnyCaller) -> LedgerPosition:
    """Sequence and hash of the newest entry, and nothing else of it."""
    return await run_in_threadpool(ledger_reading.head, holder.store)


@positions.get("/v1/ledger/entries/{sequence}", tags=["everybody"], openapi_extra=refusals("not-found"))
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
        terms = ledger.population_balance(connection, dataset.population).terms
        words = metadata.of_dataset(connection, dataset.name)
        approval = approvals.required_of(connection, dataset.population)
    algorithms = offered(dataset.schema, relation) or None
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
        limits=limits_of(terms, trainings=algorithms is not None),
        metadata=None if words == metadata.NOTHING else words,
        organisation=holder.settings.organisation,
        sensitive_in_rules=dataset.schema.sensitive_in_rules,
        purpose_required=dataset.schema.purpose_required,
        blocks=dataset.schema.blocks,
        trainings=algorithms,
        account=None if terms.kind == "sum" else terms,
        rehearsal=dataset.rehearsal,
        approval=approval,
        shares=dataset.shares,
    )
