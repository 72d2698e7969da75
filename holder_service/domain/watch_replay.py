"""What the entries and the signed releases say of watches, and whether the watches' rows follow from it.

A watch is charged once. It says one thing of each version, in order: an answer, which costs nothing, or that the
version was skipped. Nothing follows the answer "changed". The holder answers by its rows: a row that differs from the
signed answers, or whose seal does not open, would let a watch answer more than was paid for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from holder_service.domain.ledger import BrokenLedger, Entry
from shared.kinds.watches import ANSWER_KIND, SKIP_KIND, Watch


class KeptRow(Protocol):
    """What the database keeps of a watch."""

    @property
    def id(self) -> str: ...
    @property
    def auditor(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def changed(self) -> bool: ...
    @property
    def version(self) -> int | None: ...


_Row = TypeVar("_Row", bound=KeptRow)


@dataclass(slots=True)
class _Watch:
    """What was said of a watch so far; `last` is the last version of which something was."""

    auditor: str
    dataset: str
    sequence: int
    last: int
    changed: bool = False


class WatchReplay:
    """Takes entry by entry of a chain that follows, and raises at the first answer that was not paid for."""

    def __init__(self) -> None:
        self._watches: dict[str, _Watch] = {}

    @staticmethod
    def takes(detail: Mapping[str, Any]) -> bool:
        """Whether an entry with this detail says something of a watch."""
        return detail.get("asked") in (Watch.kind, ANSWER_KIND, SKIP_KIND)

    def apply(self, entry: Entry, release: Mapping[str, Any]) -> None:
        """Take the next entry of a release, with the release.

        Raises:
            BrokenLedger: A watch says more than it may.
        """
        match entry.event.detail.get("asked"):
            case Watch.kind:
                self._set(entry, release)
            case value if value == ANSWER_KIND:
                self._answered(entry, release)
            case value if value == SKIP_KIND:
                self._skipped(entry, release)

    def require(self, rows: Iterable[_Row], sealed_changed: Callable[[_Row], bool]) -> None:
        """Compare the watches' rows with what was signed.

        Args:
            sealed_changed: What the seal of a row says of the change; raises `ValueError` if it does not open.

        Raises:
            BrokenLedger: Naming the entry that set a watch whose row is missing or says otherwise.
        """
        left = dict(self._watches)
        for row in rows:
            watch = left.pop(row.id, None)
            if watch is None:
                raise BrokenLedger(row.sequence, "no entry sets a watch that is in the table")
            said = (watch.auditor, watch.dataset, watch.sequence, watch.changed)
            if (row.auditor, row.dataset, row.sequence, row.changed) != said:
                raise BrokenLedger(watch.sequence, "sets a watch whose row says otherwise than its signed answers")
            if row.version is not None and (watch.changed or row.version <= watch.last):
                raise BrokenLedger(watch.sequence, "sets a watch that is to answer again what it has answered")
            try:
                changed = sealed_changed(row)
            except ValueError:
                raise BrokenLedger(watch.sequence, "sets a watch whose seal does not open") from None
            if changed != watch.changed:
                raise BrokenLedger(watch.sequence, "sets a watch whose seal says otherwise than its signed answers")
        for watch in left.values():
            raise BrokenLedger(watch.sequence, "sets a watch that the table lacks")

    def _set(self, entry: Entry, release: Mapping[str, Any]) -> None:
        first = int(release["version"]) - 1
        self._watches[release["id"]] = _Watch(release["auditor"], release["dataset"], entry.sequence, first)

    def _answered(self, entry: Entry, release: Mapping[str, Any]) -> None:
        said, version = release[ANSWER_KIND], int(release["version"])
        self._said(entry, release, said["watch"], version, version).changed = said["changed"]

    def _skipped(self, entry: Entry, release: Mapping[str, Any]) -> None:
        said = release[SKIP_KIND]
        if said["last"] != release["version"]:
            raise BrokenLedger(entry.sequence, "skips other versions than it is filed as")
        self._said(entry, release, said["watch"], said["first"], said["last"])

    def _said(self, entry: Entry, release: Mapping[str, Any], identity: str, first: int, last: int) -> _Watch:
        """Return what a watch has said, with something of some more versions."""
        watch = self._watches.get(identity)
        if watch is None or (watch.auditor, watch.dataset) != (release["auditor"], release["dataset"]):
            raise BrokenLedger(entry.sequence, "is of a watch that was not set")
        if entry.event.detail.get("watch") != identity:
            raise BrokenLedger(entry.sequence, "is filed with another watch")
        if not entry.event.loss.is_nothing or any(amount not in ("0", None) for amount in release["charge"].values()):
            raise BrokenLedger(entry.sequence, "charges an answer of a watch, which setting it has paid for")
        if watch.changed:
            raise BrokenLedger(entry.sequence, "answers for a watch that had said that its verdict changed")
        if not watch.last < first <= last:
            raise BrokenLedger(entry.sequence, "answers for a watch a version of which it had spoken")
        watch.last = last
        return watch
