"""Chains of decisions: the stages of one, in their order, as the rules of an ordinary plan (9-adverse-outcomes §4).

A person reaches a stage if all stages up to it are true. The cells "reached j stages and not the next one" are
disjoint and together cover everybody, so one batch answers every stage at the whole ε.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.bands import ADDITIVE, RULES
from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.request import AUTO, MODEL, OF_EVERYBODY, STABILITY, AuditRequest
from auditor_client.asking.source import chain_columns
from auditor_client.errors import QuestionRefused
from auditor_client.models.boxes import Space
from auditor_client.models.tree import DecisionRule, Leaf, Tree
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema

CONTRADICTING: Final = "contradicts"
"""The name of the cell of people who reached a later stage without an earlier one, and of its batch."""
OF_DECISIONS_OF_ALL: Final = OF_EVERYBODY - {STABILITY}
"""The metrics that a chain is asked with."""

Paths = tuple[tuple[Predicate, ...], ...]
"""Conjunctions of predicates that exclude each other."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a chain.

    Attributes:
        name: The name of its column, or `MODEL`.
        reached: Who reaches it, of those who reached the stages before it.
        stopped: Who does not.
    """

    name: str
    reached: Paths
    stopped: Paths


def ends_well(request: AuditRequest) -> bool:
    """Whether people want to reach the end of a request's chain: a job rather than a fine.

    Raises:
        QuestionRefused: The request does not say it.
    """
    if request.intervention is None:
        raise QuestionRefused(
            "The chain does not say whether reaching its end is good. Set `intervention`: assistive for a job or "
            "a grant, punitive for a control or a fine."
        )
    return request.intervention == "assistive"


def chained(request: AuditRequest, tree: Tree, schema: Schema) -> tuple[AuditRequest, tuple[DecisionRule, ...]]:
    """The request with its strategy, and the rules of its chain: those who reached so many stages and not the next.

    Args:
        request: With a chain.
        tree: Of the model whose decision is a stage; any other where none is.
        schema: The columns that the stages name.

    Raises:
        QuestionRefused: The chain does not fit the dataset or the rest of the request.
    """
    _require_combines(request)
    good, columns = ends_well(request), chain_columns(request, schema)
    stages = tuple(
        _of_model(tree, good) if column is None else _of_column(column, everybody=index > 0)
        for index, column in enumerate(columns)
    )
    rules = tuple(_rules(stages, good, schema))
    return request.changed(strategy=RULES), rules


def require_chain_counted(inquiry: Inquiry) -> None:
    """Refuse a chain where the holder counts one of two groups alone.

    Raises:
        QuestionRefused: The holder does.
    """
    if inquiry.counts_first_group_alone:
        raise QuestionRefused(
            "Under this dataset's relation the holder counts one of two groups, but a `chain` needs both. Audit "
            "each stage separately (`decision`), or name sensitive columns with more groups."
        )


def stage_cell(reached: int) -> str:
    """The id of the cell of people who reached so many stages and not the next one."""
    return f"reached-{reached}"


def contradicting(inquiry: Inquiry) -> Cell:
    """The cell of people who reached a later stage without an earlier one.

    Raises:
        QuestionRefused: A model decides at a later stage.
    """
    chain = inquiry.request.chain or ()
    if MODEL in chain[1:]:
        raise QuestionRefused(
            "People who contradict the order of a chain can be counted only if the model decides at its first "
            "stage or not at all. Leave `contradictions` out."
        )
    schema, rules = inquiry.schema, []
    for reached in range(len(chain) - 1):
        later = [_of_column(schema.by_name[name], everybody=True) for name in chain[reached + 1 :]]
        stopped = [rule.rule.all_of for rule in inquiry.rules if rule.leaf.origin == stage_cell(reached)]
        for index, stage in enumerate(later):
            before = [one.stopped for one in later[:index]]
            rules += [
                Rule(all_of=tuple(itertools.chain.from_iterable(parts)))
                for parts in itertools.product(stopped, *before, stage.reached)
            ]
    return Cell(id=CONTRADICTING, any_of=tuple(inquiry.restricted(rule, None) for rule in rules))


def _require_combines(request: AuditRequest) -> None:
    """Refuse what a chain is not asked with, by its name."""
    beside = {"decision": request.decision, "edges": request.edges, "by": request.by, "label": request.label}
    for name, value in beside.items():
        if value is not None:
            raise QuestionRefused(f"A chain cannot be combined with `{name}`. Leave out one of the two.")
    if request.above is not None and MODEL not in (request.chain or ()):
        raise QuestionRefused("The stages of a chain are boolean: leave `above` out.")
    if request.favourable is not None and MODEL not in (request.chain or ()):
        raise QuestionRefused("The stages of a chain are reached where they are true: leave `favourable` out.")
    if request.strategy not in (AUTO, RULES):
        raise QuestionRefused(
            "The stages of a chain have a cell each, so a strategy does not apply. Leave out "
            f"`strategy` {request.strategy!r}."
        )
    if not OF_DECISIONS_OF_ALL.issuperset(request.metrics):
        raise QuestionRefused(f"A chain counts everybody. Use the metrics {', '.join(sorted(OF_DECISIONS_OF_ALL))}.")
    if request.refines is not None:
        raise QuestionRefused("The answer about a chain cannot be refined. Leave out `refines` or the `chain`.")
    if request.mechanism not in ADDITIVE:
        raise QuestionRefused(f"A chain needs a mechanism that adds noise. Use {' or '.join(ADDITIVE)}.")
    if request.contradictions is not None and request.rho is not None:
        raise QuestionRefused(
            "Contradictions are counted with an epsilon of their own. Give `epsilon` instead of `rho`."
        )
    if request.known_totals is not None:
        raise QuestionRefused("The figures of a chain do not use group totals. Leave `group_totals` out.")


def _of_column(column: Column, *, everybody: bool) -> Stage:
    """A stage that a column says; who has no value there did not reach it, or is not asked about."""
    yes, no = (Predicate(column=column.name, op="eq", value=value) for value in (True, False))
    missing = ((Predicate(column=column.name, op="is_missing"),),) if everybody and column.nullable else ()
    return Stage(column.name, ((yes,),), ((no,), *missing))


def _of_model(tree: Tree, good: bool) -> Stage:
    """A stage that a model decides: reached where its decision is what the end of the chain is, a good or a burden."""
    rules = tree.merged().rules()
    return Stage(
        MODEL,
        tuple(rule.rule.all_of for rule in rules if rule.favourable == good),
        tuple(rule.rule.all_of for rule in rules if rule.favourable != good),
    )


def _rules(stages: Sequence[Stage], good: bool, schema: Schema) -> Iterator[DecisionRule]:
    """The rules of every number of reached stages, the whole chain's last."""
    for reached in range(len(stages) + 1):
        last = reached == len(stages)
        parts = [stage.reached for stage in stages[:reached]] + ([] if last else [stages[reached].stopped])
        words = f"reached {stages[-1].name}" if last else f"did not reach {stages[reached].name}"
        paths = [tuple(itertools.chain.from_iterable(one)) for one in itertools.product(*parts)]
        space = Space.of(schema, paths)
        for number, path in enumerate((path for path in paths if space.reached(path)), start=1):
            name = f"{stage_cell(reached)}.{number}"
            yield DecisionRule(Rule(id=name, all_of=path), Leaf(name, words, good == last, stage_cell(reached)))
