"""Ports that tests give to programs: nobody else is given one."""

import socket
import subprocess
import sys

from testing.ports import NUMBERS, free_port


def test_what_one_process_was_given_no_other_is_and_its_program_can_listen() -> None:
    given = {free_port() for _ in range(3)}
    others = "from testing import ports; import sys; ports.NUMBERS = list(map(int, sys.argv[1:])); ports.free_port()"

    found = subprocess.run(
        [sys.executable, "-c", others, *map(str, given)], capture_output=True, text=True, check=False, timeout=60
    )

    assert len(given) == 3
    assert given <= set(NUMBERS)
    assert "every port is taken" in found.stderr
    for port in given:
        socket.create_server(("127.0.0.1", port)).close()
