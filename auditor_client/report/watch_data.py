"""A watched verdict, as data: what is watched, since when it is unchanged, or at which version it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from auditor_client.dataset_words import DatasetWords
from auditor_client.report.facts import Fact
from auditor_client.report.rehearsal import charge_words
from auditor_client.text import loss_words
from shared.amounts import format_nano
from shared.datasets import DatasetDescription
from shared.metadata import DatasetMetadata
from shared.watches import WatchAnswerRelease, WatchRelease
from shared.wording import listed, said


class KeptWatch(NamedTuple):
    """A watch and its answers, of receipts whose signature holds."""

    release: WatchRelease
    answers: tuple[WatchAnswerRelease, ...]


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


def watch_data(
    dataset: DatasetDescription,
    release: WatchRelease,
    answers: Sequence[WatchAnswerRelease],
    *,
    pending: int | None,
    due: str | None,
) -> WatchData:
    """A watch and its answers for people."""
    changed = bool(answers) and answers[-1].watch_answer.changed
    watch, words = release.watch, DatasetWords(dataset.name, dataset.table, dataset.metadata or DatasetMetadata())
    threshold = format_nano(watch.threshold)
    return WatchData(
        changed=changed,
        headline=_headline(answers),
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
            Fact(said("Watch"), release.id, exact=True),
        ),
        rows=tuple(
            WatchRow(
                version=str(answer.version),
                when=_day(answer.created),
                answer=said("changed") if answer.watch_answer.changed else said("unchanged"),
                cost=said("nothing"),
            )
            for answer in answers
        ),
    )


def watch_fact(release: WatchRelease, answers: Sequence[WatchAnswerRelease]) -> Fact:
    """A watch among audits over time: what it watches, and what it said last."""
    words = said("Watch over {dataset}, set at version {version}", dataset=release.dataset, version=release.version)
    return Fact(words, _headline(answers))


def watch_lines(watch: WatchData) -> list[str]:
    """A watch in lines for a terminal."""
    return [
        watch.headline,
        watch.explanation,
        "",
        *(f"  {fact.term}: {fact.text}" for fact in watch.facts),
        *(f"  version {row.version}, {row.when}: {row.answer}" for row in watch.rows),
    ]


def watch_document(
    release: WatchRelease, answers: Sequence[WatchAnswerRelease], *, pending: int | None, due: str | None
) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "watch": release.id, "dataset": release.dataset, "version": release.version,
        "sensitive": list(release.watch.sensitive), "threshold": format_nano(release.watch.threshold),
        "verdict": release.watch.verdict, "charge": release.charge.document(),
        "changed_at": answers[-1].version if answers and answers[-1].watch_answer.changed else None,
        "answers": [
            {"version": one.version, "created": one.created.isoformat(), "changed": one.watch_answer.changed,
             "release": one.id}
            for one in answers
        ],
        "pending": pending, "due": due,
    }  # fmt: skip


def _headline(answers: Sequence[WatchAnswerRelease]) -> str:
    if not answers:
        return said("The watch is set; no version is answered yet")
    last = answers[-1]
    if last.watch_answer.changed:
        return said("The verdict changed at version {version}, {day}", version=last.version, day=_day(last.created))
    return said(
        "Unchanged since {day}: versions {first} to {last}; this check cost nothing",
        day=_day(answers[0].created), first=answers[0].version, last=last.version,
    )  # fmt: skip


def _explanation(release: WatchRelease, *, changed: bool, pending: int | None, due: str | None) -> str:
    if changed:
        return said(
            "As far as the noise lets it be known. That was this watch’s last answer: audit again, and watch the new "
            "verdict; at the same ε a new watch costs {charge}.",
            charge=loss_words(release.price),
        )
    if pending is not None and due is not None:
        return said("Version {version} is answered at {time} UTC.", version=pending, time=due[:16].replace("T", " "))
    return said("The next version of the records is answered when it is loaded.")


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"
