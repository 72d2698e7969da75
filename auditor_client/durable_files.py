"""Files that are whole and on the disk as soon as they have their name."""

import os
import secrets
import sys
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; it replaces one of its name, and folders that are missing are made.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    if sys.platform == "win32":  # no folder can be opened there
        return
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
