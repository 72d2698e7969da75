"""What an officer and an engineer do after audits: provision, review, restore, and live through faults."""

import contextlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checks.journeys.persons import KEY
from checks.journeys.traveller import Traveller
from pafer_demo.holder_process import running_holder

WANTED: Final = """accounts:
  officer: {role: budget-officer}
  university: {display_name: University}
budgets:
  - {dataset: staff, auditor: university, epsilon: 0.5}
"""
"""What an engineer wants there to be, as a file."""
SMALL_MB: Final = 24
WRITES_EVERY_S: Final = 6
"""A little more than readiness waits between two small writes."""
UNMOUNT: Final = ("umount", "--lazy")
UNREACHABLE: Final = "postgresql://pafer@127.0.0.1:9/pafer"


def provision(engineer: Traveller) -> Traveller:
    """The engineer brings accounts and budgets to what a file states; returns the new officer."""
    (engineer.folder / "holder.yaml").write_text(WANTED)
    apply = ("holder", "admin", "apply", "holder.yaml")
    engineer.does("looks what a file would change", *apply, "--dry-run", sees=("officer", "university"))
    shown = engineer.does("brings the holder to what the file states", *apply, sees=("officer", "0.5"))
    keys = KEY.findall(shown)
    engineer.requires(len(keys) == 2, f"{len(keys)} keys are shown instead of two")
    again = engineer.does("does it again, which changes nothing", *apply)
    engineer.requires(not KEY.search(again), "a second run makes keys")
    environment = {**engineer.variables, "HOLDER_ADMIN_KEY": keys[0]}
    return Traveller("Officer", engineer.folder, engineer.programs, environment)


def review(officer: Traveller) -> None:
    """The officer reviews what was charged this month: who, for what, how much, and which question."""
    month = datetime.now(UTC).strftime("%Y-%m-01")
    officer.does("adds up this month's charges", "holder", "admin", "spent", "--since", month, sees="works-council")
    charges = ("--kind", "charge")
    shown = officer.does("reads each charge", "holder", "admin", "ledger", *charges, sees="was charged ε 0.2")
    entry = next(
        word for line in shown.splitlines() if "was charged" in line for word in line.split() if word.isdigit()
    )
    officer.does("sees what was asked", "holder", "admin", "question", entry, sees=("Geschlecht", "works-council"))
    officer.does("takes the list to a spreadsheet", "holder", "admin", "export-ledger", "charges.csv", *charges)
    header = (officer.folder / "charges.csv").read_text().splitlines()[0]
    for column in ("epsilon", "purpose", "left"):
        officer.requires(column in header, f"the export has no column {column!r}")


def restore(engineer: Traveller, receipts: Path) -> None:
    """The engineer loses the home, restores the copy of the first day, and adds up what auditors' receipts show."""
    home = Path(engineer.variables["HOLDER_HOME"])
    shutil.rmtree(home)
    engineer.does("restores the first copy", "holder", "restore", "first-copy")
    engineer.does("records it", "holder", "admin", "record-restore", "the disk was lost")
    engineer.does(
        "adds up what receipts show to be missing", "holder", "admin", "missing", str(receipts),
        sees=("works-council", "0.6"),
    )  # fmt: skip


def live_through_faults(engineer: Traveller) -> None:
    """The engineer meets a dead database and a full disk: each is named where it is looked for."""
    dead = Traveller("Engineer at night", engineer.folder, engineer.programs, dict(engineer.variables))
    dead.knows({"HOLDER_DATABASE_URL": UNREACHABLE})
    dead.does("has a dead database", "holder", "ledger", "verify", sees="127.0.0.1:9", status=2)
    home = Path(engineer.variables["HOLDER_HOME"])
    with _small_disk(engineer.folder / "small") as small:
        if small is None:
            dead.shows("has no right to mount a small disk here", "A full disk was NOT TRIED.")
            return
        full = Traveller("Engineer at night", engineer.folder, engineer.programs, dict(engineer.variables))
        full.knows({"HOLDER_HOME": str(shutil.copytree(home, small / "home"))})
        log = engineer.folder / "full.log"
        with (
            log.open("wb") as file,
            running_holder(full.environment, log=file, program=full.programs / "holder") as run,
        ):
            _fill(small / "filler")
            time.sleep(WRITES_EVERY_S)
            ready = ("curl", "--silent", "--noproxy", "*", f"{run.url}/readyz")
            full.does("has a full disk, and readiness names it", *ready, sees="disk-full")
            (small / "filler").unlink()
        full.requires("disk-full" in log.read_text(), "the log does not name the full disk")


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of a few megabytes in memory; None where it cannot be mounted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run([*UNMOUNT, str(folder)], check=True)


def _fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(resource.getpagesize()))
