"""Two holders for tests: the small register is split, and each holder has one half of it."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from holder_service.records.formats import Upload
from holder_service.records.shares import PARQUET
from holder_service.records.splitting import split_register
from shared.contract.datasets import DatasetDeclaration
from testing.holders import TestedHolder, stopped_holder
from testing.registers import DECLARATION, register_csv

NAME: Final = "shared-register"
RELATION: Final = "sensitive_attribute"


def shared_declaration(party: int, **changes: Any) -> DatasetDeclaration:
    """The small register, declared to be shared."""
    return DatasetDeclaration.model_validate(
        {**DECLARATION, "relation": RELATION, "shares": {"party": party}, **changes}
    )


def halves_of(content: bytes, folder: Path, **changes: Any) -> tuple[Path, Path]:
    """A register's two halves, in new files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    register, halves = folder / "register.csv", (folder / "a.parquet", folder / "b.parquet")
    register.write_bytes(content)
    declared = shared_declaration(1, **changes)
    split_register(Upload(register, "text/csv"), declared.table, *halves, records_max=declared.records_max)
    return halves


@dataclass(frozen=True)
class TwoHolders:
    """Two running holders, each with a half of the small register under the same name."""

    first: TestedHolder
    second: TestedHolder

    def __iter__(self) -> Iterator[TestedHolder]:
        return iter((self.first, self.second))

    def load(self, halves: tuple[Path, Path], name: str = NAME) -> None:
        """Load a half at each."""
        for holder, half in zip(self, halves, strict=True):
            answer = holder.load(half.read_bytes(), name, PARQUET)
            assert answer.status_code == 200, answer.text

    def offer(self, halves: tuple[Path, Path], name: str = NAME, *, epsilon: str = "100", **changes: Any) -> None:
        """Declare the dataset at each with its party, load a half, and give the auditor a budget."""
        for party, (holder, half) in enumerate(zip(self, halves, strict=True), start=1):
            content = half.read_bytes()
            answers = (
                holder.declare(name, **{"relation": RELATION, "shares": {"party": party}, **changes}),
                holder.load(content, name, PARQUET),
                holder.grant(epsilon, dataset=name),
            )
            for answer in answers:
                assert answer.status_code == 200, answer.text


@contextmanager
def two_holders(set_up: TestedHolder, folder: Path) -> Iterator[TwoHolders]:
    """A copy of a stopped holder and one of another, with keys of its own: each has its half of the small register."""
    halves = halves_of(register_csv(), folder / "split")
    with set_up.copied(folder / "first") as first, _another().copied(folder / "second") as second:
        both = TwoHolders(first, second)
        both.offer(halves)
        yield both


@cache
def _another() -> TestedHolder:
    """A second stopped holder, made once in a process."""
    folder = tempfile.mkdtemp(prefix="second-holder-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return stopped_holder(Path(folder))
