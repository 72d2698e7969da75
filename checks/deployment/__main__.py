"""Check the files of docs/deployment by the programs that read them: `./run deployment`.

Exit status 0: every file is good. 1: one is not. 75: none was found bad, but a linter cannot be had here; it says so.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.deployment.linters import UNPACKED, Linters, NotHere
from checks.deployment.pieces import PIECES, Bad

UNAVAILABLE = 75


def main() -> int:
    """Check every piece; gives the exit code."""
    linters, bad, unchecked = Linters(UNPACKED), [], []
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda name: _checked(name, linters), PIECES)
        for name, (result, said) in zip(PIECES, found, strict=True):
            print(f"{name}: {said}", flush=True)
            bad += [name] if result is Bad else []
            unchecked += [name] if result is NotHere else []
    if bad:
        print(f"bad: {', '.join(bad)}")
        return 1
    if unchecked:
        print(f"not checked here: {', '.join(unchecked)}")
        return UNAVAILABLE
    return 0


def _checked(name: str, linters: Linters) -> tuple[type[Exception] | None, str]:
    try:
        PIECES[name](Path.cwd(), linters)
    except Bad as error:
        return Bad, f"BAD\n{error}"
    except NotHere as error:
        return NotHere, f"NOT CHECKED: {error}"
    return None, "good"


if __name__ == "__main__":
    sys.exit(main())
