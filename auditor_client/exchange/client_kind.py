"""What the client does for one kind of request: its price and its answer are checked before anything in them is used.

What every kind has in common is checked here: dataset, version, relation, auditor, charge, mark of a rehearsal,
signature and identity. What a kind has in addition are two functions of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from auditor_client.errors import HolderLied
from auditor_client.exchange.verification import ReleaseT, require, require_marked, signed_as
from auditor_client.text import loss_words, readable
from shared.contract.approvals import Approval
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Schema
from shared.kinds.quotes import QuoteBase
from shared.kinds.releases import Release, SigningKeys
from shared.kinds.requests import ReleaseRequest

RequestT = TypeVar("RequestT", bound=ReleaseRequest)
QuoteT = TypeVar("QuoteT", bound=QuoteBase)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a request is checked against, beside itself.

    Attributes:
        dataset: The declaration that it was made for.
        auditor: Who asks, by the holder's own name for it.
        schema: The columns that rules may name: those of the declaration, and derived ones that the request names.
        refined: The release that it refines; verified, when it came.
    """

    dataset: DatasetDescription
    auditor: str
    schema: Schema
    refined: Release | None = None

    @classmethod
    def of(cls, dataset: DatasetDescription, auditor: str, refined: Release | None = None) -> Self:
        """The context of a request that names declared columns alone."""
        return cls(dataset, auditor, dataset.table, refined)


@dataclass(frozen=True, slots=True)
class ClientKind(Generic[RequestT, QuoteT, ReleaseT]):
    """One kind of request.

    Attributes:
        quote: The type of its price.
        release: The type of its signed answer.
        check_quote: Refuses a price that does not follow from the request, by `HolderLied`.
        check_release: Refuses a signed answer to this very request whose contents are not those of request and price.
    """

    quote: type[QuoteT]
    release: type[ReleaseT]
    check_quote: Callable[[QuoteT, RequestT, RequestContext], None]
    check_release: Callable[[ReleaseT, RequestT, QuoteT, RequestContext], None]

    def priced(
        self, request: RequestT, quote: QuoteT, context: RequestContext
    ) -> "PricedRequest[RequestT, QuoteT, ReleaseT]":
        """Check a price, and return the request with it.

        Raises:
            HolderLied: The price cannot be trusted; naming the fault.
        """
        dataset = context.dataset
        about = (quote.dataset, quote.relation) == (dataset.name, dataset.relation)
        require(about, "the quote is for another dataset")
        require(quote.version == request.version, "the quote is for another version of the records")
        require_marked(quote, dataset)
        self.check_quote(quote, request, context)
        return PricedRequest(self, request, quote, context)


@dataclass(frozen=True, slots=True)
class PricedRequest(Generic[RequestT, QuoteT, ReleaseT]):
    """A request, pinned to a version of the records, with its price, which was checked."""

    kind: ClientKind[RequestT, QuoteT, ReleaseT]
    request: RequestT
    quote: QuoteT
    context: RequestContext

    @property
    def identity(self) -> str:
        """The id of the release that answers it, "sha256:<hex>"."""
        return self.request.identity(auditor=self.context.auditor, dataset=self.context.dataset.name)

    def verified(self, document: Mapping[str, Any], keys: SigningKeys) -> ReleaseT:
        """Check its release against everything that is known before it.

        Args:
            document: The answer, parsed, with every field as it came.
            keys: The holder's published keys, pinned.

        Raises:
            HolderLied: Naming the fault.
        """
        release, dataset = signed_as(self.kind.release, document, keys), self.context.dataset
        answered: ReleaseRequest = getattr(release, release.kind)
        require(
            answered.document() == self.request.document(), f"it answers another {release.kind} than the requested one"
        )
        require(release.dataset == dataset.name, "it is about another dataset")
        require(release.auditor == self.context.auditor, "it was made for another auditor")
        same_relation = release.relation == dataset.relation
        require(same_relation, "it names another neighbouring relation than the dataset declares")
        require(
            release.charge == self.quote.charge,
            f"it was charged {loss_words(release.charge)}, and the quote said {loss_words(self.quote.charge)}",
        )
        require_marked(release, dataset)
        require(release.rehearsal == self.quote.rehearsal, "its price differs from the quoted one")
        self.kind.check_release(release, self.request, self.quote, self.context)
        return release

    def require_same(self, approval: Approval) -> None:
        """Refuse a request for approval that is about something else.

        Raises:
            HolderLied: It is about something else.
        """
        if (approval.id, approval.charge) != (self.identity, self.quote.charge):
            raise HolderLied(
                f"The holder has a budget officer approve {readable(approval.id)} for {loss_words(approval.charge)}, "
                f"and not what you asked, {self.identity} for {loss_words(self.quote.charge)}. Withdraw it "
                "(`Auditor.withdraw`), and report it to the holder's administrator."
            )
