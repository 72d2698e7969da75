"""Whether a person key occurs twice: one person is one record, the unit of privacy (2-privacy §2).

Keys are compared after NFC, through digests of 128 bits under a salt that nobody keeps; no key is
kept either. Keyed hashes that outlive a load, to tell populations that overlap, belong here too.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

_DIGEST: Final = np.dtype([("sorted", np.uint64), ("rest", np.uint64)])


class PersonKeys:
    """The digests of a file's person keys in file order, in a folder that goes with the load."""

    def __init__(self, folder: Path) -> None:
        self._salt = secrets.token_bytes(hashlib.blake2b.SALT_SIZE)
        self._folder = folder

    def add(self, keys: Iterable[str]) -> None:
        """Take the keys of some more records."""
        with (self._folder / "person-keys").open("ab") as file:
            file.writelines(map(self._digest, keys))

    def first_repeated(self) -> int | None:
        """The place, from 0, of the first record whose key an earlier record has; `None` if there is none.

        One half of each digest is sorted; only the few that agree there are compared in full.
        """
        path = self._folder / "person-keys"
        if not path.exists() or not path.stat().st_size:
            return None
        digests = np.memmap(path, dtype=_DIGEST, mode="r")
        halves = np.memmap(self._folder / "sorted-halves", dtype=np.uint64, mode="w+", shape=digests.shape)
        halves[:] = digests["sorted"]
        halves.sort()
        repeated = np.unique(halves[1:][halves[1:] == halves[:-1]])
        suspects = np.flatnonzero(np.isin(digests["sorted"], repeated))
        _, firsts = np.unique(digests[suspects], return_index=True)
        later = np.delete(suspects, firsts)
        return int(later[0]) if len(later) else None

    def _digest(self, key: str) -> bytes:
        text = key if key.isascii() else unicodedata.normalize("NFC", key)
        return hashlib.blake2b(text.encode(), digest_size=_DIGEST.itemsize, salt=self._salt).digest()
