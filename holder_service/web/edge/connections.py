"""Connections as the holder serves them: heads of requests that are bounded in bytes and in time (2-privacy §7).

The server below has limits for neither: a head that goes on for ever would fill the memory, and one that trickles in
would hold its connection for ever.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.wire import limits

CONNECTIONS_MAX: Final = 1000
SERVER_OPTIONS: Final[dict[str, Any]] = {
    "http": f"{__name__}:BoundedConnection",
    "ws": "none",
    "limit_concurrency": CONNECTIONS_MAX,
    "timeout_keep_alive": 65,
}
"""The options of the server, in addition to address and log.

An idle connection is kept longer than clients keep theirs (httpx 5 s, nginx 60 s): otherwise a client may send a
request into a connection that the server is just closing.
"""


class BoundedConnection(HttpToolsProtocol):
    """A connection that is closed if a request's head is too long, or does not come in time.

    Attributes:
        head_read_s: How long a head may take, from the connection or from its first byte.
    """

    head_read_s = 10.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_timer is None or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > limits.HEAD_BYTES_MAX:
            self.send_400_response("The request's headers are too long. Send shorter headers.")

    def _await_head(self) -> None:
        self._stop_waiting()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(self.head_read_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
