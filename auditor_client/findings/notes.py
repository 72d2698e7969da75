"""Notes: what an audit was about, kept beside its receipt, so that every figure can be computed again.

A receipt says what was asked and answered; it does not say which model was behind the rules, which leaf
decides what, and which figures were wanted. A note does. Notes lie in `questions/` of the receipts
directory, named by their own digest; they hold the model's rules, and nothing that is secret.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.mechanisms import Spending
from auditor_client.asking.question import ModelDigest, Question
from auditor_client.asking.strategies import Subject
from auditor_client.errors import ReceiptsDamaged
from auditor_client.findings.estimators import Estimator
from auditor_client.models.tree import DecisionRule, Leaf
from shared.canonical import digest
from shared.datasets import DatasetDescription
from shared.plans import Plan
from shared.rules import Predicate, Rule
from shared.schema import Group

FORMAT: Final = "pafer-question/1"


class NotedRule(BaseModel):
    """A rule of the model, and what it decides."""

    model_config = ConfigDict(frozen=True)

    rule: Rule
    decision: str
    favourable: bool
    origin: str | None = None


class Note(BaseModel):
    """One audit's question and choices.

    Attributes:
        release: The identity of the release that answers it.
        supports: By cell id, how many people the cell applies to in the auditor's own data, if it has any.
    """

    model_config = ConfigDict(frozen=True)

    format: Literal["pafer-question/1"] = FORMAT
    release: str
    dataset: DatasetDescription
    plan: Plan
    rules: tuple[NotedRule, ...]
    rules_digest: str
    file_digest: str | None
    metrics: tuple[str, ...]
    scope: tuple[Predicate, ...]
    strategy: str
    reference: Group | None
    estimator: str
    negative: str
    too_large: str
    threshold: float
    level: float
    supports: dict[str, int] | None
    reused: bool

    @classmethod
    def of(
        cls,
        question: Question,
        release_id: str,
        estimator: Estimator,
        *,
        supports: Mapping[str, int] | None,
        reused: bool,
    ) -> Self:
        """The note of a question that a release answers."""
        return cls(
            release=release_id,
            dataset=question.dataset,
            plan=question.plan,
            rules=tuple(
                NotedRule(
                    rule=rule.rule,
                    decision=rule.leaf.decision,
                    favourable=rule.favourable,
                    origin=rule.leaf.origin,
                )
                for rule in question.rules
            ),
            rules_digest=question.model.rules,
            file_digest=question.model.file,
            metrics=question.subject.metrics,
            scope=question.subject.scope,
            strategy=question.strategy,
            reference=question.reference,
            estimator=estimator.name,
            negative=estimator.negative,
            too_large=estimator.too_large,
            threshold=estimator.threshold,
            level=estimator.level,
            supports=None if supports is None else dict(supports),
            reused=reused,
        )

    @property
    def name(self) -> str:
        """The note's digest, "sha256:<hex>"."""
        return digest(self.model_dump(mode="json"))

    def question(self) -> Question:
        """The question, as it was."""
        label = next((column for column in self.dataset.columns if column.label), None)
        rules = tuple(
            DecisionRule(noted.rule, Leaf(str(noted.rule.id), noted.decision, noted.favourable, noted.origin))
            for noted in self.rules
        )
        return Question(
            self.dataset,
            Subject(
                rules,
                self.metrics,
                self.scope,
                None if label is None else label.name,
                label is not None and label.nullable,
            ),
            ModelDigest(self.rules_digest, self.file_digest),
            self.strategy,
            Spending.of_plan(self.plan),
            self.plan,
            self.reference,
            Assumption(),
        )

    def chosen_estimator(self) -> Estimator:
        """The estimator, as it was chosen."""
        return Estimator(self.estimator, self.negative, self.too_large, self.threshold, self.level)


def read_note(content: bytes, place: Any) -> Note:
    """A note from its bytes.

    Raises:
        ReceiptsDamaged: They are none.
    """
    try:
        return Note.model_validate_json(content)
    except ValidationError as error:
        raise ReceiptsDamaged(f"The note {place} cannot be read. Restore it from a copy, or remove it.") from error


class Notes:
    """The notes of one receipts directory."""

    def __init__(self, receipts: Path) -> None:
        self.directory = receipts / "questions"

    def keep(self, note: Note) -> Path:
        """Write a note; the same note is the same file.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        path = self.directory / f"{note.name.removeprefix('sha256:')}.json"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            path.write_text(note.model_dump_json(indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ReceiptsDamaged(f"The note {path} cannot be written: {error.strerror}.") from error
        return path

    def read(self) -> tuple[Note, ...]:
        """All notes, in the order of their names; none where there is no directory yet."""
        return tuple(read_note(path.read_bytes(), path) for path in sorted(self.directory.glob("*.json")))
