"""HTTP servers that are no holder, on a free port of loopback."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer


class SilentFiles(SimpleHTTPRequestHandler):
    """Serves a folder and writes nothing about it."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving_http(handler: Callable[..., BaseHTTPRequestHandler] = SilentFiles) -> Iterator[str]:
    """A server until the end of the block; gives its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
