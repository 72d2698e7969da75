"""What a witness keeps: its key, the logs it watches, and the last checkpoint of each that it cosigned."""

import base64
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from holder_service.files.durable import durable_file
from holder_service.files.set_up_errors import SetUpError
from shared.log.checkpoints import parse_hash, parse_size
from shared.log.notes import COSIGNATURE, ED25519, SigningNoteKey, VerifierKey

KEY_FILE: Final = "witness-key.pem"
NAME_FILE: Final = "witness-name"
STATE_FILE: Final = "witness-state.json"
LOCK_FILE: Final = "witness.lock"
EMPTY_ROOT: Final = hashlib.sha256().digest()
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/-]{0,99}")


class UnusableWitness(SetUpError):
    """The witness's folder is not set up, or a file in it is damaged."""


@dataclass(frozen=True, slots=True)
class WatchedLog:
    """A log that the witness cosigns for.

    Attributes:
        keys: The keys that may sign its checkpoints.
        size: The size of the last checkpoint that was cosigned; 0 before the first.
        root: That checkpoint's root; of an empty tree before the first.
        replaced_by: The log that took its place; it gets no more cosignatures.
    """

    keys: tuple[VerifierKey, ...]
    size: int = 0
    root: bytes = EMPTY_ROOT
    replaced_by: str | None = None

    def document(self) -> dict[str, Any]:
        """The log as JSON values."""
        root = base64.b64encode(self.root).decode()
        document = {"keys": [str(key) for key in self.keys], "size": str(self.size), "root": root}
        return document if self.replaced_by is None else {**document, "replaced_by": self.replaced_by}

    @classmethod
    def of_document(cls, document: Any) -> Self:
        """A log from JSON values.

        Raises:
            BadNote, KeyError, TypeError: They are not a log's.
        """
        keys = tuple(VerifierKey.parse(key) for key in document["keys"])
        return cls(keys, parse_size(document["size"]), parse_hash(document["root"]), document.get("replaced_by"))


class WitnessFolder:
    """The folder of a witness; one process writes at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, name: str) -> SigningNoteKey:
        """Make the key of a new witness.

        Raises:
            UnusableWitness: The name cannot be used, or the folder has a witness already.
        """
        if not _NAME.fullmatch(name):
            raise UnusableWitness(
                f"{name!r} cannot be a witness's name. Use one like ombudsman.example.org/witness: at most 100 "
                "letters, digits and the signs . _ ~ : / -"
            )
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self.path / KEY_FILE).exists():
            raise UnusableWitness(f"{self.path} has a witness already. Nothing was changed; choose another folder.")
        private = Ed25519PrivateKey.generate()
        self.keep({})
        with durable_file(self.path / NAME_FILE) as file:
            file.write(name.encode())
        with durable_file(self.path / KEY_FILE, replaces=False) as file:
            file.write(
                private.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                )
            )
        return SigningNoteKey.of(name, private, algorithm=COSIGNATURE)

    def key(self) -> SigningNoteKey:
        """The witness's key.

        Raises:
            UnusableWitness: It is missing or damaged.
        """
        try:
            name = (self.path / NAME_FILE).read_text()
            private = serialization.load_pem_private_key((self.path / KEY_FILE).read_bytes(), password=None)
        except FileNotFoundError:
            raise UnusableWitness(f"{self.path} does not contain a witness. Run `holder witness init`.") from None
        except (OSError, ValueError, TypeError) as error:
            raise UnusableWitness(f"The witness's key in {self.path} cannot be read: {type(error).__name__}.") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise UnusableWitness(f"{self.path / KEY_FILE} does not contain an Ed25519 key.")
        return SigningNoteKey.of(name, private, algorithm=COSIGNATURE)

    def logs(self) -> dict[str, WatchedLog]:
        """The logs that are watched, by origin.

        Raises:
            UnusableWitness: The file is damaged. A witness that forgot what it saw must not go on.
        """
        try:
            document = json.loads((self.path / STATE_FILE).read_bytes())
            return {origin: WatchedLog.of_document(log) for origin, log in document.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnusableWitness(
                f"{self.path / STATE_FILE} cannot be read ({type(error).__name__}): the witness does not know which "
                "histories it has seen. Use a copy only if nothing was cosigned since it was made. Otherwise set up a "
                "new witness with a new name."
            ) from None

    def remove_key(self, origin: str, key: VerifierKey) -> WatchedLog:
        """Accept a key of a log no longer, for example after it was replaced.

        Raises:
            UnusableWitness: The log is not watched with that key; or the state is damaged.
        """
        with self.alone() as logs:
            log = logs.get(origin)
            if log is None or key not in log.keys:
                raise UnusableWitness(f"This witness does not watch {origin!r} with the key {str(key)!r}.")
            log = replace(log, keys=tuple(one for one in log.keys if one != key))
            self.keep({**logs, origin: log})
        return log

    def add(self, origin: str, keys: tuple[VerifierKey, ...], *, replaces: str | None = None) -> WatchedLog:
        """Watch a log, or accept further keys of one that is watched.

        One key may sign one log only: a holder with two could show two histories, both cosigned. A log that takes the
        place of another, after a restore, ends the other.

        Args:
            origin: The log's name.
            keys: Its keys.
            replaces: The log whose place it takes.

        Raises:
            UnusableWitness: A key is not a log's, is named otherwise, or signs another log; or the state is damaged.
        """
        for key in keys:
            if key.algorithm != ED25519 or key.name != origin:
                raise UnusableWitness(f"{str(key)!r} is not a key of the log {origin!r}.")
        with self.alone() as known:
            logs = known
            if replaces is not None:
                if replaces not in logs or replaces == origin:
                    raise UnusableWitness(f"This witness does not watch another log {replaces!r}.")
                logs = {**logs, replaces: replace(logs[replaces], replaced_by=origin)}
            open_keys = {
                key.public_bytes: name
                for name, log in logs.items()
                for key in log.keys
                if name != origin and log.replaced_by is None
            }
            for key in keys:
                if key.public_bytes in open_keys:
                    raise UnusableWitness(
                        f"The key {str(key)!r} signs the log {open_keys[key.public_bytes]!r} already. If the holder "
                        "recorded a restore, ask what was restored, and add the new log with --replaces."
                    )
            log = logs.get(origin, WatchedLog(()))
            log = replace(log, keys=(*log.keys, *(key for key in keys if key not in log.keys)))
            self.keep({**logs, origin: log})
        return log

    def keep(self, logs: dict[str, WatchedLog]) -> None:
        """Write the state durably; only within `alone`."""
        with durable_file(self.path / STATE_FILE) as file:
            file.write(json.dumps({origin: log.document() for origin, log in logs.items()}, indent=1).encode())

    @contextmanager
    def alone(self) -> Iterator[dict[str, WatchedLog]]:
        """The state, while no other process changes it.

        Raises:
            UnusableWitness: The folder or the state cannot be read.
        """
        try:
            lock = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise UnusableWitness(f"{self.path} does not contain a witness. Run `holder witness init`.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.logs()
        finally:
            os.close(lock)
