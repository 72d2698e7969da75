"""The request of a training, and the training that it becomes over one dataset (7-training §1)."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from auditor_client.asking.bands import RULES
from auditor_client.asking.request import OPPORTUNITY, PARITY, AmountText, AuditRequest, Texts
from auditor_client.asking.strata import column_and_bands
from auditor_client.errors import QuestionRefused
from auditor_client.text import first_fault, in_python, no_such
from shared import limits
from shared.datasets import DatasetDescription
from shared.problems import PlanRefused
from shared.schema import Column, Schema
from shared.trained_scores import GROUP_SCORE, LABEL_SCORE
from shared.trainings import FairLinear, Training

ALGORITHMS: Final = ("fair_tree", "fair_linear")
BINS: Final = 16
"""Into so many bins of one width the declared range of an ordered column is cut, unless cuts are given."""


def _features(given: Any) -> Any:
    """Features as texts; of a mapping, each column with where its bins begin, if that is said."""
    if isinstance(given, Mapping):
        return tuple(name if cuts is None else f"{name}={','.join(map(str, cuts))}" for name, cuts in given.items())
    return given


class TrainingRequest(BaseModel):
    """Which model is to be learned, at what price, whatever the dataset is.

    The descriptions of the fields are the help of the flags that `auditor_client.cli` makes of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    algorithm: str = Field(default=ALGORITHMS[0], description=f"How it is learned: {', '.join(ALGORITHMS)}.")
    label: str | None = Field(
        default=None, description="What the model is to predict; true is the favourable outcome [the dataset's label]."
    )
    sensitive: Texts | None = Field(
        default=None,
        description="The sensitive columns between whose values it is to be fair, with commas between them; the model "
        "never reads them [all declared].",
    )
    features: Annotated[Texts | None, BeforeValidator(_features)] = Field(
        default=None,
        description="A column that the model may use; of numbers with where bins begin: age=25,35,45 [16 bins of one "
        "width over the declared range]. Given several times [all columns that may be named].",
    )
    epsilon: AmountText = Field(default=None, description="The privacy loss to spend, such as 1.")
    depth: int | None = Field(default=None, description="Of a tree: the number of splits on every path [4].")
    splits: AmountText = Field(
        default=None,
        description="Of a tree: the part of epsilon for choosing its splits; 0.05 finds the best-off group, and the "
        "rest counts its leaves [0.5].",
    )
    version: int | None = Field(
        default=None, description="The version of the records, to repeat an earlier training; else the current one."
    )
    draw: int = Field(default=1, description="From 2 on: another, independent and charged draw of the same training.")


class FollowingAudit(BaseModel):
    """Where a trained model is audited in the same run, and at what price; nowhere unless a dataset is named.

    It is asked rule by rule with the label, so that the answer has the model's accuracy too.

    Raises:
        QuestionRefused: A dataset is named without a price, or the other way round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    audit_on: str | None = Field(default=None, description="Audit the model in the same run, on this dataset.")
    audit_epsilon: AmountText = Field(default=None, description="What that audit may cost, such as 0.5.")
    audit_version: int | None = Field(
        default=None, description="The version of the records to audit it on; else the current one."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.audit_on is None) != (self.audit_epsilon is None) or (self.audit_version and self.audit_on is None):
            raise QuestionRefused(
                "To audit the model in the same run, name a dataset (`audit_on`) and what that may cost "
                "(`audit_epsilon`)."
            )
        return self

    def request(self, sensitive: tuple[str, ...]) -> AuditRequest:
        """The request of that audit, by the columns that the model was trained to be fair to."""
        return AuditRequest(
            sensitive=sensitive,
            epsilon=self.audit_epsilon,
            metrics=(PARITY, OPPORTUNITY),
            strategy=RULES,
            version=self.audit_version,
        )


def require_auditable(training: Training, dataset: DatasetDescription) -> None:
    """Refuse a dataset that lacks what a model of a training reads, or what an audit of it compares.

    Raises:
        QuestionRefused: So it is; nothing is spent.
    """
    columns = dataset.table.by_name
    for name in (*(feature.column for feature in training.features), training.label, *training.sensitive):
        column = columns.get(name)
        fits = column is not None and (
            column.label if name == training.label else column.sensitive or name not in training.sensitive
        )
        if not fits:
            raise QuestionRefused(
                f"Dataset {dataset.name!r} (`audit_on`) has no column {name!r} in the role that the training gives it, "
                "so the model cannot be audited there. Nothing was spent."
            )
    taken = [name for name in (LABEL_SCORE, GROUP_SCORE) if name in columns]
    if isinstance(training.algorithm, FairLinear) and taken:
        raise QuestionRefused(
            f"Dataset {dataset.name!r} (`audit_on`) has a column {taken[0]!r}, and so may a score of the model be "
            "called: audit it elsewhere, or train another algorithm. Nothing was spent."
        )


def training_of(request: TrainingRequest, dataset: DatasetDescription) -> Training:
    """The training that a request is over a dataset, pinned to a version: what is left out follows from public facts.

    Raises:
        QuestionRefused: It does not fit the dataset; the text says what would.
    """
    schema, version = dataset.table, dataset.version if request.version is None else request.version
    if request.epsilon is None:
        raise QuestionRefused("Say what the training may cost (`epsilon`), such as 1.")
    if version is None:
        raise QuestionRefused(f"Dataset {dataset.name!r} has no records yet. Ask the holder's administrator.")
    if dataset.relation == "sensitive_attribute":
        raise QuestionRefused(
            f"Dataset {dataset.name!r} protects sensitive values alone, and a training protects whole records: the "
            "holder trains no model on it."
        )
    label = _label(request.label, schema)
    if not dataset.trainings:
        raise QuestionRefused(f"The holder trains no models on dataset {dataset.name!r}. Ask its administrator.")
    if request.algorithm not in dataset.trainings:
        raise QuestionRefused(no_such("algorithm", request.algorithm, dataset.trainings))
    tree = {"name": request.algorithm, "depth": request.depth, "splits": request.splits}
    document = {
        "algorithm": {name: value for name, value in tree.items() if value is not None},
        "label": label,
        "sensitive": request.sensitive or _sensitive(schema),
        "features": [_feature(text, schema) for text in request.features or _nameable(schema)],
        "epsilon": request.epsilon,
        "version": version,
        "draw": request.draw,
    }
    try:
        training = Training.model_validate(document)
        training.check(schema)
    except ValidationError as error:
        raise QuestionRefused(": ".join(first_fault(error)).lstrip(": ")) from error
    except PlanRefused as error:
        raise QuestionRefused(in_python(str(error))) from error
    if schema.group_count(training.sensitive) < 2:
        raise QuestionRefused("There is one group: name `sensitive` columns with several values.")
    return training


def _label(named: str | None, schema: Schema) -> str:
    declared = [column.name for column in schema.columns if column.label]
    if named is not None or declared:
        return named or declared[0]
    raise QuestionRefused(
        "The dataset declares no label, so there is nothing that a model could learn to predict. Ask the holder's "
        "administrator to declare one."
    )


def _sensitive(schema: Schema) -> tuple[str, ...]:
    """All columns that make groups, and not of perturbed reports."""
    found = [schema.by_name[name] for name in schema.sensitive]
    return tuple(column.name for column in found if column.group_values and column.randomised_response is None)


def _nameable(schema: Schema) -> tuple[str, ...]:
    """All columns that a model may use and that part people; sensitive ones only if they are named."""
    found = [
        column.name
        for column in schema.columns
        if schema.may_be_named(column.name)
        and not (column.label or column.sensitive)
        and (column.ordered or len(column.values) + column.nullable > 1)
    ]
    if len(found) > limits.FEATURES_PER_TRAINING_MAX:
        raise QuestionRefused(
            f"The dataset has {len(found)} columns that a model may use, and {limits.FEATURES_PER_TRAINING_MAX} is "
            "the most: name those that it is to use (`features`)."
        )
    return tuple(found)


def _feature(text: str, schema: Schema) -> dict[str, Any]:
    """A feature as the contract has it."""
    name, given = column_and_bands(text, schema.by_name)
    column = schema.by_name.get(name)
    if column is None:
        raise QuestionRefused(f"`features`: {no_such('column', name, _nameable(schema))}")
    if not given:
        return {"column": name, "cuts": even_cuts(column)} if column.ordered else {"column": name}
    try:
        return {"column": name, "cuts": [float(cut) for cut in given.split(",")]}
    except ValueError:
        raise QuestionRefused(
            f"`features`: {text!r} is no column with numbers at which bins begin, such as age=25,35,45."
        ) from None


def even_cuts(column: Column) -> tuple[float, ...]:
    """Where `BINS` bins of one width begin in an ordered column's declared range; of an integer at whole numbers.

    Raises:
        QuestionRefused: It declares no finite range, or one value.
    """
    low, high = column.minimum, column.maximum
    if low is None or high is None or not math.isfinite(float(high) - float(low)):
        raise QuestionRefused(
            f"Column {column.name!r} declares no range from which bins could follow: say where its bins begin "
            f"(`features`), such as {column.name}=10,20,30, or name the other features alone."
        )
    cuts = [low + (high - low) * part / BINS for part in range(1, BINS)]
    if column.type == "integer":
        cuts = [math.ceil(cut) for cut in cuts]
    found = tuple(dict.fromkeys(cut for cut in cuts if low < cut <= high))
    if not found:
        raise QuestionRefused(f"Column {column.name!r} has one value: it parts nobody, so leave it out (`features`).")
    return found
