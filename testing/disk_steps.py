"""Which calls that make or name files a piece of work makes, in order: what is durable when."""

import os
import stat
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

NAMES_FILES: Final = ("replace", "rename", "link")


def disk_steps(work: Callable[[], object]) -> list[str]:
    """The steps of some work: "file" or "folder" where one was brought to the disk, "named" where one got its name."""
    steps: list[str] = []

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        if event != "c_return" or getattr(arg, "__module__", None) != "posix":
            return
        if arg.__name__ == "fsync":
            steps.append(synced(frame.f_locals))
        elif arg.__name__ in NAMES_FILES:
            steps.append("named")

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return steps


def synced(local: dict[str, Any]) -> str:
    """Whether the caller of `os.fsync` has a folder open or a file."""
    descriptor = local["descriptor"] if "descriptor" in local else local["file"].fileno()
    return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
