"""The options that several commands share, other than those of a request and its reading."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict, Field, model_validator

from auditor_client.cli.completion import datasets
from auditor_client.errors import QuestionRefused
from auditor_client.report.languages import LANGUAGES
from auditor_client.text import no_such
from shared.wire.flags import Without

AUDITED: Final = "What is audited"
PRIVACY: Final = "Privacy"
OUTPUT: Final = "Output"
CONNECTION: Final = "Connection"
"""Panels of the help."""

ModelFile = Annotated[Path, typer.Argument(help="A file of a fitted model.")]
ModelOrDecisions = Annotated[
    Path | None,
    typer.Argument(help="A file of a fitted model. Omit it if --decision names a column.", show_default=False),
]
Dataset = Annotated[
    str,
    typer.Option(
        help="The dataset's name at the holder; `auditor datasets` lists them.",
        rich_help_panel=AUDITED,
        autocompletion=datasets,
    ),
]
DatasetIfAny = Annotated[
    str | None, typer.Option(help="Only this dataset.", rich_help_panel=AUDITED, autocompletion=datasets)
]
Directory = Annotated[Path | None, typer.Argument(help="The folder of receipts [./receipts].")]


class FailOn(StrEnum):
    """The mildest verdict that makes the exit code 1."""

    FAILS = "fails"
    UNDECIDED = "undecided"


class Connection(BaseModel):
    """How to reach the holder, and where receipts are."""

    model_config = ConfigDict(frozen=True)

    holder_url: str | None = Field(default=None, description="The holder's address, instead of AUDITOR_HOLDER_URL.")
    holder: tuple[str, ...] = Field(
        default=(),
        description="The address of a holder, instead of --holder-url. Give it twice if two holders have one half of a "
        "register each; the key at the second comes from AUDITOR_SECOND_API_KEY.",
    )
    key_file: Path | None = Field(default=None, description="A file with your key, instead of AUDITOR_API_KEY.")
    token_file: Path | None = Field(
        default=None, description="A file with a token of the holder's identity provider, instead of a key."
    )
    receipts: Path | None = Field(default=None, description="The folder of receipts [./receipts].")
    config: Path | None = Field(default=None, description="A TOML file with settings, instead of AUDITOR_CONFIG.")
    asked_for: str | None = Field(
        default=None, description="The purpose of the request. The holder's ledger records it [AUDITOR_ASKED_FOR]."
    )
    wait_approval: float | None = Field(
        default=None,
        description="How many seconds to wait for a budget officer's approval, if one is required [0; "
        "AUDITOR_WAIT_APPROVAL].",
    )

    @property
    def flags(self) -> dict[str, object]:
        """The settings that flags give, by name.

        Raises:
            QuestionRefused: More than two holders are named.
        """
        if len(self.holder) > 2:
            raise QuestionRefused("A register is shared by two holders: give --holder twice at most.")
        options = {name: value for name, value in self if name != "holder"}
        urls = dict(zip(("holder_url", "second_holder_url"), self.holder, strict=False))
        return {**options, **urls, "api_key_file": self.key_file}


Reaching = Annotated[Connection, Without(("asked_for", "wait_approval"))]
"""The connection of a command that asks nothing that is charged."""


class Output(BaseModel):
    """Where a result goes, other than to the terminal."""

    model_config = ConfigDict(frozen=True)

    report: Path | None = Field(default=None, description="Write the report as an HTML page.")
    language: str = Field(default=LANGUAGES[0], description=f"The language of the page: {', '.join(LANGUAGES)}.")
    as_json: bool = Field(default=False, description="Print JSON, for machines.")

    @model_validator(mode="after")
    def _check(self) -> "Output":
        if self.language not in LANGUAGES:
            raise QuestionRefused(no_such("language", self.language, LANGUAGES))
        return self


JsonOnly = Annotated[Output, Without(("report", "language"))]
"""The output of a command that writes no page."""


class AuditOutput(Output):
    """Where an audit goes, and what its verdict does."""

    report_json: Path | None = Field(default=None, description="Write the report as JSON.")
    bundle: Path | None = Field(default=None, description="Write the evidence bundle, a zip file.")
    fail_on: FailOn | None = Field(
        default=None,
        description="Exit with code 1 if the verdict on the first figure is `fails`. With `undecided`, also "
        "exit with code 1 if it is undecided.",
    )


class TrainingOutput(Output):
    """Where a trained model's page goes, or its price alone."""

    price: bool = Field(default=False, description="Show the price and what each part of it pays for. Spends nothing.")
