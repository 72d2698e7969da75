"""A holder at work: its store, its signing keys and its open records; and how one is set up."""

import logging
import os
import shutil
from dataclasses import dataclass
from importlib import import_module

from holder_service.domain.errors import Conflict, RestoreUnrecorded, Unavailable
from holder_service.domain.ledger import COMMAND_LINE
from holder_service.files.private import make_home, require_closed
from holder_service.files.set_up_errors import SetUpError
from holder_service.identity.provider import IdentityProvider
from holder_service.keys.signing import SigningKeyFolder
from holder_service.keys.watch_seals import SealedState, WatchSeals
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from holder_service.services.accounts import access
from holder_service.services.accounts.access import IssuedKey
from holder_service.services.columns.preparation import Preparation
from holder_service.services.datasets.column_jobs import Pace
from holder_service.services.ledger.key_rotation import Signer, publish_first, replace_lost
from holder_service.services.ledger.log import LedgerLog
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases.watch_rounds import WatchRounds
from holder_service.services.running.log_publisher import LogPublisher
from holder_service.services.running.notices import NoticeLog
from holder_service.services.work.apart import Apart
from holder_service.services.work.work_factors import read_factors
from holder_service.settings.holder import Settings
from holder_service.storage import columns, datasets, ledger, signing_keys
from holder_service.storage.accounts import every as every_account
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Database, Seal
from shared.contract.datasets import NewAuditor
from shared.kinds.releases import SigningKey, SigningKeys

ADMINISTRATOR = "administrator"
_log = logging.getLogger(__name__)


class NotInitialised(SetUpError):
    """The holder's home or database is not set up; the text says which command does it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Everything that answering needs; one for each process.

    Attributes:
        seals: Seals what is kept of watches.
        engine: Encodes and counts records.
        files: What leads to them.
        preparation: Makes the values of derived columns.
        rounds: Answer watches: about real people, and about rehearsals.
        notices: Logs notices.
        reading: Where score documents are read.
        linking: Where files of linked values are.
        provider: Whose tokens open accounts, in addition to keys; `None` if nobody's.
        log: The ledger as a public log; `None` if it is not published.
        publisher: Publishes its checkpoints; `None` likewise.
    """

    settings: Settings
    store: LedgerStore
    signing: Signer
    seals: WatchSeals
    engine: Engine
    files: RecordFiles
    pace: Pace
    preparation: Preparation
    rounds: tuple[WatchRounds, ...]
    notices: NoticeLog
    reading: Apart
    linking: Apart
    provider: IdentityProvider | None
    log: LedgerLog | None
    publisher: LogPublisher | None

    @classmethod
    def open(cls, settings: Settings) -> "Holder":
        """Open a holder that was set up.

        Raises:
            NotInitialised: Something that `initialise` makes is missing.
            OpenHome: Others than its owner may enter the home.
            UnusableSigningKey: The file of the key in force holds something else.
            Unavailable: The database does not answer.
        """
        require_closed(settings.home)
        signer = Signer(SigningKeyFolder(settings.signing_keys))
        if not signer.folder.ids():
            raise NotInitialised(f"{signer.folder.path} does not contain a signing key. Run `holder init`.")
        database = Database(settings.database_url)
        try:
            _require_set_up(database, signer)
            files, seals = _record_files(settings), _watch_seals(settings)
            factors = read_factors(settings.calibration, engine=settings.engine)
        except BaseException:
            database.close()
            raise
        store = LedgerStore(database, Anchor(settings.anchor))
        pace = Pace(factors, settings.release_quantum_ms)
        engine = open_engine(settings, files)
        preparation = Preparation(store, engine, files, pace)
        rounds = tuple(
            WatchRounds(store, engine, files, signer, seals=seals, rehearsed=rehearsed) for rehearsed in (False, True)
        )
        notices = NoticeLog(store, files, settings.thresholds, settings.home)
        provider = IdentityProvider.of(settings.oidc)
        log = publisher = None
        if settings.log_origin is not None:
            log = LedgerLog(store, signer, origin=settings.log_origin, file=settings.log_checkpoint)
            publisher = LogPublisher(store, log, settings.witnesses, settings.log_checkpoint)
        return cls(
            settings,
            store,
            signer,
            seals,
            engine,
            files,
            pace,
            preparation,
            rounds,
            notices,
            Apart(),
            Apart(),
            provider,
            log,
            publisher,
        )

    def wake(self) -> None:
        """Have everything made and answered that waits for it; returns at once."""
        self.preparation.wake()
        self.wake_rounds()

    def wake_rounds(self) -> None:
        """Have all watches answered that are to be; returns at once."""
        for rounds in self.rounds:
            rounds.wake()

    def close(self) -> None:
        """Finish what is being written, break off what can be done again, and let go of the database."""
        self.preparation.close()
        for rounds in self.rounds:
            rounds.close()
        self.notices.close()
        if self.publisher is not None:
            self.publisher.close()
        self.reading.close()
        self.linking.close()
        self.engine.close()
        if self.provider is not None:
            self.provider.close()
        self.store.database.close()

    def require_ready(self) -> None:
        """Refuse unless it may release: tables current, anchored entry there, store writable, records countable.

        Raises:
            Unavailable, RestoreUnrecorded: It may not; the text says why.
        """
        if not self.store.database.is_current():
            raise Unavailable(
                "The database's tables belong to another version of the holder. Run `holder init`, or use "
                "that version.",
                reason="tables-outdated",
            )
        if not self.store.is_anchored():
            raise RestoreUnrecorded(
                "The database does not have the anchored entry. An administrator has to record a restore."
            )
        self.store.require_writable()
        if not self.engine.is_ready():
            raise Unavailable(
                "The cluster that has the records does not respond. Try again later.", reason="cluster-away"
            )

    def not_ready_reason(self) -> str | None:
        """Why it may not release; `None` if it may."""
        try:
            self.require_ready()
        except (Unavailable, RestoreUnrecorded) as error:
            return str(error.fields.get("reason", error.code))
        return None

    def public_keys(self) -> SigningKeys:
        """The public halves of all keys that this holder signs or signed with."""
        with self.store.database.read() as connection:
            return SigningKeys(keys=tuple(signing_keys.every(connection)))

    def sweep(self) -> None:
        """Take away what killed processes left, if nobody is at work on files right now.

        Nothing is taken away while a database is rolled back: it names other files than the restored one will.
        """

        def named() -> frozenset[str]:
            with self.store.database.read() as connection:
                return datasets.files(connection) | columns.files(connection)

        try:
            if not self._has_current_entries():
                return
            if self.files.sweep(named):
                _log.warning("leftovers of a killed process taken away")
            self.engine.sweep()
        except (OSError, Unavailable) as error:  # it is no reason not to serve; the next start tries again
            _log.error("leftovers could not be looked for", extra={"error": type(error).__name__})

    def _has_current_entries(self) -> bool:
        """Whether the tables are current, and the database has the anchored entry."""
        return self.store.database.is_current() and self.store.is_anchored()


def initialise(settings: Settings) -> IssuedKey | None:
    """Make what a holder needs and what is not there yet: tables, anchor, signing key, first administrator.

    Run again it adds what is missing, such as new tables after an upgrade. First signing key and first
    administrator are made once for a database, and all its holders share one home.

    Returns:
        The first administrator's key, or None if there is an administrator already.

    Raises:
        Conflict: Nothing is missing; or the database is empty and the anchor says that it was not; or its
            signing key is in another home.
        OpenHome: The home was there, others than its owner may enter it, and it is not empty.
        UnusableSigningKey: The file of the key in force holds something else.
    """
    make_home(settings.home)
    database = Database(settings.database_url)
    try:
        current = database.is_current()
        seals_made = WatchSeals.create(settings.watch_secret)
        if not current:
            database.migrate(seal=sealing(WatchSeals.load(settings.watch_secret)))
        store = LedgerStore(database, Anchor(settings.anchor))
        with database.read() as connection:
            head = ledger.head(connection)
        if head.sequence == 0:
            _refuse_lost_history(store)
            store.anchor.create(head)
        keys = SigningKeyFolder(settings.signing_keys)
        key_made = publish_first(store, keys)
        secret_made = not settings.person_secret.exists() and PersonSecret.create(settings.person_secret)
        with database.read() as connection:
            bootstrapped = bool(every_account(connection))
        if not bootstrapped:
            new = NewAuditor(name=ADMINISTRATOR, role="administrator")
            return access.open_account(store, actor=COMMAND_LINE, new=new)
        if current and not key_made and not secret_made and not seals_made:
            raise Conflict("This holder is already initialised. Nothing was changed.")
        return None
    finally:
        database.close()


def open_engine(settings: Settings, files: RecordFiles) -> Engine:
    """The engine that the settings name.

    Raises:
        NotInitialised: What it needs is not installed.
    """
    if settings.spark is None:
        return LocalEngine(files)
    try:
        module = import_module("holder_service.records.spark.engine")
    except ModuleNotFoundError:
        raise NotInitialised(
            "HOLDER_ENGINE=spark requires Apache Spark. Install the extra `spark` (pip install 'pafer[holder,spark]')."
        ) from None
    if settings.spark_remote is None and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise NotInitialised("HOLDER_ENGINE=spark requires a Java runtime, 17 or newer. Install one, or set JAVA_HOME.")
    engine: Engine = module.SparkEngine(files, settings.spark, settings.home)
    return engine


def replace_lost_key(settings: Settings, *, reason: str) -> SigningKey:
    """Put a new signing key in force because the private half of the last one is lost; see `signing_keys.replace_lost`.

    Raises:
        Conflict: It is not lost, or there never was one.
        OpenHome: Others than its owner may enter the home.
    """
    require_closed(settings.home)
    database = Database(settings.database_url)
    try:
        store = LedgerStore(database, Anchor(settings.anchor))
        return replace_lost(store, SigningKeyFolder(settings.signing_keys), reason=reason)
    finally:
        database.close()


def _require_set_up(database: Database, signer: Signer) -> None:
    """Whether tables and the private half of the signing key in force are there."""
    if not database.is_current():
        raise NotInitialised("The tables of the database are missing, or belong to another version. Run `holder init`.")
    with database.read() as connection:
        key_id = signing_keys.in_force(connection)
    if key_id is None:
        raise NotInitialised("The holder does not have a signing key yet. Run `holder init`.")
    try:
        signer.folder.load(key_id)
    except FileNotFoundError:
        raise NotInitialised(
            f"The signing key {key_id} is not in {signer.folder.path}. Restore its file from a back-up, "
            "or, if it is permanently lost, run `holder replace-lost-key`."
        ) from None


def _record_files(settings: Settings) -> RecordFiles:
    try:
        secret = PersonSecret.load(settings.person_secret)
    except FileNotFoundError:
        raise NotInitialised(
            f"The secret for person keys, {settings.person_secret}, is missing. Restore it from a "
            "back-up, or run `holder init` to create a new one."
        ) from None
    return RecordFiles(
        settings.records, settings.people, settings.derived, settings.linked, settings.incoming,
        settings.home / "loading.lock", secret,
    )  # fmt: skip


def _watch_seals(settings: Settings) -> WatchSeals:
    try:
        return WatchSeals.load(settings.watch_secret)
    except FileNotFoundError:
        raise NotInitialised(
            f"The secret for watches, {settings.watch_secret}, is missing. Restore it from a back-up. "
            "Or run `holder init` to create a new one; existing watches then get no further answers."
        ) from None


def sealing(seals: WatchSeals) -> Seal:
    """Return what seals the watches of an earlier version, which kept them in clear."""
    return lambda watch, threshold, changed: seals.seal(watch, SealedState(threshold, changed))


def _refuse_lost_history(store: LedgerStore) -> None:
    """An empty database with an anchor is a lost one: a new ledger would give all that was spent back unnoticed."""
    anchored = store.anchored()
    if anchored is not None and anchored.sequence > 0:
        raise Conflict(
            f"The anchor {store.anchor.path} holds entry {anchored.sequence} of a ledger that this "
            "empty database does not have. Restore the database. For a new holder, set HOLDER_ANCHOR "
            "to another file."
        )
