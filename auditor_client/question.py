"""The question of an audit: a model read as rules, made into a plan that fits the dataset."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from auditor_client.errors import QuestionRefused
from auditor_client.models.tree import DecisionRule, Tree
from auditor_client.strategies import build_plan
from shared import canonical
from shared.datasets import DatasetDescription
from shared.plans import Plan
from shared.problems import PlanRefused
from shared.schema import Schema


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Which model was audited.

    Attributes:
        rules: SHA-256 of the canonical rules with their decisions, as "sha256:<hex>".
        file: SHA-256 of the model's file, likewise; None if the model came from memory.
    """

    rules: str
    file: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, about whom, and where it comes from.

    Attributes:
        dataset: The declaration that the plan was made for.
        rules: The model's rules after merging siblings that decide alike.
        model: Which model it is.
        strategy: How the rules were put into cells.
        plan: What is asked, pinned to a version of the records.
    """

    dataset: DatasetDescription
    rules: tuple[DecisionRule, ...]
    model: ModelDigest
    strategy: str
    plan: Plan


def make_question(
    model: Any,
    dataset: DatasetDescription,
    *,
    sensitive: Sequence[str],
    epsilon: str,
    strategy: str,
    favourable: Collection[Any] | None = None,
    columns: Sequence[str] | None = None,
    version: int | None = None,
    draw: int = 1,
) -> Question:
    """Read a model and put its rules into a plan. Asks nobody anything.

    Args:
        model: A fitted scikit-learn classifier, the path of a skops file, or a `Tree`.
        dataset: Whom to ask about.
        sensitive: The sensitive columns whose combinations are the groups.
        epsilon: The whole plan's loss, as a decimal string.
        strategy: "verdict" or "pafer".
        favourable: The model's favourable classes; needed unless they go without saying.
        columns: The dataset's column for each input of a model that was fitted on an array.
        version: The version of the records to pin; by default the current one.
        draw: From 2 on: another draw of the same.

    Raises:
        ModelRefused: The model cannot be read exactly.
        QuestionRefused: The plan would not fit the dataset.
    """
    pinned = dataset.version if version is None else version
    if pinned is None:
        raise QuestionRefused(f"Dataset {dataset.name!r} has no records yet. Ask the holder's administrator.")
    if isinstance(sensitive, str) or not sensitive:
        raise QuestionRefused(f"Name the sensitive columns as a list, of {', '.join(dataset.sensitive)}.")
    tree, digest = _read(model, dataset.table, favourable, columns)
    rules = tree.merged().rules()
    try:
        plan = build_plan(rules, strategy=strategy, sensitive=sensitive, epsilon=epsilon, version=pinned, draw=draw)
        plan.check(dataset.table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise QuestionRefused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".lstrip(": ")) from error
    except PlanRefused as error:
        raise QuestionRefused(str(error)) from error
    _require_comparable(dataset, plan)
    return Question(dataset, rules, ModelDigest(rules=_rules_digest(rules), file=digest), strategy, plan)


def _require_comparable(dataset: DatasetDescription, plan: Plan) -> None:
    """Refuse, before anything is spent, a question whose answer no estimator could use."""
    groups = len(dataset.table.groups(plan.sensitive))
    if groups < 2:
        raise QuestionRefused("Parity compares groups: name sensitive columns with at least two values.")
    if groups == 2 and dataset.relation == "sensitive_attribute":
        raise QuestionRefused(
            "Under this dataset's relation the holder counts one of two groups, and the other follows from supports, "
            "which no estimator takes yet. Nothing was spent. Compare by two sensitive columns together."
        )


def _read(
    model: Any, schema: Schema, favourable: Collection[Any] | None, columns: Sequence[str] | None
) -> tuple[Tree, str | None]:
    """The model as a tree over the dataset's columns, and its file's digest, if it is one."""
    if isinstance(model, Tree):
        if favourable is not None or columns is not None:
            raise QuestionRefused("A Tree names its favourable leaves and its columns itself: leave the lists out.")
        model.check(schema)
        return model, None
    # scikit-learn takes a second to import, and only reading a model needs it.
    from auditor_client.models.reading import load_model  # noqa: PLC0415
    from auditor_client.models.sklearn_tree import read_tree  # noqa: PLC0415

    digest = None
    if isinstance(model, str | Path):
        path = Path(model)
        model = load_model(path)
        digest = canonical.sha256_name(path.read_bytes())
    return read_tree(model, schema, favourable=favourable, columns=columns), digest


def _rules_digest(rules: tuple[DecisionRule, ...]) -> str:
    return canonical.digest(
        [
            {"rule": rule.rule.model_dump(mode="json", exclude_none=True), "favourable": rule.favourable}
            for rule in rules
        ]
    )
