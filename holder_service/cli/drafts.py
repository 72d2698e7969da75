"""`holder draft`: from a file of records to a declaration that somebody finishes; nothing is sent or kept."""

from pathlib import Path
from typing import Annotated

import typer

from holder_service.cli.calls import clear_errors, new_file
from holder_service.cli.formats import media_type_of, with_format
from holder_service.cli.output import notify
from holder_service.records.formats import RecordFormat
from holder_service.records.options import DraftOptions
from shared.wire.flags import Without

commands = typer.Typer()
ADVICE = (
    "This is a draft, made here of your file; nothing was sent, and nothing is declared. A declaration is public: "
    "auditors see every column, category and range. Before you declare it:"
)
ALWAYS = (
    'Give the population\'s cap ("cap"): how much may be spent about these people in all.',
    'Give "records_max" if there can be more than 1 000 000 people; not how many there are.',
    "Compare categories and nullable with what is known of people like these, and delete columns that no audit needs.",
)
RANGES_OPEN = 'Give columns of numbers a range ("minimum", "maximum") from what is known, not from the records.'
RANGES_DRAFTED = "The ranges are round numbers around the records' own: put in their stead what is known."


@commands.command("draft")
@with_format
def draft_declaration(
    records: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    *,
    how: Annotated[RecordFormat, Without(("only_declared",))],
    options: DraftOptions,
    output: Annotated[Path | None, typer.Option(help="A new file. Without it the draft is printed.")] = None,
) -> None:
    """Draft a declaration from a file of records. Works on this machine and sends nothing.

    Standard error lists what you have to decide. The draft leaves out what must stay private: ranges, categories of few
    people, and the number of records.
    """
    from holder_service.domain.declarations import declaration_text
    from holder_service.records.drafts import draft

    with clear_errors():
        drafted = draft(records, media_type_of(records), how, options)
        text = declaration_text(drafted.document())
        if output is None:
            print(text, end="")
        else:
            with new_file(output) as written:
                written.write(text.encode())
    notify(ADVICE)
    ranged = {column.minimum is not None for column in drafted.columns if column.ordered}
    ranges = [text for has_range, text in ((True, RANGES_DRAFTED), (False, RANGES_OPEN)) if has_range in ranged]
    for note in (*drafted.notes, *ranges, *ALWAYS):
        notify(f"- {note}")
