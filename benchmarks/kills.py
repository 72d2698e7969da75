"""What is left of a holder that is killed with SIGKILL, again and again (issue 3).

`python -m benchmarks.kills` kills a holder on SQLite and one on PostgreSQL 200 times each: in turn at every
step of 2-privacy §5, and as often again at random moments while four clients ask. Then it compares what
the auditor has with what the holder has. All columns behind "charged" have to be zero.
"""

import argparse
import random
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.holders import running_holder
from tests.kills import STEPS, Findings, Victim
from tests.postgres import running_server


def main() -> None:
    """Kill, examine, and print the table; the exit status is 1 if anything was found wrong."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200, help="for each store")
    options.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    given = options.parse_args()
    table = Table(
        "store", "kills", "answers", "cut off", "charged", "uncharged", "lost", "charged twice", "at a wrong step",
        "chain", title=f"kill -9, half of them at {len(STEPS)} steps in turn",
    )  # fmt: skip
    faultless = True
    for store in given.stores:
        found = hunted(store, given.kills)
        faultless = faultless and found.faultless
        table.add_row(
            store, *map(str, (found.kills, found.answered, found.unanswered, found.charged_unanswered)),
            *map(str, (found.uncharged, found.changed + found.not_retrievable, found.charged_twice)),
            str(len(found.unexpected)), "intact" if found.intact else "broken",
        )  # fmt: skip
    Console(width=110).print(table)
    raise SystemExit(not faultless)


def hunted(store: str, kills: int) -> Findings:
    """Kill a new holder so many times, and examine what is left."""
    with running_server() as postgres, tempfile.TemporaryDirectory() as folder, postgres.database() as postgres_url:
        url = f"sqlite:///{folder}/holder.sqlite" if store == "SQLite" else postgres_url
        with running_holder(Path(folder), url, epsilon="90") as holder:
            victim = Victim(holder)
        for number in track(range(kills), description=store):
            if number % 2:
                victim.kill_after(random.uniform(0.0, 0.1))
            else:
                victim.kill_at(STEPS[number // 2 % len(STEPS)])
        return victim.examine()


if __name__ == "__main__":
    main()
