"""The request of a training, and the training that it becomes over one dataset (7-training §1)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from auditor_client.asking.bands import RULES
from auditor_client.asking.request import OPPORTUNITY, PARITY, AmountText, AuditRequest, Texts
from auditor_client.asking.training_columns import feature_of, label_of, nameable, sensitive_of
from auditor_client.errors import QuestionRefused
from auditor_client.text import first_fault, in_python, no_such
from shared.contract.datasets import DatasetDescription
from shared.contract.metadata import value_name
from shared.contract.schema import Schema
from shared.kinds.trainings import FairLinear, FairTree, Pflr, PflrStar, PrivateFairTree, Training
from shared.wire.problems import PlanRefused

_KINDS: Final[Mapping[str, type[BaseModel]]] = {
    "fair_tree": FairTree, "fair_linear": FairLinear, "private_fair_tree": PrivateFairTree, "pflr": Pflr,
    "pflr_star": PflrStar,
}  # fmt: skip
ALGORITHMS: Final = tuple(_KINDS)
PROMISING: Final = ALGORITHMS[:2]
"""Those whose decisions are brought to a wanted ratio, by counts that are paid for; the others promise none."""
_CALLED: Final = {"threshold": "free_covariance"}
"""What a request calls a member of an algorithm otherwise."""


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

    algorithm: str = Field(
        default=ALGORITHMS[0],
        description=f"The learning algorithm. {' and '.join(PROMISING)} are decided for the wanted ratio; "
        "fair_linear is usually more accurate, fair_tree has fewer rules to read. Published learners, for comparison, "
        f"do not promise a ratio: {', '.join(ALGORITHMS[2:])}. Audit them before you rely on their fairness.",
    )
    label: str | None = Field(
        default=None,
        description="The column that the model predicts; true is the favourable outcome [the dataset's label].",
    )
    sensitive: Texts | None = Field(
        default=None,
        description="The sensitive columns between whose values the model must be fair, separated by commas. "
        "The model never reads them [all declared].",
    )
    features: Annotated[Texts | None, BeforeValidator(_features)] = Field(
        default=None,
        description="A column that the model may use. For a column of numbers, add where bins begin: "
        "age=25,35,45 [16 bins of one width over the declared range]. Repeat the option for "
        "several columns [all columns that may be used].",
    )
    epsilon: AmountText = Field(default=None, description="The privacy loss to spend, such as 1.")
    depth: int | None = Field(default=None, description="For a tree: the number of splits on every path [4].")
    splits: AmountText = Field(
        default=None,
        description="For a tree: the part of epsilon for choosing its splits. The remainder counts its leaves [0.5].",
    )
    groups: AmountText = Field(
        default=None,
        description="For fair_tree: the part of epsilon for finding the group with the highest rate [0.05].",
    )
    similarity: AmountText = Field(
        default=None,
        description="For private_fair_tree: bins of numbers that are at most this far apart count as equal. 1 "
        "is the distance of the first bin from the last [0.1].",
    )
    points: int | None = Field(
        default=None, description="For fair_linear: points for each unit of the logarithm of the odds [10]."
    )
    tables: AmountText = Field(
        default=None,
        description="For fair_linear: the part of epsilon for learning the scores. The remainder counts their "
        "bands [0.4].",
    )
    label_quantiles: tuple[AmountText, ...] | None = Field(
        default=None,
        description="For fair_linear: the shares of people after which bands of the label's score begin, "
        "separated by commas [0.6,0.7,0.8,0.87,0.92,0.96].",
    )
    group_quantiles: tuple[AmountText, ...] | None = Field(
        default=None,
        description="For fair_linear: the same for the score of the group with the lowest rate [0.3,0.5,0.7,0.85].",
    )
    penalty: AmountText = Field(
        default=None,
        description="For pflr: the penalty of covariance with the group, beside the loss. 0 ignores fairness [1].",
    )
    free_covariance: AmountText = Field(
        default=None, description="For pflr: the covariance without a penalty, in people [0]."
    )
    fairness: AmountText = Field(
        default=None, description="For pflr_star: the part of epsilon for the covariance with the group [0.5]."
    )
    lowered: str | None = Field(
        default=None,
        description="For pflr_star, required: the group whose scores are lowered relative to the other "
        "group's, such as Male. If this is the group with the lower rate, the model becomes less "
        "fair.",
    )
    version: int | None = Field(
        default=None, description="The version of the records, to repeat an earlier training [the current version]."
    )
    draw: int = Field(
        default=1,
        description="2 or more: request an independent training with the same settings. It has its own noise "
        "and its own charge.",
    )


class FollowingAudit(BaseModel):
    """Where a trained model is audited in the same run, and at what price; nowhere unless a dataset is named.

    It is asked rule by rule with the label, so that the answer has the model's accuracy too.

    Raises:
        QuestionRefused: A dataset is named without a price, or the other way round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    audit_on: str | None = Field(default=None, description="Audit the model in the same run, on this dataset.")
    audit_epsilon: AmountText = Field(default=None, description="The epsilon of that audit, such as 0.5.")
    audit_version: int | None = Field(
        default=None, description="The version of the records for that audit [the current version]."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.audit_on is None) != (self.audit_epsilon is None) or (self.audit_version and self.audit_on is None):
            raise QuestionRefused(
                "Auditing the model in the same run needs a dataset (`audit_on`) and its epsilon "
                "(`audit_epsilon`). Give both, or neither."
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
                f"Dataset {dataset.name!r} (`audit_on`) does not have the column {name!r} in the role that the "
                "training gives it, so the model cannot be audited there. Nothing was spent. Name another "
                "dataset."
            )


def training_of(request: TrainingRequest, dataset: DatasetDescription) -> Training:
    """The training that a request is over a dataset, pinned to a version: what is left out follows from public facts.

    Raises:
        QuestionRefused: It does not fit the dataset; the text says what would.
    """
    schema, version = dataset.table, dataset.version if request.version is None else request.version
    if request.epsilon is None:
        raise QuestionRefused("The training needs a privacy loss. Give `epsilon`, such as 1.")
    if version is None:
        raise QuestionRefused(
            f"The records of dataset {dataset.name!r} are not loaded yet. Ask the holder's administrator."
        )
    if dataset.relation == "sensitive_attribute":
        raise QuestionRefused(
            f"Dataset {dataset.name!r} protects only sensitive values, but a training protects whole records. The "
            "holder does not train models on it; choose another dataset."
        )
    label = label_of(request.label, schema)
    if not dataset.trainings:
        raise QuestionRefused(f"The holder does not train models on dataset {dataset.name!r}. Ask its administrator.")
    if request.algorithm not in (offered := [name for name in ALGORITHMS if name in dataset.trainings]):
        raise QuestionRefused(no_such("algorithm", request.algorithm, offered))
    sensitive = request.sensitive or sensitive_of(schema)
    document = {
        "algorithm": _algorithm(request, schema, sensitive),
        "label": label,
        "sensitive": sensitive,
        "features": [feature_of(text, schema) for text in request.features or nameable(schema)],
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
        raise QuestionRefused("These columns make only one group. Name `sensitive` columns with several values.")
    return training


def _algorithm(request: TrainingRequest, schema: Schema, sensitive: tuple[str, ...]) -> dict[str, Any]:
    """The algorithm as the contract has it: what is given of it, and nothing that is of another.

    Raises:
        QuestionRefused: Something is of another algorithm, or it is not said whom it lowers.
    """
    kind = _KINDS[request.algorithm]
    of_each = {name: [_CALLED.get(one, one) for one in other.model_fields] for name, other in _KINDS.items()}
    for field in dict.fromkeys(field for fields in of_each.values() for field in fields if field != "name"):
        if getattr(request, field) is not None and field not in of_each[request.algorithm]:
            having = " and ".join(name for name, fields in of_each.items() if field in fields)
            raise QuestionRefused(f"`{field}` applies to {having}, not to {request.algorithm}. Leave it out.")
    if kind in (Pflr, PflrStar):
        _require_two_groups(request.algorithm, schema, sensitive)
    given = {name: getattr(request, _CALLED.get(name, name)) for name in kind.model_fields if name != "name"}
    if kind is PflrStar:
        given["lowered"] = _lowered(request.lowered, schema, sensitive)
    return {"name": request.algorithm, **{name: value for name, value in given.items() if value is not None}}


def _require_two_groups(algorithm: str, schema: Schema, sensitive: tuple[str, ...]) -> None:
    """Refuse groups that are not two, where all columns are declared; others are refused with their own reason."""
    if all(name in schema.by_name for name in sensitive) and schema.group_count(sensitive) != 2:
        raise QuestionRefused(
            f"The algorithm {algorithm} needs two groups, but these columns make {schema.group_count(sensitive)} "
            "(missing values are one). Name one column with two values (`sensitive`), or use another algorithm."
        )


def _lowered(named: str | None, schema: Schema, sensitive: tuple[str, ...]) -> int | None:
    """The index of the group whose scores are lowered."""
    if not all(name in schema.by_name for name in sensitive):
        return None
    groups = [", ".join("missing" if one is None else value_name(one) for one in group)
              for group in schema.groups(sensitive)]  # fmt: skip
    if named not in groups:
        raise QuestionRefused(
            "pflr_star lowers the scores of one group relative to the other, whichever is better off. Name the "
            f"better-off group (`lowered`): {' or '.join(groups)}."
        )
    return groups.index(named)
