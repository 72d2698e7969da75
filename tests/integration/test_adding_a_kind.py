"""A kind of request that only this test knows, built as `docs/architecture.md` says: what the page names is enough."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, cast, get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import StrictInt

from auditor_client.errors import HolderLied
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import ClientKind, PricedRequest, RequestContext
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, check_receipts
from auditor_client.exchange.verification import require
from holder_service.domain.deadlines import PlanSize, Work
from holder_service.keys.signing import SigningKeyPair
from holder_service.records.engines import Counts
from holder_service.services.releases.approvals import ApprovalInFull
from holder_service.services.releases.holder_kind import HolderKind, PriceContext, PublishedMethod
from holder_service.services.releases.holder_kinds import HOLDER_KINDS
from holder_service.services.releases.priced import PricedPlan
from holder_service.services.releases.questions import ChargedQuestion
from holder_service.services.releases.transparency import transparency_report
from holder_service.storage.datasets import Dataset
from holder_service.web.rest import kinds
from holder_service.web.rest.answers import ReleaseSummary
from holder_service.web.rest.kinds import KindRoutes
from shared.contract.blocks import BlockLoss
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell
from shared.kinds.plans import Batch, Laplace, Plan
from shared.kinds.quotes import QuoteBase
from shared.kinds.registry import KINDS, ReleaseKind
from shared.kinds.releases import AnswerToRequest, Signed, SigningKeys, signed_bytes, verify_signature
from shared.kinds.requests import ReleaseRequest
from shared.kinds.summaries import RequestSummary, SummaryPart, draw_facts
from shared.privacy.amounts import Epsilon, Loss
from shared.privacy.charges import AccountTerms
from shared.wire.identities import RequestKind
from shared.wire.request_model import ContractModel
from testing.holders import TestedHolder, running_holder
from testing.refusals import refused

NAME: Final = "headcount"
EVERYBODY: Final = {"id": "everybody", "all_of": []}


class Headcount(ReleaseRequest):
    """How many people there are in each group."""

    kind: ClassVar[Any] = NAME
    sensitive: tuple[str, ...]
    epsilon: Epsilon
    version: Annotated[StrictInt, "of the records"] | None = None
    draw: StrictInt = 1

    def counted(self) -> Plan:
        """The plan that counts it."""
        batch = Batch(
            name=NAME, mechanism=Laplace(name="laplace"), epsilon=Loss(self.epsilon).document()["epsilon"],  # type: ignore[arg-type]  # as it is sent
            cells=(Cell.model_validate(EVERYBODY),),
        )  # fmt: skip
        return Plan(sensitive=self.sensitive, version=self.version, batches=(batch,))

    def require_small(self) -> None:
        """One cell is always small enough."""

    def summary(self) -> RequestSummary:
        """One part, about everybody."""
        part = SummaryPart("Everybody", (("Privacy loss", Loss(self.epsilon).symbols),), "Counted", ())
        return RequestSummary("Counts people", self.sensitive, draw_facts(self.draw), (part,))


class HeadcountQuote(QuoteBase):
    """Its price."""


class HeadcountAnswer(AnswerToRequest):
    """Its answer before it is entered."""

    kind: ClassVar[Any] = NAME
    headcount: Headcount
    people: tuple[int, ...]


class HeadcountRelease(HeadcountAnswer, Signed):
    """Its answer, signed."""


class HeadcountPage(ContractModel):
    """A page of its releases."""

    headcounts: tuple[ReleaseSummary, ...]
    next: int | None


@dataclass(frozen=True)
class PricedHeadcount:
    """Its price and noise: those of the plan that counts it."""

    asked: Headcount
    plan: PricedPlan
    refined: ClassVar[None] = None
    learns: ClassVar[bool] = False

    @property
    def dataset(self) -> Dataset:
        return self.plan.dataset

    @property
    def relation(self) -> NeighbouringRelation:
        return self.plan.relation

    @property
    def terms(self) -> AccountTerms:
        return self.plan.terms

    @property
    def charge(self) -> Loss:
        return self.plan.charge

    @property
    def block_losses(self) -> tuple[BlockLoss, ...]:
        return self.plan.block_losses

    def draw_noise(self) -> tuple[PlanSize, ...]:
        return self.plan.draw_noise()

    def work_ms(self, factors: Work) -> Work:
        return self.plan.work_ms(factors)

    def quote(self, version: int | None) -> HeadcountQuote:
        return HeadcountQuote(
            dataset=self.dataset.name, version=version, relation=self.relation.name, charge=self.charge
        )

    def answer(self, head: AnswerToRequest, engine: Counts) -> HeadcountAnswer:
        [batch] = self.plan.answer(head, engine).batches
        return HeadcountAnswer(**dict(head), headcount=self.asked, people=batch.cells[0].counts)


class HeadcountKind(HolderKind[Headcount, PricedHeadcount]):
    """What the holder does for it: the two hooks that every kind has."""

    def price(self, request: Headcount, context: PriceContext) -> PricedHeadcount:
        plan = PricedPlan.of(request.counted(), context.dataset, context.relation, terms=context.terms)
        return PricedHeadcount(request, plan)

    def published(self, release: Mapping[str, Any]) -> PublishedMethod:
        return PublishedMethod(("laplace",))


KIND: Final = ReleaseKind(
    HeadcountRelease, "Headcount", Headcount, HeadcountQuote, "headcounts", "headcounts/quotes", "a headcount"
)
ROUTES: Final = KindRoutes(
    KIND, NAME, ("quote_headcount", "Its price."), ("release_headcount", "Count."), "It was answered before",
    ("list_headcounts", "All."), ("show_headcount", "One."), HeadcountPage,
)  # fmt: skip


def check_headcount_quote(quote: HeadcountQuote, request: Headcount, _: RequestContext) -> None:
    """It costs the epsilon that was asked for."""
    require(quote.price == Loss(request.epsilon), "it costs another epsilon")


def check_headcount(release: HeadcountRelease, request: Headcount, _: HeadcountQuote, context: RequestContext) -> None:
    """It has a number for each group."""
    require(len(release.people) == context.schema.group_count(request.sensitive), "it counts other groups")


HEADCOUNTS: Final[ClientKind[Headcount, HeadcountQuote, HeadcountRelease]] = ClientKind(
    HeadcountQuote, HeadcountRelease, check_headcount_quote, check_headcount
)


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestedHolder]:
    """A holder that offers headcounts."""
    monkeypatch.setitem(cast("dict[str, Any]", KINDS), NAME, KIND)
    monkeypatch.setitem(cast("dict[str, Any]", HOLDER_KINDS), NAME, HeadcountKind())
    monkeypatch.setattr(kinds, "OTHERS", (*kinds.OTHERS, ROUTES))
    with running_holder(tmp_path, epsilon="1") as holder:
        yield holder


def test_every_kind_that_is_requested_has_its_hooks_calls_and_members() -> None:
    requested = {name for name, kind in KINDS.items() if kind.request is not None}

    assert requested == set(HOLDER_KINDS) == set(get_args(RequestKind))
    assert requested == {of.kind.name for of in (kinds.PLANS, *kinds.OTHERS)}
    for shown in (ApprovalInFull, ChargedQuestion):
        assert requested <= set(shown.model_fields)


def test_a_new_kind_is_priced_charged_signed_verified_and_published(counting: TestedHolder) -> None:
    path, body = "/datasets/register/headcounts", {"sensitive": ["sex"], "epsilon": "0.25"}

    quote = counting.auditor("POST", f"{path}/quotes", json=body).json()
    first = counting.auditor("POST", path, json=body, params={"purpose": "Yearly"})
    again = counting.auditor("POST", path, json=body)

    assert quote["charge"] == {"epsilon": "0.25", "delta": "0"}
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content
    assert counting.spent() == "0.25"
    release = HeadcountRelease.model_validate_json(first.content)
    assert release.id == release.expected_id
    assert release.fault is None
    assert len(release.people) == 2
    verify_signature(first.json(), counting.published_keys())
    assert counting.is_intact()
    assert first.headers["Location"] == f"/v1{path}/{release.id}"
    assert counting.auditor("GET", f"{path}/{release.id}").content == first.content
    [listed] = counting.auditor("GET", path).json()["headcounts"]
    assert listed["id"] == release.id
    entry = counting.entries()[-1]
    assert entry["detail"] == {"asked": NAME, "purpose": "Yearly"}
    [reported] = transparency_report(counting.holder.store, "register", organisation=None).releases
    assert reported.method == PublishedMethod(("laplace",))
    assert reported.sensitive == ("sex",)


@pytest.fixture
def exchange(counting: TestedHolder, tmp_path: Path) -> Iterator[Exchange]:
    """An auditor's client of that holder."""
    with HolderClient(url=counting.url, key=counting.auditor_key) as client:
        yield Exchange(client, Receipts(tmp_path / "receipts"), lambda _: None)


def asked_through(exchange: Exchange, draw: int = 1) -> PricedRequest[Headcount, HeadcountQuote, HeadcountRelease]:
    """A headcount with its price, as the client checks it."""
    request = Headcount.model_validate({"sensitive": ["sex"], "epsilon": "0.25", "version": 1, "draw": draw})
    context = RequestContext.of(exchange.holder.dataset("register"), "ADR")
    return exchange.priced(HEADCOUNTS, request, context)


def test_a_client_prices_asks_verifies_and_keeps_a_new_kind(counting: TestedHolder, exchange: Exchange) -> None:
    priced = asked_through(exchange)
    kept = exchange.charged(priced)

    assert counting.spent() == "0.25"
    assert len(kept.release.people) == 2
    assert exchange.kept(priced) == exchange.charged(priced) == kept
    assert kept.receipt == exchange.receipts.path(priced.identity)
    assert check_receipts(exchange.receipts, exchange.holder).ok


def signed_anew(document: dict[str, Any]) -> tuple[dict[str, Any], SigningKeys]:
    """A release as a lying holder signs it, under the identity that its request has; and that holder's keys."""
    request = Headcount.model_validate(document[NAME])
    pair = SigningKeyPair.of(Ed25519PrivateKey.generate())
    renamed = {
        **document,
        "id": request.identity(auditor=document["auditor"], dataset=document["dataset"]),
        "key": pair.id,
    }
    key = pair.public_key(valid_from=datetime(2020, 1, 1, tzinfo=UTC))
    return {**renamed, "signature": pair.sign_bytes(signed_bytes(renamed))}, SigningKeys(keys=(key,))


LIES: Final[dict[str, tuple[Callable[[dict[str, Any]], Any], str]]] = {
    "nothing": (lambda document: document, ""),
    "people": (lambda document: document.update(people=document["people"][:1]), "counts other groups"),
    "draw": (lambda document: document[NAME].update(draw=2), "another headcount"),
    "charge": (lambda document: document["charge"].update(epsilon="0.5"), "the quote said"),
    "auditor": (lambda document: document.update(auditor="EVE"), "another auditor"),
    "dataset": (lambda document: document.update(dataset="other"), "another dataset"),
    "relation": (lambda document: document.update(relation="replace"), "neighbouring relation"),
    "version": (lambda document: document.update(version=2), "another version"),
    "ledger": (lambda document: document["ledger"].update(sequence=0), "ledger"),
    "nonce": (lambda document: document.pop("nonce"), "nonce"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_a_new_kind_is_found(counting: TestedHolder, exchange: Exchange, lie: str) -> None:
    priced, (change, words) = asked_through(exchange), LIES[lie]
    kept = exchange.charged(priced)
    document = json.loads(kept.receipt.read_bytes())
    change(document)
    sent, keys = signed_anew(document)

    if lie == "nothing":
        assert priced.verified(sent, keys).people == kept.release.people
        return
    with pytest.raises(HolderLied, match=words):
        priced.verified(sent, keys)
    with pytest.raises(HolderLied):
        priced.verified(document, counting.published_keys())


def test_a_quote_that_contradicts_a_new_kinds_request_is_found(exchange: Exchange) -> None:
    priced = asked_through(exchange)
    dearer = priced.quote.model_copy(update={"charge": Loss(500_000_000)})

    with pytest.raises(HolderLied, match="another epsilon"):
        HEADCOUNTS.priced(priced.request, dearer, priced.context)


def test_a_new_kind_is_refused_like_every_other(counting: TestedHolder) -> None:
    path, body = "/datasets/register/headcounts", {"sensitive": ["sex"], "epsilon": "0.75"}
    counting.auditor("POST", path, json=body).raise_for_status()

    refused(counting.auditor("POST", path, json={**body, "draw": 2}), "budget-exhausted", holder=counting)
    refused(counting.auditor("POST", path, json={**body, "sensitive": ["shoes"]}), "unknown-column", holder=counting)
    refused(counting.auditor("POST", path, json={**body, "epsilon": "99"}), "invalid-amount", holder=counting)

    assert counting.spent() == "0.75"


def test_a_new_kind_is_in_the_interface_document(counting: TestedHolder) -> None:
    document = json.loads(counting.client.get("/openapi.json").content)

    operations = document["paths"]["/v1/datasets/{dataset}/headcounts"]
    assert operations["post"]["operationId"] == "release_headcount"
    assert operations["get"]["operationId"] == "list_headcounts"
