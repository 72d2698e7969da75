"""Random triples of declarations of one population or two, and whether one person's change moves more than it may.

`python -m benchmarks.declarations` puts 20 000 through the real service, each with charges, retirements and merges in
between. None that the service takes may let a change of one person's sensitive values move a count further than
`sensitive_attribute` says; the exit status is 1 if one does. With `--unchecked` the service checks nothing: that is the
negative control, which has to find some.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.progress import track
from rich.table import Table

from holder_service.services.holder import Holder, initialise
from tests.declared_triples import Outcome, triple
from tests.holders import settings_in


def main() -> None:
    """Declare, charge, look, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--triples", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--unchecked", action="store_true", help="take the check out: some have to be found")
    given = options.parse_args()
    began_s = time.perf_counter()
    if given.unchecked:
        with patch("holder_service.services.datasets.require_one_set"):
            outcomes = declared(given.triples, given.seed)
    else:
        outcomes = declared(given.triples, given.seed)
    took_s = time.perf_counter() - began_s
    done = Counter(step.split()[0] for outcome in outcomes for step in outcome.done)
    refused = Counter(step.split()[0] for outcome in outcomes for step in outcome.refused)
    excessive = sum(bool(outcome.excesses) for outcome in outcomes)
    table = Table("step", "taken", "refused", title=f"{given.triples} triples in {took_s:.0f} s")
    for step in ("declare", "charge", "retire", "merge"):
        table.add_row(step, str(done[step]), str(refused[step]))
    Console(width=100).print(table, f"triples that let a change move more than the relation says: {excessive}")
    raise SystemExit((excessive > 0) != given.unchecked)


def declared(triples: int, seed: int) -> list[Outcome]:
    """The outcomes of triples on a new holder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_in(Path(folder), f"sqlite:///{folder}/holder.sqlite")
        initialise(settings)
        holder = Holder.open(settings)
        try:
            return [triple(holder, number, seed) for number in track(range(triples))]
        finally:
            holder.close()


if __name__ == "__main__":
    main()
