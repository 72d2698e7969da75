"""What `pip install` of each party brings along; `python -m checks.installed_sizes [--largest 10]`.

Builds the source distribution and from it the wheel, installs each party into an empty environment and prints the
number of packages and their size. Exits with 1 if one is larger than it may be.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from testing.environments import build, installed

PARTIES: Final = {"auditor": (44, 345), "holder": (50, 820)}
"""Of each party the largest number of packages, and of megabytes."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=6, help="how many of the largest packages to name")
    largest: int = parser.parse_args().largest
    too_large = 0
    with tempfile.TemporaryDirectory(prefix="pafer-sizes-") as name:
        _, wheel = build(Path(name))
        print(f"the wheel: {wheel.stat().st_size / 1e6:.1f} MB")
        for party, (packages_max, megabytes_max) in PARTIES.items():
            made = installed(Path(name) / party, wheel, [party])
            print(f"pafer[{party}]: {made.distributions} packages, {made.megabytes:.0f} MB")
            for package, size in made.largest()[:largest]:
                print(f"  {package}: {size / 1e6:.0f} MB")
            too_large += made.distributions > packages_max or made.megabytes > megabytes_max
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
