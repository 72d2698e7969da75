"""The holder's settings, from the environment alone (4-interface, *The holder's command line*)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from holder_service.set_up_errors import SetUpError
from shared.text import Words

QUANTUM_MS_DEFAULT: Final = 25
QUANTUM_MS_MAX: Final = 10_000
REQUESTS_PER_S_DEFAULT: Final = 200
CONCURRENT_RELEASES_DEFAULT: Final = 32


class InvalidSettings(SetUpError):
    """A setting is not usable; the text names it and says what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the holder keeps things, and its quantum of time.

    Attributes:
        home: The folder of signing keys, the secret for person keys, encoded records, and by default of the database
            and the anchor too; all holders of one database share it.
        database_url: SQLite in the home by default; `postgresql://…` in production. A password goes into `PGPASSWORD`
            or a `passfile`, not into the URL.
        anchor: The file with the ledger's head; in production on another volume than the database, and in no common
            snapshot.
        release_quantum_ms: The unit of time in which releases leave; 0 switches the release deadline off, for tests
            and simulations only.
        requests_per_s: How many requests each process takes with one key, on average; 0 switches the limit off.
        concurrent_releases: How many plans each process has under way; an auditor has at most half of them, and may
            wait with as many more.
        organisation: Who holds the records, in people's words and any script; shown with every dataset, and
            published.
    """

    home: Path
    database_url: str = field(repr=False)
    anchor: Path
    release_quantum_ms: int = QUANTUM_MS_DEFAULT
    requests_per_s: int = REQUESTS_PER_S_DEFAULT
    concurrent_releases: int = CONCURRENT_RELEASES_DEFAULT
    organisation: str | None = None

    @property
    def signing_keys(self) -> Path:
        """The folder of the private signing keys."""
        return self.home / "signing-keys"

    @property
    def records(self) -> Path:
        """The folder of the encoded records."""
        return self.home / "records"

    @property
    def people(self) -> Path:
        """The folder of the keyed hashes of person keys."""
        return self.home / "people"

    @property
    def derived(self) -> Path:
        """The folder of the encoded derived columns."""
        return self.home / "derived"

    @property
    def linked(self) -> Path:
        """The folder of the linked values as they were sent."""
        return self.home / "linked"

    @property
    def person_secret(self) -> Path:
        """The file of the secret that person keys are hashed under."""
        return self.home / "person-key-secret"

    @property
    def calibration(self) -> Path:
        """Where `holder calibrate` writes how this machine compares; the public deadlines follow from it."""
        return self.home / "calibration.json"

    @property
    def incoming(self) -> Path:
        """The folder of uploads that are not loaded yet."""
        return self.home / "incoming"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read each setting from the variable of its name in capitals, after HOLDER_.

        Raises:
            InvalidSettings: One of them is not usable.
        """
        home = Path(environment.get("HOLDER_HOME") or "holder-home").absolute()
        url = environment.get("HOLDER_DATABASE_URL") or f"sqlite:///{home / 'holder.sqlite'}"
        url = re.sub("^postgres://", "postgresql://", url)  # as many services name it
        if environment.get("HOLDER_DATABASE_URL") and not _is_database_url(url):
            raise InvalidSettings("HOLDER_DATABASE_URL takes sqlite:///path/of/file or postgresql://host:port/name")
        return cls(
            home, url, Path(environment.get("HOLDER_ANCHOR") or home / "anchor"),
            _number(environment, "HOLDER_RELEASE_QUANTUM_MS", QUANTUM_MS_DEFAULT, largest=QUANTUM_MS_MAX),
            _number(environment, "HOLDER_REQUESTS_PER_S", REQUESTS_PER_S_DEFAULT),
            _number(environment, "HOLDER_CONCURRENT_RELEASES", CONCURRENT_RELEASES_DEFAULT, smallest=1),
            _words(environment, "HOLDER_ORGANISATION"),
        )  # fmt: skip


def _number(
    environment: Mapping[str, str], name: str, default: int, *, smallest: int = 0, largest: int = 99_999
) -> int:
    given = environment.get(name) or str(default)
    if re.fullmatch("[0-9]{1,5}", given) and smallest <= int(given) <= largest:
        return int(given)
    raise InvalidSettings(f"{name} takes a whole number from {smallest} to {largest}.")


def _words(environment: Mapping[str, str], name: str) -> str | None:
    given = environment.get(name)
    try:
        return TypeAdapter[str](Words).validate_python(given) if given else None
    except ValidationError as error:
        raise InvalidSettings(f"{name}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


def _is_database_url(url: str) -> bool:
    """Whether a URL names a store that lasts: without a file, SQLite would keep the ledger in memory."""
    if url.startswith("sqlite:///"):
        path = url.removeprefix("sqlite:///")
        return path not in ("", ":memory:") and "?" not in path
    try:
        return url.startswith(("postgresql://", "postgresql+psycopg://")) and urlsplit(url).port != 0
    except ValueError:  # the port is no number
        return False
