"""The arguments of one call of `Auditor`: frozen values, or keywords that become them here and nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.bands import ADDITIVE
from auditor_client.asking.request import AmountText, AuditRequest, PrivacyAmount, Texts
from auditor_client.asking.training import FollowingAudit, TrainingRequest
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.measurements import ONLY_ADDED_NOISE
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.reading import Reading
from auditor_client.text import first_fault, no_such
from shared.contract.schema import ColumnType
from shared.wire.csv_signs import ALIASES

Values = TypeVar("Values", bound=BaseModel)

COLUMN_TYPES: Final = get_args(ColumnType)
"""What values can be."""


def _text(value: Any) -> Any:
    """A whole number as its text: a block of an integer column."""
    block = value.item() if hasattr(value, "item") else value
    return str(block) if isinstance(block, int) and not isinstance(block, bool) else block


class OnHand(BaseModel):
    """Data and choices of the auditor that stay on this machine, and shape the request and its estimates.

    `block` restricts the request to one block of people, as a condition of `where`; only this condition is sent.
    `supports` are how many people of the auditor's own data each cell applies to, by the cell's id; `supports_from`
    those data instead, a DataFrame or a file, and `bands` into how many bands they cut a score. `group_totals` are
    how many people each group has, as `asking.totals_table` reads them, and `totals_source` says where from.
    `misreported` is a study of how groups are recorded wrongly, as `asking.study_table` reads it, and
    `misreported_source` its source. `reuse`: whether a kept receipt may answer. `join`: whether figures rest on
    every kept answer that counts the same people.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    block: Annotated[str | None, BeforeValidator(_text)] = Field(
        default=None,
        description="Only the people of this block, where the dataset declares blocks of people: 2026-11. No other "
        "block is charged.",
    )
    supports: dict[str, int] | None = None
    supports_from: Any = Field(
        default=None,
        description="Your own data about the same people, without sensitive columns: CSV or Parquet. They are not "
        "sent.",
    )
    bands: int | None = Field(
        default=None,
        ge=2,
        le=64,
        description="The number of bands to divide a score into. Each band has the same number of people of "
        "your own data.",
    )
    group_totals: Any = Field(
        default=None,
        description="Public totals: how many people each group has. CSV or Parquet, with a row for each group: the "
        "sensitive columns, and people, or people_min and people_max. They are not sent.",
    )
    totals_source: str | None = Field(
        default=None, description="The source of these totals, for the report: Census 2021, table 7."
    )
    misreported: Any = Field(
        default=None,
        description="A public study of how groups are recorded wrongly, to correct the figures. JSON, CSV or Parquet, "
        "with numbers of people by true and recorded group. It is not sent.",
    )
    misreported_source: str | None = Field(
        default=None, description="The source of this study, for the report: Reinterview survey 2024, table 3."
    )
    reuse: bool = Field(
        default=True, description="Answer from a saved receipt, at no cost, if one is at least as precise."
    )
    join: bool = Field(
        default=False,
        description="Estimate from all saved answers about the same people together, instead of from the best one.",
    )


class UntilDecided(BaseModel):
    """Whether to ask at little first, and go on until there is a verdict; the request's loss is then the most in all.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    until_decided: bool = Field(
        default=False,
        description="Start with a small privacy loss and increase it until the verdict is decided. epsilon "
        "(or rho) is then the maximum that all looks cost together.",
    )
    first_look: AmountText = Field(
        default=None,
        description="The epsilon (or rho) of the first look. Each further look doubles it [1/32 of the maximum].",
    )


ONCE: Final = UntilDecided()
"""One answer, whatever it shows."""


class OnHandAndLooks(OnHand, UntilDecided):
    """Both, for a command that takes either."""


class PlannedOnHand(OnHandAndLooks):
    """The same for a plan, which can look for the price of a width."""

    target_width: float | None = Field(
        default=None, description="Instead of --epsilon: the wanted width of the interval."
    )


Encoding = Annotated[
    Literal["utf-8", "utf-8-sig", "latin-1", "cp1252"],
    BeforeValidator(lambda given: ALIASES.get(given.lower(), given) if isinstance(given, str) else given),
]


class LinkRequest(BaseModel):
    """Which values are linked, and what they are.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="A name for the column. Later commands refer to it: --decision NAME.")
    key: str | None = Field(
        default=None, description="The data's column with the person keys [the dataset's name for it]."
    )
    value: str | None = Field(
        default=None, description="The data's column with the values [NAME, or the only other one]."
    )
    type: str | None = Field(default=None, description=f"{', '.join(COLUMN_TYPES)} [what the values are].")
    categories: Texts | None = Field(
        default=None, description="All values that a category can have, separated by commas [those in the data]."
    )
    label: bool = Field(default=False, description="The values are true outcomes of people (labels): true or false.")
    delimiter: Literal[",", ";", "|", "tab"] | None = Field(
        default=None, description="The separator of fields in a CSV file: , ; | or tab [found by itself]."
    )
    decimal: Literal[".", ","] | None = Field(
        default=None, description="The decimal separator of numbers in a CSV file [found by itself]."
    )
    encoding: Encoding | None = Field(
        default=None, description="The encoding of a CSV file: utf-8, latin-1 or cp1252 [found by itself]."
    )
    missing: Texts = Field(
        default=(), description="A word for a missing value in a CSV file, in addition to an empty field: NA."
    )


_KINDS: Final[tuple[type[BaseModel], ...]] = (AuditRequest, Assumption, Reading, OnHand, UntilDecided, About)


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked, how the answer is read, what is on hand, how often to look, and what is written about it."""

    request: AuditRequest
    reading: Reading
    own: OnHand
    looking: UntilDecided = ONCE
    about: About = NOTHING

    @classmethod
    def of(
        cls,
        request: AuditRequest | str | Sequence[str],
        epsilon: PrivacyAmount | None,
        reading: Reading | None,
        keywords: Mapping[str, Any],
        about: About | None = None,
    ) -> Self:
        """The values of a call: each given whole, or its fields among the keywords.

        `request` may be the sensitive columns alone.

        Raises:
            QuestionRefused: A keyword is unknown, is a field of a value that was given whole, or has a wrong value.
        """
        asked, assumed, read, own, looking, written = (_of_fields(kind, keywords) for kind in _KINDS)
        _require_known(keywords, {**asked, **assumed, **read, **own, **looking, **written})
        if assumed and "assumption" in asked:
            raise QuestionRefused(f"{min(assumed)!r} is part of the assumption: change it there.")
        if epsilon is not None:
            asked["epsilon"] = epsilon
        if not isinstance(request, AuditRequest):
            if assumed:
                asked["assumption"] = made(Assumption, assumed)
            request = made(AuditRequest, {"sensitive": request, **asked})
        elif asked or assumed:
            raise QuestionRefused(f"{min({**asked, **assumed})!r} is part of the request: change it there.")
        if reading is None:
            reading = made(Reading, read)
        elif read:
            raise QuestionRefused(f"{min(read)!r} is part of the reading: change it there.")
        if reading.looks is not None:
            raise QuestionRefused("`looks` are settled where an audit is asked `until_decided`: leave them out.")
        if request.by is not None and (reading.joint or reading.judged is not None):
            raise QuestionRefused(
                "With `by` the report has figures of every value, which `joint` and `judged` do not cover: leave "
                "one of them out. The verdicts on all values hold together anyway, and are about all groups."
            )
        on_hand = made(OnHand, own)
        looks = made(UntilDecided, looking)
        _require_chain_read(request, reading, on_hand, looks)
        _require_bounded(request, reading, on_hand)
        _require_corrected(request, reading, on_hand, looks)
        require_joinable(request, reading, on_hand)
        if about is None:
            about = made(About, written)
        elif written:
            raise QuestionRefused(f"{min(written)!r} is part of what is written about the audit: change it there.")
        return cls(request, reading, on_hand, looks, about)

    def of_model(self, model: Any) -> Self:
        """The same, by the name of the model's file where the auditor gave the model no name."""
        return replace(self, about=self.about.over(About.of_file(model)))

    def require_one_answer(self) -> Self:
        """The same, for what reads one answer alone.

        Raises:
            QuestionRefused: It is to be asked until there is a verdict.
        """
        if self.looking != ONCE:
            raise QuestionRefused(
                "This command needs a single answer, so interim looks do not apply. Leave out `until_decided` "
                "and `first_look`."
            )
        return self


@dataclass(frozen=True, slots=True)
class TrainingAsking:
    """What is to be learned, how its answer is read, and where the model is audited then."""

    request: TrainingRequest
    reading: Reading
    following: FollowingAudit

    @classmethod
    def of(
        cls,
        request: TrainingRequest | None,
        epsilon: PrivacyAmount | None,
        reading: Reading | None,
        following: FollowingAudit | None,
        keywords: Mapping[str, Any],
    ) -> Self:
        """The values of a call: each given whole, or its fields among the keywords.

        Raises:
            QuestionRefused: A keyword is unknown, is a field of a value that was given whole, or has a wrong value.
        """
        kinds: tuple[type[BaseModel], ...] = (TrainingRequest, Reading, FollowingAudit)
        fields = {kind: _of_fields(kind, keywords) for kind in kinds}
        for name in keywords:
            if not any(name in of_kind for of_kind in fields.values()):
                names = [field for kind in kinds for field in kind.model_fields]
                raise QuestionRefused(no_such("argument", name, names))
        for value, kind in ((request, TrainingRequest), (reading, Reading), (following, FollowingAudit)):
            if value is not None and fields[kind]:
                raise QuestionRefused(
                    f"{min(fields[kind])!r} is part of a value that was given whole: change it there."
                )
        if epsilon is not None:
            if request is not None:
                raise QuestionRefused("'epsilon' is part of the request: change it there.")
            fields[TrainingRequest]["epsilon"] = epsilon
        reading = reading or made(Reading, fields[Reading])
        if not reading.has_intervals or reading.joint:
            raise QuestionRefused(
                "A trained model is read with intervals that hold for all of its decisions together: leave `estimator` "
                "and `joint` out."
            )
        return cls(
            request or made(TrainingRequest, fields[TrainingRequest]),
            reading,
            following or made(FollowingAudit, fields[FollowingAudit]),
        )


def require_joinable(request: AuditRequest, reading: Reading, own: OnHand) -> None:
    """Refuse to join answers, if that is wanted, to what is estimated from one.

    Raises:
        QuestionRefused: So it is.
    """
    if not own.join:
        return
    if not reading.has_intervals:
        raise QuestionRefused("The plug-in estimator reads one answer: use posterior, or leave `join` out.")
    if request.edges is not None or own.bands is not None:
        raise QuestionRefused("The bands of a score are estimated from one answer: leave `join` out.")
    if request.mechanism not in (None, *ADDITIVE):
        raise QuestionRefused(ONLY_ADDED_NOISE)


def _require_chain_read(request: AuditRequest, reading: Reading, own: OnHand, looking: UntilDecided) -> None:
    """Refuse what does not combine with a chain, by its name.

    Raises:
        QuestionRefused: It does not combine, or belongs to a chain and there is none.
    """
    if request.chain is None:
        if reading.outcome_test or request.contradictions is not None:
            name = "outcome_test" if reading.outcome_test else "contradictions"
            raise QuestionRefused(
                f"`{name}` belongs to a chain of decisions: name its stages (`chain`), or leave it out."
            )
        return
    if not reading.has_intervals:
        raise QuestionRefused("The plug-in estimator makes no figures of a `chain`: use posterior.")
    refused = {
        "joint": reading.joint,
        "judged": reading.judged is not None,
        "join": own.join,
        "until_decided": looking != ONCE,
        "bands": own.bands is not None,
        "group_totals": own.group_totals is not None,
    }
    for name, given in refused.items():
        if given:
            raise QuestionRefused(
                f"`{name}` does not combine with a `chain`, whose intervals hold together at the level anyway and are "
                "about all groups, from one answer: leave one of them out."
            )


def _require_bounded(request: AuditRequest, reading: Reading, own: OnHand) -> None:
    """Refuse what does not combine with bounds over the unknown, by its name.

    Raises:
        QuestionRefused: It does not combine.
    """
    if reading.unknown != "bounds" and reading.unknown_odds is None:
        return
    settings = {
        "by": request.by is not None,
        "chain": request.chain is not None,
        "edges": request.edges is not None,
        "bands": own.bands is not None,
    }
    for name in (name for name, is_given in settings.items() if is_given):
        raise QuestionRefused(
            f"Bounds over the unknown (`unknown`, `unknown_odds`) do not combine with `{name}`: they are about one "
            "decision over everybody. Leave one of them out."
        )
    if reading.unknown_odds is not None and own.group_totals is not None:
        raise QuestionRefused(
            "`unknown_odds` assumes who the unknown are, and `group_totals` say it: leave one of them out."
        )


def _require_corrected(request: AuditRequest, reading: Reading, own: OnHand, looking: UntilDecided) -> None:
    """Refuse what does not combine with a study of misreported groups, by its name.

    Raises:
        QuestionRefused: It does not combine.
    """
    if own.misreported is None:
        if own.misreported_source is not None:
            raise QuestionRefused(
                "`misreported_source` is the source of a study of misreported groups: give the study (`misreported`), "
                "or leave it out."
            )
        return
    if not reading.has_intervals:
        raise QuestionRefused("The plug-in estimator does not correct misreported groups: use posterior.")
    settings = {
        "by": request.by is not None,
        "chain": request.chain is not None,
        "edges": request.edges is not None,
        "bands": own.bands is not None,
        "group_totals": own.group_totals is not None,
        "joint": reading.joint,
        "judged": reading.judged is not None,
        "unknown": reading.unknown == "bounds" or reading.unknown_odds is not None,
        "until_decided": looking != ONCE,
    }
    for name in (name for name, is_given in settings.items() if is_given):
        raise QuestionRefused(
            f"A study of misreported groups (`misreported`) does not combine with `{name}`: it corrects the figures of "
            "one decision and all groups, each by itself, from one look. Leave one of them out."
        )


def made(kind: type[Values], values: Mapping[str, Any]) -> Values:
    """One of the values, from its fields.

    Raises:
        QuestionRefused: A field has a value of the wrong kind.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        first, (_, why) = error.errors(include_url=False, include_context=False)[0], first_fault(error)
        raise QuestionRefused(
            f"`{first['loc'][0]}`: {why}; not {first['input']!r}. Give another value, or leave it out."
        ) from error


def _of_fields(kind: type[BaseModel], keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if name in kind.model_fields}


def _require_known(keywords: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    names = [name for kind in _KINDS for name in kind.model_fields]
    for name in keywords.keys() - known.keys():
        raise QuestionRefused(no_such("argument", name, names))
