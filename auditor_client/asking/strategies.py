"""What to ask: a tree's rules as a plan (3-estimation §1).

A strategy says which cells go into which batches at what share of the loss. The cells follow from the
rules, the figures that are wanted and the scope alone, so a plan can be built again and compared. The
rules are used as they are: merge siblings with one decision first (`Tree.merged`), because a split
that changes no decision only adds noise. `answers` reads the answers.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from auditor_client.asking.crossing import Decisions
from auditor_client.asking.inquiry import EVERYBODY, Inquiry, LabelValue, LeafRules, stratum_cell
from auditor_client.asking.mechanisms import batch, halves
from auditor_client.asking.request import (
    AUTO,
    FALSE_DISCOVERY_RATE,
    FALSE_OMISSION_RATE,
    PREDICTIVE,
    STRATEGIES,
)
from auditor_client.asking.stages import CONTRADICTING, contradicting
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.text import no_such
from shared.contract.rules import Cell
from shared.kinds.plans import Batch, Plan

_DECISIONS: Final = {True: "favourable", False: "unfavourable"}
_CROSSED: Final[Mapping[Decisions, str]] = {
    (True, True): "both",
    (True, False): "the first alone",
    (False, True): "the second alone",
    (False, False): "neither",
}
"""Who accepts: the names of the cells of a question about two models."""


def build_plan(inquiry: Inquiry) -> Plan:
    """Put what is to be found out into a plan, by the strategy that the request names.

    Raises:
        EstimationRefused: All rules make one decision, so there is nothing to ask.
        QuestionRefused: The strategy is unknown, or cannot use this ε.
    """
    request, builders = inquiry.request, {"verdict": _verdict, "rules": _rules, "pafer": _pafer}
    if request.strategy not in builders:
        raise QuestionRefused(no_such("strategy", request.strategy, (*STRATEGIES, AUTO)))
    _require_a_question(inquiry)
    batches = tuple(builders[request.strategy](inquiry))
    return Plan(
        sensitive=request.sensitive,
        version=request.version,
        draw=request.draw,
        columns=inquiry.column_ids or None,
        refines=request.refines,
        batches=batches,
    )


def _require_a_question(inquiry: Inquiry) -> None:
    favourable = sum(rule.favourable for rule in inquiry.rules)
    if not favourable:
        raise EstimationRefused(
            "No leaf of the tree is favourable: it accepts nobody, so the ratio is not defined. Name the model's "
            "favourable class if it has one."
        )
    if favourable == len(inquiry.rules) and inquiry.metrics != (PREDICTIVE,):
        raise EstimationRefused(
            "Every leaf of the tree is favourable: it accepts everybody, so the ratio is 1 without a request. "
            "Only predictive parity can be requested."
        )


def _verdict(inquiry: Inquiry) -> Iterator[Batch]:
    """{favourable union, unfavourable union}, all at the full loss: the best accuracy, no rule by itself.

    Where another model is asked about too, each union is in two: by what the other model decides.
    """
    unions = (
        [(name, any(decisions), inquiry.crossed[decisions]) for decisions, name in _CROSSED.items()]
        if inquiry.against
        else [(name, decision, inquiry.rules_of(decision)) for decision, name in _DECISIONS.items()]
    )
    cells: list[Cell] = []
    for name, favourable, rules in unions:
        cells += _cells(inquiry, (LeafRules(name, rules),), inquiry.label_values(favourable))
    yield batch(inquiry.request, "verdict", cells)


def _rules(inquiry: Inquiry) -> Iterator[Batch]:
    """Every leaf at the full loss: they cover everybody, so no root query is needed."""
    cells: list[Cell] = []
    for favourable in (True, False):
        cells += _cells(inquiry, inquiry.leaves(favourable), inquiry.label_values(favourable))
    yield batch(inquiry.request, "rules", cells)
    loss = inquiry.request.contradictions
    if loss is not None:
        yield batch(inquiry.request.changed(epsilon=loss), CONTRADICTING, [contradicting(inquiry)])


def _pafer(inquiry: Inquiry) -> Iterator[Batch]:
    """The paper's: everybody with half the loss, each favourable rule with the other half."""
    if {FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE} & set(inquiry.metrics):
        raise QuestionRefused(
            f"Strategy pafer does not count refused people, but {FALSE_DISCOVERY_RATE} and {FALSE_OMISSION_RATE} "
            "are about them. Use strategy verdict or rules."
        )
    favourable = _cells(inquiry, inquiry.leaves(favourable=True), inquiry.label_values(favourable=True))
    everybody = _cells(inquiry, (LeafRules("everybody", EVERYBODY.any_of),), inquiry.label_values(favourable=False))
    if not everybody:  # predictive parity alone asks about the accepted
        yield batch(inquiry.request, "favourable", favourable)
        return
    first, second = halves(inquiry.request)
    yield batch(first, "everybody", everybody)
    yield batch(second, "favourable", favourable)


def _cells(inquiry: Inquiry, leaves: Iterable[LeafRules], label_values: Iterable[LabelValue | None]) -> list[Cell]:
    """A cell for each stratum, leaf and value of the label."""
    leaves = [leaf for leaf in leaves if leaf.rules]
    asked = [(leaf, value) for value in label_values for leaf in leaves]
    names = [leaf.name if value is None else f"{leaf.name}, {value.value}" for leaf, value in asked]
    return [
        Cell(
            id=stratum_cell(name, number) if inquiry.strata else name,
            any_of=tuple(part.restricted(rule, value) for rule in leaf.rules),
        )
        for number, part in enumerate(inquiry.parts, start=1)
        for name, (leaf, value) in zip(names, asked, strict=True)
    ]
