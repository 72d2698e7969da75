"""Audit a register of invented people through two running holders: `two_holders_audit.py FOLDER URL KEY URL KEY`.

The keys are the administrators'. `./run compose` runs it against docs/deployment/two-holders.yml.
"""

import sys
from pathlib import Path

from rich.console import Console

from pafer_demo import administration
from pafer_demo.register import register
from pafer_demo.two_holders import audited, split

EPSILON = "0.5"


def main(folder: Path, *addresses: str) -> bool:
    """Split the register, load a half at each holder, and audit a tree."""
    data = register(people=5_000)
    halves = split(data, folder / "split")
    holders = []
    for party, (half, url, key) in enumerate(zip(halves, addresses[::2], addresses[1::2], strict=True), start=1):
        auditor_key = administration.prepare_half(url, key, data, half, party=party, budget=EPSILON)
        holders.append((url, auditor_key))
    return audited(Console(), data, holders, EPSILON, folder)


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]), *sys.argv[2:]) else 1)
