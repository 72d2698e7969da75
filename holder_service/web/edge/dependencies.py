"""Who calls, and the holder that answers: what every route needs before it does anything (who may: `roles`).

Authentication stands before routing and before any body is read, and it is the default: of all that
lies under `/v1/`, only the public signing keys, and where auditors sign in, can be had without a key. The
metrics need one too; the console has sessions of its own. A key for the metrics opens nothing else,
whatever a route asks for.
"""

import logging
from typing import Annotated

from fastapi import Depends, Path, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from holder_service.domain.errors import Forbidden, HolderError, Unauthenticated
from holder_service.identity.provider import IdentityProvider
from holder_service.identity.tokens import RefusedToken
from holder_service.services.accounts.access import KEY_BEGINS, Caller, authenticate, caller_of
from holder_service.services.running.holder import Holder
from holder_service.web.edge.lanes import LOOKING_UP, Lane
from holder_service.web.edge.problems import problem_response
from holder_service.web.edge.release_rooms import ReleaseRooms
from holder_service.web.edge.release_slots import ReleaseSlots
from holder_service.web.edge.roles import METRICS, needs_key
from shared.wire.text import Name

_log = logging.getLogger(__name__)


class Authentication:
    """Refuses every call under `/v1/`, and for the metrics, that carries no valid key or token."""

    def __init__(self, app: ASGIApp, holder: Holder) -> None:
        self._app = app
        self._holder = holder
        self._keys = Lane("authenticate", LOOKING_UP)
        self._tokens = Lane("tokens", LOOKING_UP)  # these may wait for the identity provider, and keys do not

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find out who calls, then serve; or answer with the refusal."""
        if scope["type"] == "http" and needs_key(scope["path"]):
            try:
                caller = await self._caller(_bearer_key(scope))
                if caller.role == "metrics" and scope["path"] != METRICS:
                    raise Forbidden(
                        "This key is for the metrics alone (GET /metrics): use an auditor's key, or an administrator's."
                    )
                scope.setdefault("state", {})["caller"] = caller
            except HolderError as error:
                refusal = problem_response(error.code, error.detail, instance=scope["path"])
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _caller(self, shown: str) -> Caller:
        """Who calls, by a key or a token."""
        if self._holder.provider is None or shown.startswith(KEY_BEGINS):
            return await self._keys.do_soon(authenticate, self._holder.store, shown)
        try:
            return await self._tokens.do_soon(self._vouched_for, self._holder.provider, shown)
        except RefusedToken as error:
            _log.warning("token refused", extra={"reason": error.reason})
            raise

    def _vouched_for(self, provider: IdentityProvider, token: str) -> Caller:
        store = self._holder.store
        identity = provider.tokens.bearer(token, now=store.clock())
        try:
            return caller_of(store, identity)
        except Forbidden:
            _log.warning("token refused", extra={"reason": "account", "actor": identity.account})
            raise


def _bearer_key(scope: Scope) -> str:
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, key = values[0].decode("latin-1").partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise Unauthenticated
    return key


# None of these waits for anything; but what is not a coroutine would be sent to a thread, for each request.
async def _holder(request: Request) -> Holder:
    holder: Holder = request.app.state.holder
    return holder


async def _rooms(request: Request) -> ReleaseRooms:
    rooms: ReleaseRooms = request.app.state.release_rooms
    return rooms


async def _column_slots(request: Request) -> ReleaseSlots:
    slots: ReleaseSlots = request.app.state.column_slots
    return slots


TheHolder = Annotated[Holder, Depends(_holder)]
TheRooms = Annotated[ReleaseRooms, Depends(_rooms)]
TheColumnSlots = Annotated[ReleaseSlots, Depends(_column_slots)]
PathName = Annotated[Name, Path()]
"""A name in a path."""
PathDataset = Annotated[Name, Path(description="The dataset's name.", examples=["register"])]
PathPopulation = Annotated[Name, Path(description="The population's name.", examples=["register"])]
PathAuditor = Annotated[Name, Path(description="The account's name.", examples=["ADR"])]
PathKey = Annotated[Name, Path(description="The key's id, as accounts show it.", examples=["0123456789ab"])]
PathColumn = Annotated[
    str, Path(pattern="^sha256:[0-9a-f]{64}$", description="The derived column's id.", examples=["sha256:" + "0" * 64])
]
