"""How a plan, a training or a watch is answered: slot, price, draw, deadline, entry, one quantum (2-privacy §§5, 7)."""

import logging
import time
from typing import Annotated, Any, Final

from fastapi import Query, Response
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import ColumnNotReady
from holder_service.services.accounts.access import Caller
from holder_service.services.releases import approvals, releases
from holder_service.services.releases.approvals import Unapproved
from holder_service.services.running.holder import Holder
from holder_service.storage.approvals import StoredApproval
from holder_service.storage.releases import StoredRelease
from holder_service.web.edge.lanes import outcome
from holder_service.web.edge.public_times import wait_until_public
from holder_service.web.edge.release_rooms import ReleaseRooms
from holder_service.web.edge.telemetry import note_release
from shared.contract.approvals import Approval
from shared.kinds.requests import ReleaseRequest
from shared.wire.text import Words

APPROVAL: Final[dict[str, Any]] = {
    "model": Approval,
    "description": "It waits for an approval by the holder; nothing was charged. Ask the same again later",
}
"""What is answered with 202, where approval is required."""
REFUSALS: Final = (
    "not-found", "invalid-amount", "invalid-plan", "unknown-column", "sensitive-column", "budget-exhausted",
    "cap-exhausted", "approval-declined", "conflict", "no-records", "restore-unrecorded", "version-gone",
)  # fmt: skip
"""Of whatever is answered and charged, but for those of derived columns."""
Purpose = Annotated[
    Words | None,
    Query(
        description="The purpose of the request, in one line. It is entered into the ledger with the charge, and "
        "published with the dataset's report. It is not part of the request's identity: another "
        "purpose gets the same answer.",
        examples=["Yearly audit of the loan model, § 12"],
    ),
]
_log = logging.getLogger(__name__)


async def released(
    holder: Holder, rooms: ReleaseRooms, caller: Caller, *,
    dataset: str, asked: ReleaseRequest, listed_at: str, purpose: str | None,
) -> Response:  # fmt: skip
    """Answer what is asked: charged once, however often it is asked.

    Args:
        listed_at: The path below the dataset's under which the release is shown.
        purpose: What it is asked for, in the auditor's words.
    """
    quantum_ms = holder.settings.release_quantum_ms
    room = await rooms.room(holder.store, dataset)
    async with room.slots.taken(caller.name):
        # From here the deadline runs. Whoever asks cannot stretch the time that the work has: the body is there, and
        # how long a plan waits for its slot depends on public deadlines alone.
        begun_s = time.monotonic()
        try:
            prepared = await room.preparing.do_soon(
                caller.name, releases.prepare, holder.store, holder.files, auditor=caller.name, dataset=dataset,
                asked=asked, purpose=purpose,
            )  # fmt: skip
        except ColumnNotReady:
            holder.preparation.wake()  # the process that was at it may have been ended
            raise
        if isinstance(prepared, StoredRelease):
            return Response(prepared.body, 200, media_type="application/json")
        if isinstance(prepared, Unapproved):
            in_full = await run_in_threadpool(approvals.require_shown, holder.store, prepared, apart=holder.reading)
            prepared = await outcome(
                releases.request_approval(holder.store, unapproved=prepared, proof=caller.proof, in_full=in_full)
            )
            _log.info("approval requested", extra={"actor": caller.name})
        if isinstance(prepared, StoredApproval):
            shown = await room.preparing.do_soon(
                caller.name, approvals.own, holder.store, auditor=caller.name, dataset=dataset, identity=prepared.id
            )
            return Response(shown.model_dump_json(), 202, media_type="application/json")
        work = prepared.priced.work_ms(holder.pace.factors)
        deadline_s = await room.draws.turn(caller.name, begun_s=begun_s, work=work)
        try:
            drawn = await room.draws.lane.do(releases.draw, prepared, engine=holder.engine, seals=holder.seals)
        finally:
            due_s, overran = await wait_until_public(begun_s, deadline_s)
            _note_deadline(deadline_s, overran=overran)
        try:
            entered = await outcome(
                releases.enter(holder.store, drawn=drawn, proof=caller.proof, signing=holder.signing, pace=holder.pace)
            )
        finally:
            await wait_until_public(due_s, quantum_ms / 1000)
    stored = entered.release
    location = {"Location": f"/v1/datasets/{dataset}/{listed_at}/{stored.id}"} if entered.new else None
    return Response(stored.body, 201 if entered.new else 200, location, "application/json")


def _note_deadline(deadline_s: float, *, overran: bool) -> None:
    """For log and metrics; called at the public time, or the time of a line would show when the draw was done."""
    note_release(deadline_s=deadline_s, overran=overran)
    if overran:
        _log.warning("release overran its deadline", extra={"deadline_ms": round(deadline_s * 1000)})
