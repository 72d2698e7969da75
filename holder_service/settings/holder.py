"""The holder's settings, from the environment alone (4-interface, *The holder's command line*)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import TypeAdapter, ValidationError

from holder_service.files.set_up_errors import InvalidSettings
from holder_service.settings.oidc import PREFIX, OidcSettings
from holder_service.settings.secrets import ENDING, SECRETS, secret
from shared.contract.notices import DAYS_DEFAULT, PERCENT_DEFAULT, Thresholds
from shared.log.notes import COSIGNATURE, BadNote, VerifierKey
from shared.wire.text import NAME_PATTERN, Words
from shared.wire.variables import unknown_variables

_Choice = TypeVar("_Choice", bound=str)
QUANTUM_MS_DEFAULT: Final = 25
QUANTUM_MS_MAX: Final = 10_000
REQUESTS_PER_S_DEFAULT: Final = 200
CONCURRENT_RELEASES_DEFAULT: Final = 32
RECORDS_READS_PER_DAY_DEFAULT: Final = 5
ROOT_CHARACTERS_MAX: Final = 200
SPARK_MASTER_DEFAULT: Final = "local[*]"
SEALS_FILE: Final = "watch-secret"
"""The name of the file, in a home and in a back-up."""


class RecordsRoot(NamedTuple):
    """A folder from which the operator lets files be loaded by their URL.

    Attributes:
        url: The folder's URL.
        dataset: The only dataset whose records may be loaded from it; `None` for any.
    """

    url: str
    dataset: str | None = None

    @classmethod
    def of(cls, text: str) -> "RecordsRoot":
        """From a setting: `dataset=url`, or `url`."""
        dataset, equals, url = text.partition("=")
        if equals and not set(":/") & set(dataset):
            return cls(url, dataset)
        return cls(text)


class Witness(NamedTuple):
    """A witness of the ledger's log.

    Attributes:
        url: Its address, to which the calls of C2SP `tlog-witness` are added.
        key: The key with which it cosigns.
    """

    url: str
    key: VerifierKey


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Which cluster has the records.

    Attributes:
        remote: A Spark Connect server, `sc://host:port`; if `None`, the session is this process's own.
        master: Which cluster a session of its own works on: `local[*]`, `spark://…`, `yarn`, `k8s://…`.
        store: The URL of a folder where the cluster keeps encoded records; `None` for one in the home.
        ui: Whether a session of its own serves Spark's pages.
    """

    remote: str | None = None
    master: str = SPARK_MASTER_DEFAULT
    store: str | None = None
    ui: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the holder keeps things, and its quantum of time.

    Attributes:
        home: The folder of signing keys, the secret for person keys, encoded records, and by default of the database
            and the anchor too; all holders of one database share it.
        database_url: SQLite in the home by default; `postgresql://…` in production. A password goes into a file that
            `HOLDER_DATABASE_PASSWORD_FILE` names (or into `PGPASSWORD` or a `passfile`), not into the URL.
        anchor: The file with the ledger's head; in production on another volume than the database, and in no common
            snapshot.
        release_quantum_ms: The unit of time in which releases leave; 0 switches the release deadline off, for tests
            and simulations only.
        requests_per_s: How many requests each process takes with one key, on average; 0 switches the limit off.
        concurrent_releases: How many plans each process has under way; an auditor has at most half of them, and may
            wait with as many more.
        organisation: Who holds the records, in people's words and any script; shown with every dataset, and
            published.
        engine: Where encoded records are and who counts them: `local` for files in the home and this process, `spark`
            for a cluster ([cluster](cluster.md)).
        spark_remote: The Spark Connect server of the cluster, `sc://host:port`; without one each process has a session
            of its own.
        spark_master: Which cluster a session of its own works on: `local[*]`, `spark://…`, `yarn` or `k8s://…`.
        spark_store: The URL of a folder where the cluster keeps encoded records, such as `hdfs://…` or `s3a://…`; by
            default one in the home, which every worker then has to reach.
        spark_ui: `true` has a session of its own serve Spark's pages, which show how much was read, and so how many
            people there are.
        records_roots: URLs of folders, with spaces between, from which administrators and data stewards may have files
            of records loaded by their URL; without any, files are sent. `dataset=url` ties a folder to the one dataset
            that may be loaded from it, which is safer: whoever declares another dataset cannot have these files read.
        records_reads_per_day: How many loads and checks by URL there may be of one root within a day, whoever asks.
            Each tells its caller whether the files fit, so allow few.
        notice_percent: How much of a cap or a budget is spent, in per cent, when there is a notice of it.
        notice_days: How many days before a budget or a key expires a notice appears.
        log_origin: The name of the ledger's public log, such as `audits.example.org/ledger`; by default there is no
            public log. The world can then see how many ledger entries there are, and when they were added
            ([witnesses](witnesses.md)).
        witnesses: Who cosigns the log: pairs of a URL and the key that `holder witness init` prints, with spaces
            between.
    """

    home: Path
    database_url: str = field(repr=False)
    anchor: Path
    release_quantum_ms: int = QUANTUM_MS_DEFAULT
    requests_per_s: int = REQUESTS_PER_S_DEFAULT
    concurrent_releases: int = CONCURRENT_RELEASES_DEFAULT
    organisation: str | None = None
    engine: Literal["local", "spark"] = "local"
    spark_remote: str | None = field(default=None, repr=False)
    spark_master: str = SPARK_MASTER_DEFAULT
    spark_store: str | None = None
    spark_ui: bool = False
    records_roots: tuple[str, ...] = ()
    records_reads_per_day: int = RECORDS_READS_PER_DAY_DEFAULT
    oidc: OidcSettings | None = None
    notice_percent: int = PERCENT_DEFAULT
    notice_days: int = DAYS_DEFAULT
    log_origin: str | None = None
    witnesses: tuple[Witness, ...] = ()

    def __post_init__(self) -> None:
        if self.witnesses and self.log_origin is None:
            raise InvalidSettings("HOLDER_WITNESSES needs HOLDER_LOG_ORIGIN, the name of the log that they cosign.")

    @property
    def thresholds(self) -> Thresholds:
        """From when on there are notices."""
        return Thresholds(self.notice_percent, self.notice_days)

    @property
    def spark(self) -> SparkSettings | None:
        """Which cluster has the records; `None` if this machine has them."""
        if self.engine == "local":
            return None
        return SparkSettings(self.spark_remote, self.spark_master, self.spark_store, self.spark_ui)

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
    def watch_secret(self) -> Path:
        """The file of the key that the state of watches is sealed under."""
        return self.home / SEALS_FILE

    @property
    def spark_folder(self) -> Path:
        """The file that names this holder's own folder in the store of a cluster."""
        return self.home / "spark-store"

    @property
    def log_checkpoint(self) -> Path:
        """The file of the last checkpoint of the ledger's log that was published, with its cosignatures."""
        return self.home / "log-checkpoint"

    @property
    def calibration(self) -> Path:
        """Where `holder calibrate` writes how this machine compares; the public deadlines follow from it."""
        return self.home / "calibration.json"

    @property
    def incoming(self) -> Path:
        """The folder of uploads that are not loaded yet."""
        return self.home / "incoming"

    @property
    def load_errors(self) -> Path:
        """The folder of what was wrong with files that were read by their URL."""
        return self.home / "load-errors"

    @property
    def roots_of_records(self) -> tuple[RecordsRoot, ...]:
        """The folders from which files are loaded by their URL."""
        return tuple(map(RecordsRoot.of, self.records_roots))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read each setting from the variable of its name in capitals, after HOLDER_; secret ones also from files.

        Raises:
            InvalidSettings: One of them is not usable, or a variable begins with HOLDER_ and is none of them.
            UnreadableSecret: A file of a secret is not usable.
        """
        require_known(environment)
        home = Path(environment.get("HOLDER_HOME") or "holder-home").absolute()
        given = secret(environment, "HOLDER_DATABASE_URL")
        url = re.sub("^postgres://", "postgresql://", given or f"sqlite:///{home / 'holder.sqlite'}")  # as many say
        if given and not _is_database_url(url):
            raise InvalidSettings("HOLDER_DATABASE_URL takes sqlite:///path/of/file or postgresql://host:port/name")
        password = secret(environment, "HOLDER_DATABASE_PASSWORD")
        if password is not None:
            url = _with_password(url, password)
        return cls(
            home, url, Path(environment.get("HOLDER_ANCHOR") or home / "anchor"),
            _number(environment, "HOLDER_RELEASE_QUANTUM_MS", QUANTUM_MS_DEFAULT, largest=QUANTUM_MS_MAX),
            _number(environment, "HOLDER_REQUESTS_PER_S", REQUESTS_PER_S_DEFAULT),
            _number(environment, "HOLDER_CONCURRENT_RELEASES", CONCURRENT_RELEASES_DEFAULT, smallest=1),
            _words(environment, "HOLDER_ORGANISATION"),
            _one_of(environment, "HOLDER_ENGINE", ("local", "spark")),
            secret(environment, "HOLDER_SPARK_REMOTE"),
            environment.get("HOLDER_SPARK_MASTER") or SPARK_MASTER_DEFAULT,
            _url(environment, "HOLDER_SPARK_STORE"),
            _one_of(environment, "HOLDER_SPARK_UI", ("false", "true")) == "true",
            _roots(environment, "HOLDER_RECORDS_ROOTS"),
            _number(environment, "HOLDER_RECORDS_READS_PER_DAY", RECORDS_READS_PER_DAY_DEFAULT, smallest=1),
            OidcSettings.from_environment(environment),
            _number(environment, "HOLDER_NOTICE_PERCENT", PERCENT_DEFAULT, smallest=1, largest=100),
            _number(environment, "HOLDER_NOTICE_DAYS", DAYS_DEFAULT, smallest=1, largest=365),
            _origin(environment, "HOLDER_LOG_ORIGIN"),
            _witnesses(environment, "HOLDER_WITNESSES"),
        )  # fmt: skip


def variables() -> frozenset[str]:
    """The names of all variables that the holder and its commands read."""
    own = (f"HOLDER_{one.name.upper()}" for one in fields(Settings) if one.name != "oidc")
    of_oidc = (f"{PREFIX}{one.name.upper()}" for one in fields(OidcSettings))
    of_secrets = (f"{name}{ending}" for name in SECRETS for ending in ("", ENDING))
    return frozenset((*own, *of_oidc, *of_secrets, "HOLDER_LOG_LEVEL", "HOLDER_URL"))


def require_known(environment: Mapping[str, str]) -> None:
    """Refuse variables that begin with HOLDER_ and name no setting: what they were meant to set would not hold.

    Raises:
        InvalidSettings: There are some; the text has the names that were probably meant.
    """
    unknown = unknown_variables("HOLDER_", variables(), environment)
    if unknown is not None:
        raise InvalidSettings(unknown)


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


def _one_of(environment: Mapping[str, str], name: str, choices: tuple[_Choice, ...]) -> _Choice:
    given = environment.get(name) or choices[0]
    for choice in choices:
        if given == choice:
            return choice
    raise InvalidSettings(f"{name} takes {' or '.join(choices)}.")


def _url(environment: Mapping[str, str], name: str) -> str | None:
    urls = _urls(environment, name)
    if len(urls) > 1:
        raise InvalidSettings(f"{name} takes one URL.")
    return urls[0] if urls else None


def _urls(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    given = tuple((environment.get(name) or "").split())
    for one in given:
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*:/.+", one):
            raise InvalidSettings(f"{name} takes URLs of folders, such as file:///srv/records or s3a://bucket/records.")
    return given


def _roots(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Roots, each tied to a dataset or not. Callers are shown them, so no password may be in one."""
    given = tuple((environment.get(name) or "").split())
    for text in given:
        root = RecordsRoot.of(text)
        _urls({name: root.url}, name)
        if root.dataset is not None and not re.fullmatch(NAME_PATTERN, root.dataset):
            raise InvalidSettings(f"{name}: {root.dataset!r} is not a dataset's name. It takes URL or dataset=URL.")
        if len(root.url) > ROOT_CHARACTERS_MAX:
            raise InvalidSettings(f"{name} takes URLs of at most {ROOT_CHARACTERS_MAX} characters.")
        if urlsplit(root.url).password is not None:
            raise InvalidSettings(f"{name} has a password in a URL, and callers are shown it: give it to the engine.")
    return given


def _origin(environment: Mapping[str, str], name: str) -> str | None:
    given = environment.get(name) or None
    if given is None or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._~:/-]{0,99}", given):
        return given
    raise InvalidSettings(
        f"{name} takes a name like audits.example.org/ledger: at most 100 letters, digits and the signs . _ ~ : / -"
    )


def _witnesses(environment: Mapping[str, str], name: str) -> tuple[Witness, ...]:
    given = (environment.get(name) or "").split()
    if len(given) % 2:
        raise InvalidSettings(f"{name} takes pairs of a URL and a key, with spaces between.")
    witnesses = []
    for url, key in zip(given[::2], given[1::2], strict=True):
        if not re.fullmatch(r"https?://[^\s/@]+(/[^\s?#]*)?", url):
            raise InvalidSettings(f"{name}: {url!r} is not a URL of http or https without a user or a query.")
        try:
            witnesses.append(Witness(url.rstrip("/"), VerifierKey.parse(key)))
        except BadNote as error:
            raise InvalidSettings(f"{name}: {error}") from None
        if witnesses[-1].key.algorithm != COSIGNATURE:
            raise InvalidSettings(f"{name}: {key!r} is not the key of a witness, as `holder witness init` prints it.")
    if len({witness.key.name for witness in witnesses}) < len(witnesses):
        raise InvalidSettings(f"{name} names a witness twice.")
    return tuple(witnesses)


def _with_password(url: str, password: str) -> str:
    parts = urlsplit(url)
    if not parts.username:
        raise InvalidSettings("HOLDER_DATABASE_PASSWORD is for a URL that names a user: postgresql://user@host/name")
    if parts.password is not None:
        raise InvalidSettings("HOLDER_DATABASE_URL has a password already: take it out, or HOLDER_DATABASE_PASSWORD.")
    user, _, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{server}").geturl()


def _is_database_url(url: str) -> bool:
    """Whether a URL names a store that lasts: without a file, SQLite would keep the ledger in memory."""
    if url.startswith("sqlite:///"):
        path = url.removeprefix("sqlite:///")
        return path not in ("", ":memory:") and "?" not in path
    try:
        return url.startswith(("postgresql://", "postgresql+psycopg://")) and urlsplit(url).port != 0
    except ValueError:  # the port is no number
        return False
