"""A holder at work: its books, its signing key and its open records; and how one is set up."""

from dataclasses import dataclass
from datetime import datetime

from holder_service.domain.errors import Conflict
from holder_service.domain.ledger import Event
from holder_service.services import accounts
from holder_service.services.accounts import IssuedKey
from holder_service.services.bookkeeping import Books, Transaction
from holder_service.services.datasets import OpenRecords
from holder_service.settings import Settings
from holder_service.signing import SigningKeyPair
from holder_service.storage import ledger, signing_keys
from holder_service.storage.accounts import every as every_account
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Database
from shared.datasets import NewAuditor
from shared.releases import SigningKeys

ADMINISTRATOR = "administrator"


class NotInitialised(RuntimeError):
    """The holder's home or database is not set up; the text says which command does it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Everything that answering needs; one for each process."""

    settings: Settings
    books: Books
    signing: SigningKeyPair
    records: OpenRecords

    @classmethod
    def open(cls, settings: Settings) -> "Holder":
        """Open a holder that was set up.

        Raises:
            NotInitialised: Something that `initialise` makes is missing.
            Unavailable: The database does not answer.
        """
        try:
            signing = SigningKeyPair.load(settings.signing_key)
        except FileNotFoundError:
            raise NotInitialised(f"There is no signing key in {settings.home}: run `holder init`.") from None
        database = Database(settings.database_url)
        if not database.is_current():
            database.close()
            raise NotInitialised("The database has no tables, or those of another version: run `holder init`.")
        with database.read() as connection:
            known = any(key.id == signing.id for key in signing_keys.every(connection))
        if not known:
            database.close()
            raise NotInitialised("The database does not know this signing key: run `holder init`.")
        return cls(settings, Books(database, Anchor(settings.anchor)), signing, OpenRecords(settings.records))

    def close(self) -> None:
        """Finish what is being written, and let go of the database."""
        self.books.database.close()

    def public_keys(self) -> SigningKeys:
        """The public halves of all keys that this holder signs or signed with."""
        with self.books.database.read() as connection:
            return SigningKeys(keys=tuple(signing_keys.every(connection)))

    def is_ready(self) -> bool:
        """Whether it may release: the tables are current, and the database has the anchored entry."""
        return self.books.database.is_current() and self.books.is_anchored()


def initialise(settings: Settings) -> IssuedKey | None:
    """Make what a holder needs and what is not there yet: tables, anchor, signing key, first administrator.

    Run again it adds what is missing: a further holder's own signing key on a database that others use
    already, new tables after an upgrade. The first administrator is made once for a database.

    Returns:
        The first administrator's key, or None if there is an administrator already.

    Raises:
        Conflict: Nothing is missing; or the database is empty and the anchor says that it was not.
    """
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(settings.database_url)
    try:
        current = database.is_current()
        if not current:
            database.migrate()
        books = Books(database, Anchor(settings.anchor))
        with database.read() as connection:
            sequence, _ = head = ledger.head(connection)
        if sequence == 0:
            _refuse_lost_history(books)
            books.anchor.create(*head)
        key_made = _ensure_signing_key(settings, books)
        with database.read() as connection:
            bootstrapped = bool(every_account(connection))
        if not bootstrapped:
            new = NewAuditor(name=ADMINISTRATOR, role="administrator")
            return accounts.open_account(books, actor="holder", new=new)
        if current and not key_made:
            raise Conflict("This holder is initialised already; nothing was changed.")
        return None
    finally:
        database.close()


def _refuse_lost_history(books: Books) -> None:
    """An empty database beside an anchor is a lost one: a new ledger would give all that was spent back unnoticed."""
    anchored = books.anchored()
    if anchored is not None and anchored[0] > 0:
        raise Conflict(
            f"The anchor {books.anchor.path} holds entry {anchored[0]} of a ledger that this empty database lacks. "
            "Restore the database; or, for a new holder, give HOLDER_ANCHOR another file."
        )


def _ensure_signing_key(settings: Settings, books: Books) -> bool:
    """Make the signing key if there is none, and publish it if it is not published; whether it did either."""
    try:
        pair = SigningKeyPair.load(settings.signing_key)
    except FileNotFoundError:
        pair = SigningKeyPair.create(settings.signing_key)

    def work(transaction: Transaction) -> bool:
        if any(key.id == pair.id for key in signing_keys.every(transaction.connection)):
            return False
        now: datetime = transaction.now
        signing_keys.add(transaction.connection, key_id=pair.id, public_key=pair.public_bytes, valid_from=now)
        transaction.append(Event("signing-key", "holder", subject=pair.id))
        return True

    return books.commit(work)
