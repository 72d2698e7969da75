"""A real Spark session: what it loads and counts is what the local engine does, and an audit goes through it.

`./run spark` (needs a Java runtime, 17 or newer); `--examples 300` compares more, `--only NAME` does one part alone.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from checks.spark import audited, canaries, compared, disturbed, followed

PARTS: Final[Mapping[str, Callable[[int], str]]] = {
    "compared": compared.main,
    "refused": compared.refused,
    "followed": followed.main,
    "killed": disturbed.killed,
    "speculated": disturbed.speculated,
    "connect": compared.connected,
    "canaries": canaries.main,
    "audited": audited.main,
}


def main() -> int:
    """Do one part, or every part in a process of its own; 1 if one fails.

    A session leaves settings in the environment of its process, those of Spark Connect among them, and whatever that
    process starts would inherit them.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10)
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    if asked.only is None:
        command = [sys.executable, "-m", "checks.spark", "--examples", str(asked.examples), "--only"]
        failed = [name for name in PARTS if subprocess.run([*command, name], check=False).returncode]
        if failed:
            print(f"failed: {', '.join(failed)}")
        return int(bool(failed))
    begun_s = time.monotonic()
    print(f"== {asked.only} ==", flush=True)
    print(f"{asked.only}: {PARTS[asked.only](asked.examples)} ({time.monotonic() - begun_s:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
