"""Trainings: what is to be learned, what it costs, the trained model, and the way to an audit of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from fastapi import APIRouter, Response

from auditor_client.asking.bands import RULES
from auditor_client.asking.request import OPPORTUNITY, PARITY
from auditor_client.asking.training import FollowingAudit, TrainingRequest
from auditor_client.asking.training_columns import nameable, sensitive_of
from auditor_client.auditor import Auditor
from auditor_client.audits.asking import TrainingAsking
from auditor_client.audits.kept_trainings import kept_training, kept_trainings
from auditor_client.audits.planned_training import PlannedTraining
from auditor_client.audits.training import TrainingResult
from auditor_client.desk.asking import AuditDraft
from auditor_client.desk.audits import attachment, report
from auditor_client.desk.desk import Desk, KeepFile, PricedDraft, SentForm
from auditor_client.desk.fields import (
    first_training_fields,
    in_labels,
    ratio_of,
    training_sections,
    values_of,
)
from auditor_client.desk.pages import Sent, TheDesk, fault_text, go, page
from auditor_client.desk.waiting import AskedTraining
from auditor_client.errors import AuditorError, QuestionRefused, SignInNeeded
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.notes import Note, Notes
from auditor_client.findings.reading import FOUR_FIFTHS, Reading
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.report.history_data import TrainingRow, history_data
from auditor_client.report.languages import LANGUAGES
from auditor_client.text import loss_words
from shared.contract.datasets import Budget, DatasetDescription
from shared.contract.schema import Column

router = APIRouter()
KINDS: Final = (TrainingRequest, Reading, FollowingAudit)
SECTION: Final = "Trainings"


@dataclass(frozen=True, slots=True)
class FeatureChoice:
    """A column that a model may use: whether it is chosen, and where its bins begin.

    Attributes:
        cuts: The name of the form's field for them; none of what is no number.
    """

    name: str
    chosen: bool
    cuts: str | None
    typed: str
    needs_cuts: bool


@dataclass(frozen=True, slots=True)
class TrainingLine:
    """A kept training in the index, with the name of its note."""

    name: str
    row: TrainingRow


@router.get("/trainings")
def show_trainings(desk: TheDesk, dataset: str = "") -> Response:
    """The kept trainings, the newest first, and where a new one is begun."""
    return _trainings(desk, dataset)


def _trainings(desk: Desk, dataset: str = "", fault: str = "") -> Response:
    receipts = desk.kept.receipts
    kept, unreadable = kept_trainings(receipts, dataset=dataset or None)
    data = history_data((), [(one.note, one.kept) for one in kept])
    lines = [TrainingLine(one.note.file_name, row) for one, row in zip(kept, data.trainings, strict=True)]
    names = sorted({note.dataset.name for note in Notes(receipts.directory, TrainingNote).read()})
    about = next((one.note.dataset for one in kept if dataset), None)
    datasets, unasked = _datasets(desk)
    offered = [one for one in datasets if one.trainings]
    return page(
        desk, "trainings.html.j2", section=SECTION, about=about, lines=lines[::-1], unreadable=unreadable,
        unasked=unasked, names=names, dataset=dataset, offered=offered, fault=in_labels(fault),
        status=422 if fault else 200,
    )  # fmt: skip


def _datasets(desk: Desk) -> tuple[tuple[DatasetDescription, ...], str]:
    """What the holder offers; or why it cannot be asked: what is kept is shown without it."""
    try:
        with desk.auditor() as auditor:
            return auditor.datasets(), ""
    except SignInNeeded:
        raise
    except AuditorError as error:
        return (), fault_text(error)


@router.post("/trainings")
def begin(desk: TheDesk, sent: Sent) -> Response:
    """Begin a training about a dataset."""
    dataset = sent.typed.get("dataset", "")
    if not dataset:
        return _trainings(desk, fault="Choose the `dataset` to train on.")
    return go(desk, f"/trainings/new/{desk.draft(TrainingDraft, dataset).id}")


@dataclass(slots=True)
class TrainingDraft(PricedDraft[PlannedTraining]):
    """A training as far as it was typed."""

    section: ClassVar[str] = SECTION
    template: ClassVar[str] = "training_draft.html.j2"
    apart: ClassVar[tuple[str, ...]] = ("features", "ratio")
    asking: ClassVar[str] = "Training the model"

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/trainings/new/{self.id}"

    def form(self, auditor: Auditor, dataset: DatasetDescription, _: Budget, __: Receipts) -> dict[str, Any]:
        """The fields of a training; once it is priced, what each part of the price buys."""
        datasets = [one.name for one in auditor.datasets() if (one.rehearsal is None) == (dataset.rehearsal is None)]
        return {
            "first": first_training_fields(dataset), "more": training_sections(dataset, datasets),
            "typed": self.typed or {"sensitive": ",".join(sensitive_of(dataset.table))},
            "features": _features(dataset, self.typed), "ratio": FOUR_FIFTHS, "planned": self.planned,
            "groups": [name for name in dataset.sensitive if name in dataset.table.by_name],
            "price": None if self.planned is None else loss_words(self.planned.quote.price),
        }  # fmt: skip

    def take(self, dataset: DatasetDescription, sent: SentForm, _: KeepFile) -> None:
        """Take what was typed, the columns that were chosen, and where their bins begin as texts of features."""
        chosen, features = sent.chosen.get("features", ()), list[str]()
        for index, column in _usable(dataset):
            cuts = "".join(sent.typed.get(f"cuts_{index}", "").split())
            if column.name in chosen:
                features.append(f"{column.name}={cuts}" if cuts else column.name)
        sensitive = ",".join(sent.chosen.get("sensitive", ()))
        self.typed = {**sent.typed, "sensitive": sensitive, "features": "\n".join(features)}
        for name, lacking in (
            ("sensitive", "Choose the columns whose groups the model must treat fairly (`sensitive`)."),
            ("features", "Choose the columns that the model may use (`features`)."),
        ):
            if not self.typed[name]:
                raise QuestionRefused(lacking)
        TrainingAsking.of(None, None, None, None, values_of(self.typed, KINDS))
        ratio_of(self.typed.get("ratio", ""))

    @property
    def arguments(self) -> dict[str, Any]:
        """What was typed, as the arguments of `Auditor.train` other than the dataset."""
        return {**values_of(self.typed, KINDS), "ratio": ratio_of(self.typed.get("ratio", ""))}

    def price(self, auditor: Auditor) -> PlannedTraining:
        """Look what the training would cost."""
        return auditor.plan_training(self.dataset, **self.arguments)

    def asked(self, _: Mapping[str, str]) -> AskedTraining:
        """The training, of the version that it was priced for."""
        return AskedTraining(
            subject=f"Training of a model on {self.dataset}",
            dataset=self.dataset,
            keywords=self.arguments,
            asked_for=self.asked_for,
            version=None if self.planned is None else self.planned.training.version,
        )


def _features(dataset: DatasetDescription, typed: dict[str, str]) -> list[FeatureChoice]:
    """What a model may use, as it was typed; first all that is no sensitive column and has its bins."""
    chosen = dict(text.partition("=")[::2] for text in typed.get("features", "").splitlines())
    usual = () if typed else nameable(dataset.table)
    return [
        FeatureChoice(
            column.name,
            column.name in chosen or (column.name in usual and not _needs_cuts(column)),
            f"cuts_{index}" if column.ordered else None,
            chosen.get(column.name, ""),
            _needs_cuts(column),
        )
        for index, column in _usable(dataset)
    ]


def _usable(dataset: DatasetDescription) -> list[tuple[int, Column]]:
    """The columns that rules may name, other than labels, by their numbers in the declaration."""
    return [
        (index, one)
        for index, one in enumerate(dataset.columns)
        if dataset.table.may_be_named(one.name) and not one.label
    ]


def _needs_cuts(column: Column) -> bool:
    """Whether no bins follow from what a column declares."""
    return column.ordered and (column.minimum is None or column.maximum is None)


@router.get("/trainings/{name}")
def show_training(desk: TheDesk, name: str) -> Response:
    """A trained model: what is known of it, and what can be done with it."""
    return _training(desk, name)


def _training(desk: Desk, name: str, wanted: str | None = None, fault: str = "") -> Response:
    result = _result(desk, name)
    datasets, unasked = _datasets(desk)
    return page(
        desk, "training.html.j2", section=SECTION, about=result.trained.dataset, name=name, result=result,
        unasked=unasked, data=result.view.data, row=history_data((), [(result.note, result.trained.kept)]).trainings[0],
        audits=list(map(_audited, desk.kept.notes_of(result.note.model))), datasets=datasets, wanted=wanted,
        fault=in_labels(fault), status=422 if fault else 200,
    )  # fmt: skip


def _result(desk: Desk, name: str) -> TrainingResult:
    return kept_training(desk.kept.receipts, name).result


def _audited(note: Note) -> tuple[str, str]:
    """The name of an audit's note, and what it is about."""
    amount = loss_words(note.request.loss)
    return note.file_name, f"{note.dataset.name}, version {note.plan.version}, {amount}"


@router.get("/trainings/{name}/report")
def show_report(desk: TheDesk, name: str, language: str = LANGUAGES[0]) -> Response:
    """The page of the trained model, as `auditor train --report` writes it."""
    return report(_result(desk, name), language)


@router.get("/trainings/{name}/report.json")
def show_document(desk: TheDesk, name: str) -> Response:
    """The same as JSON."""
    return attachment(_result(desk, name).to_json().encode(), "application/json", f"training-{name[:12]}.json")


@router.get("/trainings/{name}/model.json")
def send_model(desk: TheDesk, name: str) -> Response:
    """The model's file."""
    result = _usable_result(desk, name)
    return attachment(result.model_text.encode(), "application/json", f"model-{name[:12]}.json")


def _usable_result(desk: Desk, name: str) -> TrainingResult:
    result = _result(desk, name)
    if not result.usable:
        raise QuestionRefused("This training did not find a model. Choose a smaller ratio, which costs nothing.")
    return result


@router.post("/trainings/{name}/ratio")
def decide_again(desk: TheDesk, name: str, sent: Sent) -> Response:
    """Decide the same answer for another ratio; spends nothing."""
    result, wanted = _result(desk, name), sent.typed.get("ratio", "")
    try:
        again = result.at(ratio_of(wanted))
    except AuditorError as error:
        return _training(desk, name, wanted, str(error))
    Notes(desk.kept.receipts.directory, TrainingNote).keep(again.note)
    return go(desk, f"/trainings/{again.note.file_name}")


@router.post("/trainings/{name}/audit")
def audit(desk: TheDesk, name: str, sent: Sent) -> Response:
    """Go on to audit the model, asked as in the same run: rule by rule, with the label if there is one."""
    result = _usable_result(desk, name)
    with desk.auditor() as auditor:
        dataset = auditor.dataset(sent.typed.get("dataset", ""))
    draft = desk.draft(AuditDraft, dataset.name)
    draft.model = result.write_model(draft.folder / f"model-{name[:12]}.json")
    labelled = any(column.label for column in dataset.columns)
    ratio = result.trained.wanted
    draft.defaults = {
        "sensitive": ",".join(result.release.training.sensitive),
        "metrics": f"{PARITY},{OPPORTUNITY}" if labelled else PARITY,
        "strategy": RULES,
        "model_name": f"{result.release.training.algorithm.name} {result.release.id.removeprefix('sha256:')[:12]}",
        **({} if ratio == FOUR_FIFTHS or result.trained.tree is None else {"threshold": f"{ratio:g}"}),
    }
    return go(desk, f"/new/{draft.id}")
