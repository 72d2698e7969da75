"""What pictures of the desk's pages are made from."""

from shared.contract.datasets import Budget


def spent_share(budget: Budget) -> float:
    """How much of an account is spent, in per cent; of a limit of nothing, all of it."""
    rho = budget.limit.rho_nano
    spent, limit = (
        (budget.spent.epsilon_nano, budget.limit.epsilon_nano) if rho is None else (budget.spent.rho_nano or 0, rho)
    )
    return round(min(100 * spent / limit, 100.0), 2) if limit else 100.0
