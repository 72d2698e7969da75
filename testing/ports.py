"""Ports of loopback for programs that are told theirs: nobody else gets one before its program listens."""

import random
import socket
from typing import Final

NUMBERS: Final = range(20_000, 32_000)
"""Below those that systems give to whoever asks for any, and to every connection that goes out."""


def free_port() -> int:
    """A port that nobody listens on, and that no other process is given here as long as this one runs.

    A datagram socket of the same number says so: it leaves the port itself free.

    Raises:
        OSError: There is none.
    """
    for number in random.sample(NUMBERS, len(NUMBERS)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            try:
                taken.bind(("127.0.0.1", number))
                socket.create_server(("127.0.0.1", number)).close()
            except OSError:
                continue
            taken.detach()  # it stays open until this process ends
            return number
    raise OSError("every port is taken")
