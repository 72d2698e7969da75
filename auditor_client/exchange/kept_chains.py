"""Whether receipts that belong together agree: answers that refine one another, and a watch's own (8-time §§2, 3).

Each was found good by itself. What the losses of a chain come to rests on more: that each refines the one answer that
it names, about the same question, and costs the difference, and that no answer is refined by two. Then all answers of
a chain together lose what the last one names.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auditor_client.errors import HolderLied
from auditor_client.exchange.verification import require
from auditor_client.exchange.watch_verification import require_own_answers, require_own_skips
from auditor_client.text import loss_words
from shared.kinds.refining import charged_before, require_refines
from shared.kinds.releases import Release
from shared.kinds.watches import WatchAnswerRelease, WatchRelease, WatchSkipRelease
from shared.privacy.amounts import NO_LOSS
from shared.wire.problems import PlanRefused

_Chained = Release | WatchRelease | WatchAnswerRelease | WatchSkipRelease


class StatementsOfWatch(NamedTuple):
    """A watch, and what the holder stated about versions of the records: its answers, and which it skipped."""

    watch: WatchRelease
    answers: list[WatchAnswerRelease]
    skips: list[WatchSkipRelease]


def chain_faults(releases: Iterable[object]) -> dict[str, str]:
    """What is wrong between some receipts, as a sentence by the id of the release that is; what has no receipt is not.

    Args:
        releases: Of one holder, each verified by itself; those of trainings are of no chain.
    """
    found = sorted(
        (one for one in releases if isinstance(one, _Chained)),
        key=lambda release: release.ledger.sequence,
    )
    plans = {one.id: one for one in found if isinstance(one, Release)}
    refined: dict[str, str] = {}
    faults: dict[str, str] = {}
    for release in plans.values():
        if release.plan.refines is None:
            continue
        other = refined.setdefault(release.plan.refines, release.id)
        earlier = plans.get(release.plan.refines)
        try:
            require(other == release.id, f"release {other} refines the same answer, and an answer is refined once")
            if earlier is not None:
                _require_link(release, earlier)
        except HolderLied as lie:
            faults[release.id] = str(lie)
    return faults | _watch_faults(found)


def _require_link(release: Release, earlier: Release) -> None:
    """Check that a release refines an earlier one and costs the difference.

    Raises:
        HolderLied: Naming the fault.
    """
    require(
        (release.dataset, release.auditor) == (earlier.dataset, earlier.auditor),
        "it refines an answer about another dataset, or of another auditor",
    )
    require(release.ledger.sequence > earlier.ledger.sequence, "it was entered before the answer that it refines")
    try:
        require_refines(release.plan, earlier.plan)
    except PlanRefused as error:
        require(False, f"it refines an answer to another question: {error.detail}")
    require(release.charge.kind == "sum", "it was charged a difference in rho, which does not bound what both lose")
    charge = NO_LOSS
    before = charged_before(release.plan, earlier.plan)
    batches = zip(release.plan.batches, before, release.batches, earlier.batches, strict=True)
    for asked, charged, answered, kept in batches:
        classes = answered.composition.get("classes", 0)
        require(
            answered.composition == kept.composition and 1 <= classes <= len(asked.cells),
            f"batch {asked.name!r} is of other classes than in the answer that it refines",
        )
        require(
            asked.loss != charged or answered.cells == kept.cells,
            f"batch {asked.name!r} was to keep the answer of the release that it refines",
        )
        charge += (asked.loss - charged) * classes
    require(
        release.charge == charge,
        f"it was charged {loss_words(release.charge)}, and refining it costs {loss_words(charge)}",
    )


def statements_of_watches(releases: Iterable[object]) -> list[StatementsOfWatch]:
    """The watches among some releases, each with its answers and skips, all in the order in which they came."""
    watches: list[WatchRelease] = []
    answers: dict[str, list[WatchAnswerRelease]] = {}
    skips: dict[str, list[WatchSkipRelease]] = {}
    for release in releases:
        match release:
            case WatchRelease():
                watches.append(release)
            case WatchAnswerRelease():
                answers.setdefault(release.watch_answer.watch, []).append(release)
            case WatchSkipRelease():
                skips.setdefault(release.watch_skip.watch, []).append(release)
    return [StatementsOfWatch(watch, answers.get(watch.id, []), skips.get(watch.id, [])) for watch in watches]


def _watch_faults(found: Sequence[_Chained]) -> dict[str, str]:
    """Of each watch the last answer, if its answers do not follow one another; else the last skip that does not fit."""
    faults: dict[str, str] = {}
    for watch, answers, skips in statements_of_watches(found):
        try:
            require_own_answers(answers, watch)
        except HolderLied as lie:
            faults[answers[-1].id] = str(lie)
            continue
        try:
            require_own_skips(skips, watch, answers)
        except HolderLied as lie:
            faults[(skips or answers)[-1].id] = str(lie)
    return faults
