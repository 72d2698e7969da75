"""The holder of the demonstration, with its register and an auditor's account (`python -m pafer_demo.holder_side`)."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from holder_service.cli.calls import clear_errors
from holder_service.files.durable import durable_file
from holder_service.files.private import keep_new_files_private
from holder_service.settings.holder import Settings
from pafer_demo.administration import AUDITOR, prepare
from pafer_demo.holder_process import DemoFailed, HolderProcess, initialise, running_holder
from pafer_demo.register import register

KEY_FILE_VARIABLE: Final = "PAFER_DEMO_KEY_FILE"
BUDGET: Final = "4"


def main(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8080,
) -> None:
    """Set up the holder if it is not set up yet, then serve until the process ends.

    The auditor's key is written into the file that PAFER_DEMO_KEY_FILE names, by default
    `auditor.key` in HOLDER_HOME, once everything is ready; the administrator's into
    `administrator.key` in HOLDER_HOME.
    """
    keep_new_files_private()
    with clear_errors():
        _serve(host, port)


def _serve(host: str, port: int) -> None:
    home = Settings.from_environment().home
    key_file = Path(os.environ.get(KEY_FILE_VARIABLE) or home / "auditor.key")
    admin_key_file = home / "administrator.key"
    signal.signal(signal.SIGTERM, _leave)
    try:
        admin_key = None if key_file.exists() else initialise(os.environ)
        with running_holder({}, host=host, port=port) as holder:
            if admin_key is not None:
                key = prepare(holder.url, admin_key, register(), budget=BUDGET)
                _keep(admin_key, admin_key_file)
                _keep(key, key_file)
            _announce(holder, key_file, admin_key_file)
            sys.exit(holder.process.wait())
    except DemoFailed as error:
        sys.exit(f"pafer_demo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _keep(key: str, path: Path) -> None:
    with durable_file(path) as file:
        file.write(f"{key}\n".encode("ascii"))


def _leave(*_: object) -> NoReturn:
    sys.exit(0)


def _announce(holder: HolderProcess, key_file: Path, admin_key_file: Path) -> None:
    print(f"The holder runs at {holder.url} with dataset 'register'.")
    print(f"The key of auditor '{AUDITOR}' (budget epsilon {BUDGET}) is in {key_file}.", flush=True)
    if admin_key_file.exists():
        print(f"Its console is at {holder.url}/console; the administrator's key is in {admin_key_file}.", flush=True)


if __name__ == "__main__":
    typer.run(main)
