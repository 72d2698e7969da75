"""Read random models of each format, and damaged files, and say what differed; status 1 if anything did.

A format whose maker's library is not installed is skipped, by name.
"""

import argparse
import sys
import time
import tracemalloc
from collections.abc import Iterator
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from auditor_client.errors import ModelRefused
from auditor_client.models import checking
from auditor_client.models.checking import Agreement
from auditor_client.models.read_model import ModelRequest, Provenance
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.frames import installed
from checks.model_formats.damage import damaged
from checks.model_formats.formats import FORMATS, Format

PROBES_OF_DAMAGED = 200


def main() -> int:
    """Run the check."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("formats", nargs="*", help=", ".join(FORMATS))
    options.add_argument("--models", type=int, default=200)
    options.add_argument("--mutations", type=int, default=1000)
    options.add_argument("--first", type=int, default=0, help="the first model's seed")
    asked = options.parse_args()
    shown = Table(
        "format", "models", "refused", "probes", "differing", "bound", "largest", "damaged", "read", "MB", "s"
    )
    failed = False
    for name in asked.formats or FORMATS:
        begin = time.perf_counter()
        made = FORMATS[name]
        if made.library is not None and installed(made.library) is None:
            print(f"{name}: not installed: skipped", file=sys.stderr)
            continue
        read, refused = compared(made, range(asked.first, asked.first + asked.models))
        survived, peak, faults = survivors(made, asked.mutations)
        differing = sum(one.differing for one in read)
        failed |= bool(faults) or bool(refused) or (differing > 0 and all(one.bound is None for one in read))
        for text in (*refused, *faults):
            print(f"{name}: {text}", file=sys.stderr)
        shown.add_row(
            name, str(len(read)), str(len(refused)), str(sum(one.probes for one in read)), str(differing),
            f"{max((one.bound or 0 for one in read), default=0):.2g}",
            f"{max((one.largest or 0 for one in read), default=0):.2g}",
            str(asked.mutations if made.file else 0), str(survived), f"{peak / 1e6:.0f}",
            f"{time.perf_counter() - begin:.0f}",
        )  # fmt: skip
    Console(width=140).print(shown)
    return int(failed)


def compared(made: Format, seeds: range) -> tuple[list[Provenance | Agreement], list[str]]:
    """How random models were read, and what was said of those that were not."""
    read: list[Provenance | Agreement] = []
    refused = []
    for seed in seeds:
        try:
            if made.comparison is not None and made.file is not None:
                found = made.comparison(*made.file(seed))[1]
                read.append(found)
                refused += [f"seed {seed}: {found.outside} decided otherwise"] if found.outside else []
                continue
            provenance = read_object(*made.model(seed)).provenance if made.model else None
            if provenance is None or provenance.compared_with is None:
                refused.append(f"seed {seed}: nothing was compared")
            else:
                read.append(provenance)
        except ModelRefused as error:
            refused.append(f"seed {seed}: {error}")
    return read, refused


def survivors(made: Format, count: int) -> tuple[int, int, list[str]]:
    """How many damaged files are read all the same, the peak of memory in bytes, and what failed in another way."""
    survived, peak, faults = 0, 0, []
    tracemalloc.start()
    with patch.object(checking, "records_count", lambda _: PROBES_OF_DAMAGED):
        for content, request in files(made, count):
            try:
                read_object(load_object(content, "model"), request)
                survived += 1
            except ModelRefused as error:
                if "fails while it is read" in str(error):
                    faults.append(str(error))
            except Exception as error:  # noqa: BLE001  # that is what is looked for
                faults.append(f"{type(error).__name__}: {error}")
            peak = max(peak, tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
    tracemalloc.stop()
    return survived, peak, faults


def files(made: Format, count: int) -> Iterator[tuple[bytes, ModelRequest]]:
    """Damaged files of ten sound ones."""
    if made.file is None:
        return
    for seed in range(10):
        content, request = made.file(seed)
        yield from ((one, request) for one in damaged(content, count // 10, seed))


if __name__ == "__main__":
    sys.exit(main())
