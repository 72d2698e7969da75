"""A real Spark session: what it loads and counts is what the local engine does, and an audit goes through it.

`./run spark` (needs a Java runtime, 17 or newer); `--examples 300` compares more, `--only NAME` does one part alone.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from checks.spark import audited, compared, disturbed

PARTS: Final[Mapping[str, Callable[[int], str]]] = {
    "compared": compared.main,
    "refused": compared.refused,
    "killed": disturbed.killed,
    "connect": compared.connected,
    "audited": audited.main,
}


def main() -> int:
    """Do all parts, or one; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10)
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    for name, part in PARTS.items():
        if asked.only in (None, name):
            begun_s = time.monotonic()
            print(f"== {name} ==", flush=True)
            print(f"{name}: {part(asked.examples)} ({time.monotonic() - begun_s:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
