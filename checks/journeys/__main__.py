"""Goes the ways of several persons; `python -m checks.journeys [--pictures build/journeys]`, or `./run journeys`.

Builds the wheel, installs the holder and the auditor into two empty environments, and lets data engineer, Excel user,
auditor, developer, officer and director do what the documentation says: each step is printed with what is seen, and the
pictures of all pages are kept. Exits with 1 at the first step that shows something else than promised.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from checks.journeys.operations import live_through_faults, provision, restore, review
from checks.journeys.persons import audit, audit_decisions, give_account, program, read, set_up
from checks.journeys.traveller import Stopped, Traveller
from pafer_demo.holder_process import running_holder
from testing.environments import Environment, build, installed

ROOT: Final = Path(__file__).resolve().parents[2]


def main() -> int:
    """Go all ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=ROOT / "build" / "journeys", help="where pictures are kept")
    pictures: Path = parser.parse_args().pictures.absolute()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pafer-journeys-") as name:
        try:
            _go(Path(name), pictures)
        except Stopped as stopped:
            print(stopped)
            return 1
    print(f"All arrived after {time.monotonic() - began_s:.0f} s.")
    return 0


def _go(folder: Path, pictures: Path) -> None:
    _, wheel = build(folder)
    engineer = _traveller("Data engineer", folder, wheel, "holder")
    excel_user = _traveller("Excel user", folder, wheel, "auditor")
    key = set_up(engineer)
    engineer.does("makes a copy of the first day", "holder", "backup", "first-copy")
    officer = provision(engineer)
    with (
        (folder / "holder.log").open("wb") as log,
        running_holder(engineer.environment, log=log, program=engineer.programs / "holder") as holder,
    ):
        excel_user.knows({"AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": key})
        audit_decisions(excel_user)
        auditor = _with_scikit_learn(excel_user, folder, wheel)
        audit(auditor)
        developer = Traveller("Developer", folder / "developer", Path(os.devnull), {"AUDITOR_API_KEY": key})
        developer.folder.mkdir()
        program(developer, holder.url)
    give_account(engineer, auditor.folder)
    review(officer)
    live_through_faults(engineer)
    restore(engineer, auditor.folder / "receipts")
    read(Traveller("Director", folder, Path(os.devnull)), auditor.folder, pictures)


def _traveller(name: str, folder: Path, wheel: Path, party: str) -> Traveller:
    """Somebody with an installation of one party, made from nothing."""
    made: Environment = installed(folder / f"{party}-environment", wheel, [party])
    work = folder / party
    work.mkdir()
    person = Traveller(name, work, made.programs)
    person.shows(f"installs pafer[{party}]", f"{made.distributions} packages, {made.megabytes:.0f} MB")
    person.does("looks at the commands", party, "--help", sees="Usage")
    return person


def _with_scikit_learn(user: Traveller, folder: Path, wheel: Path) -> Traveller:
    """Somebody in the same folder, whose installation also reads scikit-learn's models."""
    made = installed(folder / "auditor-environment", wheel, ["auditor", "sklearn"])
    person = Traveller("Auditor", user.folder, made.programs, user.variables)
    person.shows("installs pafer[auditor,sklearn]", f"{made.distributions} packages, {made.megabytes:.0f} MB")
    return person


if __name__ == "__main__":
    sys.exit(main())
