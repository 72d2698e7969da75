"""The holder, as an auditor sees it: one method for each endpoint of 4-interface.

Answers become the contract's types, or an error. `verification` then decides whether a release is what
was asked for, before anything in it is used.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote as quoted
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, model_validator

from auditor_client.errors import HolderLied, NotFound
from auditor_client.exchange.calls import HttpCaller, HttpClient, fitted, parsed
from auditor_client.tables import budget_table, dataset_table
from auditor_client.text import loss_words, no_such, readable
from shared.contract.approvals import Approval, ApprovalList
from shared.contract.datasets import Budget, DatasetDescription
from shared.kinds.registry import KINDS
from shared.kinds.releases import LedgerPosition, SigningKeys
from shared.kinds.requests import ReleaseRequest
from shared.scores.columns import ColumnDescription, DerivedColumn
from shared.wire.canonical import canonical_bytes
from shared.wire.identity_providers import SignInOffer
from shared.wire.text import ColumnId

_ModelT = TypeVar("_ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class UnverifiedRelease:
    """A release as it came, its bytes and the same parsed; `PricedRequest.verified` has to check it first."""

    body: bytes = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)


class _Description(DatasetDescription):
    """A description whose columns make a schema, as `table` assumes."""

    @model_validator(mode="after")
    def _has_a_table(self) -> Self:
        if self.table.sensitive == self.sensitive:
            return self
        raise ValueError("The list of sensitive columns differs from the declared ones.")

    def __repr__(self) -> str:
        version = "no records" if self.version is None else f"version {self.version}"
        return (
            f"<DatasetDescription {self.name}: {version}, {len(self.columns)} columns, "
            f"sensitive {', '.join(self.sensitive)}>"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return dataset_table(self).to_html()


class _Budget(Budget):
    """An account that shows itself."""

    def __repr__(self) -> str:
        limit, left = loss_words(self.limit), loss_words(self.left)
        return f"<Budget of {self.auditor} for {self.population}: {left} left of {limit}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return budget_table([self]).to_html()


class _Datasets(BaseModel):
    model_config = ConfigDict(frozen=True)

    datasets: tuple[_Description, ...]


class _Columns(BaseModel):
    model_config = ConfigDict(frozen=True)

    columns: tuple[ColumnDescription, ...]


class _WatchName(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: ColumnId


class _Watches(BaseModel):
    model_config = ConfigDict(frozen=True)

    watches: tuple[_WatchName, ...]
    next: int | None = None


_PageT = TypeVar("_PageT", _Watches, ApprovalList)


class HolderClient(HttpCaller):
    """The holder's endpoints for an auditor.

    Every method for an endpoint raises `HolderRefused` (the class of the refusal) for a problem document,
    `HolderUnavailable` if no holder answers within the limits, and `HolderLied` for an answer that
    does not fit the contract.

    Attributes:
        purpose: What is asked for, in one line: sent with all that is charged; None where nothing is to be said.
        wait_approval_s: How long whoever asks waits for a budget officer's approval, in seconds; 0 for not at all.
    """

    def __init__(
        self, http: HttpClient | None = None, *, purpose: str | None = None, wait_approval_s: float = 0, **reached: Any
    ) -> None:
        """Prepare; sends nothing yet. How the holder is reached is as for any caller."""
        super().__init__(http, **reached)
        self.purpose = purpose
        self.wait_approval_s = wait_approval_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sign_in_offer(self) -> SignInOffer:
        """Where auditors sign in, as the holder says it to everybody: nothing to be used unconfirmed.

        Raises:
            NotFound: Nowhere: they have keys.
        """
        return self._get(SignInOffer, "/v1/sign-in")

    def datasets(self) -> tuple[DatasetDescription, ...]:
        """All datasets that this auditor may ask about."""
        return self._get(_Datasets, "/v1/datasets").datasets

    def dataset(self, name: str) -> DatasetDescription:
        """The declaration of one dataset: columns, groups, relation, limits."""
        description = self._get_of(name, _Description)
        if description.name == name:
            return description
        raise HolderLied(
            f"The holder described another dataset instead of {readable(name)!r}. Report it to its administrator."
        )

    def budget(self, dataset: str) -> Budget:
        """What this auditor was granted on the dataset's population, what it has spent, and what is left."""
        return self._get_of(dataset, _Budget, "/budget")

    def quote(self, dataset: str, request: ReleaseRequest, kind: type[_ModelT]) -> _ModelT:
        """The price of a request, of the type of its kind's quotes; touches neither records nor budget."""
        path = f"{_dataset_path(dataset)}/{KINDS[request.kind].quotes_path}"
        return fitted(kind, self.call("POST", path, _body(request)), path)

    def release(self, dataset: str, request: ReleaseRequest) -> UnverifiedRelease:
        """Ask what is charged: once, with the same answer however often it is asked.

        Raises:
            ValueError: The request is not pinned to a version of the records. A retry that meets a new version would
                be another request, and be charged again.
        """
        _ = request.pinned_version
        path = f"{_dataset_path(dataset)}/{KINDS[request.kind].path}"
        # The purpose is part of no identity: asked again for another one, the same is answered again.
        path_with_purpose = path if self.purpose is None else f"{path}?{urlencode({'purpose': self.purpose})}"
        body = self.call("POST", path_with_purpose, _body(request))
        return UnverifiedRelease(body, parsed(body, path))

    def watches(self, dataset: str) -> tuple[str, ...]:
        """The ids of this auditor's own watches about a dataset, in the order in which they were set."""
        return tuple(watch.id for page in self._pages(dataset, _Watches, "watches") for watch in page.watches)

    def watch_report(self, dataset: str, name: str) -> dict[str, Any]:
        """A watch with its answers, unverified, with every field as it came."""
        path = f"{_dataset_path(dataset)}/watches/{quoted(name, safe=':')}"
        return parsed(self.call("GET", path), path)

    def approvals(self, dataset: str) -> tuple[Approval, ...]:
        """What this auditor asked about a dataset that needed approval, in the order in which it was asked."""
        return tuple(
            approval for page in self._pages(dataset, ApprovalList, "approvals") for approval in page.approvals
        )

    def approval(self, dataset: str, name: str) -> Approval:
        """One of them, by its id."""
        return self._get(Approval, _approval_path(dataset, name))

    def withdraw(self, dataset: str, name: str) -> None:
        """Take a request back that waits or is approved, by its id."""
        self.call("DELETE", _approval_path(dataset, name))

    def columns(self, dataset: str) -> tuple[ColumnDescription, ...]:
        """This auditor's own derived columns of a dataset."""
        return self._get_of(dataset, _Columns, "/columns").columns

    def column(self, dataset: str, name: str) -> ColumnDescription:
        """One of them, by its id."""
        return self._get(ColumnDescription, _column_path(dataset, name))

    def make_column(self, dataset: str, column: DerivedColumn) -> ColumnDescription:
        """Have a derived column made; the same again is the same column. Nothing is charged."""
        path = f"{_dataset_path(dataset)}/columns"
        content = canonical_bytes(column.document())
        return fitted(ColumnDescription, self.call("POST", path, content), path)

    def send_values(self, dataset: str, name: str, file: Path) -> ColumnDescription:
        """Send the values of a linked column: all or nothing.

        Args:
            dataset: Whose people they are about.
            name: The column's id.
            file: A CSV file with a header: the person key and `value`.
        """
        path = f"{_column_path(dataset, name)}/values"
        return fitted(ColumnDescription, self.call("PUT", path, file, media_type="text/csv"), path)

    def delete_column(self, dataset: str, name: str) -> None:
        """Have a derived column deleted, by its id."""
        self.call("DELETE", _column_path(dataset, name))

    def keys(self) -> SigningKeys:
        """The public keys that the holder says it signs with; pin them before use."""
        return self._get(SigningKeys, "/v1/keys")

    def ledger_head(self) -> LedgerPosition:
        """Sequence and hash of the ledger's newest entry."""
        return self._get(LedgerPosition, "/v1/ledger/head")

    def ledger_entry(self, sequence: int) -> LedgerPosition:
        """Sequence and hash of one entry of the ledger."""
        return self._get(LedgerPosition, f"/v1/ledger/entries/{sequence}")

    def log_checkpoint(self) -> bytes:
        """The newest checkpoint of the holder's public log, as it is signed.

        Raises:
            NotFound: The holder publishes no log.
        """
        return self.call("GET", "/v1/log/checkpoint")

    def log_tile(self, path: str) -> bytes:
        """A tile of the log, or a bundle of its entries, by its path."""
        return self.call("GET", f"/v1/log/tile/{path}")

    def _pages(self, dataset: str, model: type[_PageT], path: str) -> Iterator[_PageT]:
        """All pages of a list about a dataset; a list whose pages do not go on ends."""
        after, following = -1, 0
        while following > after:
            after = following
            page = self._get_of(dataset, model, f"/{path}?after={after}")
            yield page
            following = page.next or 0

    def _get_of(self, dataset: str, model: type[_ModelT], path: str = "") -> _ModelT:
        """Something about a dataset; where there is none of that name, the refusal says which there are."""
        try:
            return self._get(model, f"{_dataset_path(dataset)}{path}")
        except NotFound as error:
            names = [one.name for one in self.datasets()]
            if dataset in names:
                raise
            text = no_such("dataset", readable(dataset), names)
            raise NotFound(text, code=error.code, status=error.status, fields=error.fields) from error

    def _get(self, model: type[_ModelT], path: str) -> _ModelT:
        return fitted(model, self.call("GET", path), path)


def _dataset_path(name: str) -> str:
    return f"/v1/datasets/{quoted(name, safe='')}"


def _column_path(dataset: str, name: str) -> str:
    return f"{_dataset_path(dataset)}/columns/{quoted(name, safe=':')}"


def _approval_path(dataset: str, name: str) -> str:
    return f"{_dataset_path(dataset)}/approvals/{quoted(name, safe=':')}"


def _body(request: ReleaseRequest) -> bytes:
    return json.dumps(request.document()).encode()
