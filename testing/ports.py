"""Ports of loopback at which nobody listens: for whoever is away, and for processes that are about to listen."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port that the system gives to nobody else until the end of the block; who asks for it by number gets it.

    A port that is free when somebody looks may be another process's a moment later.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
