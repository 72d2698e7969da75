"""`holder risk`: how few people stand behind a declaration, for whoever may read the holder's home or the file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holder_service.cli.calls import clear_errors, fail, own_holder
from holder_service.cli.declaration_files import read_declaration
from holder_service.cli.formats import media_type_of, with_format
from holder_service.cli.output import AsJson, notify, show
from holder_service.files.core_dumps import forbid_core_dumps
from holder_service.records.formats import RecordFormat, Upload
from holder_service.records.options import RiskOptions

if TYPE_CHECKING:
    from holder_service.records.risk import Risk

commands = typer.Typer()
WARNING = (
    "These are true counts of people, for you alone: nothing was sent, logged or kept. Do not publish them, nor "
    "declare what only they say."
)


@commands.command("risk")
@with_format
def show_risk(
    dataset: Annotated[str | None, typer.Argument(help="A declared dataset of this machine's holder.")] = None,
    *,
    declaration: Annotated[
        Path | None,
        typer.Option(help="Instead of a dataset: a declaration that is not published yet. Requires --records."),
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file, instead of the loaded records.")
    ] = None,
    how: RecordFormat,
    options: RiskOptions,
    as_json: AsJson = False,
) -> None:
    """Show declared values and combinations that few people have, and what to merge. Prints true counts.

    Works on this machine. Nothing is sent, logged, saved or entered into the ledger.
    """
    from holder_service.services.datasets.risks import risk_of_file

    forbid_core_dumps()
    if (dataset is None) == (declaration is None):
        fail("Name a declared dataset, or the file of a declaration (--declaration), and not both.")
    upload = None if records is None else Upload(records, media_type_of(records), how)
    with clear_errors():
        if declaration is not None:
            if upload is None:
                fail("A declaration does not contain records. Give the file with the records (--records).")
            declared = read_declaration(declaration)
            found = risk_of_file(upload, declared.table, declared.records_max, options, folder=None)
        else:
            found = _of_dataset(str(dataset), upload, options)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        _show(found, options)
    notify(WARNING)


def _of_dataset(name: str, upload: Upload | None, options: RiskOptions) -> "Risk":
    from holder_service.services.datasets.datasets import read_dataset
    from holder_service.services.datasets.risks import risk_of_file, risk_of_loaded

    with own_holder() as own:
        dataset = read_dataset(own.store, name)
        if upload is None:
            return risk_of_loaded(dataset, own.engine, options)
        own.files.incoming.mkdir(parents=True, exist_ok=True)
        with own.files.in_use():
            return risk_of_file(upload, dataset.schema, dataset.records_max, options, folder=own.files.incoming)


def _show(found: "Risk", options: RiskOptions) -> None:
    least = options.people_min
    rows = [(one.column, _word(one.value), str(one.people)) for one in found.values if one.people < least]
    if rows:
        show({}, ("column", "value", "people"), rows, False, title=f"Declared values of fewer than {least} people")
    else:
        print(f"No declared value is of fewer than {least} people.")
    merges = [(one.column, ", ".join(one.values), str(one.people)) for one in found.merges]
    if merges:
        show({}, ("column", "declare as one", "people"), merges, False, title="What to merge")
    combinations = [
        (", ".join(one.columns), str(one.occupied), str(one.k), str(one.alone), str(one.few),
         ", ".join(f"{name} {fewest}" for name, fewest in one.diversity.items()))
        for one in found.combinations
    ]  # fmt: skip
    columns = ("known of somebody", "combinations", "k", "people alone", f"in fewer than {least}", "l")
    show({}, columns, combinations, False, title=f"What could single out some of {found.people} people")
    notify(
        "k: the people who share their combination with the fewest others. l: the fewest different sensitive values "
        "among people of one combination; 1 means that who knows the combination knows the value."
    )
    if found.left_out:
        notify(f"Not looked at, because they are numbers: {', '.join(found.left_out)}. Name them to do so (--quasi).")


def _word(value: str | None) -> str:
    return "(missing)" if value is None else value
