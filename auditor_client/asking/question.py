"""The question of an audit: a model read as rules, made into a plan that fits the dataset."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict

from pydantic import ValidationError

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.choice import AUTO, choose_strategy
from auditor_client.asking.mechanisms import Spending
from auditor_client.asking.scope import scope_predicates
from auditor_client.asking.strategies import PARITY, Subject, build_plan
from auditor_client.errors import QuestionRefused
from auditor_client.exchange.verification import counts_that_change
from auditor_client.models.tree import DecisionRule, Tree
from shared import canonical
from shared.datasets import DatasetDescription
from shared.plans import Plan
from shared.problems import PlanRefused
from shared.schema import Group, Schema

_ASSUMED: Final = Assumption()


class Asked(TypedDict, total=False):
    """How something may be asked, beside what is asked about whom: keywords of `Auditor.plan` and `Auditor.audit`.

    Attributes:
        metrics: Of "statistical-parity" (default), "equal-opportunity", "equalized-odds", "predictive-parity";
            several are answered from the same cells, at no further cost.
        where: Conditions that restrict the audit to a scope, such as "age >= 18".
        reference: The group to compare the others with; by default the lowest and highest rates are compared.
        strategy: "auto" (default), "verdict" (the best accuracy), "rules" (every rule by itself) or "pafer".
        mechanism: "laplace", "gaussian", "exponential" or "randomised_response"; by default the last where the
            sensitive columns were perturbed at their source, else the first.
        delta: The Gaussian's δ, as a decimal string.
        upper: The exponential mechanism's largest answer, in people.
        favourable: The model's classes that favour a person; by default the larger of two.
        columns: The dataset's column for each input of a model that was fitted on an array.
        version: The version of the records to ask about, to repeat an earlier question; by default the current one.
        draw: A number from 2 on asks for another, independent and charged draw of the same.
        assumption: What is supposed of the people: "auto" and the forecast rest on it.
    """

    metrics: Sequence[str] | str
    where: Sequence[str] | str
    reference: Sequence[Any] | str | None
    strategy: str
    mechanism: str | None
    delta: str | None
    upper: int | None
    favourable: Collection[Any] | None
    columns: Sequence[str] | None
    version: int | None
    draw: int
    assumption: Assumption | None


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
        subject: What is to be found out.
        model: Which model it is.
        strategy: How the rules were put into cells; never "auto".
        spending: The loss, and by which mechanism.
        plan: What is asked, pinned to a version of the records.
        reference: The group that the others are compared with, if one was named.
        assumption: What was supposed of the people.
    """

    dataset: DatasetDescription
    subject: Subject
    model: ModelDigest
    strategy: str
    spending: Spending
    plan: Plan
    reference: Group | None
    assumption: Assumption

    @property
    def rules(self) -> tuple[DecisionRule, ...]:
        """The model's rules after merging siblings that decide alike."""
        return self.subject.rules

    def with_plan(self, strategy: str, spending: Spending) -> "Question":
        """The same question put otherwise.

        Raises:
            QuestionRefused: The plan would not fit the dataset.
        """
        plan = _fitting_plan(
            self.subject,
            self.dataset.table,
            strategy=strategy,
            sensitive=self.plan.sensitive,
            spending=spending,
            version=self.plan.version,
            draw=self.plan.draw,
        )
        return Question(
            self.dataset, self.subject, self.model, strategy, spending, plan, self.reference, self.assumption
        )


def make_question(
    model: Any,
    dataset: DatasetDescription,
    *,
    sensitive: Sequence[str],
    epsilon: str | None,
    metrics: Sequence[str] | str = (PARITY,),
    where: Sequence[str] | str = (),
    reference: Sequence[Any] | str | None = None,
    strategy: str = AUTO,
    mechanism: str | None = None,
    delta: str | None = None,
    upper: int | None = None,
    favourable: Collection[Any] | None = None,
    columns: Sequence[str] | None = None,
    version: int | None = None,
    draw: int = 1,
    assumption: Assumption | None = None,
) -> Question:
    """Read a model and put its rules into a plan. Asks nobody anything.

    Args:
        model: A fitted scikit-learn classifier, the path of a skops file, or a `Tree`.
        dataset: Whom to ask about.
        sensitive: The sensitive columns whose combinations are the groups.
        epsilon: The whole plan's loss, as a decimal string; None for randomised response.
        metrics, where, reference, strategy, mechanism, delta, upper: See `Asked`.
        favourable, columns, version, draw, assumption: See `Asked`.

    Raises:
        ModelRefused: The model cannot be read exactly.
        QuestionRefused: The plan would not fit the dataset.
    """
    pinned = dataset.version if version is None else version
    if pinned is None:
        raise QuestionRefused(f"Dataset {dataset.name!r} has no records yet. Ask the holder's administrator.")
    if isinstance(sensitive, str) or not sensitive:
        raise QuestionRefused(f"Name the sensitive columns as a list, of {', '.join(dataset.sensitive)}.")
    spending = Spending.of(dataset, epsilon=epsilon, sensitive=sensitive, mechanism=mechanism, delta=delta, upper=upper)
    tree, digest = _read(model, dataset.table, favourable, columns)
    rules = tree.merged().rules()
    label = next((column for column in dataset.columns if column.label), None)
    subject = Subject(
        rules,
        (metrics,) if isinstance(metrics, str) else tuple(metrics),
        scope_predicates((where,) if isinstance(where, str) else where, dataset.table),
        None if label is None else label.name,
        label is not None and label.nullable,
    )
    groups = _groups(dataset, sensitive)
    if strategy == AUTO:
        strategy = choose_strategy(
            subject,
            spending,
            groups=len(groups),
            counts_that_change=counts_that_change(dataset.relation, len(groups)),
            assumption=assumption or _ASSUMED,
        )
    plan = _fitting_plan(
        subject,
        dataset.table,
        strategy=strategy,
        sensitive=sensitive,
        spending=spending,
        version=pinned,
        draw=draw,
    )
    return Question(
        dataset,
        subject,
        ModelDigest(rules=rules_digest(rules), file=digest),
        strategy,
        spending,
        plan,
        None if reference is None else group_named(reference, groups),
        assumption or _ASSUMED,
    )


def _fitting_plan(subject: Subject, schema: Schema, **asked: Any) -> Plan:
    try:
        plan = build_plan(subject, **asked)
        plan.check(schema)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise QuestionRefused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".lstrip(": ")) from error
    except PlanRefused as error:
        raise QuestionRefused(str(error)) from error
    return plan


def _groups(dataset: DatasetDescription, sensitive: Sequence[str]) -> tuple[Group, ...]:
    """The groups to compare: refused before anything is spent if there is nothing to compare."""
    declared = [column.name for column in dataset.columns if column.sensitive]
    unknown = [name for name in sensitive if name not in declared]
    if unknown:
        raise QuestionRefused(
            f"{unknown[0]!r} is not declared sensitive in dataset {dataset.name!r}; it has {', '.join(declared)}."
        )
    groups = dataset.table.groups(sensitive)
    if len(groups) < 2:
        raise QuestionRefused("Parity compares groups: name sensitive columns with at least two values.")
    return groups


def group_named(wanted: Sequence[Any] | str, groups: Sequence[Group]) -> Group:
    """The group of a name: its values, as they are or as texts, with commas between them.

    Raises:
        QuestionRefused: There is no such group.
    """
    values = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    for group in groups:
        if list(group) == values or [_shown(value) for value in group] == [_shown(value) for value in values]:
            return group
    raise QuestionRefused(
        f"There is no group {wanted!r}: name one of "
        f"{'; '.join(', '.join(_shown(value) for value in group) for group in groups[:20])}."
    )


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def rules_digest(rules: tuple[DecisionRule, ...]) -> str:
    """The SHA-256 of a model's rules and what each decides, as "sha256:<hex>"."""
    return canonical.digest(
        [
            {"rule": rule.rule.model_dump(mode="json", exclude_none=True), "favourable": rule.favourable}
            for rule in rules
        ]
    )
