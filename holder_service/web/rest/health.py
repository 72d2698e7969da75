"""Liveness and readiness, without a key and without a word about the inside; and metrics, with a key."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from holder_service.web.edge.dependencies import TheHolder
from holder_service.web.edge.metrics import Metrics
from holder_service.web.edge.roles import MetricsReader, RoleRoute
from holder_service.web.rest.answers import Alive, ReadyToRelease
from holder_service.web.rest.contract import VERSION, refusals

router = APIRouter(route_class=RoleRoute)


@router.get("/healthz", tags=["public"])
async def check_health() -> Alive:
    """Whether the process runs."""
    return Alive(version=VERSION)


@router.get("/readyz", tags=["public"], openapi_extra=refusals("unavailable", "restore-unrecorded"))
def check_readiness(holder: TheHolder) -> ReadyToRelease:
    """Whether the holder may release: store reachable and writable, anchored entry there, records countable.

    A refusal has the reason out of a closed list (`reason`), and the SQLSTATE or errno behind it (`fault`).
    """
    holder.require_ready()
    return ReadyToRelease()


@router.get("/favicon.ico", include_in_schema=False)
async def no_icon() -> Response:
    """There is none; browsers ask for it all the same."""
    return Response(status_code=204)


@router.get(
    "/metrics",
    tags=["administrator"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def show_metrics(request: Request, holder: TheHolder, _: MetricsReader) -> Response:
    """Requests, refusals, releases and the state of the ledger, for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.exposition(holder), media_type=CONTENT_TYPE_LATEST)
