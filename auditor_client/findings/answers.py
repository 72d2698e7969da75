"""The reading of answers: the counts of a release that measure a figure.

The counts are found by what was asked, whatever its index: a released cell is the set of its rules, and a rule is
whom it counts. The same decisions read the other way round are the same cells.
So one function reads the answer to a plan of any strategy, and finds out whether an earlier release,
made for another question, already has what a new one needs (3-estimation §6).
"""

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from auditor_client.asking.inquiry import EVERYBODY, Inquiry, LabelValue
from auditor_client.asking.request import (
    ADVERSE,
    FALSE_DISCOVERY_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_OMISSION_RATE,
    FALSE_POSITIVE_RATE,
    ODDS,
    ODDS_RATIO,
    OPPORTUNITY,
    PARITY,
    PREDICTIVE,
    STABILITY,
)
from auditor_client.asking.stages import contradicting as contradicting_cell
from auditor_client.asking.stages import stage_cell
from auditor_client.errors import EstimationRefused, HolderLied
from auditor_client.estimation.band_counts import BandCounts, histograms
from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.crossed_measurements import CrossedMeasurement, Sides
from auditor_client.estimation.measurements import ComplementKind, Measurement, NoisyCounts, SizeBounds, Supports
from auditor_client.estimation.results import RatioKind
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Group, Schema
from shared.kinds.plans import Plan
from shared.kinds.releases import Release

RuleKey = frozenset[Hashable]
"""A rule by whom it counts: what each predicate admits, in no order, with the ids of derived columns."""
CountSupport = Callable[[Cell], int]
"""How many people a cell applies to in the auditor's own data, whatever their group."""


class Rate(StrEnum):
    """A rate that groups are compared by."""

    ACCEPTANCE = "acceptance"
    """Of the accepted among everybody."""
    TRUE_POSITIVE = "positive"
    """Of the accepted among people with y = 1."""
    FALSE_POSITIVE = "negative"
    """Of the accepted among people with y = 0."""
    PRECISION = "precision"
    """Of people with y = 1 among the accepted."""

    STABLE = "stable"
    """Of those whose decision stays the same within reach, among everybody."""
    ADVERSE = "adverse"
    """Of the refused among everybody, compared by their ratio."""
    ADVERSE_ODDS = "adverse-odds"
    """Of the refused among everybody, compared by their odds."""
    ADVERSE_POSITIVE = "adverse-positive"
    """Of the refused among people with y = 1."""
    ADVERSE_NEGATIVE = "adverse-negative"
    """Of the refused among people with y = 0."""
    FALSE_DISCOVERY = "false-discovery"
    """Of people with y = 0 among the refused."""
    FALSE_OMISSION = "false-omission"
    """Of people with y = 1 among the refused."""

    @property
    def ratio_kind(self) -> RatioKind:
        """The kind of ratio that compares the groups."""
        if self is Rate.ADVERSE_ODDS:
            return RatioKind.ODDS
        return RatioKind.HIGHEST if self in ADVERSE_RATES else RatioKind.LOWEST

    @property
    def counted(self) -> "Rate":
        """The rate of the favourable outcome that is counted: what is compared is 1 less it. Else the rate itself."""
        return ADVERSE_RATES.get(self, self)


ADVERSE_RATES: Final[Mapping[Rate, Rate]] = {
    Rate.ADVERSE: Rate.ACCEPTANCE,
    Rate.ADVERSE_ODDS: Rate.ACCEPTANCE,
    Rate.ADVERSE_POSITIVE: Rate.TRUE_POSITIVE,
    Rate.ADVERSE_NEGATIVE: Rate.FALSE_POSITIVE,
    Rate.FALSE_DISCOVERY: Rate.FALSE_OMISSION,
    Rate.FALSE_OMISSION: Rate.FALSE_DISCOVERY,
}
"""The rates of adverse outcomes, each with that of the other outcome among the same people."""

RATES: Final[Mapping[str, tuple[Rate, ...]]] = {
    PARITY: (Rate.ACCEPTANCE,),
    OPPORTUNITY: (Rate.TRUE_POSITIVE,),
    ODDS: (Rate.TRUE_POSITIVE, Rate.FALSE_POSITIVE),
    PREDICTIVE: (Rate.PRECISION,),
    STABILITY: (Rate.STABLE,),
    ADVERSE: (Rate.ADVERSE,),
    ODDS_RATIO: (Rate.ADVERSE_ODDS,),
    FALSE_POSITIVE_RATE: (Rate.ADVERSE_NEGATIVE,),
    FALSE_DISCOVERY_RATE: (Rate.FALSE_DISCOVERY,),
    FALSE_NEGATIVE_RATE: (Rate.ADVERSE_POSITIVE,),
    FALSE_OMISSION_RATE: (Rate.FALSE_OMISSION,),
}
"""The rates that each metric compares."""
OF_EVERYBODY: Final = frozenset({Rate.ACCEPTANCE, Rate.STABLE, Rate.ADVERSE, Rate.ADVERSE_ODDS})
"""The rates that known totals of groups say something of: those of everybody within the scope."""

_LABELS: Final = {Rate.TRUE_POSITIVE: LabelValue.POSITIVE, Rate.FALSE_POSITIVE: LabelValue.NEGATIVE}
"""Whom a rate is about, if not everybody."""
_BY_LABEL: Final = {
    Rate.PRECISION: (True, LabelValue.POSITIVE, LabelValue.NEGATIVE),
    Rate.FALSE_DISCOVERY: (False, LabelValue.POSITIVE, LabelValue.NEGATIVE),
    Rate.FALSE_OMISSION: (False, LabelValue.NEGATIVE, LabelValue.POSITIVE),
}
"""Of the rates of a label among people of one decision: which decision; the label that is counted as a measurement's
favourable one, which for adverse rates is that of the others; and the other label."""


@dataclass(frozen=True, slots=True)
class BatchCells:
    """Cells of one batch, by their indices, that together count some rules' people, each of them once."""

    batch: int
    cells: tuple[int, ...]

    def among(self, plan: Plan) -> list[Cell]:
        """They themselves."""
        return [plan.batches[self.batch].cells[index] for index in self.cells]


@dataclass(frozen=True, slots=True)
class Location:
    """The cells of a plan that one rate needs."""

    favourable: BatchCells
    complement: BatchCells
    complement_is: ComplementKind


@dataclass(frozen=True, slots=True)
class RateCounts:
    """The counts of a release that measure one rate, and the ids of the cells they are of, one for each row."""

    measurement: Measurement
    favourable: tuple[str, ...]
    complement: tuple[str, ...]


def with_outcomes(counts: Mapping[Rate, RateCounts], metrics: Sequence[str]) -> dict[Rate, RateCounts]:
    """Counts with those of every metric: the adverse outcome and the favourable one are read from the same."""
    found = dict(counts)
    for rate in (rate for metric in metrics for rate in RATES[metric] if rate not in counts):
        counted = next(of_rate for one, of_rate in counts.items() if one.counted is rate.counted)
        found[rate] = replace(counted, measurement=replace(counted.measurement, ratio_kind=rate.ratio_kind))
    return found


class AskedCells:
    """The cells of a plan, to be found by whom they count.

    Args:
        plan: The plan, asked for the question or for another one.
        schema: The declared columns and the derived ones of the question.
    """

    def __init__(self, plan: Plan, schema: Schema) -> None:
        ids = plan.columns or {}
        self._schema = schema
        self._keys = [
            [frozenset(_key(rule, ids, schema) for rule in cell.any_of) for cell in batch.cells]
            for batch in plan.batches
        ]

    def cover(self, alternatives: Iterable[Iterable[Rule]], ids: Mapping[str, str]) -> BatchCells | None:
        """The cells that together ask for the first of some alternative sets of rules that was asked for.

        Args:
            alternatives: Sets of rules that count the same people.
            ids: The ids of the derived columns that these rules name.
        """
        for rules in alternatives:
            wanted = frozenset(_key(rule, ids, self._schema) for rule in rules)
            for batch, keys in enumerate(self._keys):
                cells = tuple(index for index, key in enumerate(keys) if key <= wanted)
                # Each rule once: cells that share one would count its people twice.
                if wanted and sum(len(keys[index]) for index in cells) == len(wanted) == len(
                    frozenset().union(*(keys[index] for index in cells))
                ):
                    return BatchCells(batch, cells)
        return None

    def locate(self, inquiry: Inquiry, rate: Rate) -> Location | None:
        """Return where the plan asks for what a rate needs; None if it does not."""
        cover = partial(self.cover, ids=inquiry.column_ids)
        favourable, unfavourable = (inquiry.rules_of(decision) for decision in (True, False))
        if rate in _BY_LABEL:
            decision, first, second = _BY_LABEL[rate]
            decided = favourable if decision else unfavourable
            accepted, complement = (cover(alternatives(inquiry, decided, value)) for value in (first, second))
            return None if accepted is None or complement is None else Location(accepted, complement, "unfavourable")
        value = _LABELS.get(rate.counted)
        accepted = cover(alternatives(inquiry, favourable, value))
        refused = cover(alternatives(inquiry, unfavourable, value))
        if accepted is not None and refused is not None:
            return Location(accepted, refused, "unfavourable")
        everybody = cover(alternatives(inquiry, EVERYBODY.any_of, value))
        return None if accepted is None or everybody is None else Location(accepted, everybody, "everybody")

    def has_each(self, plan: Plan, inquiry: Inquiry) -> bool:
        """Whether the cells of this plan give every cell of another plan for the same inquiry."""
        return all(
            self.cover([cell.any_of, *alternatives(inquiry, cell.any_of, None, restrict=False)], inquiry.column_ids)
            is not None
            for batch in plan.batches
            for cell in batch.cells
        )


def read(release: Release, inquiry: Inquiry, *, supports: CountSupport | None = None) -> dict[Rate, RateCounts]:
    """Read a verified release, to this question or to another, as the measurements of the inquiry's rates.

    `supports` counts a cell in the auditor's own data.

    Raises:
        EstimationRefused: The release does not count what is needed.
        HolderLied: The answer does not fit the release's own plan.
    """
    _require_its_answer(release)
    cells = AskedCells(release.plan, inquiry.schema)
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    found = {}
    for rate in (rate for metric in inquiry.metrics for rate in RATES[metric]):
        location = cells.locate(inquiry, rate)
        if location is None:
            raise EstimationRefused("The release does not count the people that this rate needs.")
        parts = location.favourable, location.complement
        (favourable, accepted), (complement, others) = (answered_cells(release, part, merged) for part in parts)
        known = None
        if supports is not None and merged is None:  # else a row is no whole cell
            known = Supports(*(tuple(map(supports, part.among(release.plan))) for part in parts))
        measurement = Measurement(
            inquiry.groups,
            favourable,
            complement,
            location.complement_is,
            supports=known,
            bounds=size_bounds(inquiry, rate),
            ratio_kind=rate.ratio_kind,
            sizes=true_sizes(inquiry, rate),
            confusion=None if inquiry.request.group_study is None else inquiry.request.group_study.counts,
        )
        found[rate] = RateCounts(measurement, accepted, others)
    return found


def read_crossed(release: Release, inquiry: Inquiry, rate: Rate) -> CrossedMeasurement:
    """Read a verified release about two models as what either decides of the people whom a rate is about.

    Raises:
        EstimationRefused: The release does not count both decisions together.
    """
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    cells = AskedCells(release.plan, inquiry.schema)
    precision = rate is Rate.PRECISION
    values = (LabelValue.POSITIVE, LabelValue.NEGATIVE) if precision else (_LABELS.get(rate),)
    counted: list[NoisyCounts] = []
    accepted: tuple[list[int], list[int]] = [], []
    refused: tuple[list[int], list[int]] = [], []
    for (decisions, rules), value in itertools.product(inquiry.crossed.items(), values):
        if not rules or (precision and not any(decisions)):
            continue
        where = cells.cover(alternatives(inquiry, rules, value), inquiry.column_ids)
        if where is None:
            raise EstimationRefused("The release does not count what both models decide together.")
        for model, decision in enumerate(decisions):
            if precision and decision:
                (accepted if value is LabelValue.POSITIVE else refused)[model].append(len(counted))
            elif not precision:
                (accepted if decision else refused)[model].append(len(counted))
        counted.append(answered_cells(release, where, merged)[0])
    first, second = (Sides(tuple(accepted[model]), tuple(refused[model])) for model in (0, 1))
    return CrossedMeasurement(inquiry.groups, tuple(counted), first, second)


def size_bounds(inquiry: Inquiry, rate: Rate) -> SizeBounds | None:
    """Return how many people of each group a rate is about, as far as the auditor knows it beforehand."""
    totals = inquiry.request.known_totals
    if totals is None or rate not in OF_EVERYBODY:
        return None
    return totals.bounds if totals.as_recorded(inquiry.groups) else totals.at_most


def true_sizes(inquiry: Inquiry, rate: Rate) -> tuple[int, ...] | None:
    """Return the public sizes of the declared groups, where some people's group is unknown; None if not public."""
    totals = inquiry.request.known_totals
    if totals is None or rate not in OF_EVERYBODY or totals.as_recorded(inquiry.groups):
        return None
    return totals.exact_of_declared(inquiry.groups)


def read_bands(release: Release, inquiry: Inquiry, edges: tuple[float, ...]) -> BandCounts:
    """Read a verified release, to this question or to another, as the bands of a score.

    Raises:
        EstimationRefused: The release does not count every band by itself.
    """
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    cells = AskedCells(release.plan, inquiry.schema)

    def counted(value: LabelValue | None) -> tuple[NoisyCounts, ...]:
        """Histograms of all bands that add up: several where the answer counts by more columns."""
        bands = []
        for rule in inquiry.rules:
            where = cells.cover([[inquiry.restricted(rule.rule, value)]], inquiry.column_ids)
            if where is None:
                raise EstimationRefused("The release does not count the bands of the score by themselves.")
            bands.append(answered_cells(release, where, merged)[0])
        return histograms(bands)

    by_value = {value: counted(value) for value in _counted_values(inquiry)}
    return BandCounts(
        inquiry.groups,
        edges,
        unlabelled=(*by_value.get(None, ()), *by_value.get(LabelValue.MISSING, ())),
        positive=by_value.get(LabelValue.POSITIVE, ()),
        negative=by_value.get(LabelValue.NEGATIVE, ()),
        upward=inquiry.rules[-1].favourable,
    )


def read_chain(release: Release, inquiry: Inquiry) -> ChainCounts:
    """Read a verified release, to this question or to another, as the stages of a chain.

    Raises:
        EstimationRefused: The release does not count how far people came.
    """
    merged = merged_rows(release.plan.sensitive, inquiry.request.sensitive, inquiry.dataset.table)
    cells, chain = AskedCells(release.plan, inquiry.schema), inquiry.request.chain or ()

    def counted(rules: Sequence[Rule], *, restrict: bool) -> NoisyCounts:
        where = cells.cover(alternatives(inquiry, rules, None, restrict=restrict), inquiry.column_ids)
        if where is None:
            raise EstimationRefused("The release does not count the stages of the chain.")
        return answered_cells(release, where, merged)[0]

    by_reached = [
        counted([rule.rule for rule in inquiry.rules if rule.leaf.origin == stage_cell(reached)], restrict=True)
        for reached in range(len(chain) + 1)
    ]
    contradicting = None
    if inquiry.request.contradictions is not None:
        contradicting = counted(contradicting_cell(inquiry).any_of, restrict=False)
    return ChainCounts(inquiry.groups, chain, histograms(by_reached), contradicting)


def _counted_values(inquiry: Inquiry) -> tuple[LabelValue | None, ...]:
    """The values of the label that every band is counted by."""
    favourable, unfavourable = inquiry.label_values(True), inquiry.label_values(False)
    return tuple(value for value in favourable if value in unfavourable)


def merged_rows(has: tuple[str, ...], wanted: tuple[str, ...], schema: Schema) -> tuple[tuple[int, ...], ...] | None:
    """Return how counts by more sensitive columns make rows of counts by fewer; None if the columns are the same.

    There is one row for each value of the other columns: for each wanted group the index of its count.

    Raises:
        EstimationRefused: Some wanted column was not counted by.
    """
    if has == wanted:
        return None
    if not set(wanted) <= set(has):
        raise EstimationRefused(f"The release counts by {', '.join(has)}, not by {', '.join(wanted)}.")
    index_of = {group: index for index, group in enumerate(schema.groups(has))}
    others = [name for name in has if name not in wanted]
    return tuple(
        tuple(index_of[_regrouped(has, wanted, group, others, rest)] for group in schema.groups(wanted))
        for rest in schema.groups(others)
    )


def _regrouped(has: tuple[str, ...], wanted: Sequence[str], group: Group, others: Sequence[str], rest: Group) -> Group:
    values = {**dict(zip(wanted, group, strict=True)), **dict(zip(others, rest, strict=True))}
    return tuple(values[name] for name in has)


def answered_cells(
    release: Release, where: BatchCells, merged: tuple[tuple[int, ...], ...] | None
) -> tuple[NoisyCounts, tuple[str, ...]]:
    """The answered counts of some cells, and the cell of each row."""
    answered = release.batches[where.batch]
    rows: list[tuple[int, ...]] = []
    names: list[str] = []
    for cell in (answered.cells[index] for index in where.cells):
        of_cell = [cell.counts] if merged is None else [tuple(cell.counts[index] for index in row) for row in merged]
        rows += of_cell
        names += [cell.id] * len(of_cell)
    return NoisyCounts.of(rows, answered.noise), tuple(names)


def alternatives(
    inquiry: Inquiry, rules: Sequence[Rule], label_value: LabelValue | None, *, restrict: bool = True
) -> list[list[Rule]]:
    """The sets of rules that count the same people: also by strata, and whatever their label also by labels."""
    if not restrict:
        scoped = [list(rules)]
    else:
        parts = ((inquiry,), inquiry.parts) if inquiry.strata else ((inquiry,),)
        scoped = [[part.restricted(rule, label_value) for part in of_all for rule in rules] for of_all in parts]
    if label_value is not None or inquiry.label is None:
        return scoped
    label = inquiry.label.name
    split = [
        [
            Rule(id=rule.id, all_of=(*rule.all_of, value.predicate(label)))
            for rule, value in itertools.product(whole, inquiry.every_label_value())
        ]
        for whole in scoped
    ]
    return [*scoped, *split]


def _key(rule: Rule, ids: Mapping[str, str], schema: Schema) -> RuleKey:
    """Return whom a rule counts, the same however its predicates are written."""
    return frozenset((ids.get(one.column, ""), *_admitted(one, schema.by_name.get(one.column))) for one in rule.all_of)


def _admitted(predicate: Predicate, column: Column | None) -> tuple[Hashable, ...]:
    """Return what a predicate admits of its column.

    Of a category or boolean column these are values: "not A" of the two values A and B is B. Of at most half of the
    values those that are admitted stand in the key, otherwise the others.
    """
    if column is None or not column.values:
        return (predicate.model_dump_json(exclude_none=True),)
    listed = frozenset(predicate.operands)
    admits = predicate.op in ("eq", "in", "is_missing")
    half = len(column.values) / 2
    if len(listed) > half or (len(listed) == half and column.values[0] not in listed):
        listed, admits = frozenset(column.values) - listed, not admits
    return column.name, admits, listed, column.nullable and predicate.matches(None)


def _require_its_answer(release: Release) -> None:
    """Refuse a release whose batches are not those of its own plan."""
    asked = [(batch.name, [cell.id for cell in batch.cells]) for batch in release.plan.batches]
    answered = [(batch.name, [cell.id for cell in batch.cells]) for batch in release.batches]
    if asked != answered or len({batch.groups for batch in release.batches}) != 1:
        raise HolderLied("The answer has other batches, cells or groups than its plan asks for.")
