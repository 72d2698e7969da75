"""Versions of the records that a watch did not answer, and why: as the holder has signed it, or without a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from shared.kinds.watches import SkipReason, WatchAnswerRelease, WatchRelease, WatchSkipRelease
from shared.wire.wording import joined, said

_RESTORED: SkipReason = "restored"


class KeptWatch(NamedTuple):
    """A watch, its answers, and what it is said to have skipped: of receipts whose signature holds."""

    release: WatchRelease
    answers: tuple[WatchAnswerRelease, ...]
    skips: tuple[WatchSkipRelease, ...] = ()

    @property
    def has_changed(self) -> bool:
        """Whether the last answer says that the verdict has changed."""
        return bool(self.answers) and self.answers[-1].watch_answer.changed


@dataclass(frozen=True, slots=True)
class Gap:
    """Versions, from the first to the last, that were not answered.

    Attributes:
        reason: As the holder has signed it; `None` if it gives none.
        entered: When the holder entered it.
    """

    first: int
    last: int
    reason: str | None = None
    entered: datetime | None = None

    @property
    def words(self) -> str:
        """The sentence that these were not answered, with the reason."""
        match self.reason:
            case "replaced":
                return said("not answered: another version was loaded first")
            case "removed":
                return said("not answered: the records were removed")
            case "no-budget":
                return said("not answered: no budget was valid")
            case "cap-closed":
                return said("not answered: the population’s cap was closed")
            case "account-disabled":
                return said("not answered: the account was disabled")
            case "declaration":
                return said("not answered: the watch does not fit the dataset’s new declaration")
            case "restored":
                return said("not answered: the ledger was restored, which ended this watch")
            case "state":
                return said("not answered: the holder cannot read its saved state of the watch")
            case None:
                return said("not answered: the holder gives no reason")
            case other:
                return said("not answered: {reason}", reason=other)


def gaps(watch: KeptWatch, *, current: int | None, pending: int | None) -> tuple[Gap, ...]:
    """The versions that were not answered, in order.

    Args:
        watch: With what is signed about it.
        current: The newest version of the records; `None` if it is not known: then up to the last that was spoken of.
        pending: The version that is to be answered.
    """
    spoken = sorted(
        [Gap(skip.watch_skip.first, skip.watch_skip.last, skip.watch_skip.reason, skip.created) for skip in watch.skips]
        + [Gap(answer.version, answer.version, _ANSWERED) for answer in watch.answers],
        key=lambda gap: gap.first,
    )
    spans, following = list[Gap](), watch.release.version
    for gap in spoken:
        if gap.first > following:
            spans.append(Gap(following, gap.first - 1))
        if gap.reason is not _ANSWERED:
            spans.append(gap)
        following = gap.last + 1
    last = following - 1 if watch.has_changed or current is None else current - (pending == current)
    if following <= last:
        ended = spans[-1].reason if spans and spans[-1].reason == _RESTORED else None
        spans.append(Gap(following, last, ended))
    return tuple(spans)


_ANSWERED = "answered"


def version_numbers(spans: Sequence[Gap]) -> str:
    """The numbers of versions: "4, 5", "4 to 9, 12"."""
    ranges = list[tuple[int, int]]()
    for gap in spans:
        if ranges and ranges[-1][1] + 1 == gap.first:
            ranges[-1] = (ranges[-1][0], gap.last)
        else:
            ranges.append((gap.first, gap.last))
    return joined(map(_range, ranges), ", ")


def _range(ends: tuple[int, int]) -> str:
    first, last = ends
    if last - first < 2:
        return ", ".join(str(version) for version in range(first, last + 1))
    return said("{first} to {last}", first=first, last=last)
