"""What an audit is to find out, before the strategy is chosen: a request about the rules of one model.

Everything follows from three values: the dataset's declaration, the settled request and the rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final

from auditor_client.asking.crossing import Decisions, crossed_rules
from auditor_client.asking.request import (
    FALSE_DISCOVERY_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_OMISSION_RATE,
    FALSE_POSITIVE_RATE,
    ODDS,
    OF_EVERYBODY,
    OPPORTUNITY,
    AuditRequest,
)
from auditor_client.asking.scope import scope_predicates
from auditor_client.asking.source import TREE, RuleSource, column_named, extended_schema
from auditor_client.asking.strata import Stratum, strata
from auditor_client.dataset_words import DatasetWords
from auditor_client.errors import QuestionRefused
from auditor_client.models.tree import DecisionRule
from auditor_client.text import no_such
from shared.contract.datasets import DatasetDescription
from shared.contract.metadata import DatasetMetadata
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Group, Schema

EVERYBODY: Final = Cell(id="everybody", any_of=(Rule(all_of=()),))


class LabelValue(Enum):
    """A value of the label: what a person turned out to be."""

    POSITIVE = "y = 1"
    NEGATIVE = "y = 0"
    MISSING = "y missing"

    def predicate(self, label: str) -> Predicate:
        """The people of this value, by the dataset's label column."""
        if self is LabelValue.MISSING:
            return Predicate(column=label, op="is_missing")
        return Predicate(column=label, op="eq", value=self is LabelValue.POSITIVE)


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Which model was audited, by SHA-256 as "sha256:<hex>": of its canonical rules with their decisions, and of its
    file; None if the model came from memory.
    """

    rules: str
    file: str | None


@dataclass(frozen=True, slots=True)
class LeafRules:
    """A leaf of the tree and the rules that lead to it: one, or several where one conjunction cannot say it."""

    name: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Inquiry:
    """What is to be found out, of which rules, about whom.

    Attributes:
        dataset: The declaration of the people whom it is about.
        request: As it was asked, settled (`mechanisms.settled`).
        rules: All rules of the model after merging siblings with one decision: disjoint, and together they cover
            everybody whom it decides about.
        model: Which model they are of.
        source: What stands behind them.
        against: All rules of another model that the same people are asked about in one question; none for an audit.

    Raises:
        QuestionRefused: There is nothing to compare, or the dataset lacks what the request names.
    """

    dataset: DatasetDescription
    request: AuditRequest
    rules: tuple[DecisionRule, ...]
    model: ModelDigest
    source: RuleSource = TREE
    against: tuple[DecisionRule, ...] = ()

    def __post_init__(self) -> None:
        _ = self.scope, self.groups, self.reference, self.label, self.strata  # refuses what the dataset lacks
        if self.labelled and self.label is None:
            raise QuestionRefused(
                "The dataset does not declare a label, but this figure compares decisions with one. Name the "
                "label's column (`label`)."
            )
        self._check_totals()
        self._check_study()

    def _check_totals(self) -> None:
        totals = self.request.known_totals
        if totals is None:
            return
        if len(totals.people) != len(self.groups):
            raise QuestionRefused(f"There are {len(self.groups)} groups: give what is known of each (`group_totals`).")
        if not OF_EVERYBODY & set(self.metrics):
            raise QuestionRefused(
                "Group totals (`group_totals`) count everybody in a group, but this figure is about people of "
                "one label, or accepted people. Add the metric statistical-parity, or leave the totals out."
            )

    def require_correctable(self) -> None:
        """Refuse a study of misreported groups where it does not say which true groups there are.

        Raises:
            QuestionRefused: Groups are by several columns, can be missing, or were perturbed at their source.
        """
        sensitive = self.request.sensitive
        if len(sensitive) > 1:
            raise QuestionRefused(
                f"A study of misreported groups (`misreported`) is about one sensitive column, and this audit compares "
                f"by {', '.join(sensitive)}: name one of them."
            )
        if any(None in group for group in self.groups):
            raise QuestionRefused(
                f"The column {sensitive[0]!r} can have missing values, and a study of misreported groups "
                "(`misreported`) does not say who these people are. Leave the study out, or bound the figures "
                "(`unknown`)."
            )
        if self.dataset.table.by_name[sensitive[0]].randomised_response is not None:
            raise QuestionRefused(
                f"The groups of {sensitive[0]!r} were perturbed at their source, which is corrected already. Leave the "
                "study of misreported groups (`misreported`) out."
            )

    def _check_study(self) -> None:
        study = self.request.group_study
        if study is None:
            return
        self.require_correctable()
        if len(study.people) != len(self.groups):
            raise QuestionRefused(
                f"There are {len(self.groups)} groups: give a study of each (`misreported`), not of "
                f"{len(study.people)}."
            )

    @property
    def metrics(self) -> tuple[str, ...]:
        """Of `request.METRICS`, each once."""
        return self.request.metrics

    @cached_property
    def scope(self) -> tuple[Predicate, ...]:
        """Predicates that restrict every cell; none for everybody in the register."""
        return tuple(dict.fromkeys((*self.source.decided, *scope_predicates(self.request.where, self.schema))))

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """Within which the groups are compared too; none where that was not asked for."""
        if self.request.by is None:
            return ()
        found = strata(self.request.by, self.schema, self.scope)
        splitting = [
            *self.request.sensitive,
            self.request.decision,
            self.label.name if self.label and self.labelled else None,
        ]
        if found[0].column in splitting:
            raise QuestionRefused(
                f"Column {found[0].column!r} is compared already, so it cannot be the column within which groups "
                "are compared (`by`). Name another column."
            )
        return found

    @cached_property
    def parts(self) -> tuple["Inquiry", ...]:
        """The same about each stratum alone, as a scope of it would ask; without strata the inquiry itself.

        Known totals of groups are those of everybody, so they say nothing of a stratum.
        """
        if not self.strata:
            return (self,)
        return tuple(
            Inquiry(
                self.dataset,
                self.request.changed(by=None, known_totals=None, where=(*self.request.where, stratum.scope)),
                self.rules,
                self.model,
                self.source,
            )
            for stratum in self.strata
        )

    @cached_property
    def schema(self) -> Schema:
        """The columns that rules may name: the dataset's, and the derived ones."""
        return extended_schema(self.dataset, self.source.columns)

    @cached_property
    def words(self) -> DatasetWords:
        """What people read instead of the names of columns and values."""
        return DatasetWords(self.dataset.name, self.schema, self.dataset.metadata or DatasetMetadata())

    @cached_property
    def names_sensitive(self) -> bool:
        """Whether a rule, the scope or a score looks at a sensitive column: a change may move people between cells."""
        rules = (*self.rules, *self.against)
        predicates = [*self.scope, *(predicate for rule in rules for predicate in rule.rule.all_of)]
        label = [] if self.label is None or not self.labelled else [self.label.name]
        return any(map(self.schema.follows_sensitive, [*(one.column for one in predicates), *label]))

    @property
    def counts_first_group_alone(self) -> bool:
        """Whether the holder counts the first of two groups, and the other follows from supports."""
        return self.dataset.neighbouring.counts_first_group_alone(len(self.groups), moved=self.names_sensitive)

    @property
    def column_ids(self) -> dict[str, str]:
        """The id of each derived column, by name."""
        return {held.column.name: held.id for held in self.source.columns}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups to compare, in the declaration's order."""
        declared = [column.name for column in self.dataset.columns if column.sensitive]
        unknown = [name for name in self.request.sensitive if name not in declared]
        if unknown:
            raise QuestionRefused(no_such(f"sensitive column of dataset {self.dataset.name!r}", unknown[0], declared))
        groups = self.dataset.table.groups(self.request.sensitive)
        if len(groups) < 2:
            raise QuestionRefused(
                "Parity compares groups, and these columns make only one. Name sensitive "
                "columns with at least two values."
            )
        return groups

    @cached_property
    def reference(self) -> Group | None:
        """The group that the others are compared with, if one was named."""
        return None if self.request.reference is None else group_named(self.request.reference, self.groups)

    @cached_property
    def label(self) -> Column | None:
        """What people turned out to be; needed for all figures but statistical parity."""
        if self.request.label is None:
            return next((column for column in self.dataset.columns if column.label), None)
        column = column_named(self.request.label, self.schema, "label")
        if column.type != "boolean":
            raise QuestionRefused(
                f"Column {column.name!r} is of type {column.type}, but a label must be boolean. "
                "Name a boolean column (`label`)."
            )
        return column

    @property
    def labelled(self) -> bool:
        """Whether some figure needs the label."""
        return not OF_EVERYBODY.issuperset(self.metrics)

    @cached_property
    def crossed(self) -> Mapping[Decisions, tuple[Rule, ...]]:
        """The rules of this model and of the other together, by what either decides.

        Raises:
            QuestionRefused: They are too many.
        """
        return crossed_rules(self.rules, self.against, self.schema)

    def rules_of(self, favourable: bool) -> tuple[Rule, ...]:
        """The rules of one decision of this model, as they are asked about: crossed with the other's if there are."""
        if self.against:
            return (*self.crossed[favourable, True], *self.crossed[favourable, False])
        return tuple(rule.rule for rule in self.rules if rule.favourable == favourable)

    def leaves(self, favourable: bool) -> tuple[LeafRules, ...]:
        """The leaves of one decision; what a leaf needed several rules for is together."""
        # Copies of one node of the model may have been merged to leaves of either decision.
        of_other = {rule.leaf.origin for rule in self.rules if rule.favourable != favourable}
        leaves: dict[str, list[Rule]] = {}
        for rule in self.rules:
            if rule.favourable == favourable:
                apart = rule.leaf.origin is None or rule.leaf.origin in of_other
                leaves.setdefault(rule.leaf.id if apart else str(rule.leaf.origin), []).append(rule.rule)
        return tuple(LeafRules(name, tuple(rules)) for name, rules in leaves.items())

    def label_values(self, favourable: bool) -> tuple[LabelValue | None, ...]:
        """The values of the label by which the cells of one decision are split; (None,) if they are not."""
        if not self.labelled:
            return (None,)
        wanted = {value for metric in self.metrics for value in self._needed(metric, favourable)}
        return tuple(value for value in LabelValue if value in wanted)

    def every_label_value(self) -> tuple[LabelValue, ...]:
        """All values that the label can have."""
        return (
            LabelValue.POSITIVE,
            LabelValue.NEGATIVE,
            *([LabelValue.MISSING] if self.label and self.label.nullable else []),
        )

    def _needed(self, metric: str, favourable: bool) -> tuple[LabelValue, ...]:
        if metric in OF_EVERYBODY:
            return self.every_label_value()
        if metric in (OPPORTUNITY, FALSE_NEGATIVE_RATE):
            return (LabelValue.POSITIVE,)
        if metric == FALSE_POSITIVE_RATE:
            return (LabelValue.NEGATIVE,)
        of_refused = metric in (FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE)
        return (LabelValue.POSITIVE, LabelValue.NEGATIVE) if metric == ODDS or favourable != of_refused else ()

    def restricted(self, rule: Rule, value: LabelValue | None) -> Rule:
        """A rule within the scope, and for the people of one value of the label."""
        more = list(self.scope)
        if value is not None and self.label is not None:
            more.append(value.predicate(self.label.name))
        return Rule(id=rule.id, all_of=(*rule.all_of, *more)) if more else rule


def stratum_cell(cell: str, number: int) -> str:
    """The id of a cell's people in one stratum, by its number from 1."""
    return f"{cell}, stratum {number}"


def stratum_of(cell: str, inquiry: Inquiry) -> tuple[str, Stratum | None]:
    """The id of a cell without its stratum, and that; None where it names none."""
    named = (
        (cell.removesuffix(suffix), stratum)
        for number, stratum in enumerate(inquiry.strata, start=1)
        if cell.endswith(suffix := stratum_cell("", number))
    )
    return next(named, (cell, None))


def leaf_of(cell: str, inquiry: Inquiry) -> str:
    """The leaf whose people a cell counts: its id without stratum and value of the label."""
    cell, _ = stratum_of(cell, inquiry)
    if inquiry.labelled:
        for value in LabelValue:
            cell = cell.removesuffix(f", {value.value}")
    return cell


def group_named(wanted: Sequence[Any] | str, groups: Sequence[Group]) -> Group:
    """The group of a name: its values, as they are or as texts, with commas between them.

    Raises:
        QuestionRefused: No group has that name.
    """
    values = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    for group in groups:
        if list(group) == values or [_shown(value) for value in group] == [_shown(value) for value in values]:
            return group
    raise QuestionRefused(
        no_such("group", ",".join(map(_shown, values)), [",".join(map(_shown, group)) for group in groups])
    )


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    return str(value).lower() if isinstance(value, bool) else str(value)
