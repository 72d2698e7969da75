"""The options that several commands share, and how lists are written in them."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from auditor_client.asking.question import Asked
from auditor_client.asking.strategies import METRICS

ModelFile = Annotated[Path, typer.Argument(help="A fitted scikit-learn tree in a skops file.")]
Dataset = Annotated[str, typer.Option(help="The dataset's name at the holder; `auditor datasets` lists them.")]
Sensitive = Annotated[
    list[str], typer.Option(help="The sensitive columns, with commas between them: sex,ethnicity compares every pair.")
]
Epsilon = Annotated[str | None, typer.Option(help="The privacy loss to spend, such as 0.1.")]
Metric = Annotated[
    list[str] | None,
    typer.Option(help=f"With commas between them: {', '.join(METRICS)} [{METRICS[0]}]. Several cost no more."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(help='Restrict the audit: "age >= 18", "region in (North, South)". Given several times, all hold.'),
]
Reference = Annotated[str | None, typer.Option(help="The group to compare the others with, such as Female,White.")]
Strategy = Annotated[
    str,
    typer.Option(help="verdict: the best accuracy; rules: every rule by itself; pafer: as published; or auto."),
]
Mechanism = Annotated[
    str | None, typer.Option(help="laplace, gaussian, exponential or randomised_response [what the dataset takes].")
]
Delta = Annotated[str | None, typer.Option(help="Of the mechanism gaussian [0.000001].")]
Upper = Annotated[int | None, typer.Option(help="Of the mechanism exponential: the largest answer, in people.")]
SupportsFrom = Annotated[
    Path | None,
    typer.Option(help="Your own data about the same people, without sensitive columns: CSV or Parquet. Stay here."),
]
Favourable = Annotated[list[str] | None, typer.Option(help="The model's favourable classes, with commas between them.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="The dataset's column for each input of a model that was fitted on an array.")
]
RecordsVersion = Annotated[
    int | None, typer.Option(help="The version of the records, to repeat an earlier question; else the current one.")
]
Draw = Annotated[int, typer.Option(help="From 2 on: another, independent and charged draw of the same question.")]
Threshold = Annotated[float, typer.Option(help="Of the ratio; 0.8 is the four-fifths rule.")]
Report = Annotated[Path | None, typer.Option(help="Write the report as an HTML page.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
HolderUrl = Annotated[str | None, typer.Option(help="The holder's address, instead of AUDITOR_HOLDER_URL.")]
KeyFile = Annotated[Path | None, typer.Option(help="A file with your key, instead of AUDITOR_API_KEY.")]
ReceiptsDirectory = Annotated[Path | None, typer.Option("--receipts", help="Where receipts are kept [./receipts].")]
Config = Annotated[Path | None, typer.Option(help="A TOML file with settings, instead of AUDITOR_CONFIG.")]


class FailOn(StrEnum):
    """The mildest verdict that makes the exit code 1."""

    FAILS = "fails"
    UNDECIDED = "undecided"


def listed(texts: Sequence[str]) -> list[str]:
    """Values that were given one by one or with commas between them."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def asked(
    *,
    metric: Sequence[str] | None,
    where: Sequence[str] | None,
    favourable: Sequence[str] | None,
    columns: Sequence[str] | None,
    **others: Any,
) -> Asked:
    """The flags of a question as `Auditor.plan` and `Auditor.audit` take them."""
    question = Asked(
        metrics=listed(metric) if metric else METRICS[:1],
        where=list(where or ()),
        favourable=listed(favourable) if favourable else None,
        columns=listed(columns) if columns else None,
    )
    question.update(others)  # type: ignore[typeddict-item]  # each is a parameter of its own at the caller
    return question
