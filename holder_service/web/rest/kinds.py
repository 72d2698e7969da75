"""What auditors call about each kind of request: its price, its answer, the list of its releases, and one of them.

The calls of a kind follow from its value (`routes`). Only their names and descriptions are written down for each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from holder_service.services.releases import releases
from holder_service.services.releases.holder_kinds import HOLDER_KINDS
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder, TheRooms
from holder_service.web.edge.roles import Auditor
from holder_service.web.rest.answers import ReleaseList, TrainingList, summaries
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.releasing import APPROVAL, REFUSALS, Purpose, released
from shared.kinds.quotes import QuoteBase
from shared.kinds.registry import KINDS, PLAN, ReleaseKind
from shared.kinds.requests import ReleaseRequest
from shared.wire import limits
from shared.wire.request_model import ContractModel

After = Annotated[
    int, Query(ge=0, le=limits.INTEGER_MAX, description="Only releases whose ledger entry is behind this number.")
]
PageSize = Annotated[int, Query(ge=1, le=1000, description="The most releases in a page.")]
DATASET: Final = "/v1/datasets/{dataset}/"
QUOTE_REFUSALS: Final = ("not-found", "invalid-amount", "invalid-plan", "unknown-column", "sensitive-column")


Call = tuple[str, str]
"""The name of a call, by which clients know it, and its description."""


@dataclass(frozen=True, slots=True)
class KindRoutes:
    """The calls of a kind in words.

    Attributes:
        noun: What a release of it is called: names the parameter that has its id.
        quote: Prices a request.
        ask: Answers it.
        answered_before: What the answer of 200 means.
        list_own: Lists the releases of the caller.
        show: Shows one of them.
        page: A page of that list; `None` where list and release are shown in another way.
        quote_refusals: Of the call that prices it.
        refusals: Of the call that answers it.
    """

    kind: ReleaseKind
    noun: str
    quote: Call
    ask: Call
    answered_before: str
    list_own: Call | None = None
    show: Call | None = None
    page: type[ContractModel] | None = None
    quote_refusals: tuple[str, ...] = QUOTE_REFUSALS
    refusals: tuple[str, ...] = REFUSALS


PLANS: Final = KindRoutes(
    PLAN,
    "release",
    (
        "quote_plan",
        (
            "A plan's price and noise; touches neither records nor budget. Of a refinement the price is what it costs "
            "more."
        ),
    ),
    (
        "release_plan",
        "Answer a plan: charged once, however often it is asked; where it refines a release, the difference.",
    ),
    "The plan was answered before: the same bytes, at no cost",
    (
        "list_releases",
        "The caller's own releases of plans about a dataset, in the order of their ledger entries, a page at a time.",
    ),
    ("show_release", "One of the caller's releases again, byte for byte."),
    ReleaseList,
    (*QUOTE_REFUSALS, "version-gone", "conflict"),
    (*REFUSALS, "column-not-ready"),
)
TRAININGS: Final = KindRoutes(
    KINDS["training"],
    "training",
    ("quote_training", "A training's price, its steps and their noise; touches neither records nor budget."),
    (
        "release_training",
        "Learn a model from the records under noise: charged once, however often it is asked.",
    ),
    "The training was answered before: the same bytes, at no cost",
    (
        "list_trainings",
        "The caller's own trainings about a dataset, in the order of their ledger entries, a page at a time.",
    ),
    ("show_training", "One of the caller's trainings again, byte for byte."),
    TrainingList,
)
WATCHES: Final = KindRoutes(
    KINDS["watch"],
    "watch",
    ("quote_watch", "A watch's price and noise; touches neither records nor budget."),
    (
        "set_watch",
        "Have a verdict watched: charged once and whole; the current version is answered next, then every new one.",
    ),
    "The watch was set before: the same bytes, at no cost",
)
OTHERS: Final = (TRAININGS, WATCHES)
"""Whatever else is asked."""


def add_quote(router: APIRouter, of: KindRoutes) -> None:
    """Add the call that prices a request of a kind."""

    async def quote(holder: TheHolder, caller: Auditor, dataset: PathDataset, request: ReleaseRequest) -> QuoteBase:
        return await run_in_threadpool(
            releases.quote, holder.store, auditor=caller.name, dataset=dataset, asked=request
        )

    quote.__annotations__["request"] = of.kind.request
    router.add_api_route(
        DATASET + of.kind.quotes_path, quote, methods=["POST"], name=of.quote[0],
        description=of.quote[1], response_model=of.kind.quote, openapi_extra=refusals(*of.quote_refusals),
        tags=["auditor"],
    )  # fmt: skip


def add_ask(router: APIRouter, of: KindRoutes) -> None:
    """Add the call that answers a request of a kind."""

    async def ask(
        holder: TheHolder, rooms: TheRooms, caller: Auditor, dataset: PathDataset, request: ReleaseRequest,
        *, purpose: Purpose = None,
    ) -> Response:  # fmt: skip
        answer = await released(
            holder, rooms, caller, dataset=dataset, asked=request, listed_at=of.kind.path, purpose=purpose
        )
        if HOLDER_KINDS[of.kind.name].answers_later:
            holder.wake_rounds()
        return answer

    ask.__annotations__["request"] = of.kind.request
    responses: dict[int | str, dict[str, Any]] = {
        200: {"model": of.kind.release, "description": of.answered_before},
        202: APPROVAL,
    }
    router.add_api_route(
        DATASET + of.kind.path, ask, methods=["POST"], name=of.ask[0], description=of.ask[1],
        status_code=201, response_model=of.kind.release, responses=responses,
        openapi_extra=refusals(*of.refusals), tags=["auditor"],
    )  # fmt: skip


def add_list(router: APIRouter, of: KindRoutes) -> None:
    """Add the calls that list the releases of a kind and show one of them, if it has the usual ones."""
    if of.page is None or of.list_own is None or of.show is None:
        return
    page, path = of.page, DATASET + of.kind.path

    async def list_own(
        holder: TheHolder, caller: Auditor, dataset: PathDataset, after: After = 0, limit: PageSize = 100
    ) -> ContractModel:
        found = await run_in_threadpool(
            releases.page, holder.store, auditor=caller.name, dataset=dataset, kind=of.kind.name, after=after,
            limit=limit,
        )  # fmt: skip
        following = found[-1].sequence if len(found) == limit else None
        return page.model_validate({of.kind.path: summaries(found), "next": following})

    async def show(
        holder: TheHolder,
        caller: Auditor,
        dataset: PathDataset,
        identity: Annotated[
            str,
            Path(
                alias=f"{of.noun}_id",
                pattern="^sha256:[0-9a-f]{64}$",
                description=f"The {of.noun}'s id.",
                examples=["sha256:" + "0" * 64],
            ),
        ],
    ) -> Response:
        stored = await run_in_threadpool(
            releases.require_release, holder.store, auditor=caller.name, dataset=dataset, identity=identity,
            kind=of.kind.name,
        )  # fmt: skip
        return Response(stored.body, 200, media_type="application/json")

    router.add_api_route(
        path, list_own, methods=["GET"], name=of.list_own[0], description=of.list_own[1],
        response_model=page, openapi_extra=refusals("not-found"), tags=["auditor"],
    )  # fmt: skip
    router.add_api_route(
        f"{path}/{{{of.noun}_id}}", show, methods=["GET"], name=of.show[0], description=of.show[1],
        response_model=of.kind.release, openapi_extra=refusals("not-found", "restore-unrecorded"), tags=["auditor"],
    )  # fmt: skip


def routes(
    of: KindRoutes, calls: Sequence[Callable[[APIRouter, KindRoutes], None]] = (add_quote, add_ask, add_list)
) -> APIRouter:
    """The calls of a kind: all, or some of them."""
    router = APIRouter(route_class=StrictRoute)
    for add in calls:
        add(router, of)
    return router
