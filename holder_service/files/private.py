"""What a holder writes is for its owner alone: records, uploads, keys, an embedded database, back-ups.

Two things hold that, each by itself: every process of a holder gives new files to its owner alone, and
a home that others may enter is not opened. A closed home keeps others from everything in it, whatever the
modes in it are, so only its own mode is looked at.
"""

import os
import shlex
import stat
from pathlib import Path

from holder_service.files.set_up_errors import SetUpError

_OTHERS = 0o077


class OpenHome(SetUpError):
    """The holder's home is open to others than its owner; the text says which command closes it."""


def keep_new_files_private() -> None:
    """Have all files and folders that this process, and those it starts, make be for their owner alone."""
    os.umask(_OTHERS)


def make_home(home: Path) -> None:
    """Make the home, for its owner alone; one that is there already and empty is closed.

    Raises:
        OpenHome: It is there, open to others, and not empty.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not any(home.iterdir()):
        home.chmod(0o700)
    require_closed(home)


def require_closed(home: Path) -> None:
    """Refuse a home that others may read, write or enter.

    Raises:
        OpenHome: They may.
    """
    if home.is_dir() and stat.S_IMODE(home.stat().st_mode) & _OTHERS:
        raise OpenHome(f"{home} is open to others than its owner. Close it: chmod -R go= {shlex.quote(str(home))}")
