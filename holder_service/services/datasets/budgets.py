"""Budgets: an auditor's limit with a population, granted, raised, lowered, revoked; each is an entry."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from holder_service.domain.block_accounts import BlockAccount, balances
from holder_service.domain.declared_blocks import require_promise
from holder_service.domain.errors import Conflict, InvalidRequest, NotFound
from holder_service.domain.ledger import Balance, Event
from holder_service.domain.second_officers import cap_change
from holder_service.services.accounts.populations import require_kind, unmerged
from holder_service.services.accounts.second_officers import Proposal, agreed, open_proposals
from holder_service.services.datasets.datasets import require_dataset, require_real
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import accounts, block_losses, datasets, ledger
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from shared.contract.blocks import BlockBalances
from shared.contract.datasets import Budget, BudgetGrant, PopulationCap
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms, NoSuchLoss

BLOCK_RANGES_LISTED_MAX: Final = 120
"""How many ranges of blocks with equal balances an account is shown with: ten years of months."""


def set_limit(store: LedgerStore, *, actor: str, dataset: str, auditor: str, grant: BudgetGrant) -> Budget:
    """Put an auditor's limit on a dataset's population; a limit below what was spent leaves nothing to spend.

    Raises:
        NotFound: The dataset or the auditor is unknown.
        Conflict: The account is no auditor's, and asks no plans.
        InvalidRequest: The limit is in other terms than the population's account, or would have ended already.
    """

    def work(transaction: Transaction) -> Budget:
        found = require_dataset(transaction.connection, dataset)
        require_real(found, "Every auditor may ask about it, and nothing is charged: it needs no budget.")
        population = found.population
        account = accounts.find_account(transaction.connection, auditor)
        if account is None:
            raise NotFound(f"The auditor {auditor!r} does not exist. Open the account first.")
        if account.role != "auditor":
            raise Conflict(
                f"{auditor!r} has the role {account.role}, and only auditors can have a budget. Name an auditor."
            )
        expires = None if grant.expires is None else grant.expires.isoformat()
        cap = ledger.population_balance(transaction.connection, population)
        balance = ledger.account_balance(transaction.connection, population, auditor)
        limit = _granted(grant, cap.terms)
        if grant.expires is not None and grant.expires <= transaction.now and not limit.is_nothing:
            raise InvalidRequest(
                f"expires: {expires} is in the past, so the budget could not be spent. Give a later time or "
                "none; to revoke the budget immediately, grant 0.",
                field="expires",
            )
        balance = balance.limited(limit, expires)
        transaction.append(
            Event("budget", actor, population=population, dataset=dataset, auditor=auditor, cap=cap, account=balance)
        )
        return shown(store, population, auditor, balance, cap)

    return store.commit(work)


def set_cap(store: LedgerStore, *, actor: str, population: str, cap: Loss) -> PopulationCap:
    """Set what all auditors together may be charged about a population; nothing of its datasets changes.

    Raises:
        NotFound: There is no such population.
        AlreadyCharged: It is in other terms than what was charged.
        Conflict: It was merged into another, or is invented; or it is in other terms than the budgets of auditors;
            or it is higher and a second officer has to confirm it.
    """

    def work(transaction: Transaction) -> PopulationCap | Proposal:
        found = unmerged(transaction.connection, population)
        for dataset in datasets.every(transaction.connection, population=population):
            require_real(dataset, "Nothing is charged about it: it needs no cap.")
            require_promise(cap, {dataset.name: dataset.schema})
        before = ledger.population_balance(transaction.connection, population)
        require_kind(transaction.connection, population, before, cap)
        after = before.limited(cap)
        if after != before or open_proposals(transaction.connection, population, now=transaction.now):
            confirmed: dict[str, int] = {}
            if not cap.fits_in(before.limit):
                answer = agreed(transaction, actor=actor, population=population, change=cap_change(cap))
                if isinstance(answer, Proposal):
                    return answer
                confirmed = answer
            detail = {"relation": found.relation, "person_key": found.person_key, **confirmed}
            transaction.append(Event("cap", actor, population=population, cap=after, detail=detail))
        remaining = after.remaining(transaction.now)
        return PopulationCap(population=population, cap=after.limit, spent=after.spent, remaining=remaining)

    result = store.commit(work)
    if isinstance(result, Proposal):
        raise result.refusal()
    return result


def _granted(grant: BudgetGrant, terms: AccountTerms) -> Loss:
    """The limit that is granted, in the terms of the population's account."""
    try:
        return grant.limit(terms)
    except NoSuchLoss:
        wanted, instead = ("rho", "epsilon and delta") if terms.kind == "zcdp" else ("epsilon", "rho")
        raise InvalidRequest(
            "This population's account adds up "
            f"{('rho' if terms.kind == 'zcdp' else 'epsilon and delta')}. Grant {wanted} instead of "
            f"{instead}.",
            field=wanted,
        ) from None


def budget_of(store: LedgerStore, *, dataset: str, auditor: str) -> Budget:
    """An auditor's account with a dataset's population; all zero if nothing was ever granted.

    Raises:
        NotFound: The dataset is unknown.
    """
    with store.database.read() as connection:
        found = require_dataset(connection, dataset)
        population, of = found.population, found.rehearsal_of
        cap = ledger.population_balance(connection, population)
        balance = ledger.account_balance(connection, population, auditor) if of is None else cap
        by_block = _by_block(connection, found, {auditor: balance.alike(cap), "": cap}, now=store.clock())
        budget = shown(store, population, auditor, balance, cap)
        return budget.model_copy(update={"rehearsal_of": of, "blocks": by_block})


def _by_block(
    connection: Connection, dataset: Dataset, of: Mapping[str, Balance], *, now: datetime
) -> BlockBalances | None:
    """What an account has left block by block; `None` without blocks.

    Args:
        of: The auditor's balance under their name, and then the cap's under "".
    """
    if dataset.blocks is None:
        return None
    account, of_all = (
        BlockAccount(one, block_losses.whole_tree(connection, dataset.population, whose)) for whose, one in of.items()
    )
    return balances(account, of_all, dataset.blocks, now=now, ranges_max=BLOCK_RANGES_LISTED_MAX)


def every_budget(store: LedgerStore, *, population: str | None = None, auditor: str | None = None) -> list[Budget]:
    """All accounts with all populations, of one population or auditor where given."""
    with store.database.read() as connection:
        populations = {dataset.population for dataset in datasets.every(connection)}
        caps = ledger.newest_of_populations(connection)
        return [
            shown(store, name, holder, entry.event.account or Balance(), caps[name].event.cap or Balance())
            for (name, holder), entry in ledger.newest_of_accounts(connection, population=population).items()
            if name in populations and auditor in (None, holder)
        ]


def shown(store: LedgerStore, population: str, auditor: str, balance: Balance, cap: Balance) -> Budget:
    """A balance, beside its population's cap, as the interface shows it."""
    now, balance = store.clock(), balance.alike(cap)
    return Budget(
        auditor=auditor,
        population=population,
        limit=balance.limit,
        spent=balance.spent,
        remaining=balance.remaining(now),
        spendable=balance.remaining(now).within(cap.remaining(now)),
        expires=balance.expires,  # type: ignore[arg-type]  # pydantic reads ISO 8601
    )
