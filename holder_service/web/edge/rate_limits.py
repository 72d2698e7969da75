"""How much anybody may ask in a second: token buckets, by key, and by address for whoever has not shown one.

Each process counts its own requests in memory, so nothing is written, and with several workers the limit is for each of
them. A bucket knows requests and the clock, nothing of records or budgets.

A key that was valid once is remembered by its digest: its caller is never held up by what others from the same address
do. Every other call that needs a key takes a token of its address's attempts, and gets it back if the key is valid.
Tokens of the identity provider are as good as keys; but all of one account share a bucket, for new ones are easily had.
"""

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holder_service.web.edge.problems import problem_response
from holder_service.web.edge.roles import needs_key

BURST_S: Final = 10
ATTEMPTS_SHARE: Final = 0.1
BUCKETS_MAX: Final = 10_000
LIMITED: Final = (
    "This key sent too many requests; the limit is {rate:g} a second on average. Wait a "
    "second, then send the request again. Nothing was charged."
)


class TokenBuckets:
    """A bucket of tokens for each of many names, filled at a steady rate; one request takes one token."""

    def __init__(self, rate_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate_per_s = rate_per_s
        self._tokens_max = max(rate_per_s * BURST_S, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Take a token, if there is one."""
        tokens = self._tokens(name)
        taken = tokens >= 1
        self._keep(name, tokens - taken)
        return taken

    def give_back(self, name: str) -> None:
        """Put a token back that should not have been taken."""
        self._keep(name, min(self._tokens(name) + 1, self._tokens_max))

    def _tokens(self, name: str) -> float:
        tokens, at_s = self._buckets.get(name, (self._tokens_max, -math.inf))
        return min(tokens + (self._clock() - at_s) * self._rate_per_s, self._tokens_max)

    def _keep(self, name: str, tokens: float) -> None:
        self._buckets[name] = tokens, self._clock()
        self._buckets.move_to_end(name)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)


class RateLimits:
    """Refuses requests beyond the limits before anything is done for them; stands before authentication."""

    def __init__(self, app: ASGIApp, requests_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._rate_per_s = requests_per_s
        self._requests = TokenBuckets(requests_per_s, clock)
        self._attempts = TokenBuckets(requests_per_s * ATTEMPTS_SHARE, clock)
        self._valid_keys: OrderedDict[str, str] = OrderedDict()
        """The bucket of each key that was valid."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request if its bucket has a token, else answer with the refusal."""
        if scope["type"] != "http" or self._rate_per_s == 0:
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        key = _digest_of_key(scope) if needs_key(scope["path"]) else None
        bucket = address if key is None else self._valid_keys.get(key)
        admitted = self._attempts.take(address) if bucket is None else self._requests.take(bucket)
        if not admitted:
            refusal = problem_response("rate-limited", LIMITED.format(rate=self._rate_per_s), instance=scope["path"])
            await refusal(scope, receive, send)
            return

        async def noticing(message: Message) -> None:
            """Learn from the answer whether a key is valid."""
            if message["type"] == "http.response.start" and key is not None:
                if message["status"] == 401:
                    self._valid_keys.pop(key, None)
                elif bucket is None and "caller" in scope.get("state", {}):
                    proof = scope["state"]["caller"].proof
                    shared = None if isinstance(proof, str) else f"account {proof.account}"
                    if shared is None or self._requests.take(shared):
                        self._attempts.give_back(address)
                    self._valid_keys[key] = shared or key
                    if len(self._valid_keys) > BUCKETS_MAX:
                        self._valid_keys.popitem(last=False)
            await send(message)

        await self._app(scope, receive, noticing)


def _digest_of_key(scope: Scope) -> str:
    """Return what a key is remembered by; requests that send several or none have one in common."""
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    return hashlib.sha256(sent[0] if len(sent) == 1 else b"").hexdigest()
