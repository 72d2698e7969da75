"""Bands of a score: the rules of a model that is one split of a number, cut finer (5-decisions §4).

Every band decides as the model does, so parity, odds and all else are asked and answered as with any rules. Because
the bands are disjoint and every one has its own cell, the same answer says it for every edge as a threshold.
"""

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.request import AUTO, PARITY, AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.models.tree import DecisionRule, Leaf, Tree
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column, Schema

EDGES_MAX: Final = 256
NO_SCORE: Final = (
    "Bands divide a score, and this request does not have one. Give a model that adds up a number, or name a "
    "column of numbers (`decision`, `above`)."
)
ADDITIVE: Final = ("laplace", "gaussian")
RULES: Final = "rules"
"""The strategy that gives every band its own cell."""


def banded(request: AuditRequest, tree: Tree, schema: Schema) -> tuple[AuditRequest, tuple[DecisionRule, ...]]:
    """A request with all its edges, those at which decisions are made among them, and a rule for every band.

    Args:
        request: With edges.
        tree: Of a score: it tests one column of numbers and nothing else.
        schema: The columns that it names.

    Raises:
        QuestionRefused: The tree tests something else, there are too many edges, or the strategy puts bands together.
    """
    if request.by is not None:
        raise QuestionRefused(
            "Bands of a score count everybody, so they cannot be combined with `by`. Leave out one of the two."
        )
    if request.strategy not in (AUTO, RULES):
        raise QuestionRefused(
            f"Bands have a cell each, so a strategy does not apply. Leave out `strategy` {request.strategy!r}."
        )
    if PARITY not in request.metrics:
        raise QuestionRefused(f"Bands count everybody, so the metrics must include {PARITY}. Add it.")
    if request.mechanism not in ADDITIVE:
        raise QuestionRefused(f"Bands need a mechanism that adds noise. Use {' or '.join(ADDITIVE)}.")
    column = score_of(tree.rules(), schema)
    edges = sorted({*map(float, request.edges or ()), *_thresholds(tree, column)})
    if not 1 <= len(edges) <= EDGES_MAX:
        raise QuestionRefused(f"Name from 1 to {EDGES_MAX} edges of bands.")
    rules = []
    for number, (low, high) in enumerate(itertools.pairwise((-math.inf, *edges, math.inf)), start=1):
        decision = tree.decide({column.name: min(high, sys.float_info.max)})
        name = f"band-{number:0{len(str(len(edges) + 1))}}"
        all_of = tuple(
            Predicate.model_validate({"column": column.name, "op": op, "value": end})
            for op, end in (("gt", low), ("le", high))
            if math.isfinite(end)
        )
        rules.append(DecisionRule(Rule(id=name, all_of=all_of), Leaf(name, decision.decision, decision.favourable)))
    return request.changed(edges=tuple(edges), strategy=RULES), tuple(rules)


def require_counted(inquiry: Inquiry) -> None:
    """Refuse bands where the holder counts one of two groups alone: nothing says how the other's people are spread.

    Raises:
        QuestionRefused: It does.
    """
    if inquiry.counts_first_group_alone:
        raise QuestionRefused(
            "Under this dataset's relation the holder counts one of two groups, but bands need both. Leave the "
            "bands out, or name sensitive columns with more groups."
        )


def score_of(rules: Sequence[DecisionRule], schema: Schema) -> Column:
    """The one column of numbers that rules test.

    Raises:
        QuestionRefused: They test others.
    """
    names = {predicate.column for rule in rules for predicate in rule.rule.all_of}
    if len(names) == 1 and (column := schema.by_name[names.pop()]).ordered:
        return column
    raise QuestionRefused(NO_SCORE)


def chosen_edge(inquiry: Inquiry) -> float | None:
    """The edge at which the decisions of some bands change; None if they do not, or at several."""
    changes = [
        edge
        for edge, (below, above) in zip(inquiry.request.edges or (), itertools.pairwise(inquiry.rules), strict=True)
        if below.favourable != above.favourable
    ]
    return changes[0] if len(changes) == 1 else None


def _thresholds(tree: Tree, column: Column) -> Iterator[float]:
    """Yield where decisions change, as the largest value on the lower side."""
    for predicate in itertools.chain.from_iterable(rule.rule.all_of for rule in tree.rules()):
        if not isinstance(predicate.value, int | float) or predicate.op not in ("lt", "le", "gt", "ge"):
            raise QuestionRefused(NO_SCORE)
        if predicate.op in ("le", "gt"):
            yield float(predicate.value)
        elif column.type == "integer":
            yield float(math.ceil(predicate.value) - 1)
        else:
            yield math.nextafter(predicate.value, -math.inf)
