"""Requests that need an approval, one row for each identity: as it was asked last, and what was decided."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, or_, select, update

from holder_service.domain.ledger import loss_columns
from holder_service.storage.tables import approvals, datasets
from shared.contract.approvals import ApprovalState
from shared.contract.relations import Relation
from shared.privacy.amounts import Loss
from shared.wire.identities import RequestKind, identity_of_document

IN_FORCE: Final[tuple[ApprovalState, ...]] = ("waiting", "approved", "declined")
"""What is not over, unless time or records have moved on."""
_COLUMNS: Final = [column for column in approvals.c if column.name != "document"]

_NEWEST_AT_ONCE: Final = 100

_GONE: Final = (
    select(datasets.c.name)
    .where(datasets.c.name == approvals.c.dataset)
    .where(or_(datasets.c.version.is_(None), datasets.c.version != approvals.c.version))
    .exists()
)
"""Whether the records that a request is about are there no more."""


@dataclass(frozen=True, slots=True)
class StoredApproval:
    """A request as it was asked last.

    Attributes:
        id: Of the release that answers it.
        sequence: Of the entry of the request.
        charge: What was priced; approved is this charge and no other.
        state: As it was left; what has expired since, or is outdated, is seen when it is read (`services.approvals`).
        decision: The sequence of the entry of the decision; `None` where nobody decided.
    """

    id: str
    sequence: int
    kind: RequestKind
    auditor: str
    dataset: str
    version: int
    relation: Relation
    purpose: str | None
    charge: Loss
    requested: datetime
    expires: datetime
    state: ApprovalState
    decision: int | None = None
    decided: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None


def find(connection: Connection, identity: str) -> StoredApproval | None:
    """The request of an identity, as it was asked last."""
    row = connection.execute(select(*_COLUMNS).where(approvals.c.id == identity)).one_or_none()
    return None if row is None else _approval(row)


def document_of(connection: Connection, identity: str) -> bytes | None:
    """The canonical bytes of what is asked; `None` once it is over."""
    found = connection.execute(select(approvals.c.document).where(approvals.c.id == identity)).scalar()
    return None if found is None else bytes(found)


def put(connection: Connection, approval: StoredApproval, document: bytes) -> None:
    """Write a request down, instead of an earlier one of the same identity."""
    connection.execute(delete(approvals).where(approvals.c.id == approval.id))
    connection.execute(insert(approvals).values(**_values(approval), document=document))


def change(connection: Connection, approval: StoredApproval) -> None:
    """Write down what became of a request; what is asked is forgotten with its end."""
    changed = {name: value for name, value in _values(approval).items() if name != "id"}
    if approval.state not in IN_FORCE:
        changed["document"] = None
    connection.execute(update(approvals).where(approvals.c.id == approval.id).values(**changed))


def end_all(connection: Connection, *, population: str | None = None) -> None:
    """End every request that is not over: of a population, or of all."""
    ending = update(approvals).where(approvals.c.state.in_(IN_FORCE)).values(state="outdated", document=None)
    if population is not None:
        of = select(datasets.c.name).where(datasets.c.population == population)
        ending = ending.where(approvals.c.dataset.in_(of))
    connection.execute(ending)


def forget(connection: Connection, *, now: datetime) -> None:
    """Delete the documents of what has expired, or is about records that are gone."""
    over = and_(approvals.c.document.is_not(None), or_(approvals.c.expires <= now.isoformat(), _GONE))
    connection.execute(update(approvals).where(over).values(document=None))


def open_ones(connection: Connection, auditor: str, *, now: datetime) -> list[int]:
    """The sizes of an auditor's requests that wait or are approved, in bytes each."""
    query = select(func.length(approvals.c.document)).where(
        approvals.c.auditor == auditor, approvals.c.state.in_(("waiting", "approved")),
        approvals.c.document.is_not(None), *_alive(now),
    )  # fmt: skip
    return list(connection.execute(query).scalars())


def of_auditor(connection: Connection, *, auditor: str, dataset: str, after: int, limit: int) -> list[StoredApproval]:
    """An auditor's own requests about a dataset, in the order of their entries."""
    query = (
        select(*_COLUMNS)
        .where(approvals.c.auditor == auditor, approvals.c.dataset == dataset, approvals.c.sequence > after)
        .order_by(approvals.c.sequence)
        .limit(limit)
    )
    return [_approval(row) for row in connection.execute(query)]


def every(
    connection: Connection,
    *,
    states: tuple[ApprovalState, ...] | None = None,
    after: int = 0,
    limit: int,
    alive_at: datetime | None = None,
) -> list[StoredApproval]:
    """All requests that were left in some states, or all, in the order of their entries.

    Args:
        alive_at: Only those that have not expired by then, and whose records are there.
    """
    query = select(*_COLUMNS).where(approvals.c.sequence > after).order_by(approvals.c.sequence).limit(limit)
    if states is not None:
        query = query.where(approvals.c.state.in_(states))
    if alive_at is not None:
        query = query.where(*_alive(alive_at))
    return [_approval(row) for row in connection.execute(query)]


def backwards(connection: Connection) -> Iterator[StoredApproval]:
    """All requests as they are taken, newest first."""
    newest = select(*_COLUMNS).order_by(approvals.c.sequence.desc()).limit(_NEWEST_AT_ONCE)
    query = newest
    while found := [_approval(row) for row in connection.execute(query)]:
        yield from found
        query = newest.where(approvals.c.sequence < found[-1].sequence)


def rows(connection: Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row by its id, with what entries say of it; and as what its document is asked, if it has one still.

    The documents are read one after the other, for they may be large.
    """
    has_document = approvals.c.document.is_not(None).label("has_document")
    for row in connection.execute(select(*_COLUMNS, has_document)).all():
        values = dict(row._mapping)
        if values.pop("has_document") and (document := document_of(connection, row.id)) is not None:
            names = {name: values[name] for name in ("auditor", "dataset", "version", "kind")}
            values["id"] = identity_of_document(document, **names)
        yield row.id, values


def _alive(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """That a request has not expired, and its records are there."""
    return approvals.c.expires > now.isoformat(), ~_GONE


def _values(approval: StoredApproval) -> dict[str, Any]:
    values = {name: getattr(approval, name) for name in StoredApproval.__slots__ if name != "charge"}
    for name, value in values.items():
        values[name] = value.isoformat() if isinstance(value, datetime) else value
    return {**values, **loss_columns(approval.charge)}


def _approval(row: Row[Any]) -> StoredApproval:
    values = dict(row._mapping)
    charge = Loss(values.pop("epsilon_nano"), values.pop("delta_nano"), values.pop("rho_nano"))
    for name in ("requested", "expires", "decided"):
        values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
    return StoredApproval(**values, charge=charge)
