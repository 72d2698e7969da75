"""Which signing key signs, and how it hands over to the next (2-privacy §6, docs/adr/0009).

The database says which key is in force; the home holds the private halves. A new private half is on the
disk before the transaction that puts it in force. So a crash leaves at most one unpublished key, and the
next rotation takes it.
"""

import logging
from datetime import timedelta

from holder_service.domain.errors import Conflict, Unavailable
from holder_service.domain.ledger import COMMAND_LINE, Event
from holder_service.keys.signing import SigningKeyFolder, SigningKeyPair, UnusableSigningKey
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import ledger_views, signing_keys
from holder_service.storage.database import Connection
from shared.kinds.releases import SigningKey

_log = logging.getLogger(__name__)


class Signer:
    """Finds the key in force; asked within the transaction whose release it signs, it is never one too old."""

    def __init__(self, folder: SigningKeyFolder) -> None:
        self.folder = folder
        self._pairs: dict[str, SigningKeyPair] = {}

    def in_force(self, connection: Connection) -> SigningKeyPair:
        """The pair that signs now.

        Raises:
            Unavailable: This home lacks its private half, or cannot read it.
        """
        key_id = signing_keys.in_force(connection)
        if key_id is not None and key_id in self._pairs:
            return self._pairs[key_id]
        try:
            pair = self.folder.load(key_id or "")
        except (OSError, UnusableSigningKey) as error:
            _log.error("signing key unavailable", extra={"error": type(error).__name__})
            raise Unavailable(
                f"The holder cannot use its signing key {key_id}. An administrator has to restore the key's file."
            ) from None
        self._pairs[pair.id] = pair
        return pair


def rotate(store: LedgerStore, signer: Signer, *, actor: str) -> SigningKey:
    """Put a new signing key in force, handed over to by the one before.

    Raises:
        Conflict: Somebody else rotates at the same time.
        Unavailable: This home lacks the private half of the key in force.
    """
    store.look_up(signer.in_force)  # without it nothing could be handed over, and a new file would be left behind
    pair = _unpublished(store, signer.folder)

    def work(transaction: Transaction) -> SigningKey:
        predecessor = signer.in_force(transaction.connection)
        return _publish(transaction, predecessor.hand_over(_next_key(transaction, pair)), actor)

    return store.commit(work)


def publish_first(store: LedgerStore, folder: SigningKeyFolder) -> bool:
    """Make and publish the first signing key of a database that has none; whether it had none.

    Raises:
        Conflict: It has one, and this home lacks the private half.
    """
    key_id = store.look_up(signing_keys.in_force)
    if key_id is None:
        _publish_unvouched(store, folder, replacing=None)
        return True
    try:
        folder.load(key_id)
    except FileNotFoundError:
        raise Conflict(
            f"Releases of this database are signed with the key {key_id}, which is not in "
            f"{folder.path}. Holders of one database must share one HOLDER_HOME. If the key is "
            "permanently lost, run `holder replace-lost-key`."
        ) from None
    return False


def replace_lost(store: LedgerStore, folder: SigningKeyFolder, *, reason: str) -> SigningKey:
    """Put a new signing key in force that no key vouches for, because the private half of the last one is lost.

    Auditors who trust the keys before will refuse it until the administrator tells them why in another way.

    Raises:
        Conflict: The key is not lost, so it can hand over; or there never was one.
    """
    key_id = store.look_up(signing_keys.in_force)
    if key_id is None or key_id in folder.ids():
        raise Conflict("The current signing key is not lost. Replace it with `holder admin rotate-signing-key`.")
    return _publish_unvouched(store, folder, replacing=key_id, **({"reason": reason} if reason else {}))


def _publish_unvouched(
    store: LedgerStore, folder: SigningKeyFolder, *, replacing: str | None, **detail: str
) -> SigningKey:
    pair = _unpublished(store, folder)

    def work(transaction: Transaction) -> SigningKey:
        if signing_keys.in_force(transaction.connection) != replacing:
            raise Conflict(
                "Another administrator replaced the signing key at the same time. Nothing was changed; "
                "look at the keys, then try again."
            )
        return _publish(transaction, _next_key(transaction, pair), COMMAND_LINE, **detail)

    return store.commit(work)


def _unpublished(store: LedgerStore, folder: SigningKeyFolder) -> SigningKeyPair:
    """A private key that the database does not know: one that a crash or a restore left, or a new one."""
    published = {key.id for key in store.look_up(signing_keys.every)}
    left = next((key_id for key_id in folder.ids() if key_id not in published), None)
    return folder.create() if left is None else folder.load(left)


def _next_key(transaction: Transaction, pair: SigningKeyPair) -> SigningKey:
    """The public half, in force from after everything that was signed before, whatever the clock says."""
    latest = ledger_views.latest_time(transaction.connection)
    return pair.public_key(valid_from=max(transaction.now, latest + timedelta(microseconds=1)))


def _publish(transaction: Transaction, key: SigningKey, actor: str, **detail: str) -> SigningKey:
    if signing_keys.find_signing_key(transaction.connection, key.id) is not None:
        raise Conflict(
            "Another administrator put this signing key in force at the same time. Nothing was "
            "changed; look at the keys, then try again."
        )
    signing_keys.publish(transaction.connection, key)
    document = key.model_dump(mode="json", exclude={"id", "algorithm", "valid_to"}, exclude_none=True)
    transaction.append(Event("signing-key", actor, subject=key.id, detail={**document, **detail}))
    return key
