"""What the holder says about datasets and budgets, as tables: for a terminal, and as HTML for a notebook."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from auditor_client.text import loss_words
from shared.contract.datasets import Budget, DatasetDescription
from shared.contract.notices import Thresholds
from shared.contract.schema import Column
from shared.wire.wording import figure

_PROTECTED: Final = {
    "add_remove": "whether a person is in the data, and everything about them",
    "replace": "everything about a person, not how many people there are",
    "sensitive_attribute": "a person's sensitive values alone",
}
"""What each relation makes the unit of the guarantee."""
_APPROVED_FIRST: Final = (
    "Whatever you ask anew is answered once a budget officer of the holder has approved it; a request stands {days} "
    "days."
)
_AGGREGATE: Final = "It is an aggregate table: rows stand for several people, who do not have keys to link values to."


@dataclass(frozen=True, slots=True)
class Table:
    """Sentences, and below them cells under the names of their columns."""

    sentences: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_html(self) -> str:
        """For a notebook, which has styles for tables; every text is escaped."""
        paragraphs = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        rows = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in self.rows)
        return f"{paragraphs}<table><thead><tr>{_cells(self.columns, 'th')}</tr></thead><tbody>{rows}</tbody></table>"


def _public_number(dataset: DatasetDescription) -> str:
    people = None if dataset.metadata is None else dataset.metadata.people
    return "" if people is None else f" The holder says that it is about {figure(people)} people."


def dataset_table(dataset: DatasetDescription) -> Table:
    """Return what a dataset declares: who it is about, what is protected, and its columns."""
    version = "no records yet" if dataset.version is None else f"version {dataset.version} of the records"
    mechanisms, limits = ", ".join(dataset.mechanisms), dataset.limits
    people = "" if dataset.population == dataset.name else f" about the people of {dataset.population}"
    return Table(
        (
            *_rehearsal(dataset),
            (
                f"Dataset {dataset.name}{people}: {version}, at most {figure(dataset.records_max)} people."
                f"{_public_number(dataset)}"
            ),
            *((_AGGREGATE,) if dataset.people is not None else ()),
            *(() if dataset.approval is None else (_APPROVED_FIRST.format(days=dataset.approval.days),)),
            f"Protected is {_PROTECTED[dataset.relation]}.",
            f"Mechanisms: {mechanisms}; ε from {limits.epsilon_min} to {limits.epsilon_max}.",
        ),
        ("Column", "Type", "Values", "Role"),
        tuple((column.name, column.type, _values(column), _role(column)) for column in dataset.columns),
    )


def budget_table(budgets: Sequence[Budget]) -> Table:
    """Return what was granted, spent and is left, of each population; before it what to act on."""
    return Table(
        tuple(sentence for account in budgets for sentence in budget_notices(account, datetime.now(UTC))),
        ("Auditor", "Population", "Granted", "Spent", "Left", "Until"),
        tuple(row for account in budgets for row in _account_rows(account)),
    )


def _account_rows(account: Budget) -> Iterator[tuple[str, ...]]:
    """A row of each account, or of each range of blocks that it is the same for, newest first."""
    name = account.population if account.rehearsal_of is None else f"{account.population}: REHEARSAL, never charged"
    end = "" if account.expires is None else f"{account.expires:%Y-%m-%d %H:%M} UTC"
    if account.blocks is None:
        yield account.auditor, name, *map(loss_words, (account.limit, account.spent, account.left)), end
        return
    for balance in account.blocks.balances:
        about = f"{name}, {account.blocks.column} {balance.words}"
        yield account.auditor, about, *map(loss_words, (account.limit, balance.spent, balance.spendable)), end
    if account.blocks.more:
        yield account.auditor, f"{name}, older blocks", loss_words(account.limit), "", "", end


def budget_notices(account: Budget, now: datetime) -> tuple[str, ...]:
    """Say that most of an account is spent, or that it ends soon: from the account itself, and so of nobody else's."""
    end, people = account.expires, f"the people of {account.population}"
    if account.rehearsal_of is not None or has_ended(account, now):
        return ()
    thresholds, notices = Thresholds(), []
    # With blocks of people, what is spent is the most of any block; the others have more left.
    if account.blocks is None and (share := thresholds.reached(account.spent, account.limit)):
        percent, amount = share
        much = f"All of the {amount}" if percent >= 100 else f"{percent} % of the {amount}"
        notices.append(
            f"{much} granted to you about {people} is spent; {loss_words(account.left)} can be spent. If you need "
            "more, ask the holder's administrator in time."
        )
    if end is not None and thresholds.since(end, now) is not None:
        notices.append(
            f"Your budget about {people} ends on {end:%Y-%m-%d %H:%M} UTC: ask before, or have it prolonged. Watches "
            "are not answered afterwards."
        )
    return tuple(notices)


def has_ended(account: Budget, now: datetime) -> bool:
    """Whether nothing can be spent of an account any more, as its end has come."""
    return account.expires is not None and account.expires <= now


def _rehearsal(dataset: DatasetDescription) -> tuple[str, ...]:
    """Say that its people are invented, if they are, and how."""
    rehearsal = dataset.rehearsal
    if rehearsal is None:
        return ()
    words = (
        f"REHEARSAL of {rehearsal.of}: {figure(rehearsal.people)} invented people, drawn with the seed "
        f"{rehearsal.seed} from the declaration alone; nothing is charged."
    )
    if not rehearsal.marginals:
        return (words,)
    return words, f"An administrator published marginals of {', '.join(sorted(rehearsal.marginals))} that they follow."


def _values(column: Column) -> str:
    if column.ordered:
        low, high = column.minimum, column.maximum
        if low is None or high is None:
            words = "any" if low is high else f"at most {high}" if low is None else f"at least {low}"
        else:
            words = f"{low} to {high}"
    else:
        words = _listed(column.values)
    if column.bands_from is not None:
        words = f"{words}, in the groups {_listed(column.group_values)}"
    return f"{words}, or missing" if column.nullable else words


def _listed(values: Sequence[str | bool]) -> str:
    return ", ".join(str(value).lower() if isinstance(value, bool) else value for value in values)


def _role(column: Column) -> str:
    if column.randomised_response is not None:
        return "sensitive, perturbed at its source"
    return "sensitive" if column.sensitive else "label" if column.label else ""


def _cells(cells: Sequence[str], kind: str) -> str:
    return "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells)
