"""A reserved port is nobody's until somebody asks for it by number."""

import socket

import pytest

from testing.ports import reserved_port


def test_nobody_listens_at_a_reserved_port_until_somebody_asks_for_it() -> None:
    with reserved_port() as port:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            pass


def test_a_reserved_port_is_taken_for_whoever_may_get_any() -> None:
    """The system gives those that nobody has, as it lets nobody have this one who does not ask to share it."""
    with reserved_port() as port, socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
