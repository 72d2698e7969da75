"""What `pip install` of each party brings along; `python -m checks.installed_sizes [--largest 10]`.

Builds the source distribution and from it the wheel, installs each set of extras into an empty environment and prints
the number of packages and their size, without and with the compiled copies of sources that pip makes. Exits with 1 if
one is larger than it may be. `--only auditor` measures the sets that have that extra.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from testing.environments import build, installed

SETS: Final = {
    ("auditor",): (31, 320),
    ("auditor", "sklearn"): (44, 480),
    ("holder",): (50, 1000),
}
"""Of each set of extras the largest number of packages, and of megabytes with compiled copies."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=6, help="how many of the largest packages to name")
    parser.add_argument("--only", help="measure only the sets with this extra")
    given = parser.parse_args()
    largest: int = given.largest
    too_large = 0
    with tempfile.TemporaryDirectory(prefix="pafer-sizes-") as name:
        _, wheel = build(Path(name))
        print(f"the wheel: {wheel.stat().st_size / 1e6:.1f} MB")
        for extras, (packages_max, megabytes_max) in SETS.items():
            if given.only not in (None, *extras):
                continue
            named = ",".join(extras)
            made = installed(Path(name) / named, wheel, extras)
            compiled = made.megabytes_compiled
            print(
                f"pafer[{named}]: {made.distributions} packages, {made.megabytes:.0f} MB, "
                f"{compiled:.0f} MB with compiled copies"
            )
            for package, size in made.largest()[:largest]:
                print(f"  {package}: {size / 1e6:.0f} MB")
            too_large += made.distributions > packages_max or compiled > megabytes_max
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
