"""Two models' rules crossed: whom both accept, only one of them, or neither (docs/adr/0035-two-models.md).

A person meets one rule of each model, so every pair of rules that exclude each other by no column is a rule of its own,
and the pairs are disjoint and cover everybody. A pair that nobody can meet is left out, and so is a predicate that the
others of its rule imply. The predicates of a rule are in one order, whichever model comes first.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from auditor_client.errors import QuestionRefused
from auditor_client.models.boxes import Space
from auditor_client.models.tree import DecisionRule
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Schema
from shared.wire import limits

Decisions = tuple[bool, bool]
"""Whether one model accepts somebody, and whether the other does."""
_DECISIONS: Final[tuple[Decisions, ...]] = ((True, True), (True, False), (False, True), (False, False))
PAIRS_MAX: Final = 16 * limits.RULES_PER_PLAN_MAX
"""Of more pairs of rules, those that somebody can meet are too many for a plan, or nearly."""


def crossed_rules(
    rules: Sequence[DecisionRule], against: Sequence[DecisionRule], schema: Schema
) -> Mapping[Decisions, tuple[Rule, ...]]:
    """The rules of both models together, by what either decides; none where the models exclude it.

    Raises:
        QuestionRefused: They are too many.
    """
    if len(rules) * len(against) > PAIRS_MAX:
        raise QuestionRefused(f"The models have {len(rules)} and {len(against)} rules: too many pairs for a plan.")
    space = Space.of(schema, [rule.rule.all_of for rule in (*rules, *against)])
    order = {predicate: predicate.model_dump_json() for rule in (*rules, *against) for predicate in rule.rule.all_of}
    crossed: dict[Decisions, list[Rule]] = {pair: [] for pair in _DECISIONS}
    for one, other in itertools.product(rules, against):
        predicates: list[Predicate] = sorted({*one.rule.all_of, *other.rule.all_of}, key=order.__getitem__)
        if space.reached(predicates):
            crossed[one.favourable, other.favourable].append(Rule(all_of=space.needed(predicates)))
    return {decisions: tuple(found) for decisions, found in crossed.items()}
