"""The console's pages about datasets: what is declared, records loaded, datasets retired, populations merged."""

from collections.abc import Sequence
from typing import Any, Final

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from holder_service.domain.declarations import EXAMPLE, column_words_text, declared_text, located
from holder_service.domain.errors import InvalidRequest
from holder_service.services.accounts import access, populations
from holder_service.services.columns import columns
from holder_service.services.datasets import budgets, datasets
from holder_service.services.datasets.overlaps import LOOK_LOSS, look_at_overlap
from holder_service.services.releases.transparency import transparency_report
from holder_service.services.running import loads, overview, rehearsal_publishing
from holder_service.services.running.overview import PopulationState
from holder_service.storage.datasets import Dataset
from holder_service.web.console.forms import Form, one_kind
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import (
    AdministratorVisit,
    CheckedForm,
    ConsoleRoute,
    OfficerVisit,
    StewardVisit,
    Visit,
    Visitor,
    or_again,
)
from holder_service.web.console.transparency import transparency_page
from holder_service.web.console.words import loss
from holder_service.web.edge.dependencies import PathName
from holder_service.web.edge.problems import validation_refusal
from holder_service.web.edge.roles import OFFICERS
from shared.contract.datasets import CapChange, DatasetDeclaration
from shared.contract.metadata import DatasetMetadata
from shared.contract.rehearsals import RehearsalRequest

_TEXTS: Final = ("title", "description", "source", "reference_date", "contact", "licence")

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/datasets")
def list_datasets(visit: Visitor) -> Response:
    """All datasets and populations."""
    populations = overview.every_population(visit.store)
    return visit.page(
        "datasets.html.j2", section="datasets", populations=populations, titles=datasets.titles(visit.store),
        look_loss=LOOK_LOSS,
    )  # fmt: skip


@router.get("/declare")
def show_declare(visit: StewardVisit) -> Response:
    """The form to declare a dataset by."""
    return visit.page("declare.html.j2", section="datasets", name="", example=declared_text(EXAMPLE), checked=None)


@router.post("/declare")
@or_again(show_declare)
def declare(visit: StewardVisit, form: CheckedForm) -> Response:
    """Declare a new dataset."""
    name = form.name("name")
    if any(dataset.name == name for dataset in datasets.every_dataset(visit.store)):
        raise InvalidRequest(f"The dataset {name!r} already exists. Change it on its own page.")
    if "check" in form.values:
        checked = _read(form)
        return visit.page(
            "declare.html.j2", section="datasets", name=name, example=form.values["declaration"], checked=checked
        )
    return _declared(visit, name, _read(form))


@router.get("/datasets/{dataset}")
def show_dataset(visit: Visitor, dataset: PathName) -> Response:
    """A dataset as declared."""
    state, declared = _found(visit, dataset)
    words = datasets.metadata_of(visit.store, dataset)
    return visit.page(
        "dataset.html.j2", section="datasets", state=state, dataset=declared, words=words,
        column_words=column_words_text(words.columns), names=access.display_names(visit.store),
        declaration=declared_text(_declaration(state, declared)), warnings=datasets.warnings_about(declared, state.cap),
        derived=columns.every_auditors(visit.store, visit.holder.files, dataset=dataset),
        cap_sizes=overview.cap_sizes(state.cap.limit) if state.cap.spent.is_nothing else None,

        roots=[one.url for one in visit.holder.settings.roots_of_records if one.dataset in (None, dataset)],
        loads=loads.under_way(visit.store, visit.holder.files, dataset),
    )  # fmt: skip


@router.get("/datasets/{dataset}/report.html")
def report(visit: Visitor, dataset: PathName) -> Response:
    """The transparency report, as a file: its page brings its own styles, which the console's policy would refuse."""
    found = transparency_report(visit.store, dataset, organisation=visit.holder.settings.organisation)
    page = transparency_page(visit.store, found)
    headers = {"Content-Disposition": f'attachment; filename="transparency-{dataset}.html"'}
    return HTMLResponse(page, headers=headers)


@router.post("/datasets/{dataset}/limits")
@or_again(show_dataset)
def change_limits(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Change the dataset's largest number of records."""
    document = _declaration(*_found(visit, dataset)).model_dump(mode="json", exclude_none=True)
    document["records_max"] = form.whole_number("records_max")
    return _declared(visit, dataset, DatasetDeclaration.model_validate(document))


@router.post("/datasets/{dataset}/cap")
@or_again(show_dataset)
def set_cap(visit: OfficerVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Change the population's cap."""
    change = CapChange.model_validate({"cap": one_kind(form) | {"delta": form.text("delta")}})
    population = datasets.read_dataset(visit.store, dataset).population
    now = budgets.set_cap(visit.store, actor=visit.actor, population=population, cap=change.cap)
    text = f"The cap of population {population} is now {loss(now.cap)}; {loss(now.remaining)} is left."
    return visit.done(path_of(dataset), text)


@router.post("/datasets/{dataset}/declaration")
@or_again(show_dataset)
def change_declaration(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Declare a dataset again."""
    return _declared(visit, dataset, _read(form))


@router.post("/datasets/{dataset}/metadata")
@or_again(show_dataset)
def write_metadata(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Write anew what people read of a dataset."""
    words = _read_words(form)
    try:
        datasets.describe(visit.store, actor=visit.actor, name=dataset, words=words)
    except InvalidRequest as error:
        raise _refused_words(form, error.fields["errors"]) from None
    return visit.done(path_of(dataset), f"The metadata of {dataset} are saved.")


@router.post("/datasets/{dataset}/columns/delete")
@or_again(show_dataset)
def delete_column(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Delete an auditor's derived column."""
    columns.take_away(
        visit.store, visit.holder.files, actor=visit.actor, dataset=dataset, identity=form.text("column"), auditor=None
    )
    return visit.done(path_of(dataset), "The derived column is deleted. Its releases remain.")


@router.post("/datasets/{dataset}/rehearsal")
@or_again(show_dataset)
def publish_rehearsal(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Publish a rehearsal of a dataset, or publish it anew."""
    people = form.whole_number("people") if form.text("people") else None
    request = RehearsalRequest.model_validate({"people": people})
    published = rehearsal_publishing.publish(visit.holder, actor=visit.actor, name=dataset, request=request)
    return visit.done(path_of(published.dataset), f"{published.dataset} is published, version {published.version}.")


@router.post("/datasets/{dataset}/retire")
@or_again(show_dataset)
def retire(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Take a dataset and its records away."""
    if form.text("confirm") != dataset:
        raise InvalidRequest(f"The name does not match. To retire the dataset, enter its name, {dataset}.")
    datasets.retire(visit.store, actor=visit.actor, name=dataset, files=visit.holder.files)
    return visit.done(f"{ROOT}/datasets", f"Dataset {dataset} is retired. Spent budget is not returned.")


@router.post("/populations/merge")
@or_again(list_datasets)
def merge(visit: AdministratorVisit, form: CheckedForm) -> Response:
    """Join one population to another."""
    into, source = form.text("into"), form.text("population")
    populations.merge(visit.store, actor=visit.actor, into=into, source=source)
    return visit.done(f"{ROOT}/datasets", f"Population {source} is merged into {into}. Their spending is added.")


@router.post("/populations/overlaps")
@or_again(list_datasets)
def look(visit: AdministratorVisit, form: CheckedForm) -> Response:
    """Look whether two populations share people."""
    found = look_at_overlap(
        visit.store,
        visit.holder.engine,
        visit.holder.files,
        actor=visit.actor,
        one=form.text("one"),
        other=form.text("other"),
    )
    both = " and ".join(found.populations)
    shared = f"{found.people_from} to {found.people_below} person keys" if found.people_from else "few keys or none"
    missing = f" Not compared until loaded again: {', '.join(found.not_compared)}." if found.not_compared else ""
    if found.without_keys:
        missing += f" Aggregate tables do not have keys to compare: {', '.join(found.without_keys)}."
    text = f"{both} have {shared} in common; {found.charged} was charged to each.{missing}"
    return visit.done(f"{ROOT}/datasets", text)


def _read(form: Form) -> DatasetDeclaration:
    """The declaration that a form has.

    Raises:
        InvalidRequest: It is no JSON, or no declaration: with the line of each fault.
    """
    document = form.document("declaration")
    try:
        return DatasetDeclaration.model_validate(document)
    except ValidationError as error:
        # The browser's text, not the field's without blanks around it: people count its lines.
        raise _refused(form.values["declaration"], validation_refusal(error)[1]) from None


def _read_words(form: Form) -> DatasetMetadata:
    """The metadata that a form has; an empty field says nothing.

    Raises:
        InvalidRequest: The number is none, or they are no metadata: with the line of each fault in the columns' words.
    """
    given = {name: form.text(name) for name in _TEXTS}
    # Browsers send whatever ends a line as CR LF.
    document: dict[str, Any] = {name: text.replace("\r\n", " ") for name, text in given.items() if text}
    if form.text("people"):
        document["people"] = form.whole_number("people")
    if form.text("columns"):
        document["columns"] = form.document("columns")
    try:
        return DatasetMetadata.model_validate(document)
    except ValidationError as error:
        raise _refused_words(form, validation_refusal(error)[1]) from None


def _refused_words(form: Form, faults: Sequence[dict[str, str]]) -> InvalidRequest:
    """The refusal of metadata, of which a field of their form holds the columns' words alone."""
    return _refused(f'{{"columns":{form.values["columns"]}}}', faults)


def _refused(text: str, faults: Sequence[dict[str, str]]) -> InvalidRequest:
    """The refusal of a JSON document for all faults, each with its line there."""
    errors = [{"field": "body", "detail": located(text, one["field"], one["detail"])} for one in faults]
    return InvalidRequest(errors[0]["detail"], errors=errors)


def _declared(visit: Visit, name: str, declaration: DatasetDeclaration) -> Response:
    """Declare a dataset."""
    declared = datasets.declare(
        visit.store,
        actor=visit.actor,
        name=name,
        declaration=declaration,
        files=visit.holder.files,
        sets_cap=OFFICERS.admits(visit.session.caller),
    ).dataset
    loaded = "" if declared.version else " Load its records next."
    return visit.done(path_of(name), f"Dataset {name} is declared, of population {declared.population}.{loaded}")


def _found(visit: Visit, name: str) -> tuple[PopulationState, Dataset]:
    dataset = datasets.read_dataset(visit.store, name)
    states = overview.every_population(visit.store)
    return next(state for state in states if state.population.name == dataset.population), dataset


def _declaration(state: PopulationState, dataset: Dataset) -> DatasetDeclaration:
    """Return what an administrator would declare to get the dataset as it is."""
    return DatasetDeclaration(
        person_key=dataset.schema.person_key,
        people=dataset.schema.people,
        population=dataset.population,
        relation=state.population.relation,
        cap=state.cap.limit,
        records_max=dataset.records_max,
        columns=dataset.schema.columns,
        sensitive_in_rules=dataset.schema.sensitive_in_rules,
        purpose_required=dataset.schema.purpose_required,
        shares=dataset.schema.shares,
        blocks=dataset.schema.blocks,
    )


def path_of(dataset: str) -> str:
    """The path of a dataset's page."""
    return f"{ROOT}/datasets/{dataset}"
