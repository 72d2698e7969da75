"""Answers that refine each other: which are of one chain, and which kept one a plan refines (8-time §2)."""

from collections.abc import Iterable

from auditor_client.errors import AuditorError, QuestionRefused
from auditor_client.exchange.receipts import Receipts
from auditor_client.findings.finding import StoredAnswer
from shared.kinds.plans import Plan
from shared.kinds.refining import require_refines
from shared.kinds.releases import Release
from shared.wire.problems import PlanRefused


def chain_of(first: StoredAnswer, every: Iterable[StoredAnswer]) -> set[str]:
    """The ids of an answer, of all that it refines, and of all that refine it."""
    links = {stored.release.id: stored.release.plan.refines for stored in every}
    links[first.release.id] = first.release.plan.refines
    chain, before = {first.release.id}, 0
    while len(chain) > before:
        before = len(chain)
        chain |= {refined for one, refined in links.items() if one in chain and refined is not None}
        chain |= {one for one, refined in links.items() if refined in chain}
    return chain


def refined_release(receipts: Receipts, plan: Plan) -> Release | None:
    """The kept release that a plan refines, if it refines one.

    Raises:
        QuestionRefused: There is no receipt of it, or it answers another question.
    """
    if plan.refines is None:
        return None
    try:
        release = receipts.answer(Release, plan.refines).release
    except (OSError, AuditorError) as error:
        raise QuestionRefused(
            f"The receipt of the release that `refines` names is not in {receipts.directory}. Name a release "
            "whose receipt is there, or leave `refines` out."
        ) from error
    try:
        require_refines(plan, release.plan)
    except PlanRefused as error:
        raise QuestionRefused(f"The release that `refines` names answers another question. {error.detail}") from error
    return release
