"""Interrupted runs go on where they were, and never on half a file."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from benchmarks.reproduction.chunks import Progressed, results, run_chunks


@dataclass(frozen=True)
class Squares:
    """A chunk that notes each time it is run."""

    number: int
    runs: Path
    fails: bool = False

    @property
    def name(self) -> str:
        return f"squares-{self.number}"

    @property
    def estimates(self) -> int:
        return 1

    def rows(self) -> pd.DataFrame:
        with self.runs.open("a") as file:
            file.write(f"{self.number}\n")
        if self.fails:
            raise ArithmeticError("as arranged")
        return pd.DataFrame({"number": [self.number], "square": [self.number**2]})


def run(chunks: list[Squares], folder: Path, *, workers: int = 1) -> Progressed:
    """Run them without a terminal."""
    return run_chunks(chunks, folder, what="squares", workers=workers, console=Console(quiet=True))


@pytest.mark.slow
def test_what_is_done_is_not_done_again_and_all_rows_are_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    chunks = [Squares(number, log) for number in range(4)]
    run(chunks[:2], tmp_path)

    again = run(chunks, tmp_path, workers=2)

    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert again.estimates == 2
    found = results(chunks, tmp_path)
    assert found is not None
    assert found["square"].tolist() == [0, 1, 4, 9]


def test_a_failure_is_reported_and_leaves_neither_a_result_nor_a_part_of_one(tmp_path: Path) -> None:
    chunks = [Squares(1, tmp_path / "log"), Squares(2, tmp_path / "log", fails=True)]

    with pytest.raises(ArithmeticError, match="as arranged"):
        run(chunks, tmp_path)

    assert results(chunks, tmp_path) is None
    assert not (tmp_path / "squares-2.csv").exists()
    assert not list(tmp_path.glob(".squares-2*"))
