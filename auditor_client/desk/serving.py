"""Start the desk, open it in the browser, and serve it on loopback until it is ended."""

import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from auditor_client.desk.app import create_desk
from auditor_client.desk.desk import Desk
from auditor_client.desk.door import ADDRESS
from auditor_client.errors import SettingsRefused
from auditor_client.settings import AuditorSettings


def serve(settings: AuditorSettings, *, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; then no file that was sent is left.

    Args:
        settings: Of the auditor whose desk it is.
        port: 0 for a free one.
        browser: Whether to open the page.
        say: Takes what to show in the terminal; among it the address, which holds the one-time token.

    Raises:
        SettingsRefused: The port cannot be used.
    """
    try:
        listener = socket.create_server((ADDRESS, port))
    except OSError as error:
        raise SettingsRefused(f"Port {port} cannot be used: {error.strerror}. Name another (`port`).") from error
    with listener:
        desk = Desk(settings, listener.getsockname()[1])
        say(f"Your desk, for one browser, for ten minutes: {desk.door.address}")
        say("Ctrl-C ends it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(desk.door.address,), daemon=True).start()
        config = uvicorn.Config(
            create_desk(desk), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
        )
        try:
            uvicorn.Server(config).run([listener])
        except KeyboardInterrupt:
            say("Stopped. Repeat a request to get an answer that was already charged, at no further cost.")
        finally:
            desk.close()
