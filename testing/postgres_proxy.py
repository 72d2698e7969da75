"""A proxy in front of PostgreSQL that cuts the connection at a COMMIT, before it arrives or before its answer does."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final, Literal
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

COMMIT: Final = b"COMMIT\0"
CHUNK_BYTES: Final = 1 << 16


class CuttingProxy:
    """A proxy on loopback.

    Attributes:
        cut: Which side of the next COMMIT it cuts the connection at; "never" once it has.
        url: Of the database behind it.
    """

    def __init__(self, url: str) -> None:
        self.cut: Literal["never", "before", "after"] = "never"
        self._server = conninfo_to_dict(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        user, password = quote(str(self._server["user"])), quote(str(self._server.get("password", "")))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{user}:{password}@127.0.0.1:{port}/{self._server['dbname']}?sslmode=disable"
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Cut everything."""
        _shut(self._listener, *self._connections)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connected()
                self._connections += [client, server]
                threading.Thread(target=self._forward_requests, args=(client, server), daemon=True).start()

    def _connected(self) -> socket.socket:
        host, port = str(self._server.get("host", "127.0.0.1")), self._server.get("port", "5432")
        if host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{host}/.s.PGSQL.{port}")
            return server
        return socket.create_connection((host, int(str(port))))

    def _forward_requests(self, client: socket.socket, server: socket.socket) -> None:
        answers = threading.Thread(target=_forward, args=(server, client), daemon=True)
        answers.start()
        with contextlib.suppress(OSError):
            while content := client.recv(CHUNK_BYTES):
                if COMMIT in content and self.cut != "never":
                    arrives, self.cut = self.cut == "after", "never"
                    client.shutdown(socket.SHUT_RDWR)
                    if arrives:
                        server.sendall(content)
                        answers.join()  # it ends at the answer, which it cannot hand on
                    break
                server.sendall(content)
        _shut(client, server)


def _forward(source: socket.socket, destination: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(CHUNK_BYTES):
            destination.sendall(content)
    _shut(destination)


def _shut(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextlib.contextmanager
def cutting_proxy(url: str) -> Iterator[CuttingProxy]:
    """A proxy in front of a database for as long as the context lasts."""
    proxy = CuttingProxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
