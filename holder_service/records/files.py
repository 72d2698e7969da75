"""The files that loads and derived columns leave in the holder's home, and those that a killed process leaves behind.

A file is whole and durable before the transaction that names it, and taken away after the one that names
it no more; but the values of a derived column are named first, and made if they are not there. So a process that is
killed in between leaves files that nothing names. Whoever loads records or takes linked values holds a shared lock,
which goes with the process, and whoever makes derived columns has one alone; who can have both alone knows that nobody
is at work, and may take away what the database does not name.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from holder_service.records import person_blocks
from holder_service.records.person_keys import PersonSecret, join_hashes


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """The folders in which a holder keeps what it loads, and what it makes of it.

    Attributes:
        records: Encoded records, a file for each version.
        people: Sorted hashes of person keys, a file for each dataset; beside it, where losses are added up by block,
            one that says in which blocks each person was.
        derived: Encoded derived columns, a file for each column and version.
        linked: Linked values as they were sent, a file for each column.
        incoming: Uploads until they are loaded.
        lock: The file that is locked.
        secret: What person keys are hashed under.
    """

    records: Path
    people: Path
    derived: Path
    linked: Path
    incoming: Path
    lock: Path
    secret: PersonSecret

    def join(self, hashes: Path, earlier: str | None) -> str:
        """Make a file of everybody in a load and in a dataset's earlier file, whole and durable; gives its name."""
        self.people.mkdir(exist_ok=True)
        before = self.people_of(earlier)
        name = self.secret.file_name()
        join_hashes([hashes] if before is None else [hashes, before], self.people / name)
        return name

    @property
    def refused(self) -> Path:
        """Which records of refused loads were in too many blocks; for the holder's own machine alone."""
        return self.lock.with_name("refused-loads")

    @contextmanager
    def joining(self) -> Iterator[None]:
        """Join alone, or two loads of one dataset would start from the same earlier file and one forget the other."""
        with self._locked(fcntl.LOCK_EX, self.lock.with_suffix(".joining")):
            yield

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep everybody from having the files alone; waits while somebody has."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the files alone; waits until nobody is at work on any."""
        with self._locked(fcntl.LOCK_EX):
            yield

    @contextmanager
    def making(self) -> Iterator[bool]:
        """Make derived columns alone, if nobody else does; whether that is so."""
        with self._tried(".making") as alone:
            yield alone

    @contextmanager
    def watching(self, *, rehearsed: bool) -> Iterator[bool]:
        """Answer watches about real people, or about rehearsals, alone if nobody else does; whether that is so."""
        with self._tried(".watching-rehearsed" if rehearsed else ".watching") as alone:
            yield alone

    @contextmanager
    def noticing(self) -> Iterator[bool]:
        """Log notices alone, if nobody else does; whether that is so."""
        with self._tried(".noticing") as alone:
            yield alone

    @contextmanager
    def backing_up(self) -> Iterator[bool]:
        """Make a back-up alone, if nobody else does; whether that is so."""
        with self._tried(".backing-up") as alone:
            yield alone

    def derived_at(self, name: str) -> datetime | None:
        """When a derived column's values were made; None if they are not."""
        try:
            return datetime.fromtimestamp((self.derived / name).stat().st_mtime, UTC)
        except FileNotFoundError:
            return None

    def people_of(self, name: str | None) -> Path | None:
        """The file of keyed hashes that a dataset names, if it exists and is under the present secret."""
        if name is None or not self.secret.made(name):
            return None
        path = self.people / name
        return path if path.exists() else None

    def blocks_of(self, name: str | None) -> Path | None:
        """The file of people's blocks beside the one of hashes that a dataset names, as `people_of` gives that.

        It is none without a pair for each of these people: a cut file would forget somebody's blocks.
        """
        people = self.people_of(name)
        if people is None:
            return None
        path = people.with_name(people.name + person_blocks.ENDING)
        whole = path.exists() and path.stat().st_size >= 2 * people.stat().st_size
        return path if whole else None

    def remove(
        self, *, records: str | None = None, people: str | None = None, derived: str | None = None,
        linked: str | None = None,
    ) -> None:  # fmt: skip
        """Take files away that the database names no more."""
        names = ((self.records, records), (self.people, people), (self.derived, derived), (self.linked, linked))
        for folder, name in names:
            if name:
                (folder / name).unlink(missing_ok=True)
                if folder == self.people:
                    (folder / f"{name}{person_blocks.ENDING}").unlink(missing_ok=True)

    def sweep(self, named: Callable[[], frozenset[str]]) -> int:
        """Take away what killed processes left, unless somebody is at work right now.

        Args:
            named: Gives the names of all files that the database names; asked once nobody can be at work.

        Returns:
            How many files and folders were taken away.
        """
        try:
            with self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB), self.making() as alone:
                kept = named()
                folders = [self.records, self.people, self.linked, self.incoming, *([self.derived] if alone else [])]
                present = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
                left = [path for path in present if path.name.removesuffix(person_blocks.ENDING) not in kept]
                for path in left:
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)
        except BlockingIOError:
            return 0
        return len(left)

    @contextmanager
    def _tried(self, suffix: str) -> Iterator[bool]:
        """Have something alone, unless somebody else has."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB, self.lock.with_suffix(suffix)))
            except BlockingIOError:
                yield False
            else:
                yield True

    @contextmanager
    def _locked(self, how: int, file: Path | None = None) -> Iterator[None]:
        descriptor = os.open(file or self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)
