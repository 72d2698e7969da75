"""The console's pages of approvals: what waits, one request with all that is asked, and the decision."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Response

from holder_service.domain.errors import HolderError
from holder_service.services.accounts import access
from holder_service.services.datasets import datasets
from holder_service.services.releases import approvals, releases
from holder_service.services.releases.approvals import ApprovalInFull
from holder_service.storage.approvals import IN_FORCE
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import CheckedForm, ConsoleRoute, OfficerVisit, Visit, Visitor, or_again
from holder_service.web.console.words import beside, loss
from holder_service.web.edge.column_files import column_file
from holder_service.web.edge.dependencies import PathColumn
from shared.contract.approvals import OPEN, ApprovalDecision
from shared.contract.metadata import DatasetMetadata
from shared.contract.rules import Cell
from shared.kinds.plans import Batch, BatchQuote, Exponential, Plan, Quote
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.privacy.amounts import format_nano
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise
from shared.wire.problems import PlanRefused

SHOWN_MAX = 200
router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)
Request = Annotated[str, Path(pattern="^sha256:[0-9a-f]{64}$")]


@router.get("/approvals")
def list_requests(visit: Visitor) -> Response:
    """What waits for a decision, and what became of the latest others."""
    return visit.page(
        "approvals.html.j2", section="approvals", waiting=approvals.waiting(visit.store),
        others=approvals.latest(visit.store, limit=SHOWN_MAX), names=access.display_names(visit.store),
    )  # fmt: skip


@router.get("/approvals/{request}")
def show_request(visit: Visitor, request: Request) -> Response:
    """One request: who asks what, what for, at what price, and what would be left."""
    found = approvals.in_full(visit.store, request, apart=visit.holder.reading)
    words = datasets.metadata_of(visit.store, found.dataset)
    return visit.page(
        "approval.html.j2", section="approvals", one=found, words=words, facts=_facts(found, words),
        parts=_parts(found, _quoted(visit, found)), is_open=found.state in OPEN, may_be_decided=found.state in IN_FORCE,
        names=access.display_names(visit.store),
    )  # fmt: skip


@router.get("/approvals/{request}/columns/{column}")
def show_column(visit: Visitor, request: Request, column: PathColumn) -> Response:
    """The whole document of a derived column that a request names, as a file."""
    return column_file(approvals.column_document(visit.store, request, column), column)


@router.post("/approvals/{request}")
@or_again(show_request)
def decide(visit: OfficerVisit, request: Request, form: CheckedForm) -> Response:
    """Approve or decline."""
    decision = ApprovalDecision.model_validate(
        {
            "approved": form.text("decision") == "approve",
            "reason": form.text("reason") or None,
            "entry": form.whole_number("entry"),
        }
    )
    done = approvals.decide(visit.store, actor=visit.actor, identity=request, decision=decision)
    said = f"{done.state.capitalize()}: what {done.auditor} asks about {done.dataset}, for {loss(done.charge)}."
    return visit.done(f"{ROOT}/approvals", said)


@dataclass(frozen=True, slots=True)
class AskedPart:
    """A part of what is asked that is answered with one noise.

    Attributes:
        facts: What is to be known of it, by names.
        rules: Whom it is about, by the auditor's names.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    rules_title: str
    rules: tuple[tuple[str, str], ...]


def _facts(one: ApprovalInFull, words: DatasetMetadata) -> list[tuple[str, str]]:
    """What holds for all parts of what is asked: the sensitive columns first."""
    asked = one.plan or one.training or one.watch
    if asked is None:
        return []

    def titled(name: str) -> str:
        said = words.columns.get(name)
        return beside(name, said.title if said else None)

    facts = [("Sensitive columns", ", ".join(map(titled, asked.sensitive)))]
    if isinstance(asked, Plan) and asked.refines:
        facts.append(("Refines the release", asked.refines))
    if asked.draw > 1:
        facts.append(("Draw", f"{asked.draw}: with noise of its own"))
    return facts


def _quoted(visit: Visit, one: ApprovalInFull) -> Quote | None:
    """What the holder quotes for the plan now; `None` if it is none, or can be asked no more."""
    if one.plan is None or one.state not in OPEN:
        return None
    try:
        quoted = releases.quote(visit.store, auditor=one.auditor, dataset=one.dataset, asked=one.plan)
    except (HolderError, PlanRefused):
        return None
    return quoted if isinstance(quoted, Quote) else None


def _parts(one: ApprovalInFull, quoted: Quote | None) -> list[AskedPart]:
    """What is asked, each rule as people read it."""
    if one.plan is not None:
        quotes = {} if quoted is None else {batch.name: batch for batch in quoted.batches}
        return [_batch(batch, quotes.get(batch.name)) for batch in one.plan.batches]
    if one.watch is not None:
        return [_watch(one.watch)]
    return [] if one.training is None else [_training(one.training)]


def _batch(batch: Batch, quoted: BatchQuote | None) -> AskedPart:
    mechanism = batch.mechanism
    named = mechanism.name.replace("_", " ").capitalize()
    noise = f"{named}, from 0 to {mechanism.upper}" if isinstance(mechanism, Exponential) else named
    facts = [("Mechanism", noise)]
    if batch.epsilon is not None or batch.rho is not None:
        facts.append(("Privacy loss", f"{loss(batch.loss)} for each class of disjoint cells"))
    if quoted is not None:
        facts.append(("Classes of disjoint cells", str(quoted.composition["classes"])))
        facts.append(("Groups", str(len(quoted.groups))))
        if isinstance(quoted.noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
            deviation = quoted.noise.variance**0.5
            facts.append(("Noise on each count", f"standard deviation {deviation:,.1f} people"))
    cells = tuple((cell.id, _rules(cell)) for cell in batch.cells)
    counted = f"{len(cells)} {'cell is' if len(cells) == 1 else 'cells are'} counted"
    return AskedPart(batch.name, tuple(facts), counted, cells)


def _watch(watch: Watch) -> AskedPart:
    facts = (
        ("Mechanism", "Laplace, in each answer; the loss is charged once for all answers"),
        ("Privacy loss", loss(watch.charge)),
        ("Threshold", f"{format_nano(watch.threshold)} of the largest acceptance rate"),
        ("Verdict that is watched", watch.verdict),
        ("Margin", f"{watch.margin} people"),
    )
    sides = (("accepted", _rules(watch.favourable)), ("refused", _rules(watch.unfavourable)))
    return AskedPart("A verdict that is watched", facts, "Whom the decision is about", sides)


def _training(training: Training) -> AskedPart:
    facts = (
        ("Learned by", training.algorithm.name.replace("_", " ")),
        ("Predicts", training.label),
        ("Privacy loss", loss(training.charge)),
    )
    cuts = tuple(
        (one.column, "bins from " + ", ".join(map(str, one.cuts)) if one.cuts else "each of its values")
        for one in training.features
    )
    return AskedPart(f"A model of {training.label}", facts, "The columns that it may read", cuts)


def _rules(cell: Cell) -> str:
    return " or ".join(map(str, cell.any_of))
