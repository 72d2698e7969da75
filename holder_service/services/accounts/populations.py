"""Populations: the people that datasets share, and whose budget their cap is (2-privacy §2)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holder_service.domain.declared_blocks import require_no_blocks
from holder_service.domain.errors import AlreadyCharged, Conflict, Forbidden, InvalidRequest, NotFound
from holder_service.domain.ledger import Balance, Event
from holder_service.domain.second_officers import setting_of
from holder_service.domain.sensitive_columns import require_one_set
from holder_service.services.accounts.second_officers import setting_in_force
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import datasets, ledger
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset, Population
from shared.contract.datasets import DatasetDeclaration
from shared.contract.rehearsals import ENDING
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Schema
from shared.privacy.amounts import AccountKind, Loss

_ADDED_UP: Final[Mapping[AccountKind, str]] = {"sum": "epsilon and delta", "zcdp": "rho"}


def relation_of(connection: Connection, dataset: Dataset) -> NeighbouringRelation:
    """The neighbouring relation of a dataset's population.

    Raises:
        NotFound: The population does not exist.
    """
    population = datasets.find_population(connection, dataset.population)
    if population is None:
        raise NotFound(f"Population {dataset.population!r} does not exist. Check the name.")
    return NeighbouringRelation(population.relation)


def unmerged(connection: Connection, name: str) -> Population:
    """A population of real people that was not merged into another.

    Raises:
        NotFound: It does not exist.
        Conflict: Its people are invented, or it was merged.
    """
    if datasets.rehearsal_in(connection, name) is not None:
        raise Conflict(
            f"The people of population {name!r} are invented for a rehearsal, so no other population "
            "shares them. Name a population of real people."
        )
    population = datasets.find_population(connection, name)
    if population is None:
        raise NotFound(f"The population {name!r} does not exist. Look at the datasets for their populations.")
    if population.merged_into is not None:
        raise Conflict(f"Population {name!r} was already merged into {population.merged_into!r}. Use that population.")
    return population


def population_for(transaction: Transaction, name: str, declaration: DatasetDeclaration, before: Dataset | None) -> str:
    """The population that a declared dataset belongs to, after merges; it can be merged, never left.

    Raises:
        InvalidRequest: Its people are invented, or its name is that of a rehearsal.
        Conflict: The dataset would leave its population.
    """
    wanted = declaration.population or (before.population if before else name)
    population = datasets.find_population(transaction.connection, wanted)
    while population is not None and population.merged_into is not None:
        population = datasets.find_population(transaction.connection, population.merged_into)
    resolved = population.name if population else wanted
    if datasets.rehearsal_in(transaction.connection, resolved) is not None or (
        population is None and resolved.endswith(ENDING)
    ):
        raise InvalidRequest(
            f"Names that end in {ENDING!r} are reserved for rehearsals, whose people are invented. "
            "Choose another name for the population.",
            field="population",
        )
    if before is not None and before.population != resolved:
        raise Conflict(
            f"Dataset {name!r} belongs to population {before.population!r}, which cannot be changed "
            "because budgets belong to the population. If two populations share people, merge them."
        )
    return resolved


def with_cap(
    transaction: Transaction, population: str, declaration: DatasetDeclaration, sets_cap: bool
) -> DatasetDeclaration:
    """The declaration as far as the actor may declare: one who sets no cap leaves it as it is, at first at nothing.

    Raises:
        Forbidden: It states another cap than there is, and the actor may set none.
    """
    if sets_cap:
        return declaration
    now = ledger.population_balance(transaction.connection, population).limit
    if declaration.cap not in (None, now):
        raise Forbidden("Your role may not set a cap. Leave it out of the declaration; a budget officer sets it.")
    known = datasets.find_population(transaction.connection, population) is not None
    return declaration if known else declaration.model_copy(update={"cap": now})


def record_population(
    transaction: Transaction, actor: str, name: str, declaration: DatasetDeclaration, dataset: str
) -> None:
    """Open a population, or change of it what may change: its cap; relation and key only before any charge.

    An aggregate table has no key, and leaves its population the one that it has; of aggregate tables alone, it has none
    yet.

    Raises:
        InvalidRequest: A new population comes without a cap.
        AlreadyCharged: Relation, person key or kind of account would change after a charge.
        Conflict: Other datasets rest on relation and key, or auditors have budgets of another kind.
    """
    connection = transaction.connection
    before = datasets.find_population(connection, name)
    key = declaration.person_key or (before.person_key if before else None)
    approval_days = before.approval_days if before else None
    after = Population(name, declaration.relation, key, merged_into=None, approval_days=approval_days)
    balance = ledger.population_balance(connection, name)
    if before is None:
        if declaration.cap is None:
            raise InvalidRequest(
                'A new population requires a cap for all auditors together. Add one: "cap": {"epsilon": '
                '"10", "delta": "0"}.'
            )
    elif not (before.relation == after.relation and before.person_key in (None, after.person_key)):
        if ledger.was_charged(connection, name):
            raise AlreadyCharged(
                "The neighbouring relation and the person key are fixed, because losses were charged in their "
                "terms, or may have been before a restore. Keep them, or declare another population."
            )
        if any(other.name != dataset for other in datasets.every(connection, population=name)):
            raise Conflict(
                "Other datasets of the population use its neighbouring relation and person key, so these "
                "cannot change. Declare the dataset in another population."
            )
    if before != after:
        datasets.put_population(connection, after)
    limited = balance
    if declaration.cap is not None:
        if before is not None:
            require_kind(connection, name, balance, declaration.cap)
            _require_no_raise(connection, name, balance.limit, declaration.cap)
        limited = balance.limited(declaration.cap)
    if before != after or limited != balance:
        transaction.append(
            Event(
                "population" if before != after else "cap", actor, population=name, cap=limited,
                detail={"relation": after.relation, "person_key": after.person_key},
            )
        )  # fmt: skip


def merge(store: LedgerStore, *, actor: str, into: str, source: str) -> None:
    """Join two populations that turned out to overlap: spending is added, never split again.

    The cap of `into` stays; each auditor's limit becomes the larger of the two. Approvals are required if either
    population did, for the fewer days.

    Raises:
        NotFound: One of them does not exist.
        AlreadyCharged: Losses were charged in terms of other sensitive columns than both have together.
        Conflict: They are the same, merged already, differ in relation, person key or kind of account, have columns
            that contradict each other, or have spent more together than an amount can say.
    """

    def work(transaction: Transaction) -> None:
        connection = transaction.connection
        target, other = unmerged(connection, into), unmerged(connection, source)
        if target.name == other.name:
            raise Conflict(
                "Both populations are the same one, and a population cannot be merged with itself. Name "
                "two different populations."
            )
        if not target.may_join(other):
            raise Conflict(
                "The populations have different neighbouring relations or person keys, so they cannot be "
                "merged. Retire the datasets of one."
            )
        schemas = {name: schemas_of(connection, name) for name in (into, source)}
        require_no_blocks(schemas[into], schemas[source])
        require_one_set(
            target.relation, {**schemas[into], **schemas[source]},
            charged=[schemas[name] for name in (into, source) if ledger.was_charged(connection, name)],
        )  # fmt: skip
        cap = ledger.population_balance(connection, into)
        spent = ledger.population_balance(connection, source)
        _require_one_kind(cap, spent)
        _require_no_raise(connection, source, spent.limit, cap.limit)
        cap = cap.charged(spent.spent)
        if not cap.spent.can_be_said:
            raise Conflict(
                "Together they have spent 1000 or more, which exceeds the largest possible budget. Retire "
                "the datasets of one."
            )
        transaction.append(Event("merge", actor, population=into, cap=cap, detail={"from": source}))
        for auditor, balance in ledger.accounts_of(connection, source).items():
            joined = ledger.account_balance(connection, into, auditor).joined(balance)
            transaction.append(
                Event(
                    "merge", actor, population=into, auditor=auditor, cap=cap, account=joined, detail={"from": source}
                )
            )
        days = [one.approval_days for one in (target, other) if one.approval_days is not None]
        merged = replace(
            target, person_key=target.person_key or other.person_key, approval_days=min(days, default=None)
        )
        datasets.put_population(connection, merged)
        _keep_setting(transaction, actor, merged, source, cap)
        datasets.put_population(connection, replace(other, merged_into=into))
        for dataset in datasets.every(connection, population=source):
            datasets.put(connection, replace(dataset, population=into))

    store.commit(work)


def _keep_setting(transaction: Transaction, actor: str, merged: Population, source: str, cap: Balance) -> None:
    """Have the merged population require what either did: to be shown whole, and a second officer."""
    own, other = (setting_in_force(transaction.connection, name) for name in (merged.name, source))
    joined = setting_of({**own, **other, "approval_days": merged.approval_days})
    if set(joined) - set(own) - {"approval_days"}:
        transaction.append(Event("approval-required", actor, population=merged.name, cap=cap, detail=joined))


def _require_no_raise(connection: Connection, population: str, before: Loss, after: Loss) -> None:
    """Refuse to raise a cap by the way where a second officer has to agree.

    Raises:
        Conflict: It would be raised.
    """
    if not after.fits_in(before) and setting_in_force(connection, population).get("second_officer"):
        raise Conflict(
            f"This would raise the cap of population {population!r}, which requires a second officer. "
            "Raise the cap first (`holder admin cap`, once by each of two officers); then try again."
        )


def schemas_of(connection: Connection, population: str) -> dict[str, Schema]:
    """Return what every dataset of a population was declared as last, retired ones included, by name."""
    return {dataset.name: dataset.schema for dataset in datasets.every(connection, population=population)}


def require_kind(connection: Connection, population: str, balance: Balance, cap: Loss) -> None:
    """Refuse a cap in the terms of the other kind of account but before any charge, be the one before of nothing.

    Raises:
        AlreadyCharged: Losses were charged.
        Conflict: Auditors have budgets of the other kind.
    """
    if balance.limit.kind == cap.kind:
        return
    if ledger.was_charged(connection, population):
        raise AlreadyCharged(
            f"This population's account adds up {_ADDED_UP[balance.limit.kind]}. This is fixed, because losses "
            "were charged in these terms, or may have been before a restore. State the cap in these terms."
        )
    if not all(one.limit.is_nothing for one in ledger.accounts_of(connection, population).values()):
        raise Conflict(
            f"Auditors have budgets in {_ADDED_UP[balance.limit.kind]}. Revoke them, declare the cap, "
            "and grant them again."
        )


def _require_one_kind(cap: Balance, other: Balance) -> None:
    """Refuse to add up what accounts of two kinds spent."""
    if cap.limit.kind != other.limit.kind:
        raise Conflict(
            "One population's account adds up epsilon and delta, the other's adds up rho, so they "
            "cannot be merged. If one was never charged, first declare its cap in the other's terms; "
            "otherwise retire the datasets of one."
        )
