"""Where the rules of an inquiry come from: a tree, a model behind a score, or decisions that were made already."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from auditor_client.asking.request import MODEL, AuditRequest
from auditor_client.asking.scope import scope_predicates
from auditor_client.asking.strata import column_and_bands
from auditor_client.errors import ModelRefused, OutcomeNotNamed, QuestionRefused
from auditor_client.exchange.columns import HeldColumn, OwnColumns
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel, above, decided, of_values
from auditor_client.models.readers import read_model
from auditor_client.models.tree import Tree
from auditor_client.text import no_such
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn, extended
from shared.wire.problems import PlanRefused

_ONE_OF_TWO: Final = "Give either a model or the column with the decisions (`decision`), not both or neither."
_ONE_OF_TWO_STAGES: Final = (
    "A model and the stage `model` of a `chain` belong together. Give a model exactly if the chain names `model`."
)


class RuleSource(BaseModel):
    """What stands behind the rules of an inquiry: nothing of it for a tree by hand over declared columns.

    Attributes:
        columns: The derived columns that rules, scope or label name.
        decided: Predicates that hold of the people about whom was decided, and of nobody else.
        score: Among `columns`, the number that is compared with thresholds; None without one.
        thresholds: Of that number.
        provenance: How the model was read; None for a tree by hand, and for decisions.
    """

    model_config = ConfigDict(frozen=True)

    columns: tuple[HeldColumn, ...] = ()
    decided: tuple[Predicate, ...] = ()
    score: str | None = None
    thresholds: tuple[float, ...] = ()
    provenance: Provenance | None = None


STAGES_MIN: Final = 2
STAGES_MAX: Final = 12

TREE: Final = RuleSource()
"""Of a tree by hand over declared columns."""


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A model or decisions, read over one dataset: questions that differ in how they ask are made of it.

    Attributes:
        model: What was read.
        rules: What stands behind its rules.
        file: The SHA-256 of its file; None if it did not come from one.
    """

    model: ReadModel
    rules: RuleSource
    file: str | None


def read_source(model: Any, dataset: DatasetDescription, request: AuditRequest, own: OwnColumns) -> ReadSource:
    """Read what is to be audited.

    Args:
        model: Anything that `read_model` reads; None if the request names a column with the decisions.
        dataset: Whom to ask about.
        request: What to ask.
        own: The auditor's name and linked columns.

    Raises:
        ModelRefused: The model cannot be read exactly.
        QuestionRefused: There is no model and no decision, or both, or a column does not fit what is asked of it.
    """
    of_columns = request.decision is not None or (request.chain is not None and MODEL not in request.chain)
    if (model is None) != of_columns:
        raise QuestionRefused(_ONE_OF_TWO if request.chain is None else _ONE_OF_TWO_STAGES)
    schema = extended_schema(dataset, own.linked.values())
    if request.chain is not None and of_columns:
        read, digest = _first_stage(request, schema), None
    elif request.decision is None:
        read, digest = read_model(model, ModelRequest(schema, request.favourable, request.columns, request.above))
        _require_declared(read.columns, dataset)
    else:
        read, digest = _decisions(request, schema), None
    scores = {
        column.name: HeldColumn.of_score(column, auditor=own.auditor, dataset=dataset.name) for column in read.columns
    }
    known = {**own.linked, **scores}
    scope = scope_predicates(request.where, extended_schema(dataset, known.values()))
    predicates = itertools.chain(scope, *(rule.rule.all_of for rule in read.tree.merged().rules()))
    by = None if request.by is None else column_and_bands(request.by, schema.by_name)[0]
    named = [*scores, request.label, by, *(request.chain or ()), *(predicate.column for predicate in predicates)]
    source = RuleSource(
        columns=tuple(known[name] for name in dict.fromkeys(named) if name in known),
        decided=_decided_in_chain(read, request, schema) if request.chain else read.decided,
        score=read.score,
        thresholds=read.thresholds,
        provenance=read.provenance,
    )
    return ReadSource(read, source, digest)


def extended_schema(dataset: DatasetDescription, columns: Iterable[HeldColumn]) -> Schema:
    """A dataset's declared columns, and derived ones behind them."""
    columns = tuple(columns)
    return extended(
        dataset.table,
        {held.column.name: held.column for held in columns},
        reads={held.column.name: held.reads for held in columns},
    )


def _require_declared(scores: Iterable[DerivedColumn], dataset: DatasetDescription) -> None:
    """Refuse a score that names a linked column: the holder computes scores of what its records have."""
    try:
        for score in scores:
            score.check(dataset.table)
    except PlanRefused as error:
        raise ModelRefused(
            f"{error} A score can use only columns that the dataset declares; only a tree may use linked columns."
        ) from error


def _decisions(request: AuditRequest, schema: Schema) -> ReadModel:
    """The decisions in a column as a tree of one split."""
    column = column_named(str(request.decision), schema, "decision")
    if request.columns is not None:
        raise QuestionRefused(
            "`columns` names the inputs of a model, but the request does not have a model. Leave `columns` out."
        )
    return ReadModel(_decision_tree(column, request), decided=decided(column))


def chain_columns(request: AuditRequest, schema: Schema) -> tuple[Column | None, ...]:
    """The column of each stage of a request's chain; None for the model's decision.

    Raises:
        QuestionRefused: The chain is too short or too long, names a stage twice, or names something else than a boolean
            column that is not sensitive.
    """
    chain = request.chain or ()
    if not STAGES_MIN <= len(chain) <= STAGES_MAX or len(set(chain)) != len(chain):
        raise QuestionRefused(
            f"A `chain` must name {STAGES_MIN} to {STAGES_MAX} stages, each once, but it is "
            f"{', '.join(chain) or 'none'}. Correct the list."
        )
    return tuple(None if name == MODEL else _stage_column(name, schema) for name in chain)


def _stage_column(name: str, schema: Schema) -> Column:
    column = column_named(name, schema, "chain")
    if column.type != "boolean":
        raise QuestionRefused(
            f"Column {name!r} is of type {column.type}: a stage of a `chain` is boolean. Link a boolean column "
            "(`Auditor.link`)."
        )
    return column


def _first_stage(request: AuditRequest, schema: Schema) -> ReadModel:
    """The first stage of a chain without a model, as a tree of one split: it says who is decided about."""
    first = chain_columns(request, schema)[0]
    if first is None:
        raise TypeError("A chain with a model can only be read from the model. Give the model.")
    return ReadModel(of_values(first, [True]), decided=decided(first))


def _decided_in_chain(read: ReadModel, request: AuditRequest, schema: Schema) -> tuple[Predicate, ...]:
    """Return whom a chain is about: those about whom its first stage decides.

    Raises:
        QuestionRefused: A model that decides at a later stage does not decide about everybody.
    """
    first = chain_columns(request, schema)[0]
    if first is None or MODEL not in (request.chain or ()):
        return read.decided
    if read.decided:
        raise QuestionRefused(
            "The model decides only about people who have a value in all of its inputs. Name it as the first "
            "stage of the `chain`, or give a model that decides about everybody."
        )
    return decided(first)


def _decision_tree(column: Column, request: AuditRequest) -> Tree:
    name = column.name
    if column.ordered:
        if request.above is None or request.favourable is not None:
            raise QuestionRefused(
                f"Column {name!r} has numbers. Give the number above which the decision is favourable (`above`)."
            )
        return above(name, request.above, favourable=(f"above {request.above:g}", f"at most {request.above:g}"))
    if request.above is not None:
        raise QuestionRefused(
            f"Column {name!r} does not have numbers. Name its `favourable` values, and leave `above` out."
        )
    values = column.values
    wanted = request.favourable
    texts = {_text(value): value for value in values}
    unknown = [value for value in wanted or () if _text(value) not in texts]
    if unknown:
        raise QuestionRefused(no_such(f"value of column {name!r}", unknown[0], texts))
    if wanted is None:
        raise OutcomeNotNamed(f"The decision in column {name!r} is", list(texts))
    if not 0 < len(wanted) < len(values):
        raise QuestionRefused(
            f"Name some, but not all, of the values of column {name!r} as `favourable`: it has {', '.join(texts)}."
        )
    return of_values(column, [texts[_text(value)] for value in wanted])


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_named(name: str, schema: Schema, role: str) -> Column:
    """A column that is neither sensitive nor unknown.

    Raises:
        QuestionRefused: It is.
    """
    column = schema.by_name.get(name)
    if column is None:
        known = [one.name for one in schema.columns if not one.sensitive]
        raise QuestionRefused(
            f"`{role}`: {no_such('column', name, known)} Values of your own: link them first (`Auditor.link`)."
        )
    if column.sensitive:
        raise QuestionRefused(f"Column {name!r} is sensitive, so it cannot be the {role}.")
    return column
