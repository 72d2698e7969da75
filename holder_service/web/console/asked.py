"""What was asked, as the console shows it: before it is answered, and for as long as its charge is in the ledger."""

from dataclasses import dataclass

from holder_service.services.releases.asked import Asked
from holder_service.web.console.words import beside, loss
from shared.contract.metadata import DatasetMetadata
from shared.contract.rules import Cell
from shared.kinds.plans import Batch, BatchQuote, Exponential, Plan, Quote
from shared.kinds.trainings import Training
from shared.kinds.watches import Watch
from shared.privacy.amounts import format_nano
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise


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


def asked_facts(asked: Asked | None, words: DatasetMetadata) -> list[tuple[str, str]]:
    """What holds for all parts of what is asked: the sensitive columns first."""
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


def asked_parts(asked: Asked | None, quoted: Quote | None = None) -> list[AskedPart]:
    """What is asked, each rule as people read it.

    Args:
        quoted: What the holder quotes for the plan now; `None` if it is none, or is answered already.
    """
    match asked:
        case Plan():
            quotes = {} if quoted is None else {batch.name: batch for batch in quoted.batches}
            return [_batch(batch, quotes.get(batch.name)) for batch in asked.batches]
        case Watch():
            return [_watch(asked)]
        case Training():
            return [_training(asked)]
        case None:
            return []


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
