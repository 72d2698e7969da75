"""A holder that lies about refined answers, losses in ρ and watches: the auditor's client finds each lie.

One recorded exchange of each (tests/contract) is signed anew with a key of ours, as the holder would sign its lie, and
goes through what verifies every answer (`verification`), or through what `auditor verify` does with receipts. That a
finer answer was drawn independently, and charged as a refinement, shows in statistics alone.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auditor_client.errors import HolderLied, NotFound
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts, ReceiptsReport, check_receipts
from auditor_client.exchange.verification import signed_as
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan, Quote
from shared.kinds.releases import LedgerPosition, Release, SigningKeys, signature_of, signed_bytes
from shared.kinds.watches import ANSWER_KIND, statement_identity

Document = dict[str, Any]
Lie = Callable[[Document, Document], object]
SETS: Final = Path(__file__).parents[1] / "contract"
NOTHING: Final[Mapping[int, str | None]] = {}
PRIVATE: Final = Ed25519PrivateKey.generate()
KEYS: Final = SigningKeys.model_validate(
    {
        "keys": [
            {
                "id": "ours", "algorithm": "ed25519", "valid_from": "2026-01-01T00:00:00Z", "valid_to": None,
                "public_key": base64.b64encode(PRIVATE.public_key().public_bytes_raw()).decode(),
            }
        ]
    }
)  # fmt: skip


def lines(folder: str, file: str) -> list[Document]:
    return [json.loads(line) for line in (SETS / folder / file).read_text().splitlines()]


def described(folder: str, name: str) -> DatasetDescription:
    found = json.loads((SETS / folder / "datasets.json").read_text())
    return DatasetDescription.model_validate(next(one for one in found if one["name"] == name))


def signed(document: Document) -> Document:
    """A release as the holder signs it, be it true or not."""
    document = {**document, "key": "ours"}
    return {**document, "signature": signature_of(signed_bytes(document), PRIVATE)}


def renamed(document: Document) -> Document:
    """A release under the identity that its plan has now, or its answer of a watch."""
    about = {"auditor": document["auditor"], "dataset": document["dataset"]}
    if "watch_answer" in document:
        name = statement_identity(ANSWER_KIND, document["watch_answer"]["watch"], **about, version=document["version"])
    else:
        name = Plan.model_validate(document["plan"]).identity(**about)
    return {**document, "id": name}


@dataclass
class Exchange:
    """A recorded plan with its quote and its release; and the release that it refines."""

    folder: str
    index: int
    refined: Release | None = None
    plan: Plan = field(init=False)
    quote: Document = field(init=False)
    release: Document = field(init=False)
    dataset: DatasetDescription = field(init=False)

    def __post_init__(self) -> None:
        self.quote, self.release = lines(self.folder, "quotes.jsonl")[self.index], released(self.folder, self.index)
        self.plan = Plan.model_validate(self.release["plan"])
        self.dataset = described(self.folder, self.release["dataset"])

    def believed(self, lie: Lie) -> Release:
        """What comes of it if the holder lies so; the plan is what was asked all the same."""
        quote, release = deepcopy(self.quote), deepcopy(self.release)
        lie(quote, release)
        context = RequestContext.of(self.dataset, "ADR", self.refined)
        return PLANS.priced(self.plan, Quote.model_validate(quote), context).verified(signed(release), KEYS)


def released(folder: str, index: int) -> Document:
    return lines(folder, "releases.jsonl")[index]


FIRST, SECOND, THIRD = (released("v1-refining", index) for index in (8, 9, 10))
REFINED: Final = Exchange("v1-refining", 9, signed_as(Release, signed(FIRST), KEYS))
IN_RHO: Final = Exchange("v1-rho", 9)


def both(change: Callable[[Document], object]) -> Lie:
    """The same lie in the quote and in the release."""
    return lambda quote, release: (change(quote), change(release))


def charge(**amounts: str) -> Lie:
    return both(lambda document: document["charge"].update(amounts))


def batch(number: int, **members: Any) -> Lie:
    return both(lambda document: document["batches"][number].update(members))


def all_of(*lies: Lie) -> Lie:
    return lambda quote, release: [lie(quote, release) for lie in lies]


def replanned(change: Callable[[Document], object]) -> Lie:
    """The release answers another plan, and has its identity."""

    def lie(_: Document, release: Document) -> None:
        change(release["plan"])
        release["version"] = release["plan"]["version"]
        release.update(renamed(release))

    return lie


def noise(document: Document, number: int, factor: float) -> None:
    document["batches"][number]["noise"]["scale"] *= factor


LIES_ABOUT_A_REFINEMENT: Final[dict[str, tuple[Lie, str]]] = {
    "charged whole": (all_of(charge(epsilon="0.2"), batch(0, epsilon="0.1"), batch(1, epsilon="0.1")), "charges"),
    "charged less": (charge(epsilon="0.04"), "charges"),
    "charged nothing": (charge(epsilon="0"), "charges"),
    "charged in rho": (charge(rho="0.00125", delta="0.000001"), "charges"),
    "a delta charged too": (charge(delta="0.000001"), "charges"),
    "charged otherwise than quoted": (lambda _, release: release["charge"].update(epsilon="0.1"), "the quote said"),
    "a batch of a rho": (batch(0, rho="0.00125"), "rho"),
    "a batch that costs more": (lambda _, release: release["batches"][0].update(epsilon="0.1"), "not the plan's"),
    "classes of its own": (batch(0, composition={"classes": 2}), "charges"),
    "no classes": (batch(0, composition={"classes": 0}), "classes"),
    "classes other than quoted": (
        lambda _, release: release["batches"][0].update(composition={"classes": 2}), "composition|epsilon",
    ),
    "the noise of the first answer": (both(lambda document: noise(document, 0, 2)), "noise"),
    "the noise of the difference": (both(lambda document: noise(document, 0, 4)), "noise"),
    "half the noise": (both(lambda document: noise(document, 0, 0.5)), "noise"),
    "a batch that was to stay drawn again": (
        lambda _, release: release["batches"][1]["cells"][0]["counts"].reverse(), "keep the answer",
    ),
    "another release refined": (replanned(lambda plan: plan.update(refines=THIRD["id"])), "another plan"),
    "no release refined": (replanned(lambda plan: plan.pop("refines")), "another plan"),
    "another version": (replanned(lambda plan: plan.update(version=2)), "another plan"),
    "another epsilon": (replanned(lambda plan: plan["batches"][0].update(epsilon="0.2")), "another plan"),
    "another draw": (replanned(lambda plan: plan.update(draw=2)), "another plan"),
    "other cells": (replanned(lambda plan: plan["batches"][0]["cells"].reverse()), "another plan"),
    "an identity that is not its own": (lambda _, release: release.update(id=FIRST["id"]), "identity"),
    "a version that is not its plan's": (lambda _, release: release.update(version=2), "another version"),
    "made for another auditor": (
        lambda _, release: release.update(renamed({**release, "auditor": "EVE"}), auditor="EVE"), "another auditor",
    ),
    "no entry": (lambda _, release: release["ledger"].update(sequence=0), "entry"),
}  # fmt: skip
LIES_ABOUT_RHO: Final[dict[str, tuple[Lie, str]]] = {
    "less than that of the noise": (all_of(batch(0, rho="0.01"), charge(rho="0.024454025")), "rho"),
    "more than that of the noise": (all_of(batch(0, rho="0.03"), charge(rho="0.044454025")), "rho"),
    "the square of a pure epsilon": (all_of(batch(1, rho="0.03125"), charge(rho="0.057891525")), "rho"),
    "a Gaussian's, two units less": (all_of(batch(2, rho="0.006641523"), charge(rho="0.034454023")), "rho"),
    "larger noise than it pays for": (both(lambda document: noise(document, 0, 1.5)), "noise"),
    "smaller noise than it pays for": (both(lambda document: noise(document, 0, 0.7)), "noise"),
    "no rho of a batch": (both(lambda document: document["batches"][0].pop("rho")), "rho"),
    "a batch's rho otherwise than quoted": (lambda _, release: release["batches"][0].update(rho="0.01"), "quoted"),
    "a sum that is not one": (charge(rho="0.034454024"), "come to"),
    "no sum": (both(lambda document: document["charge"].pop("rho")), "come to"),
    "read at another delta": (charge(delta="0.001"), "come to"),
    "a sum otherwise than quoted": (lambda _, release: release["charge"].update(rho="0.1"), "the quote said"),
    "asked at another rho": (replanned(lambda plan: plan["batches"][0].update(rho="0.005")), "another plan"),
}  # fmt: skip


@pytest.mark.parametrize("exchange", [REFINED, IN_RHO], ids=["refined", "rho"])
def test_the_truth_is_believed(exchange: Exchange) -> None:
    assert exchange.believed(lambda quote, release: None).id == exchange.release["id"]


@pytest.mark.parametrize("name", LIES_ABOUT_A_REFINEMENT)
def test_a_lie_about_a_refinement_gives_no_answer(name: str) -> None:
    lie, why = LIES_ABOUT_A_REFINEMENT[name]

    with pytest.raises(HolderLied, match=why):
        REFINED.believed(lie)


@pytest.mark.parametrize("name", LIES_ABOUT_RHO)
def test_a_lie_about_rho_gives_no_answer(name: str) -> None:
    lie, why = LIES_ABOUT_RHO[name]

    with pytest.raises(HolderLied, match=why):
        IN_RHO.believed(lie)


class Ledger(HolderClient):
    """A holder of which a ledger alone is asked: the entries that receipts name, or what it says instead."""

    def __init__(self, documents: Sequence[Document], instead: Mapping[int, str | None]) -> None:
        self.positions = {one["ledger"]["sequence"]: one["ledger"]["hash"] for one in documents}
        self.instead = instead

    def keys(self) -> SigningKeys:
        return KEYS

    def ledger_head(self) -> LedgerPosition:
        return LedgerPosition(sequence=max(self.positions), hash=self.positions[max(self.positions)])

    def log_checkpoint(self) -> bytes:
        raise NotFound("This holder does not publish its ledger as a log.", code="not-found", status=404)

    def ledger_entry(self, sequence: int) -> LedgerPosition:
        said = self.instead.get(sequence, self.positions[sequence])
        if said is None:
            raise NotFound("There is no such entry.", code="not-found", status=404)
        return LedgerPosition(sequence=sequence, hash=said)


WATCH: Final = lines("v1-watches", "watch-reports.jsonl")[0]
FIRST_ANSWER: Final[Document] = WATCH["answers"][0]


def later(answer: Document, *, version: int, **statement: Any) -> Document:
    """A further answer of a watch, about another version, behind the one before."""
    number = FIRST_ANSWER["ledger"]["sequence"] + version - 1
    said = {**answer["watch_answer"], **statement}
    entry = {"sequence": number, "hash": f"sha256:{number:064x}"}
    return renamed({**answer, "version": version, "watch_answer": said, "ledger": entry})


CHAIN: Final = (FIRST, SECOND, THIRD)
WATCHED: Final = (WATCH["watch"], FIRST_ANSWER, later(FIRST_ANSWER, version=2))


def kept(
    folder: Path, documents: tuple[Document, ...], *, alter: str = "", instead: Mapping[int, str | None] = NOTHING
) -> ReceiptsReport:
    """What `auditor verify` finds of receipts, each signed and named by what is in it."""
    receipts = Receipts(folder)
    receipts.pin(KEYS)
    for document in documents:
        body = json.dumps(signed(document))
        receipts.keep(document["id"], (body.replace(alter, "7" * len(alter)) if alter else body).encode())
    return check_receipts(receipts, Ledger(documents, instead))


def edited(document: Document, change: Callable[[Document], object]) -> Document:
    """Another release, under the identity that it has then."""
    copy = deepcopy(document)
    change(copy)
    return renamed(copy)


def entered(sequence: int, document: Document) -> Document:
    """The same release, behind another entry."""
    return {**document, "ledger": {**document["ledger"], "sequence": sequence}}


def relinked(document: Document, change: Callable[[Document], object] = lambda plan: None) -> tuple[Document, ...]:
    """The chain with another first or second link; those behind it name it."""
    second = edited(document, lambda copy: change(copy["plan"]))
    return FIRST, second, edited(THIRD, lambda copy: copy["plan"].update(refines=second["id"]))


def test_true_receipts_are_good_with_and_without_the_first_of_a_chain(tmp_path: Path) -> None:
    assert kept(tmp_path / "all", (*CHAIN, *WATCHED)).ok
    assert kept(tmp_path / "rest", (SECOND, THIRD)).ok
    assert kept(tmp_path / "changed", (*WATCHED[:2], later(FIRST_ANSWER, version=2, changed=True))).ok


LIES_IN_RECEIPTS: Final[dict[str, tuple[tuple[Document, ...], str]]] = {
    "a branch": (
        (FIRST, SECOND, edited(THIRD, lambda one: one["plan"].update(refines=FIRST["id"]))), "refined once",
    ),
    "a branch whose root is not kept": (
        (SECOND, edited(THIRD, lambda one: one["plan"].update(refines=FIRST["id"]))), "refined once",
    ),
    "a second draw of the same refinement": (
        (*CHAIN, entered(99, edited(SECOND, lambda one: one["plan"].update(draw=2)))),
        "refined once",
    ),
    "charged less than the difference": (
        (FIRST, edited(SECOND, lambda one: one["charge"].update(epsilon="0.01"))), "charged",
    ),
    "charged whole": ((FIRST, edited(SECOND, lambda one: one["charge"].update(epsilon="0.2"))), "charged"),
    "charged in rho": (
        (FIRST, edited(SECOND, lambda one: one["charge"].update(rho="0.00125", delta="0.000001"))), "in rho",
    ),
    "entered before": ((FIRST, edited(SECOND, lambda one: one["ledger"].update(sequence=1))), "before the answer"),
    "other classes": (
        (FIRST, edited(SECOND, lambda one: one["batches"][0].update(composition={"classes": 2}))), "classes",
    ),
    "an answer that was to stay": (
        (FIRST, edited(SECOND, lambda one: one["batches"][1]["cells"][0]["counts"].reverse())), "keep the answer",
    ),
    "another question": (
        relinked(SECOND, lambda plan: plan["batches"][0]["cells"].reverse())[:2], "another question",
    ),
    "a smaller epsilon": (
        relinked(SECOND, lambda plan: plan["batches"][0].update(epsilon="0.01"))[:2], "another question",
    ),
    "another version": (
        (FIRST, edited(SECOND, lambda one: (one["plan"].update(version=2), one.update(version=2)))), "another question",
    ),
    "another dataset": ((FIRST, edited(SECOND, lambda one: one.update(dataset="aged"))), "another dataset"),
    "a link of the entry of another": (
        (FIRST, {**SECOND, "ledger": FIRST["ledger"]}), "names the same ledger entry as another",
    ),
    "a watch that answers on after the change": (
        (WATCHED[0], later(FIRST_ANSWER, version=1, changed=True), WATCHED[2]), "continues to answer",
    ),
    "a watch that answers an older version later": (
        (*WATCHED, entered(40, later(FIRST_ANSWER, version=3))), "one for each",
    ),
    "a watch that is charged for an answer": (
        (*WATCHED[:2], edited(WATCHED[2], lambda one: one["charge"].update(epsilon="0.1"))), "paid for",
    ),
    "an answer for somebody else": (
        (*WATCHED[:2], renamed({**WATCHED[2], "auditor": "EVE"})), "somebody else",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES_IN_RECEIPTS)
def test_receipts_that_do_not_belong_together_are_found(name: str, tmp_path: Path) -> None:
    documents, why = LIES_IN_RECEIPTS[name]

    found = kept(tmp_path, documents)

    assert not found.ok
    [fault] = [check.fault for check in found.checks if check.fault]
    assert why in fault


@pytest.mark.parametrize("document", [*CHAIN, *WATCHED], ids=["first", "second", "third", "watch", "one", "two"])
def test_an_altered_receipt_and_an_entry_that_disagrees_are_found(document: Document, tmp_path: Path) -> None:
    number = document["ledger"]["sequence"]

    altered = kept(tmp_path / "altered", (document,), alter=document["nonce"])
    rewritten = kept(tmp_path / "rewritten", (document,), instead={number: "sha256:" + "5" * 64})
    rolled_back = kept(tmp_path / "rolled-back", (document,), instead={number: None})

    for found, why in ((altered, "signature"), (rewritten, "rewritten"), (rolled_back, "rolled back")):
        assert why in (found.checks[0].fault or "")


def test_the_same_refinement_has_one_answer(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    receipts.keep(SECOND["id"], json.dumps(SECOND).encode())

    with pytest.raises(HolderLied, match="same request"):
        receipts.keep(SECOND["id"], json.dumps({**SECOND, "nonce": "0" * 32}).encode())
