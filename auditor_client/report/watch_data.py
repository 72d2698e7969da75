"""A watched verdict, as data: what is watched, since when it is unchanged, or at which version it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from auditor_client.dataset_words import DatasetWords
from auditor_client.report.facts import Fact
from auditor_client.report.formats import threshold_percent, whole
from auditor_client.report.rehearsal import charge_words
from auditor_client.report.watch_gaps import Gap, KeptWatch, gaps, version_numbers
from auditor_client.text import loss_words
from shared.contract.datasets import DatasetDescription
from shared.contract.metadata import DatasetMetadata
from shared.kinds.watches import WatchAnswerRelease, WatchRelease
from shared.privacy.amounts import format_nano
from shared.wire.wording import listed, said

CHANCE: Final = 0.05
"""The chance of a false alarm in `VERSIONS` versions, and of a miss in one answer, for which distances are given."""
VERSIONS: Final = 12


@dataclass(frozen=True, slots=True)
class WatchRow:
    """One answer."""

    version: str
    when: str
    answer: str
    cost: str


@dataclass(frozen=True, slots=True)
class WatchData:
    """A watch: what it says now, in a sentence and an explanation, what it is about, and every answer."""

    changed: bool
    headline: str
    explanation: str
    facts: tuple[Fact, ...]
    rows: tuple[WatchRow, ...]


def watch_data(dataset: DatasetDescription, kept: KeptWatch, *, pending: int | None, due: str | None) -> WatchData:
    """A watch and its answers for people, with the versions up to the current one that it did not answer."""
    release, changed = kept.release, kept.has_changed
    unanswered = gaps(kept, current=dataset.version, pending=pending)
    watch, words = release.watch, DatasetWords(dataset.name, dataset.table, dataset.metadata or DatasetMetadata())
    threshold = format_nano(watch.threshold)
    return WatchData(
        changed=changed,
        headline=_headline(kept.answers, unanswered),
        explanation=_explanation(release, changed=changed, pending=pending, due=due),
        facts=(
            Fact(
                said("Dataset"),
                said("{dataset}, from version {version} on", dataset=words.title, version=release.version),
            ),
            Fact(said("Compared by"), listed([words.column(name) for name in watch.sensitive])),
            Fact(
                said("Watched verdict"),
                said("The decision meets a ratio of {threshold}", threshold=threshold)
                if watch.verdict == "meets"
                else said("The decision fails a ratio of {threshold}", threshold=threshold),
            ),
            Fact(said("Charged once, for all answers"), charge_words(release)),
            *_rate_facts(release),
            Fact(said("Watch"), release.id, exact=True),
        ),
        rows=_rows(kept.answers, unanswered),
    )


def _rate_facts(release: WatchRelease) -> tuple[Fact, Fact]:
    """The distances from the change at which false alarms, and missed changes, are few."""
    safe, sure = _distances(release)
    chance = threshold_percent(CHANCE)
    false_alarms = (
        said(
            "At most {chance} in {versions} versions, where the other verdict is at least {people} people away",
            chance=chance, versions=VERSIONS, people=whole(safe),
        )
        if safe > 1
        else said("At most {chance} in {versions} versions while the verdict holds", chance=chance, versions=VERSIONS)
    )  # fmt: skip
    missed = (
        said(
            "At most {chance} for one answer, where the records are at least {people} people beyond the change",
            chance=chance, people=whole(-sure),
        )
        if sure <= 0
        else said(
            "At most {chance} for one answer, where the other verdict is at most {people} people away",
            chance=chance, people=whole(sure),
        )
    )  # fmt: skip
    return Fact(said("False alarms"), false_alarms), Fact(said("Missed changes"), missed)


def _distances(release: WatchRelease) -> tuple[int, int]:
    """The least distance with few false alarms, and the largest with few missed changes, in people."""
    from auditor_client.estimation.watch_rates import WatchRates  # noqa: PLC0415 - takes a second to import

    rates = WatchRates(release.noise, release.watch.margin)
    return rates.safe_distance(CHANCE, VERSIONS), rates.sure_distance(CHANCE)


def _rows(answers: Sequence[WatchAnswerRelease], unanswered: Sequence[Gap]) -> tuple[WatchRow, ...]:
    """Answers and gaps, in the order of versions."""
    rows = [
        (
            answer.version,
            WatchRow(
                version=str(answer.version),
                when=_day(answer.created),
                answer=said("changed") if answer.watch_answer.changed else said("unchanged"),
                cost=said("nothing"),
            ),
        )
        for answer in answers
    ]
    rows += [
        (
            gap.first,
            WatchRow(
                version=version_numbers([gap]),
                when="–" if gap.entered is None else _day(gap.entered),
                answer=gap.words,
                cost=said("nothing"),
            ),
        )
        for gap in unanswered
    ]
    return tuple(row for _, row in sorted(rows, key=lambda numbered: numbered[0]))


def watch_fact(kept: KeptWatch) -> Fact:
    """A watch among audits over time: what it watches, and what it said last."""
    release = kept.release
    words = said("Watch over {dataset}, set at version {version}", dataset=release.dataset, version=release.version)
    return Fact(words, _headline(kept.answers, gaps(kept, current=None, pending=None)))


def watch_lines(watch: WatchData) -> list[str]:
    """A watch in lines for a terminal."""
    return [
        watch.headline,
        watch.explanation,
        "",
        *(f"  {fact.term}: {fact.text}" for fact in watch.facts),
        *(f"  version {row.version}, {row.when}: {row.answer}" for row in watch.rows),
    ]


def watch_document(kept: KeptWatch, *, current: int | None, pending: int | None, due: str | None) -> dict[str, Any]:
    """The same as JSON values."""
    release, answers = kept.release, kept.answers
    safe, sure = _distances(release)
    return {
        "watch": release.id, "dataset": release.dataset, "version": release.version,
        "sensitive": list(release.watch.sensitive), "threshold": format_nano(release.watch.threshold),
        "verdict": release.watch.verdict, "charge": release.charge.document(),
        "false_alarms": {"chance": CHANCE, "versions": VERSIONS, "distance": safe},
        "misses": {"chance": CHANCE, "versions": 1, "distance": sure},
        "changed_at": answers[-1].version if kept.has_changed else None,
        "answers": [
            {"version": answer.version, "created": answer.created.isoformat(), "changed": answer.watch_answer.changed,
             "release": answer.id}
            for answer in answers
        ],
        "not_answered": [
            {"first": gap.first, "last": gap.last, "reason": gap.reason}
            for gap in gaps(kept, current=current, pending=pending)
        ],
        "pending": pending, "due": due,
    }  # fmt: skip


def _headline(answers: Sequence[WatchAnswerRelease], unanswered: Sequence[Gap]) -> str:
    versions = version_numbers(unanswered)
    if not answers:
        if unanswered:
            return said("The watch is set; no version is answered yet; not answered: {versions}", versions=versions)
        return said("The watch is set; no version is answered yet")
    last = answers[-1]
    if last.watch_answer.changed:
        if unanswered:
            return said(
                "The verdict changed at version {version}, {day}; not answered: {versions}",
                version=last.version, day=_day(last.created), versions=versions,
            )  # fmt: skip
        return said("The verdict changed at version {version}, {day}", version=last.version, day=_day(last.created))
    if unanswered:
        return said(
            "Unchanged since {day} in the versions that were answered, from {first} to {last}; not answered: "
            "{versions}; this check cost nothing",
            day=_day(answers[0].created), first=answers[0].version, last=last.version, versions=versions,
        )  # fmt: skip
    return said(
        "Unchanged since {day}: versions {first} to {last}; this check cost nothing",
        day=_day(answers[0].created), first=answers[0].version, last=last.version,
    )  # fmt: skip


def _explanation(release: WatchRelease, *, changed: bool, pending: int | None, due: str | None) -> str:
    if changed:
        return said(
            "The noise limits what is known about the change. That was the last answer of this watch: audit again, "
            "and watch the new verdict. At the same ε a new watch costs {charge}.",
            charge=loss_words(release.price),
        )
    if pending is not None and due is not None:
        return said("Version {version} is answered at {time} UTC.", version=pending, time=due[:16].replace("T", " "))
    return said("The next version of the records is answered when it is loaded.")


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"
