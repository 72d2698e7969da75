"""Keyed hashes of person keys: whether somebody occurs twice, and which populations share people (2-privacy §2).

Keys are compared after NFC, through 128-bit BLAKE2b under a secret of the holder (a keyed hash as HMAC is
one, in a single pass). The secret stays in the holder's home; neither it nor a key or a hash is ever in the
database, an entry, a log or an answer. Of each dataset a file keeps 64 bits of each hash, sorted, of
everybody who was ever loaded into it: what was spent about people who were taken away stays spent.
Of two times 10⁷ different people, the chance that any two have the same 64 bits is below 10⁻⁵.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from holder_service.files.durable import durable_file, immutable_file
from holder_service.files.set_up_errors import SetUpError

SECRET_BYTES: Final = 32
DIGEST: Final = np.dtype([("sorted", np.uint64), ("rest", np.uint64)])
_HASH: Final = np.dtype(np.uint64)
_STEP: Final = 2**20
"""So many hashes of each file, about, are in memory at once."""

_Hashes = npt.NDArray[np.uint64]


class UnusableSecret(SetUpError):
    """The file of the secret holds something else."""


@dataclass(frozen=True, slots=True)
class PersonSecret:
    """What person keys are hashed under; hashes under another secret cannot be compared. `id` says which it is."""

    id: str
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, key: bytes) -> "PersonSecret":
        """The secret of some random bytes."""
        return cls(hashlib.blake2b(b"id", key=key, digest_size=4).hexdigest(), key)

    @classmethod
    def forgotten(cls) -> "PersonSecret":
        """A secret that is thrown away."""
        return cls.of(secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def create(cls, path: Path) -> bool:
        """Make a secret in a new file that only its owner may read, if it does not exist; whether there was none."""
        try:
            with durable_file(path, replaces=False) as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
        except FileExistsError:
            return False
        return True

    @classmethod
    def load(cls, path: Path) -> "PersonSecret":
        """Read the secret that `create` made.

        Raises:
            FileNotFoundError: It does not exist.
            UnusableSecret: The file holds something else.
        """
        key = path.read_bytes()
        if len(key) == SECRET_BYTES:
            return cls.of(key)
        raise UnusableSecret(f"{path} does not hold the secret for person keys: put it back from a backup.")

    def file_name(self) -> str:
        """A new name for a file of hashes under this secret."""
        return f"{secrets.token_hex(16)}-{self.id}"

    def made(self, file_name: str) -> bool:
        """Whether the hashes of a file are under this secret."""
        return file_name.endswith(f"-{self.id}")

    def digest(self, key: str) -> bytes:
        """The 128-bit keyed hash of a person key."""
        return self.digests([key])

    def digests(self, keys: Iterable[str]) -> bytes:
        """The hashes of some person keys, one behind the other."""
        begun = hashlib.blake2b(digest_size=DIGEST.itemsize, key=self.key).copy  # a copy costs less than a new one
        digests = []
        for key in keys:
            hashed = begun()
            hashed.update((key if key.isascii() else unicodedata.normalize("NFC", key)).encode())
            digests.append(hashed.digest())
        return b"".join(digests)


class PersonKeys:
    """The hashes of a file's person keys in file order, in a folder that goes with the load."""

    def __init__(self, folder: Path, secret: PersonSecret) -> None:
        self._folder = folder
        self._secret = secret

    def add(self, keys: Iterable[str]) -> None:
        """Take the keys of some more records."""
        self.add_digests(self._secret.digests(keys))

    def add_digests(self, digests: bytes) -> None:
        """Take 128-bit hashes that were made elsewhere under the same secret, as `digests` gives them."""
        with (self._folder / "person-keys").open("ab") as file:
            file.write(digests)

    @property
    def digests(self) -> npt.NDArray[np.void]:
        """All of each hash, in file order; mapped. Its field `sorted` is what `hashes` gives."""
        path = self._folder / "person-keys"
        if not path.exists() or not path.stat().st_size:
            return np.empty(0, dtype=DIGEST)
        return np.memmap(path, dtype=DIGEST, mode="r")

    def repeated(self, count: int) -> list[int]:
        """The indices, from 0, of the first records whose key an earlier record has, at most so many, in order.

        One half of each hash is sorted; only those that agree there are compared in full. Memory is bounded.
        """
        hashes = self.hashes
        if not len(hashes):
            self.sorted_hashes.touch()
            return []
        halves = np.memmap(self.sorted_hashes, dtype=_HASH, mode="w+", shape=hashes.shape)
        halves[:] = hashes
        halves.sort()
        first: list[int] = []
        for repeated in _repeated(halves):
            # Behind the last of as many as are wanted, none can be among the first.
            end = first[-1] if len(first) == count else len(hashes)
            first = sorted({*first, *self._again(repeated, end, count)})[:count]
        return first

    def _again(self, repeated: _Hashes, end: int, count: int) -> list[int]:
        """The first records before an end whose hash, with one of some halves, an earlier record has.

        As soon as more records have these halves than there are halves, there is one.
        """
        digests = self.digests
        suspects = np.empty(0, dtype=np.intp)
        again = np.empty(0, dtype=np.intp)
        enough = len(repeated)
        for start in range(0, end, _STEP):
            halves = digests["sorted"][start : min(start + _STEP, end)]
            nearest = repeated.take(np.searchsorted(repeated, halves), mode="clip")
            suspects = np.concatenate([suspects, start + np.flatnonzero(nearest == halves)])
            if len(suspects) <= enough and start + _STEP < end:
                continue
            whole = digests[suspects]
            order = np.lexsort((whole["rest"], whole["sorted"]))  # stable: of equal ones the first stays the first
            again = suspects[order[1:][whole[order[1:]] == whole[order[:-1]]]]
            if len(again) >= count:
                break
            enough = 2 * len(suspects)
        return [int(index) for index in np.sort(again)[:count]]

    @property
    def hashes(self) -> _Hashes:
        """64 bits of each hash, in file order; mapped."""
        hashes: _Hashes = self.digests["sorted"]
        return hashes

    @property
    def sorted_hashes(self) -> Path:
        """The file of 64 bits of each hash, sorted, which `repeated` makes."""
        return self._folder / "sorted-hashes"


def join_hashes(sources: Sequence[Path], destination: Path) -> None:
    """Write the hashes of several files as one that nobody may change, each once and sorted; memory is bounded."""
    with immutable_file(destination) as file:
        for parts in _in_step([_hashes(source) for source in sources]):
            _distinct(parts).tofile(file)


@lru_cache(maxsize=4096)
def count_shared(one: tuple[Path, ...], other: tuple[Path, ...]) -> int:
    """Return how many people two sets of files have in common; cached, because files of hashes never change.

    Raises:
        FileNotFoundError: One of them is gone.
    """
    files = [_hashes(path) for path in (*one, *other)]
    count = 0
    for parts in _in_step(files):
        count += shared_hashes(parts[: len(one)], parts[len(one) :])
    return count


def shared_hashes(one: Sequence[_Hashes], other: Sequence[_Hashes]) -> int:
    """Return how many hashes two sets of sorted arrays have in common."""
    here, there = _distinct(one), _distinct(other)
    if not (len(here) and len(there)):
        return 0
    indices = np.minimum(np.searchsorted(there, here), len(there) - 1)
    return int(np.count_nonzero(there[indices] == here))


def _hashes(path: Path) -> _Hashes:
    """A file of hashes, mapped."""
    if not path.stat().st_size:
        return np.empty(0, dtype=_HASH)
    return np.memmap(path, dtype=_HASH, mode="r")


def _in_step(files: Sequence[_Hashes]) -> Iterator[list[_Hashes]]:
    """All files from the smallest hashes to the largest: of each the part within one range after the other."""
    ranges = max(max(map(len, files), default=0) // _STEP, 1)
    bounds = np.array([index * 2**64 // ranges for index in range(1, ranges)], dtype=_HASH)
    ends = [[0, *np.searchsorted(hashes, bounds).tolist(), len(hashes)] for hashes in files]
    for index in range(ranges):
        yield [hashes[end[index] : end[index + 1]] for hashes, end in zip(files, ends, strict=True)]


def _repeated(hashes: _Hashes) -> Iterator[_Hashes]:
    """Of sorted hashes those that are there more than once, each once and sorted, some at a time."""
    found = np.empty(0, dtype=_HASH)
    for start in range(0, len(hashes), _STEP):
        part = np.asarray(hashes[start : start + _STEP + 1])
        found = np.concatenate([found, _distinct([part[1:][part[1:] == part[:-1]]])])
        if len(found) > _STEP or (len(found) and start + _STEP >= len(hashes)):
            yield found
            found = found[:0]


def _distinct(parts: Sequence[_Hashes]) -> _Hashes:
    """All of some sorted parts, sorted, each once."""
    if not parts:
        return np.empty(0, dtype=_HASH)
    merged = np.concatenate(parts)
    if len(parts) > 1:
        merged.sort(kind="stable")  # it merges runs that are sorted already; np.unique would hash each
    first = np.ones(len(merged), dtype=bool)
    np.not_equal(merged[1:], merged[:-1], out=first[1:])
    return merged[first]
