"""Notes: what an audit was about, kept with its receipt, so that every figure can be computed again.

A receipt says what was asked and answered; it does not say which model was behind the rules, which leaf
decides what, and which figures were wanted. A note does. Notes lie in `questions/` of the receipts
directory, named by their own digest; they hold the model's rules, and nothing that is secret.

**A note that was kept reads, and has its name, for ever** (`tests/contract/v1-auditor`). So a field that a note, a
request or a reading gains has a default, under which everything is as it was before, and is left out of the note
while it has that default; no field is renamed, removed or given another meaning. A note that cannot say that is of
another format, and both are read.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from auditor_client.asking.inquiry import ModelDigest
from auditor_client.asking.question import Question
from auditor_client.asking.request import AuditRequest
from auditor_client.asking.source import TREE, RuleSource
from auditor_client.durable_files import write_durably
from auditor_client.errors import AuditorError, ReceiptsDamaged
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.reading import Reading
from auditor_client.models.tree import DecisionRule, Leaf
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Rule
from shared.kinds.plans import Plan
from shared.wire.canonical import digest

FORMAT: Final = "pafer-question/1"


def _of_an_edition(noted: Any) -> Any:
    """A reading as a note has it: of the first edition of the estimator where it names none."""
    return {"edition": 1, **noted} if isinstance(noted, dict) else noted


NotedReading = Annotated[Reading, BeforeValidator(_of_an_edition)]
"""A reading as a note has it: of the first edition of the estimator where it names none."""


class NotedRule(BaseModel):
    """A rule of the model, and what it decides."""

    model_config = ConfigDict(frozen=True)

    rule: Rule
    decision: str
    favourable: bool
    origin: str | None = None

    @classmethod
    def of(cls, rule: DecisionRule) -> Self:
        """The note of a rule."""
        leaf = rule.leaf
        return cls(rule=rule.rule, decision=leaf.decision, favourable=rule.favourable, origin=leaf.origin)

    def read(self) -> DecisionRule:
        """The rule again."""
        return DecisionRule(self.rule, Leaf(str(self.rule.id), self.decision, self.favourable, self.origin))


class JoinedRelease(BaseModel):
    """A further release that figures rest on, and the auditor's own counts of its cells; left out if there are none."""

    model_config = ConfigDict(frozen=True)

    release: str
    supports: dict[str, int] | None = Field(default=None, exclude_if=lambda supports: supports is None)


class SavedNote(BaseModel):
    """The base of every note: what was decided about a kept answer, named by its own digest.

    Attributes:
        folder: Below a receipts directory, where notes of its type lie.
    """

    model_config = ConfigDict(frozen=True)

    folder: ClassVar[str]
    if TYPE_CHECKING:
        release: str
        dataset: DatasetDescription

    @property
    def name(self) -> str:
        """The note's digest, "sha256:<hex>"."""
        return digest(self.model_dump(mode="json"))

    @property
    def file_name(self) -> str:
        """The name of the note's file, without its ending."""
        return self.name.removeprefix("sha256:")


NoteT = TypeVar("NoteT", bound=SavedNote)


class Note(SavedNote):
    """One audit: what was asked of which rules, and how the answer was read.

    Attributes:
        release: The identity of the release that answers it.
        reused: Whether that was made for another question.
        request: What was asked, settled.
        plan: The plan that it became.
        reading: How the answer was read.
        supports: By cell id, how many people the cell applies to in the auditor's own data, if it has any.
        joined: Further releases that the figures rest on, in their order; left out without any.
        against: The rules of another model that was asked about in the same question; left out if there was none.
        source: What stands behind the rules; left out if that is nothing.
        about: What the auditor wrote of model and audit; left out if that is nothing.
    """

    folder: ClassVar[str] = "questions"

    format: Literal["pafer-question/1"] = FORMAT
    release: str
    reused: bool
    dataset: DatasetDescription
    request: AuditRequest
    plan: Plan
    reading: NotedReading
    model: ModelDigest
    rules: tuple[NotedRule, ...]
    supports: dict[str, int] | None
    joined: tuple[JoinedRelease, ...] = Field(default=(), exclude_if=lambda joined: not joined)
    against: tuple[NotedRule, ...] = Field(default=(), exclude_if=lambda against: not against)
    source: RuleSource = Field(default=TREE, exclude_if=lambda source: source == TREE)
    about: About = Field(default=NOTHING, exclude_if=lambda about: about == NOTHING)

    @classmethod
    def of(cls, question: Question, stored: StoredAnswer, reading: Reading, about: About = NOTHING) -> Self:
        """The note of a question that a kept answer answers."""
        return cls(
            release=stored.release.id,
            reused=stored.reused,
            dataset=question.dataset,
            request=question.request,
            plan=question.plan,
            reading=reading,
            model=question.model,
            rules=tuple(map(NotedRule.of, question.rules)),
            against=tuple(map(NotedRule.of, question.against)),
            supports=None if stored.supports is None else dict(stored.supports),
            joined=tuple(
                JoinedRelease(
                    release=other.release.id, supports=None if other.supports is None else dict(other.supports)
                )
                for other in stored.others
            ),
            source=question.source,
            about=about,
        )

    def question(self) -> Question:
        """The question again, its plan made anew from the rules and the request.

        Raises:
            EstimationRefused, QuestionRefused: They make none.
        """
        rules, against = (tuple(noted.read() for noted in of_model) for of_model in (self.rules, self.against))
        return Question(self.dataset, self.request, rules, self.model, self.source, against)

    def answer(self, answer_of: Callable[[str], StoredAnswer]) -> StoredAnswer:
        """The kept answer as this note has it: what it was made for, its own counts, and the answers it is joined with.

        `answer_of` finds a kept answer by its release.
        """
        return replace(
            answer_of(self.release),
            reused=self.reused,
            supports=self.supports,
            others=tuple(replace(answer_of(other.release), supports=other.supports) for other in self.joined),
        )


def read_note(kind: type[NoteT], content: bytes, name: Any) -> NoteT:
    """A note from its bytes.

    Raises:
        ReceiptsDamaged: They are not one.
    """
    try:
        return kind.model_validate_json(content)
    except (ValidationError, AuditorError) as error:
        raise ReceiptsDamaged(f"The note {name} cannot be read. Restore it from a copy, or remove it.") from error


class Notes(Generic[NoteT]):
    """The notes of one type in a receipts directory."""

    def __init__(self, receipts: Path, kind: type[NoteT]) -> None:
        self.directory = receipts / kind.folder
        self._kind = kind

    def keep(self, note: NoteT) -> Path:
        """Write a note; the same note is the same file.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        path = self._path(note.file_name)
        try:
            write_durably(path, f"{note.model_dump_json(indent=1)}\n".encode())
        except OSError as error:
            raise ReceiptsDamaged(f"The note {path} cannot be written: {error.strerror}.") from error
        return path

    def names(self) -> tuple[str, ...]:
        """The names of all files, in order, without their endings; none where there is no directory yet."""
        return tuple(sorted(path.stem for path in self.directory.glob("*.json")))

    def read(self) -> tuple[NoteT, ...]:
        """All notes, in the order of their names."""
        return tuple(map(self.named, self.names()))

    def named(self, name: str) -> NoteT:
        """The note whose file has a name.

        Raises:
            ReceiptsDamaged: There is none, or it cannot be read.
        """
        path = self._path(name)
        try:
            return read_note(self._kind, path.read_bytes(), path)
        except OSError as error:
            raise ReceiptsDamaged(f"The note {path} cannot be read: {error.strerror}.") from error

    def _path(self, name: str) -> Path:
        return self.directory / f"{name}.json"
