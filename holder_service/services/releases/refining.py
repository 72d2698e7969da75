"""Releases that are refined: which one a plan names, and whether a finer answer may follow it (8-time §2).

A release is refined at most once, of its own version of the records, and not behind a restore: then the likelihood of a
chain's answers moves by at most the ε of the last one (`mechanisms.refining`). The noise of the earlier answer is kept
nowhere: it is that answer less the count, which is counted again.

That bound is about ε. An account that adds up ρ may not be charged the difference: who refines only where the first
answer lost little, and spends the rest elsewhere, loses more than the sum (docs/adr/0048). There it is refused.
"""

from dataclasses import dataclass
from typing import Self

from holder_service.domain.errors import Conflict, NotFound, VersionGone
from holder_service.storage import ledger, releases
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.releases import StoredRelease
from shared.kinds.plans import Plan
from shared.kinds.releases import Release, ReleasedBatch
from shared.privacy.amounts import format_nano
from shared.wire import limits
from shared.wire.problems import InvalidPlan


@dataclass(frozen=True, slots=True)
class Refined:
    """A release that a finer answer may follow, as it left the holder.

    Attributes:
        sequence: Of the entry that charged it.
        plan: What it answers.
        batches: What it answered, in the plan's order.
    """

    id: str
    sequence: int
    plan: Plan
    batches: tuple[ReleasedBatch, ...]

    @classmethod
    def of(cls, stored: StoredRelease) -> Self:
        """A stored release, read."""
        release = Release.model_validate_json(stored.body)
        return cls(stored.id, stored.sequence, release.plan, release.batches)


def find(connection: Connection, plan: Plan, dataset: Dataset, *, auditor: str) -> Refined:
    """The release that a pinned plan refines, if its auditor may have it refined so now, or had it refined so before.

    Raises:
        NotFound: The auditor has no release of a plan of that identity about that dataset.
        VersionGone: It is about records that were replaced.
        Conflict: As for `require_refinable`.
        InvalidPlan: As for `require_step`.
    """
    stored = releases.find_own(connection, str(plan.refines), auditor=auditor, dataset=dataset.name, kind=plan.kind)
    if stored is None:
        raise NotFound(
            "This dataset does not have a release of yours with the id that `refines` names. Only answers to "
            "your own plans can be refined."
        )
    if _was_answered(connection, plan, dataset, auditor=auditor):
        return Refined.of(stored)
    if stored.version != dataset.version:
        raise VersionGone(
            f"The release that `refines` names is about version {stored.version} of dataset {dataset.name!r}, "
            "which was replaced, so it cannot be refined. Send the request without `refines` for the current "
            "version."
        )
    refined = Refined.of(stored)
    require_refinable(connection, refined)
    require_step(plan, refined)
    return refined


def _was_answered(connection: Connection, plan: Plan, dataset: Dataset, *, auditor: str) -> bool:
    """Whether the very same was answered before, so that asking it again costs nothing."""
    if plan.version is None:
        return False
    return releases.find_release(connection, plan.identity(auditor=auditor, dataset=dataset.name)) is not None


def require_step(plan: Plan, refined: Refined) -> None:
    """Refuse to refine by next to nothing: every answer is stored for good, and has to cost something.

    Answers of before may have been refined by less, and are read as before: only what is asked now is held to it.

    Raises:
        InvalidPlan: A batch raises ε by less than the smallest step.
    """
    for index, (batch, before) in enumerate(zip(plan.batches, refined.plan.batches, strict=False)):
        if 0 < batch.loss.epsilon_nano - before.loss.epsilon_nano < limits.REFINING_STEP_NANO_MIN:
            raise InvalidPlan(
                "It exceeds the epsilon of the refined release by less than the smallest step, "
                f"{format_nano(limits.REFINING_STEP_NANO_MIN)}. Use a larger epsilon.",
                f"batches[{index}].epsilon",
            )


def require_refinable(connection: Connection, refined: Refined) -> None:
    """Refuse to refine a release twice, or one from before a restore.

    Two finer answers that follow one earlier answer lose more together than they are charged. After a restore nobody
    knows whether there was one.

    Raises:
        Conflict: It was refined before, or there was a restore since.
    """
    finer = releases.finer_than(connection, refined.id)
    if finer is not None:
        raise Conflict(
            f"The release that `refines` names was already refined by release {finer}. Refine that "
            "release, or send its plan to see it again."
        )
    if ledger.restored_after(connection, refined.sequence):
        raise Conflict(
            "The release that `refines` names is older than a restore of the ledger, and a lost answer "
            "may have refined it. Send the request without `refines`."
        )
