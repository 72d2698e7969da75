"""Files that are whole and on the disk as soon as they have their name.

A file is written under another name in its folder, brought to the disk, and only then named; then the folder is
brought to the disk too. So neither a kill nor a loss of power leaves half a file under its name.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def durable_file(path: Path, *, mode: int = 0o600, replaces: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which has its name once it is whole: an error before that leaves none.

    Args:
        path: The name, in a folder that exists.
        mode: The permission bits of the new file, less those of the umask.
        replaces: Whether it takes the name of a file that is there.

    Raises:
        FileExistsError: The name is taken, and it replaces nothing; the file of that name is as it was.
    """
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaces:
            partial.replace(path)
        else:
            path.hardlink_to(partial)  # unlike a rename it replaces nothing, whoever comes first
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


def immutable_file(path: Path) -> AbstractContextManager[BinaryIO]:
    """A file to write as `durable_file` is, which then nobody may change and only its owner may read."""
    return durable_file(path, mode=0o400)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
