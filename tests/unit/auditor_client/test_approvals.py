"""A holder that answers a question with a request for approval: what the client makes of it, lies included."""

import json
import pickle
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from auditor_client.approval_words import one_of
from auditor_client.errors import ApprovalAwaited, HolderLied, QuestionRefused
from auditor_client.exchange import charged as charging
from auditor_client.exchange.calls import CallLimits
from auditor_client.exchange.charged import Exchange
from auditor_client.exchange.client_kind import RequestContext
from auditor_client.exchange.client_kinds import PLANS
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.receipts import Receipts
from shared.contract.approvals import Approval
from shared.kinds.plans import Plan, Quote
from testing.registers import REGISTER, plan
from testing.simulated_holder import KEY, SimulatedHolder, send

pytestmark = pytest.mark.usefixtures("coarse_chances")

PLAN = Plan.model_validate(plan(epsilon="0.5", version=1))
NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)


def document(name: str = "", **changes: Any) -> dict[str, Any]:
    """A request that waits, of the plan unless another id is given."""
    return {
        "id": name or PLAN.identity(auditor="ADR", dataset="register"), "kind": "plan", "dataset": "register",
        "version": 1, "auditor": "ADR", "charge": {"epsilon": "0.5", "delta": "0"}, "state": "waiting",
        "requested": NOW.isoformat(), "expires": (NOW + timedelta(days=14)).isoformat(), **changes,
    }  # fmt: skip


def charged(client: HolderClient, receipts: Path) -> None:
    """Ask the plan at its price, and believe what comes."""
    priced = PLANS.priced(PLAN, Quote.model_validate(SimulatedHolder().quote(PLAN)), RequestContext.of(REGISTER, "ADR"))
    Exchange(client, Receipts(receipts), print).charged(priced)


@pytest.fixture
def client(simulated: SimulatedHolder, http: httpx.Client) -> HolderClient:
    return HolderClient(http, url=simulated.url, key=KEY)


def test_what_waits_is_one_error_with_the_request_in_it(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(202, json.dumps(document(later="unknown")).encode(), to="/releases")

    with pytest.raises(ApprovalAwaited) as waited:
        client.release("register", PLAN)

    assert (waited.value.approval.state, waited.value.approval.expires) == ("waiting", NOW + timedelta(days=14))
    for words in (
        "budget officer",
        "ε = 0.5",
        "2031-05-06 07:08 UTC",
        "2031-05-20 07:08 UTC",
        waited.value.approval.id,
    ):
        assert words in str(waited.value)
    again = pickle.loads(pickle.dumps(waited.value))  # noqa: S301 - our own
    assert (again.approval, str(again)) == (waited.value.approval, str(waited.value))
    assert simulated.count("POST", "/releases") == 1, "it is not asked again by itself"


@pytest.mark.parametrize(
    "sent",
    [
        document("sha256:" + "0" * 64),
        document(charge={"epsilon": "2", "delta": "0"}),
        document(state="perhaps"),
        {"id": "x"},
    ],
    ids=["another request", "another price", "a state", "a fragment"],
)
def test_a_request_that_is_not_what_was_asked_is_a_lie(
    simulated: SimulatedHolder, client: HolderClient, tmp_path: Path, sent: dict[str, Any]
) -> None:
    simulated.reply(202, json.dumps(sent).encode(), to="/releases")

    with pytest.raises(HolderLied):
        charged(client, tmp_path)


@pytest.mark.parametrize("lie", ["while it waits", "once it is approved"])
def test_a_request_that_becomes_another_while_it_is_waited_for_is_a_lie(
    simulated: SimulatedHolder, http: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """It is away for a moment first, which ends nothing."""
    monkeypatch.setattr(charging, "FIRST_PAUSE_S", 0.001)
    dearer: dict[str, Any] = {"charge": {"epsilon": "2", "delta": "0"}}
    approved = document(state="approved")
    replies = [(202, document()), (502, {}), (200, document()), (200, document(**dearer))]
    if lie == "once it is approved":
        replies[3:] = [(200, approved), (202, {**approved, **dearer})]

    def take_over(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path.endswith("/keys"):
            return False
        status, sent = replies.pop(0)
        send(handler, status, json.dumps(sent).encode())
        return True

    simulated.take_over = take_over
    client = HolderClient(http, url=simulated.url, key=KEY, wait_approval_s=60, limits=CallLimits(attempts=1))

    with pytest.raises(HolderLied, match="ε = 2"):
        charged(client, tmp_path)
    assert replies == []


@pytest.mark.parametrize(("state", "again"), [("waiting", True), ("expired", False), ("outdated", False)])
def test_what_to_do_about_a_request_is_said_by_its_state(
    simulated: SimulatedHolder, client: HolderClient, state: str, again: bool
) -> None:
    simulated.reply(202, json.dumps(document(state=state)).encode(), to="/releases")

    with pytest.raises(ApprovalAwaited) as waited:
        client.release("register", PLAN)

    assert ("again once it is approved" in str(waited.value)) == again
    assert "`Auditor.approvals`" in str(waited.value)


def test_a_list_of_several_pages_is_read_and_one_without_end_is_not(
    simulated: SimulatedHolder, client: HolderClient
) -> None:
    names = [f"sha256:{number:064x}" for number in range(3)]
    pages = {0: ([names[0], names[1]], 7), 7: ([names[2]], 7)}

    def take_over(handler: BaseHTTPRequestHandler) -> bool:
        shown, following = pages[int(handler.path.partition("after=")[2])]
        body = json.dumps({"approvals": [document(name) for name in shown], "next": following}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    simulated.take_over = take_over

    assert [one.id for one in client.approvals("register")] == names


def test_a_request_is_named_by_the_beginning_of_its_id() -> None:
    requests = [Approval.model_validate(document(f"sha256:{start}{'0' * 62}")) for start in ("a1", "a2", "b1")]

    assert one_of(requests, "b").id == requests[2].id
    assert one_of(requests, "sha256:a2").id == requests[1].id
    for named, what in (("a", "Several.*give more"), ("c", "No request.*lists them"), ("", "Several.*give more")):
        with pytest.raises(QuestionRefused, match=what):
            one_of(requests, named)
