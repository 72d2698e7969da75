"""The question of an audit: a model read as rules, made into a plan that fits the dataset."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from auditor_client.asking.bands import banded, require_counted
from auditor_client.asking.choice import choose_strategy
from auditor_client.asking.inquiry import Inquiry, ModelDigest
from auditor_client.asking.mechanisms import settled
from auditor_client.asking.request import AUTO, STABILITY, VERDICT, AuditRequest
from auditor_client.asking.source import ReadSource, RuleSource, extended_schema, read_source
from auditor_client.asking.stages import chained, require_chain_counted
from auditor_client.asking.strategies import build_plan
from auditor_client.errors import QuestionRefused
from auditor_client.exchange.columns import HeldColumn, OwnColumns
from auditor_client.models.robustness import stability_tree
from auditor_client.models.tree import DecisionRule, Tree
from auditor_client.text import first_fault
from shared.contract.datasets import DatasetDescription
from shared.kinds.plans import Plan
from shared.privacy.amounts import format_nano
from shared.wire import canonical
from shared.wire.problems import PlanRefused, TooLarge


@dataclass(frozen=True)
class Question(Inquiry):
    """An inquiry with its plan, which follows from it.

    Attributes:
        plan: What is asked, pinned to a version of the records.

    Raises:
        EstimationRefused: All rules make one decision, so there is nothing to ask.
        QuestionRefused: The plan would not fit the dataset.
    """

    plan: Plan = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "plan", _fitting_plan(self))

    @property
    def strategy(self) -> str:
        """How the rules are put into cells; never "auto"."""
        return self.request.strategy

    @property
    def counts_first_group_alone(self) -> bool:
        """Whether the holder counts the first of two groups; the same for all batches."""
        return _first_alone(self, self.plan)[0]

    @property
    def supportable(self) -> bool:
        """Whether the auditor's own data can count the plan's cells: none names a sensitive column."""
        return not any(batch.names_sensitive(self.schema) for batch in self.plan.batches)

    def changed(self, **changes: Any) -> "Question":
        """The same question with other values in its request.

        Raises:
            QuestionRefused: The plan would not fit the dataset.
        """
        return replace(self, request=self.request.changed(**changes))

    def at(self, nano: int) -> "Question":
        """The same question at another ε, or ρ, whichever it is asked in, in units of 10⁻⁹."""
        return self.changed(**{"epsilon" if self.request.rho is None else "rho": format_nano(nano)})


def make_question(
    model: Any, dataset: DatasetDescription, request: AuditRequest, own: OwnColumns | None = None
) -> Question:
    """Read what is to be audited and put its rules into a plan; sends nothing.

    Args:
        model: Anything that `models.readers` reads; None if the request names a column with the decisions.
        dataset: Whom to ask about.
        request: What to ask.
        own: The auditor's name and linked columns; without them nothing may be a score or linked.

    Raises:
        ModelRefused: The model cannot be read exactly.
        QuestionRefused: The plan would not fit the dataset.
    """
    request = settled(request, dataset)
    return question_of(read_source(model, dataset, request, own or OwnColumns()), dataset, request)


def question_of(read: ReadSource, dataset: DatasetDescription, request: AuditRequest) -> Question:
    """The question of a model that was read already.

    Args:
        read: The model, read for this request or for one that differs only in how it asks: edges, strategy, loss.
        dataset: Whom to ask about.
        request: What to ask, settled.

    Raises:
        QuestionRefused: The plan would not fit the dataset.
    """
    tree, source = read.model.tree, read.rules
    rules = tree.merged().rules()
    if STABILITY in request.metrics:
        rules = _stability_rules(tree, source, dataset, request)
    if request.edges is not None:
        request, rules = banded(request, tree, extended_schema(dataset, source.columns))
    if request.chain is not None:
        request, rules = chained(request, tree, extended_schema(dataset, source.columns))
    digest = ModelDigest(rules=rules_digest(rules, source.columns), file=read.file)
    inquiry = Inquiry(dataset, request, rules, digest, source)
    if request.edges is not None:
        require_counted(inquiry)
    if request.chain is not None:
        require_chain_counted(inquiry)
    if request.strategy == AUTO:
        request = request.changed(strategy=choose_strategy(inquiry))
    return Question(dataset, request, rules, digest, source)


def crossed_questions(first: Question, second: Question) -> tuple[Question, Question]:
    """Two questions about the same people as one: either has its own figures, and one plan's counts answer both.

    Raises:
        QuestionRefused: Both models together are no plan: they have too many rules, or other people or columns.
    """
    columns = {held.column.name: held for held in (*second.source.columns, *first.source.columns)}
    if first.source.decided != second.source.decided or not set(second.source.columns) <= set(columns.values()):
        raise QuestionRefused(
            "The two models decide about different people, or their scores share a name. Give "
            "models that decide about the same people."
        )

    def beside(one: Question, other: Question) -> Question:
        source = one.source.model_copy(update={"columns": tuple(columns.values())})
        return replace(one, request=one.request.changed(strategy=VERDICT), source=source, against=other.rules)

    return beside(first, second), beside(second, first)


def _stability_rules(
    tree: Tree, source: RuleSource, dataset: DatasetDescription, request: AuditRequest
) -> tuple[DecisionRule, ...]:
    """The rules that say whose decision is stable."""
    if source.columns:
        raise QuestionRefused(
            "Stability needs a tree or a rule list over the dataset's own columns, but this model is a score."
        )
    return stability_tree(tree, dataset.table, request.reach, request.free or ()).rules()


def _fitting_plan(inquiry: Inquiry) -> Plan:
    try:
        plan = build_plan(inquiry)
        plan.require_small()
        plan.check(inquiry.schema)
        if len(set(_first_alone(inquiry, plan))) > 1:
            raise QuestionRefused(
                f"The model's rules name a sensitive column, so the holder counts both groups of its rules, and one "
                f"alone of everybody: ask with another strategy than {inquiry.request.strategy!r}."
            )
    except ValidationError as error:
        raise QuestionRefused(": ".join(first_fault(error)).lstrip(": ")) from error
    except TooLarge as error:
        tests = sum(len(rule.rule.all_of) for rule in inquiry.rules)
        raise QuestionRefused(
            f"{error.detail.partition(';')[0]}: the model has {len(inquiry.rules)} rules with {tests} predicates, and "
            f"there are {len(inquiry.groups)} groups. Prune the tree (ccp_alpha, max_leaf_nodes), name fewer "
            "`sensitive` columns, or have the holder compute the model's probability as a score (`above`, such as 0.5)."
        ) from error
    except PlanRefused as error:
        raise QuestionRefused(str(error)) from error
    return plan


def _first_alone(inquiry: Inquiry, plan: Plan) -> list[bool]:
    """Of each batch whether the holder counts the first of two groups alone."""
    relation, groups = inquiry.dataset.neighbouring, len(inquiry.groups)
    return [
        relation.counts_first_group_alone(groups, moved=batch.names_sensitive(inquiry.schema)) for batch in plan.batches
    ]


def rules_digest(rules: tuple[DecisionRule, ...], derived: Iterable[HeldColumn] = ()) -> str:
    """The SHA-256 of a model's rules, what each decides, and the derived columns they name, as "sha256:<hex>"."""
    document: list[Any] = [
        {"rule": rule.rule.model_dump(mode="json", exclude_none=True), "favourable": rule.favourable} for rule in rules
    ]
    named = {predicate.column for rule in rules for predicate in rule.rule.all_of}
    columns = [
        {"id": held.id} if held.score is None else held.derived.document()
        for held in derived
        if held.column.name in named
    ]
    return canonical.digest([*document, {"columns": columns}] if columns else document)
