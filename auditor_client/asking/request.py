"""The request of an audit: everything that decides its plan, as one frozen value.

It is made once, from keywords or from flags, travels unopened, and is kept in the note of the audit. The same
request about the same model and the same version of the records is the same plan, and so costs nothing again.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.group_study import GroupStudy
from auditor_client.asking.group_totals import GroupTotals
from auditor_client.errors import QuestionRefused
from auditor_client.text import no_such
from shared.contract.metadata import Intervention
from shared.contract.schema import Group
from shared.privacy.amounts import NANO_PER_UNIT, InvalidAmount, Loss, parse_nano

PARITY: Final = "statistical-parity"
OPPORTUNITY: Final = "equal-opportunity"
ODDS: Final = "equalized-odds"
PREDICTIVE: Final = "predictive-parity"
STABILITY: Final = "stability"
ADVERSE: Final = "adverse-ratio"
ODDS_RATIO: Final = "odds-ratio"
FALSE_POSITIVE_RATE: Final = "false-positive-rate"
FALSE_DISCOVERY_RATE: Final = "false-discovery-rate"
FALSE_NEGATIVE_RATE: Final = "false-negative-rate"
FALSE_OMISSION_RATE: Final = "false-omission-rate"
OF_ADVERSE_LABELS: Final = (FALSE_POSITIVE_RATE, FALSE_DISCOVERY_RATE, FALSE_NEGATIVE_RATE, FALSE_OMISSION_RATE)
"""What goes wrong in adverse decisions, by the label (Aequitas' fairness tree)."""
OF_DECISIONS: Final = (PARITY, OPPORTUNITY, ODDS, PREDICTIVE, ADVERSE, ODDS_RATIO, *OF_ADVERSE_LABELS)
METRICS: Final = (*OF_DECISIONS, STABILITY)
OF_EVERYBODY: Final = frozenset({PARITY, ADVERSE, ODDS_RATIO, STABILITY})
"""The metrics that compare the decisions about everybody, and need no label."""
STRATEGIES: Final = ("verdict", "rules", "pafer")
"""Each is described at its function in `strategies`."""
VERDICT: Final = STRATEGIES[0]
AUTO: Final = "auto"
MODEL: Final = "model"
"""The stage of a chain that is the decision of the model."""
MECHANISMS: Final = ("laplace", "gaussian", "exponential", "randomised_response")

PrivacyAmount = str | int | float | Decimal
"""An ε or δ, as it is written: 0.1 is "0.1", and 0.1 + 0.2 none that a plan can ask for."""
Class = str | bool | int | float
"""One of a model's classes."""


def _texts(given: Any) -> Any:
    """One text for a list of one."""
    return (given,) if isinstance(given, str) else given


def _one_class(given: Any) -> Any:
    """A list of one for a class by itself; of an array, its single value."""
    value = given.item() if hasattr(given, "item") and not hasattr(given, "__len__") else given
    return (value,) if isinstance(value, str | bool | int | float) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
"""Some texts; one by itself is a list of one."""


def _plain(given: Any) -> Any:
    """Values of an array or a frame as Python's own; sets in one order, so that the same request is the same text."""
    if given is None or isinstance(given, str) or not isinstance(given, Iterable):
        return given
    values = tuple(value.item() if hasattr(value, "item") else value for value in given)
    return tuple(sorted(values, key=repr)) if isinstance(given, set | frozenset) else values


def _amount(given: Any) -> Any:
    """An amount as its decimal string; of a float what Python writes of it, if an amount can be that exact."""
    value = given.item() if hasattr(given, "item") else given
    if value is None or isinstance(value, str):
        return value
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise InvalidAmount("It is not a number.")
        text = format(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), "f")
        parse_nano(text)
    except InvalidAmount as error:
        raise QuestionRefused(f"{given!r} is not an amount: {error}") from error
    return text


def _require_amount(name: str, text: str | None) -> None:
    try:
        _ = text is None or parse_nano(text)
    except InvalidAmount as error:
        raise QuestionRefused(f"`{name}`: {text!r} is not an amount. {error}") from error


AmountText = Annotated[str | None, BeforeValidator(_amount)]
"""An amount as its decimal string; None where it is left open."""


def _is_none(value: Any) -> bool:
    """Whether a later field has no value: it is then left out, so that earlier notes keep their names."""
    return value is None


class AuditRequest(BaseModel):
    """What is asked about whom and at what price, whatever the model and the dataset are.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them.

    Raises:
        QuestionRefused: A metric is none or is named twice, or a value is of the wrong kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sensitive: Annotated[tuple[str, ...], BeforeValidator(_plain), BeforeValidator(_texts)] = Field(
        description="The sensitive columns, separated by commas. sex,ethnicity compares every combination of the two."
    )
    epsilon: AmountText = Field(default=None, description="The privacy loss to spend, such as 0.1.")
    metrics: Texts = Field(
        default=METRICS[:1],
        description=f"The figures, separated by commas: {', '.join(METRICS)} [{METRICS[0]}]. Several figures "
        "cost the same as one.",
    )
    where: Texts = Field(
        default=(),
        description='Restrict the audit to some people: "age >= 18", "region in (North, South)". If you repeat '
        "the option, all conditions must hold.",
    )
    by: str | None = Field(
        default=None,
        exclude_if=_is_none,
        description="Also compare within each value of this public column, such as region. For a column of "
        "numbers, add where bands begin: age=25,45. The charge stays the same.",
    )
    reference: Annotated[str | Group | None, BeforeValidator(_plain)] = Field(
        default=None, description="The group to compare the others with, such as Female,White."
    )
    strategy: str = Field(
        default=AUTO,
        description="How the counts are requested. verdict: most accurate; rules: a count for every rule; "
        "pafer: as published; auto: chosen for you.",
    )
    mechanism: str | None = Field(
        default=None, description="laplace, gaussian, exponential or randomised_response [what the dataset takes]."
    )
    delta: AmountText = Field(default=None, description="For the gaussian mechanism: δ [0.000001].")
    rho: AmountText = Field(
        default=None,
        exclude_if=_is_none,
        description="For the gaussian mechanism, instead of epsilon and delta: ρ, such as 0.005. Only if the "
        "population's account adds up ρ.",
    )
    upper: int | None = Field(
        default=None, description="For the exponential mechanism: the largest possible count of people."
    )
    favourable: Annotated[tuple[Class, ...] | None, BeforeValidator(_plain), BeforeValidator(_one_class)] = Field(
        default=None,
        description="The classes or values that are the good outcome for a person, separated by commas.",
    )
    columns: Annotated[tuple[str, ...] | None, BeforeValidator(_plain), BeforeValidator(_texts)] = Field(
        default=None,
        description="For a model that was fitted on an array: the dataset's column for each input, in order, "
        "separated by commas.",
    )
    intervention: Intervention | None = Field(
        default=None,
        exclude_if=_is_none,
        description="The kind of decision. assistive: being selected is good (job, loan, grant); punitive: "
        "being selected is a burden (control, stop, fine) [what the dataset declares of the column "
        "of decisions, else not said].",
    )
    decision: str | None = Field(
        default=None,
        exclude_if=_is_none,
        description="Instead of a model: the column of decisions, either declared by the holder or linked with "
        "`auditor link`.",
    )
    chain: Annotated[tuple[str, ...] | None, BeforeValidator(_plain), BeforeValidator(_texts)] = Field(
        default=None,
        exclude_if=_is_none,
        description="Instead of one decision: the stages of a chain of decisions in order, such as "
        "selected,visited,unduly. Each stage is a boolean column, declared or linked, or `model` "
        "for the decision of a model.",
    )
    contradictions: AmountText = Field(
        default=None,
        exclude_if=_is_none,
        description="For a chain: an additional privacy loss, added to epsilon, to count the people who "
        "reached a stage without passing an earlier one.",
    )
    above: float | None = Field(
        default=None,
        exclude_if=_is_none,
        description="For a score: scores above this value are favourable, on the model's own scale (for "
        "example 0.5 for a probability).",
    )
    label: str | None = Field(
        default=None,
        exclude_if=_is_none,
        description="The column of true outcomes (labels), declared or linked [the dataset's label].",
    )
    edges: Annotated[tuple[float, ...] | None, BeforeValidator(_plain)] = Field(
        default=None,
        exclude_if=_is_none,
        description="For a score: the edges of bands on the model's own scale, separated by commas. Each edge "
        "is also evaluated as a threshold, for one charge.",
    )
    within: Annotated[tuple[str, ...] | None, BeforeValidator(_texts)] = Field(
        default=None,
        exclude_if=_is_none,
        description="For stability: how far a column may change, such as age=2. Other columns do not change.",
    )
    free: Annotated[tuple[str, ...] | None, BeforeValidator(_plain), BeforeValidator(_texts)] = Field(
        default=None,
        exclude_if=_is_none,
        description="For stability: columns that may take any value, separated by commas.",
    )
    version: int | None = Field(
        default=None, description="The version of the records, to repeat an earlier request [the current version]."
    )
    draw: int = Field(
        default=1,
        description="2 or more: request an independent answer to the same request. It has its own noise and "
        "its own charge.",
    )
    refines: str | None = Field(
        default=None,
        exclude_if=_is_none,
        description="The release to make more precise: its receipt must be here, for the same request at a "
        "smaller epsilon. Both releases together then cost the epsilon of this request.",
    )
    assumption: Assumption = Field(
        default=Assumption(), description="Assumptions about the people, for strategy auto and for forecasts."
    )

    known_totals: GroupTotals | None = Field(default=None, exclude_if=_is_none)
    """How many people each group has, where that is public: estimates rest on it. Not sent."""
    group_study: GroupStudy | None = Field(default=None, exclude_if=_is_none)
    """How often groups are recorded wrongly, as a study found it: estimates are corrected by it. Not sent."""

    @model_validator(mode="after")
    def _check(self) -> "AuditRequest":
        for metric in self.metrics:
            if metric not in METRICS:
                raise QuestionRefused(no_such("metric", metric, METRICS))
        for name in ("epsilon", "delta", "rho", "contradictions"):
            _require_amount(name, getattr(self, name))
        if not self.metrics or len(set(self.metrics)) != len(self.metrics):
            raise QuestionRefused(f"Name `metrics`, each once, of {', '.join(METRICS)}.")
        if self.above is not None and not math.isfinite(self.above):
            raise QuestionRefused("`above` must be a finite number.")
        if STABILITY in self.metrics and (self.metrics != (STABILITY,) or self.edges is not None):
            raise QuestionRefused(
                "Stability changes the model's rules, so it cannot be combined with other metrics. Request it alone."
            )
        if (STABILITY in self.metrics) != bool(self.within or self.free):
            raise QuestionRefused(
                f"The metric {STABILITY} needs a distance (`within`, such as age=2) or a `free` column. Give one."
            )
        if self.by is not None and self.edges is not None:
            raise QuestionRefused(
                "Bands of a score count everybody, so `edges` cannot be combined with `by`. Leave out one of the two."
            )
        if self.edges is not None and not (self.edges and all(map(math.isfinite, self.edges))):
            raise QuestionRefused("Edges of bands (`edges`) must be finite numbers.")
        return self

    @property
    def reach(self) -> dict[str, float]:
        """How far each column may change, in its own unit.

        Raises:
            QuestionRefused: One of `within` is no column and number.
        """
        reach = {}
        for text in self.within or ():
            column, _, distance = text.rpartition("=")
            try:
                reach[column.strip()] = float(distance)
            except ValueError:
                raise QuestionRefused(
                    f"{text!r} is not a distance. Write a column and a number, such as age=2."
                ) from None
        return reach

    @property
    def epsilon_nano(self) -> int:
        """The whole plan's ε, in units of 10⁻⁹; 0 without one."""
        return 0 if self.epsilon is None else parse_nano(self.epsilon)

    @property
    def delta_nano(self) -> int:
        """The whole plan's δ, in units of 10⁻⁹."""
        return 0 if self.delta is None else parse_nano(self.delta)

    @property
    def loss(self) -> Loss:
        """What is to be spent on the whole plan, as it is asked for."""
        return Loss(self.epsilon_nano, self.delta_nano) if self.rho is None else Loss.of_rho(parse_nano(self.rho))

    @property
    def noise_epsilon_nano(self) -> int:
        """ε, in units of 10⁻⁹; where ρ is asked for, that of Laplace noise of the same variance: 2√ρ."""
        rho_nano = self.loss.rho_nano
        return self.epsilon_nano if rho_nano is None else math.isqrt(4 * rho_nano * NANO_PER_UNIT)

    def changed(self, **changes: Any) -> "AuditRequest":
        """The same request with other values, which are taken unchecked."""
        return self.model_copy(update=changes)
