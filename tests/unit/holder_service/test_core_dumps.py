"""A served holder leaves no core dump."""

import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel in Linux' way")
def test_the_kernel_is_asked_to_dump_nothing() -> None:
    """`prctl(3)` asks whether a process may be dumped; the answer is 1 for a process like any other."""
    asked = (
        "import ctypes, resource; from holder_service.files.core_dumps import forbid_core_dumps;"
        "dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0);"
        "before = dumpable(); forbid_core_dumps();"
        "print(before, dumpable(), resource.getrlimit(resource.RLIMIT_CORE))"
    )

    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "1 0 (0, 0)"
