"""Stored releases: the bytes of every answer that ever left, under the identity of what was asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select

from holder_service.storage.prepared import Prepared
from holder_service.storage.tables import entries, releases
from shared.wire import limits
from shared.wire.identities import KindName

_BY_IDENTITY = select(releases).where(releases.c.id == bindparam("identity"))
_FIND = Prepared(_BY_IDENTITY)
_FIND_OWN = Prepared(
    _BY_IDENTITY.where(
        releases.c.auditor == bindparam("auditor"),
        releases.c.dataset == bindparam("dataset"),
        releases.c.kind == bindparam("kind"),
    )
)
_FINER = Prepared(select(releases.c.id).where(releases.c.refines == bindparam("identity")))
_INSERT = Prepared(insert(releases))

Kind = KindName
"""What was asked; its release has a member of that name."""


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """An answer as it was sent, the entry that charged it, and what it refines or the watch that it is about."""

    id: str
    auditor: str
    dataset: str
    version: int
    sequence: int
    created: str
    body: bytes
    kind: Kind = "plan"
    refines: str | None = None
    watch: str | None = None


class ListedRelease(NamedTuple):
    """What a list shows of a release."""

    id: str
    version: int
    sequence: int
    created: str
    rehearsal_of: str | None = None


def find_release(connection: Connection, identity: str) -> StoredRelease | None:
    """The release of an identity, if what it names was ever answered."""
    row = _FIND.one_or_none(connection, identity=identity)
    return None if row is None else StoredRelease(**row._asdict())


def find_releases(connection: Connection, identities: Sequence[str]) -> dict[str, StoredRelease]:
    """The releases of some identities, by these."""
    columns = [releases.c[name] for name in StoredRelease.__slots__]
    rows = connection.execute(select(*columns).where(releases.c.id.in_(identities)))
    return {release.id: release for release in (StoredRelease(*row) for row in rows)}


def find_own(connection: Connection, identity: str, *, auditor: str, dataset: str, kind: Kind) -> StoredRelease | None:
    """An auditor's own release about a dataset; what is stored for others is not read, or time would show it."""
    row = _FIND_OWN.one_or_none(connection, identity=identity, auditor=auditor, dataset=dataset, kind=kind)
    return None if row is None else StoredRelease(**row._asdict())


def finer_than(connection: Connection, identity: str) -> str | None:
    """The release that refines another, if one does."""
    found: str | None = _FINER.scalar(connection, identity=identity)
    return found


def store(connection: Connection, release: StoredRelease) -> None:
    """Keep an answer; in the transaction that charges it."""
    _INSERT.run(connection, **{name: getattr(release, name) for name in StoredRelease.__slots__})


def free_bytes(connection: Connection, *, auditor: str, dataset: str) -> int:
    """The size of all answers about a dataset that an auditor had for nothing, or nearly, in bytes.

    What is said by a watch was paid when it was set.
    """
    # A charge in ρ has no ε.
    in_epsilon = entries.c.rho_nano.is_(None) & (entries.c.epsilon_nano < limits.NEARLY_FREE_EPSILON_NANO)
    nearly = in_epsilon | (entries.c.rho_nano < limits.NEARLY_FREE_RHO_NANO)
    free = releases.c.watch.is_(None) & nearly
    size = func.coalesce(func.sum(func.length(releases.c.body)), 0)
    query = select(size).select_from(releases.join(entries, entries.c.sequence == releases.c.sequence))
    found = connection.execute(query.where(releases.c.auditor == auditor, releases.c.dataset == dataset, free))
    return int(found.scalar_one())


def uncharged(connection: Connection) -> str | None:
    """A release that no entry charges, if there is one: somebody put it there by hand."""
    charging = (entries.c.sequence == releases.c.sequence) & (entries.c.subject == releases.c.id)
    kinds = ("charge", "rehearsal", "watch-skipped")
    query = select(releases.c.id).outerjoin(entries, charging & entries.c.kind.in_(kinds))
    found: str | None = connection.execute(query.where(entries.c.sequence.is_(None)).limit(1)).scalar()
    return found


def releases_of(
    connection: Connection, *, auditor: str, dataset: str, kind: Kind, after: int, limit: int
) -> list[ListedRelease]:
    """An auditor's releases of one kind about a dataset, in order of their entries."""
    query = (
        select(releases.c.id, releases.c.version, releases.c.sequence, releases.c.created)
        .where(releases.c.auditor == auditor, releases.c.dataset == dataset, releases.c.kind == kind)
        .where(releases.c.sequence > after)
        .order_by(releases.c.sequence)
        .limit(limit)
    )
    return [ListedRelease(*row) for row in connection.execute(query)]
