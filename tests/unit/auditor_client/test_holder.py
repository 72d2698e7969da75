"""The holder over HTTP: what is tried again, what is refused, and what never leaves this machine."""

import json
import logging
import pickle
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from auditor_client import errors
from auditor_client.errors import (
    BudgetExhausted,
    HolderLied,
    HolderRefused,
    HolderUnavailable,
    SettingsRefused,
    refusal,
)
from auditor_client.exchange.calls import CallLimits
from auditor_client.exchange.holder import HolderClient
from shared.kinds.plans import Plan, Quote
from shared.wire.problems import TITLES
from testing.ports import reserved_port
from testing.registers import plan
from testing.simulated_holder import KEY, SimulatedHolder, problem, simulated_holder

QUICK = CallLimits(connect_s=60, attempt_s=60, total_s=300, attempts=3, first_wait_s=0.01, longest_wait_s=1.0)
"""Of waits alone: an answer may take as long as a busy machine needs."""
PLAN = Plan.model_validate(plan(epsilon="0.5", version=1))


@pytest.fixture
def client(simulated: SimulatedHolder, http: httpx.Client) -> HolderClient:
    return HolderClient(http, url=simulated.url, key=KEY, limits=QUICK)


def away(status: int) -> tuple[int, bytes]:
    return problem(status, "unavailable", "The store is away.")


def test_every_endpoint_gives_the_contracts_type(client: HolderClient) -> None:
    release = client.release("register", PLAN)

    assert [dataset.name for dataset in client.datasets()] == ["register"]
    assert client.dataset("register").sensitive == ("sex", "origin")
    assert client.budget("register").auditor == "ADR"
    assert client.quote("register", PLAN, Quote).charge.epsilon_nano == 500_000_000
    assert release.document["plan"] == PLAN.document()
    assert json.loads(release.body) == release.document
    assert client.keys().keys[0].id == "k1"
    assert client.ledger_head() == client.ledger_entry(1)


def test_the_key_goes_into_one_header_and_nowhere_else(
    simulated: SimulatedHolder, client: HolderClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client.budget("register")

    assert simulated.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(simulated.requests)
    assert KEY not in caplog.text
    assert KEY not in repr(client)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_holder_is_asked_again(simulated: SimulatedHolder, client: HolderClient, status: int) -> None:
    simulated.reply(*away(status), times=2, headers={"Retry-After": "0"})

    assert client.budget("register").auditor == "ADR"
    assert len(simulated.requests) == 3


def test_the_wait_that_the_holder_asks_for_is_kept(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(*away(503), times=1, headers={"Retry-After": "1"})
    began = time.monotonic()

    client.budget("register")

    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("seconds", ["60", "3600", "9" * 30, "Fri, 31 Dec 2199 23:59:59 GMT"])
def test_a_wait_beyond_the_limit_is_not_begun(simulated: SimulatedHolder, client: HolderClient, seconds: str) -> None:
    simulated.reply(*away(503), times=9, headers={"Retry-After": seconds})
    began = time.monotonic()

    with pytest.raises(HolderUnavailable, match="The store is away"):
        client.budget("register")

    assert time.monotonic() - began < 60, "the shortest of these waits"
    assert len(simulated.requests) == 1


@pytest.mark.parametrize("text", ["soon", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59"])
def test_a_wait_that_cannot_be_read_or_is_over_is_a_short_one(
    simulated: SimulatedHolder, client: HolderClient, text: str
) -> None:
    simulated.reply(*away(503), times=1, headers={"Retry-After": text})

    assert client.budget("register").auditor == "ADR"


def test_attempts_are_bounded(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(*away(429), times=99)

    with pytest.raises(HolderUnavailable):
        client.budget("register")

    assert len(simulated.requests) == QUICK.attempts


def test_a_refusal_travels_between_processes_with_its_fields() -> None:
    refused = refusal(
        "Too little is left.", code="budget-exhausted", status=403, fields={"remaining": {"epsilon": "0.1"}}
    )
    refused.add_note("Of the second model.")

    arrived = pickle.loads(pickle.dumps(refused))  # noqa: S301 - our own bytes

    assert (type(arrived), str(arrived), arrived.code) == (BudgetExhausted, "Too little is left.", "budget-exhausted")
    assert (arrived.status, arrived.fields, arrived.__notes__) == (403, refused.fields, ["Of the second model."])


@pytest.mark.parametrize("status", [401, 403, 404, 409, 413, 422, 500])
def test_a_refusal_is_not_asked_again(simulated: SimulatedHolder, client: HolderClient, status: int) -> None:
    simulated.reply(*problem(status, "forbidden", "Not yours."))

    with pytest.raises(HolderRefused, match="Not yours") as refused:
        client.budget("register")

    assert (refused.value.status, len(simulated.requests)) == (status, 1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("unauthenticated", errors.Unauthenticated),
        ("forbidden", errors.Forbidden),
        ("not-found", errors.NotFound),
        ("budget-exhausted", errors.BudgetExhausted),
        ("cap-exhausted", errors.CapExhausted),
        ("version-gone", errors.VersionGone),
        ("no-records", errors.NoRecords),
        ("invalid-plan", errors.InvalidPlanRefused),
        ("sensitive-column", errors.InvalidPlanRefused),
        ("a-code-of-the-future", HolderRefused),
    ],
)
def test_a_problem_code_is_a_class_of_its_own(
    simulated: SimulatedHolder, client: HolderClient, code: str, kind: type[HolderRefused]
) -> None:
    simulated.reply(*problem(403, code, "No."))

    with pytest.raises(HolderRefused) as refused:
        client.budget("register")

    assert type(refused.value) is kind
    assert refused.value.code == code


@pytest.mark.parametrize("code", sorted(TITLES))
def test_every_code_of_the_contract_becomes_an_error_of_the_client(
    simulated: SimulatedHolder, client: HolderClient, code: str
) -> None:
    simulated.reply(*problem(400, code, "No."))

    with pytest.raises(errors.AuditorError, match=r"No\."):
        client.budget("register")


def test_an_exhausted_budget_says_by_how_much(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(
        *problem(403, "budget-exhausted", "Too much.", requested={"epsilon": "0.2", "delta": "0"}, remaining="lots"),
    )

    with pytest.raises(errors.BudgetExhausted) as refused:
        client.budget("register")

    requested = refused.value.loss("requested")
    assert requested is not None
    assert requested.epsilon_nano == 200_000_000
    assert refused.value.loss("remaining") is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html><h1>Bad gateway</h1></html>"),
        (200, b"<html>Log in to the hotel's network</html>"),
        (200, b""),
        (200, b"[1, 2]"),
        (200, b'{"auditor": NaN}'),
        (200, b'{"auditor": "ADR", "auditor": "other"}'),
        (200, b'{"auditor": "\xff"}'),
        (200, b'{"auditor": "\\ud800"}'),
        (200, b"[" * 100_000),
        (200, b'{"spent": ' + b"9" * 10_000 + b"}"),
        (404, b'{"detail": "no problem document"}'),
        (418, b'"teapot"'),
    ],
)
def test_something_that_is_no_holder_is_named_so(
    simulated: SimulatedHolder, client: HolderClient, status: int, body: bytes
) -> None:
    simulated.reply(status, body, media_type="text/html")

    with pytest.raises(HolderUnavailable, match="holder"):
        client.budget("register")


def test_an_answer_that_does_not_fit_the_contract_is_not_used(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(200, b'{"auditor": "ADR", "population": "p", "limit": {"epsilon": 1.5}}')

    with pytest.raises(HolderLied, match="limit"):
        client.budget("register")


def test_a_newer_holders_further_fields_are_ignored_at_any_depth(
    simulated: SimulatedHolder, client: HolderClient
) -> None:
    document = simulated.dataset.model_dump(mode="json")
    document["columns"][0]["unit"] = "years"
    simulated.reply(200, json.dumps({**document, "contact": "statistics office"}).encode())

    assert client.dataset("register").model_dump() == simulated.dataset.model_dump()


@pytest.mark.parametrize("change", [{"columns": []}, {"sensitive": ["age"]}, {"name": "other"}, {"version": "1e400"}])
def test_a_description_that_contradicts_itself_is_not_used(
    simulated: SimulatedHolder, client: HolderClient, change: dict[str, object]
) -> None:
    simulated.reply(200, json.dumps({**simulated.dataset.model_dump(mode="json"), **change}).encode())

    with pytest.raises(HolderLied):
        client.dataset("register")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(simulated: SimulatedHolder, client: HolderClient, status: int) -> None:
    with simulated_holder() as elsewhere:
        simulated.reply(status, b"", headers={"Location": f"{elsewhere.url}/v1/datasets/register/budget"})

        with pytest.raises(HolderUnavailable, match="redirect"):
            client.budget("register")

        assert elsewhere.requests == []


def test_a_huge_answer_is_not_read_to_its_end(simulated: SimulatedHolder) -> None:
    hung_up = threading.Event()

    def take_over(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            hung_up.set()
        handler.close_connection = True
        return True

    simulated.take_over = take_over
    limits = CallLimits(attempts=1, answer_bytes_max=1_000_000)

    with (
        HolderClient(url=simulated.url, key=KEY, limits=limits) as client,
        pytest.raises(HolderLied, match="1000000 bytes"),
    ):
        client.budget("register")
    assert hung_up.wait(timeout=60)


def test_no_compressed_answer_is_asked_for(simulated: SimulatedHolder, client: HolderClient) -> None:
    client.budget("register")

    assert simulated.headers["Accept-Encoding"] == "identity"


def test_a_truncated_answer_is_asked_again(simulated: SimulatedHolder, client: HolderClient) -> None:
    def take_over(handler: BaseHTTPRequestHandler) -> bool:
        if len(simulated.requests) > 1:
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"auditor": ')
        handler.close_connection = True
        return True

    simulated.take_over = take_over

    assert client.budget("register").auditor == "ADR"
    assert len(simulated.requests) == 2


@pytest.mark.parametrize("where", ["body", "headers"])
def test_a_dripping_answer_ends_at_the_total_time(where: str) -> None:
    """One byte now and then keeps every single read within its limit; the attempt as a whole ends all the same."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(
                b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 9999\r\n\r\n" if where == "body" else b"X: ")
            )
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    limits = CallLimits(attempt_s=0.5, total_s=1, attempts=1)
    began = time.monotonic()

    with (
        HolderClient(url=f"http://127.0.0.1:{listener.getsockname()[1]}", key=KEY, limits=limits) as client,
        pytest.raises(HolderUnavailable, match=r"0\.5 s"),
    ):
        client.keys()

    assert time.monotonic() - began < 60, "at this pace the answer takes eight minutes"
    stop.set()
    thread.join(timeout=5)
    listener.close()


def test_a_holder_that_is_away_is_reported_clearly() -> None:
    with (
        reserved_port() as port,
        HolderClient(url=f"http://127.0.0.1:{port}", key=KEY, limits=QUICK) as client,
    ):
        with pytest.raises(HolderUnavailable, match=r"does not answer \(Connection refused\)\. Check") as asked:
            client.datasets()
        with pytest.raises(HolderUnavailable, match="a plan that was charged is answered again at no cost"):
            client.call("POST", "/v1/datasets/register/releases", b"{}")
    assert "at no cost" not in str(asked.value), "nothing was to be charged"


def test_an_answer_that_repeats_the_key_is_not_shown(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(*problem(403, "forbidden", f"Your key is {KEY}."))

    with pytest.raises(HolderLied) as lied:
        client.budget("register")

    assert KEY not in str(lied.value)


def test_a_hostile_detail_cannot_control_a_terminal(simulated: SimulatedHolder, client: HolderClient) -> None:
    simulated.reply(*problem(403, "forbidden", "no\x1b[2J\x07\u202e" + "x" * 5000))

    with pytest.raises(HolderRefused) as refused:
        client.budget("register")

    assert str(refused.value).startswith("no [2J")
    assert len(str(refused.value)) < 1100


@pytest.mark.parametrize(
    "url",
    [
        "",
        "holder.example",
        "ftp://holder.example",
        "https://",
        "https://a:b@holder.example",
        "https://h/?q=1",
    ],
)
def test_an_unusable_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsRefused, match="address"):
        HolderClient(url=url, key=KEY)


@pytest.mark.parametrize("url", ["http://holder.example", "http://192.0.2.1:8000", "http://localhost.example"])
def test_plain_http_to_another_machine_needs_leave(url: str) -> None:
    with pytest.raises(SettingsRefused, match="unencrypted"):
        HolderClient(url=url, key=KEY)

    HolderClient(url=url, key=KEY, allow_plain_http=True).close()


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1", "https://holder.example"]
)
def test_loopback_and_https_need_none(url: str) -> None:
    HolderClient(url=url, key=KEY).close()


def test_a_client_that_was_handed_in_is_used_and_stays_open(simulated: SimulatedHolder) -> None:
    with httpx.Client(headers={"X-Proxy": "ours"}) as http:
        with HolderClient(http, url=simulated.url + "/", key=KEY) as client:
            client.keys()

        assert not http.is_closed


def test_a_plan_without_a_version_is_not_asked(simulated: SimulatedHolder, client: HolderClient) -> None:
    with pytest.raises(ValueError, match="Pin the plan"):
        client.release("register", PLAN.model_copy(update={"version": None}))

    assert simulated.requests == []


def test_a_token_is_read_again_at_each_call(simulated: SimulatedHolder, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{KEY}\n")
    with HolderClient(url=simulated.url, key=file, limits=QUICK) as client:
        client.budget("register")
        assert simulated.headers["Authorization"] == f"Bearer {KEY}"
        file.write_text("renewed.since")
        client.budget("register")
        assert simulated.headers["Authorization"] == "Bearer renewed.since"
        for broken in ("", "two tokens", "é"):
            file.write_text(broken)
            with pytest.raises(SettingsRefused, match="token"):
                client.budget("register")
