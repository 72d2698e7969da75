"""Who calls, and the holder that answers: what every route needs before it does anything (who may: `roles`).

Authentication stands before routing and before any body is read, and it is the default: of all that
lies under `/v1/`, only the public signing keys, and where auditors sign in, can be had without a key. The
metrics need one too; the console has sessions of its own. A key for the metrics opens nothing else,
whatever a route asks for.
"""

import hashlib
import logging
import math
import time
from collections import OrderedDict
from typing import Annotated, Final

from fastapi import Depends, Path, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from holder_service.domain.errors import Forbidden, HolderError, Unauthenticated, Unavailable
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

ADMITTED_S: Final = 900.0
"""How long a key for the metrics is remembered that the store confirmed, for the time when it does not answer."""
ADMITTED_MAX: Final = 64
_log = logging.getLogger(__name__)


class Authentication:
    """Refuses every call under `/v1/`, and for the metrics, that carries no valid key or token."""

    def __init__(self, app: ASGIApp, holder: Holder) -> None:
        self._app = app
        self._holder = holder
        self._keys = Lane("authenticate", LOOKING_UP)
        self._tokens = Lane("tokens", LOOKING_UP)  # these may wait for the identity provider, and keys do not
        self._metrics_callers: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find out who calls, then serve; or answer with the refusal."""
        if scope["type"] == "http" and needs_key(scope["path"]):
            try:
                shown = _bearer_key(scope)
                caller = await (self._metrics_caller(shown) if scope["path"] == METRICS else self._caller(shown))
                if caller.role == "metrics" and scope["path"] != METRICS:
                    raise Forbidden(
                        "This key is valid only for the metrics (GET /metrics). Use an auditor's or an "
                        "administrator's key."
                    )
                scope.setdefault("state", {})["caller"] = caller
            except HolderError as error:
                refusal = problem_response(error.code, error.detail, instance=scope["path"], fields=error.fields)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _caller(self, shown: str) -> Caller:
        """Return who calls, by a key or a token."""
        if self._holder.provider is None or shown.startswith(KEY_BEGINS):
            return await self._keys.do_soon(authenticate, self._holder.store, shown)
        try:
            return await self._tokens.do_soon(self._vouched_for, self._holder.provider, shown)
        except RefusedToken as error:
            _log.warning("token refused", extra={"reason": error.reason})
            raise

    async def _metrics_caller(self, shown: str) -> Caller:
        """Return who asks for the metrics: while the store is away, whoever was admitted within the last minutes.

        What the process counted says nothing of records, and an outage is when it is worth most.
        """
        digest = hashlib.sha256(shown.encode()).digest()
        try:
            caller = await self._caller(shown)
        except Unavailable:
            admitted_s, admitted = self._metrics_callers.get(digest, (-math.inf, None))
            if admitted is not None and time.monotonic() - admitted_s < ADMITTED_S:
                return admitted
            raise
        except HolderError:
            self._metrics_callers.pop(digest, None)
            raise
        self._metrics_callers[digest] = time.monotonic(), caller
        while len(self._metrics_callers) > ADMITTED_MAX:
            self._metrics_callers.popitem(last=False)
        return caller

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
