"""The frame of both demonstrations: private files, fresh folders, and an exit code for each way to end."""

import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from auditor_client import AuditorError
from holder_service.files.private import keep_new_files_private
from pafer_demo.holder_process import DemoFailed
from shared.privacy.amounts import InvalidAmount


def exit_after(demonstrate: Callable[[Console], bool], *, interrupted: str) -> NoReturn:
    """Demonstrate, and exit: with 0 if everything verifies, 1 if not, 2 after an error, 130 after an interrupt.

    Args:
        demonstrate: Returns whether everything verifies; contexts that it has open end what it started.
        interrupted: What is printed after an interrupt.
    """
    console = Console()
    signal.signal(signal.SIGTERM, _interrupt)
    keep_new_files_private()
    try:
        intact = demonstrate(console)
    except (DemoFailed, AuditorError, InvalidAmount, OSError) as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print(interrupted)
        sys.exit(130)
    sys.exit(0 if intact else 1)


def without_earlier_run(output: Path, names: Iterable[str]) -> None:
    """Make the output folder; remove the folders in it that an earlier run of the demonstration left."""
    for name in names:
        shutil.rmtree(output / name, ignore_errors=True)
    output.mkdir(parents=True, exist_ok=True)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
