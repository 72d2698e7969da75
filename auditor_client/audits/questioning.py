"""From a model and what was asked about it to a question, with the auditor's own data about the same people."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from auditor_client.asking.bands import score_of
from auditor_client.asking.blocks import within_block
from auditor_client.asking.choice import choose_strategy, counted, rules_from
from auditor_client.asking.mechanisms import settled
from auditor_client.asking.question import Question, question_of
from auditor_client.asking.request import AUTO, AuditRequest
from auditor_client.asking.source import ReadSource, extended_schema, read_source
from auditor_client.asking.study_table import read_group_study
from auditor_client.asking.totals_table import read_group_totals
from auditor_client.audits.asking import Asking
from auditor_client.errors import ModelNamesItself, OutcomeNotNamed, QuestionRefused, needs
from auditor_client.exchange.columns import LinkedColumns, OwnColumns
from auditor_client.findings.verdicts import require_bounds
from shared.contract.datasets import DatasetDescription
from shared.scores.documents import Document
from shared.wire.wording import figure

if TYPE_CHECKING:
    from auditor_client.asking.own_data import OwnData

Step = Callable[[str], None]
"""Takes a few words about what is being done, to show progress."""

NOT_COUNTED: Final = "Rules that name a sensitive column cannot be counted in your own data."


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """A question as one auditor asks it.

    Attributes:
        question: What is asked.
        data: The auditor's own data about the same people, which are not sent; None if there are none.
        auditor: Who asks, by the holder's own name for it.
    """

    question: Question
    data: "OwnData | None"
    auditor: str

    def asking(self, question: Question) -> Self:
        """The same auditor's, about the same people, with another question."""
        data = None if self.data is None else self.data.about(question.schema, _scores(question))
        return type(self)(question, data, self.auditor)


class Questioning:
    """Makes questions that may name the auditor's linked columns; sends nothing."""

    def __init__(self, linked: LinkedColumns, on_step: Step) -> None:
        self._linked = linked
        self._on_step = on_step

    def posed(
        self,
        model: Any,
        description: DatasetDescription,
        asking: Asking,
        auditor: str,
        *,
        beside: PosedQuestion | None = None,
    ) -> PosedQuestion:
        """A model or decisions, made into a plan.

        Args:
            model: What `Auditor.audit` takes.
            description: Whom to ask about.
            asking: What is asked, and what is on hand.
            auditor: Who asks, by the holder's own name for it.
            beside: The question about another model that is asked about too: its columns keep their names, and the
                auditor's own data are not read again.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: What is asked does not fit the dataset or the auditor's own data.
        """
        request = settled(within_block(asking.request, asking.own.block, description), description)
        self._on_step("Making the plan" if model is None else "Reading the model")
        columns = OwnColumns(auditor, self._linked.of(description.name))
        read = _read(model, description, request, columns, beside)
        question = question_of(read, description, request)
        require_bounds(question, asking.reading)
        data = _own_data(asking.own.supports_from, question, columns, beside)
        changes = self._resolved(question, request, asking, data)
        if "edges" in changes:
            question = question_of(read, description, request.changed(**changes))
        elif changes:
            question = question.changed(**changes)
        if request.strategy == AUTO and request.chain is None and question.request.edges is None:
            self._say_choice(question)
        return PosedQuestion(question, data, auditor)

    def _resolved(
        self, question: Question, request: AuditRequest, asking: Asking, data: "OwnData | None"
    ) -> dict[str, Any]:
        """Return what the auditor's own totals and data decide of a request, as changes of it: here and nowhere else.

        The strategy of a question does not follow from public totals: the same question has the same plan with them.
        """
        own = asking.own
        changes = {} if own.group_totals is None else _known_totals(asking, question)
        if own.misreported is not None:
            question.require_correctable()
            changes["group_study"] = read_group_study(own.misreported, own.misreported_source, question.groups)
        if data is not None and question.supportable:
            changes["assumption"] = counted(question.changed(**changes), data.count)
            if own.bands is None and request.strategy == AUTO and request.edges is None and request.chain is None:
                changes["strategy"] = choose_strategy(question.changed(**changes))
        elif data is not None:
            self._on_step(NOT_COUNTED)
        if own.bands is not None:
            if data is None or request.edges is not None:
                raise QuestionRefused("Bands are cut by your own data (`supports_from`), or at `edges` that you name.")
            changes["edges"] = data.edges(score_of(question.rules, question.schema), own.bands)
        return changes

    def posed_both(
        self, models: tuple[Any, Any], description: DatasetDescription, asking: Asking, auditor: str
    ) -> tuple[PosedQuestion, PosedQuestion]:
        """Make two models into plans. Names that only one of them needs are not asked about the other, a Tree.

        Raises:
            ModelRefused: A model cannot be read exactly, or both name their favourable leaves themselves.
            QuestionRefused: What is asked does not fit the dataset or the auditor's own data.
        """
        unnamed = replace(asking, request=asking.request.changed(favourable=None, columns=None, above=None))
        try:
            one = self.posed(models[0], description, asking, auditor)
        except ModelNamesItself:
            one = self.posed(models[0], description, unnamed, auditor)
            return one, self.posed(models[1], description, asking, auditor, beside=one)
        try:
            return one, self.posed(models[1], description, asking, auditor, beside=one)
        except ModelNamesItself:
            return one, self.posed(models[1], description, unnamed, auditor, beside=one)

    def decisions(self, model: Any, description: DatasetDescription, decision: str | None) -> tuple[str, ...]:
        """What a model or a column can decide, if the good outcome has to be named; else nothing.

        Raises:
            ModelRefused: The model cannot be read exactly.
            QuestionRefused: The column does not exist, or there is no model.
        """
        columns = OwnColumns("", self._linked.of(description.name))
        request = AuditRequest(sensitive=description.table.sensitive[:1], decision=decision)
        try:
            read_source(model, description, request, columns)
        except OutcomeNotNamed as error:
            return error.decisions
        return ()

    def _say_choice(self, question: Question) -> None:
        """Say it where strategy auto would ask otherwise if the auditor had named the number of people."""
        people = rules_from(question)
        if people is not None:
            self._on_step(
                "Asking by strategy verdict, because you did not give the number of people (`people`): from "
                f"{figure(people)} on it would be rule by rule"
            )


def supposing_public_number(question: Question) -> Question:
    """The same question, forecast for as many people as the holder publishes, where the auditor named no number.

    The plan stays the same: how it is asked does not follow from the public number, or a repeated question would be
    another plan once the holder writes one. Linked decisions are about fewer people, so theirs is not supposed.
    """
    metadata, assumption = question.dataset.metadata, question.request.assumption
    public = None if metadata is None else metadata.people
    if public is None or assumption.people is not None or question.source.decided:
        return question
    return question.changed(assumption=assumption.model_copy(update={"people": public}), strategy=question.strategy)


def _known_totals(asking: Asking, question: Question) -> dict[str, Any]:
    """What is known of the groups' sizes, as changes of the request: the assumption follows it too."""
    if not asking.reading.has_intervals:
        raise QuestionRefused("The plug-in estimator takes no group totals (`group_totals`): use posterior.")
    own, request = asking.own, question.request
    totals = read_group_totals(own.group_totals, own.totals_source, question.groups, request.sensitive)
    return {"known_totals": totals, "assumption": totals.assumed(request.assumption)}


def _read(
    model: Any,
    description: DatasetDescription,
    request: AuditRequest,
    columns: OwnColumns,
    beside: PosedQuestion | None,
) -> ReadSource:
    """A model, whose score is not called like another one beside it; that the names meet is known once it is read."""
    read = read_source(model, description, request, columns)
    taken = {} if beside is None else {held.column.name: held for held in beside.question.source.columns}
    if all(taken.get(held.column.name, held).id == held.id for held in read.rules.columns):
        return read
    return read_source(model, description, request, OwnColumns(columns.auditor, {**columns.linked, **taken}))


def _own_data(table: Any, question: Question, columns: OwnColumns, beside: PosedQuestion | None) -> "OwnData | None":
    """The auditor's own data, if there are any, with the scores that a question names."""
    if table is None:
        return None
    with needs("Counting in your own data"):
        from auditor_client.asking.own_data import OwnData  # noqa: PLC0415 - pandas takes a second to import

    read = None if beside is None else beside.data
    if read is None:  # all columns that any question about the dataset may name
        read = OwnData(table, extended_schema(question.dataset, columns.linked.values()))
    return read.about(question.schema, _scores(question))


def _scores(question: Question) -> dict[str, Document]:
    return {one.column.name: one.score for one in question.source.columns if one.score is not None}
