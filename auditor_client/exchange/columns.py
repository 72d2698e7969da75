"""Derived columns that the holder has, and the record of linked ones, which is kept where the receipts are.

A score's id follows from its document, so it can be computed again for ever. That of a linked column cannot: it holds
a digest that the holder alone can make, because whoever reads a plan must not be able to confirm a guess of the values.
"""

import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationError

from auditor_client.durable_files import write_durably
from auditor_client.errors import HolderLied, HolderUnavailable, NotFound, QuestionRefused, ReceiptsDamaged
from auditor_client.exchange.holder import HolderClient
from shared.contract.schema import Column
from shared.scores.columns import ColumnDescription, DerivedColumn, ScoreOrigin, column_id
from shared.scores.documents import Document, columns_of
from shared.wire.text import ColumnId

_FOLDER: Final = "columns"
_BLINDING: Final = ".blinding"
_OTHER: Final = "The holder made another column than {!r} was to be. Report it to its administrator."
_POLL_S_MIN: Final = 0.1
_POLL_S_MAX: Final = 30.0
_WAIT_S_MAX: Final = 6 * 3600.0


def _canonical(part: BaseModel) -> dict[str, Any]:
    """A part as its digest has it: absent values left out."""
    return part.model_dump(mode="json", exclude_none=True)


class HeldColumn(BaseModel):
    """A derived column with the id by which plans name it.

    It stands in notes and so in bundles. Of linked values it has no digest: that would confirm a guess of them.

    Attributes:
        id: As plans name it.
        column: As rules see it.
        score: The document of a score; None for linked values.
    """

    model_config = ConfigDict(frozen=True)

    id: ColumnId
    column: Annotated[Column, PlainSerializer(_canonical)]
    score: Annotated[Document | None, PlainSerializer(_canonical)] = Field(
        default=None, exclude_if=lambda score: score is None
    )

    @classmethod
    def of_score(cls, column: DerivedColumn, *, auditor: str, dataset: str) -> Self:
        """A column that the holder computes."""
        score = column.origin.score if isinstance(column.origin, ScoreOrigin) else None
        return cls(id=column_id(column, auditor=auditor, dataset=dataset), column=column.column, score=score)

    @property
    def derived(self) -> DerivedColumn:
        """A score as it is asked for.

        Raises:
            ValueError: The values are linked.
        """
        if self.score is None:
            raise ValueError("The values of a linked column are not saved on this machine.")
        facts = self.column.model_dump(exclude_none=True, include={"name", "type", "categories", "nullable"})
        return DerivedColumn.model_validate({**facts, "origin": ScoreOrigin(score=self.score)})

    @property
    def reads(self) -> tuple[str, ...]:
        """The declared columns that a score follows from; none for linked values."""
        return () if self.score is None else columns_of(self.score)

    def is_of(self, auditor: str, dataset: str) -> bool:
        """Whether a score's id is the one of its document; a linked column's stands as it is."""
        return self.score is None or self.id == column_id(self.derived, auditor=auditor, dataset=dataset)


class LinkedColumn(HeldColumn):
    """The record of a linked column; it does not leave the auditor.

    Attributes:
        values: The SHA-256 of the file that was sent.
    """

    values: ColumnId


@dataclass(frozen=True, slots=True)
class OwnColumns:
    """What an auditor may name in addition to a dataset's declared columns.

    Attributes:
        auditor: Whose columns they are, by the holder's own name for it; part of a score's id.
        linked: By name, the columns whose values the auditor sent.
    """

    auditor: str = ""
    linked: Mapping[str, HeldColumn] = field(default_factory=dict)


class LinkedColumns:
    """The linked columns that one receipts directory has records of, by dataset and name."""

    def __init__(self, receipts: Path) -> None:
        self._directory = receipts / _FOLDER

    def keep(self, dataset: str, held: LinkedColumn) -> Path:
        """Write the record of a linked column; a later one of the same name takes its place.

        Raises:
            ReceiptsDamaged: It cannot be written.
        """
        path = self._directory / dataset / f"{held.column.name}.json"
        try:
            write_durably(path, f"{held.model_dump_json(indent=1)}\n".encode())
        except OSError as error:
            raise ReceiptsDamaged(f"The record {path} cannot be written: {error.strerror}.") from error
        return path

    def blinding(self) -> str:
        """The random key of this directory, for ids of linked values that two holders give; made at its first use.

        Raises:
            ReceiptsDamaged: It cannot be read or written.
        """
        path = self._directory / _BLINDING
        try:
            if not path.exists():
                write_durably(path, secrets.token_hex(32).encode())
            return path.read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            raise ReceiptsDamaged(f"The key of linked values {path} cannot be read or written.") from error

    def forget(self, dataset: str, column: str) -> None:
        """Remove the record of a column, by its id, if there is one."""
        for path in (self._directory / dataset).glob("*.json"):
            if LinkedColumn.model_validate_json(path.read_bytes()).id == column:
                path.unlink()

    def of(self, dataset: str) -> dict[str, HeldColumn]:
        """All of one dataset, by name.

        Raises:
            ReceiptsDamaged: A record cannot be read.
        """
        held: dict[str, HeldColumn] = {}
        for path in sorted((self._directory / dataset).glob("*.json")):
            try:
                linked = LinkedColumn.model_validate_json(path.read_bytes())
            except (OSError, ValidationError) as error:
                raise ReceiptsDamaged(
                    f"The record {path} of a linked column cannot be read. Restore it from a copy, or link the values "
                    "again."
                ) from error
            held[path.stem] = HeldColumn(id=linked.id, column=linked.column)
        return held


def require_ready(holder: HolderClient, dataset: str, held: HeldColumn, on_step: Callable[[str], None]) -> None:
    """Have a derived column made if the holder does not have it yet, and wait until it is ready; charges nothing.

    Args:
        holder: Whom to ask.
        dataset: Whose column it is.
        held: With its document, if it is a score.
        on_step: Is given a few words about what is being done.

    Raises:
        QuestionRefused: The values of a linked column are not there.
        HolderLied: The holder makes another column than was asked for.
        HolderUnavailable: It is not ready within some hours.
    """
    give_up_at = time.monotonic() + _WAIT_S_MAX
    found = _found(holder, dataset, held, on_step)
    pause_s, said = _POLL_S_MIN, ""
    while found.state != "ready":
        if found.state == "awaiting-values":
            raise QuestionRefused(
                f"The holder does not have the values of the linked column {held.column.name!r}. Link them again "
                "(auditor link)."
            )
        if not time.monotonic() < give_up_at:
            raise HolderUnavailable(f"The column {held.column.name!r} is not ready after hours. Ask again later.")
        left_s = (found.ready_at - datetime.now(UTC)).total_seconds() if found.ready_at else 0.0
        when = ""
        if found.ready_at and left_s > 1:
            when = (
                f", which is ready at {found.ready_at.astimezone():%H:%M:%S}. The time follows from what was sent, so "
                "that it says nothing about the records; you wait once for each column"
            )
        if (saying := f"Waiting for the column {held.column.name!r}{when}") != said:
            on_step(said := saying)
        time.sleep(min(max(left_s, pause_s), _POLL_S_MAX))  # the two clocks may differ
        pause_s *= 2
        found = holder.column(dataset, held.id)


def send_values(holder: HolderClient, dataset: str, column: DerivedColumn, content: bytes) -> LinkedColumn:
    """Send linked values, unless the holder has them already; charges nothing.

    Args:
        holder: Whom to send them to.
        dataset: Whose people they are about.
        column: Names the SHA-256 of the content.
        content: The file.

    Raises:
        HolderLied: The holder makes another column than was asked for.
    """
    found = holder.make_column(dataset, column)
    if found.column != column.column:
        raise HolderLied(_OTHER.format(column.name))
    if found.state == "awaiting-values":
        with tempfile.NamedTemporaryFile() as file:  # nobody else can read it
            file.write(content)
            file.flush()
            holder.send_values(dataset, found.id, Path(file.name))
    return LinkedColumn(id=found.id, column=found.column, values=str(column.values))


def _found(holder: HolderClient, dataset: str, held: HeldColumn, on_step: Callable[[str], None]) -> ColumnDescription:
    try:
        found = holder.column(dataset, held.id)
    except NotFound as error:
        if held.score is None:
            raise QuestionRefused(
                f"The holder no longer has the linked column {held.column.name!r}. Link its values again (auditor "
                "link)."
            ) from error
        on_step(f"Having the column {held.column.name!r} made, which costs nothing")
        found = holder.make_column(dataset, held.derived)
    if found.id == held.id and found.column == held.column:
        return found
    raise HolderLied(_OTHER.format(held.column.name))
