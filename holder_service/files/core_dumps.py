"""No image of the holder's memory is written to disk when it crashes: true counts and keys are in it (2-privacy §7)."""

import ctypes
import resource
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def forbid_core_dumps() -> None:
    """Forbid this process to leave a core dump, or to be looked into by others of the same user.

    The size limit, which child processes inherit, does not bind where the system pipes dumps into a program. On Linux
    a process can be marked as not to be dumped at all; each has to do it for itself.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
