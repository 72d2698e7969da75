"""Requests that are wrong before their body is looked at: keys, paths, methods, queries, headers, cut connections."""

import gzip
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv
from testing.waits import wait_until


@pytest.fixture(autouse=True)
def _unmoved(unmoved_holder: TestedHolder) -> None:
    """No test of this file may change anything."""


def call(holder: TestedHolder, method: str, path: str, *headers: tuple[str, str | bytes]) -> httpx.Response:
    """Call with these headers alone, the path as it is written."""
    url = holder.client.base_url.copy_with(raw_path=path.encode())
    pairs = [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in headers]
    return holder.client.request(method, url, headers=pairs)


def raw(holder: TestedHolder, request: bytes, *, then: bytes = b"") -> bytes:
    """Send bytes as they are, and whatever comes back until the connection closes; nothing if it is reset."""
    address = (holder.client.base_url.host, holder.client.base_url.port)
    with socket.create_connection(address, timeout=10) as connection:
        try:
            connection.sendall(request.replace(b"\n", b"\r\n") + then)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except OSError:
            return b""


@pytest.mark.parametrize(
    "value",
    [
        None, "", "Bearer", "Bearer x", "Bearer  {key}", "Bearer {key}x", "Bearer {key} {key}", "Basic {key}",
        "Token {key}", "{key}", "Bearer\t{key}", "Bearer pafer_000000000000_" + "A" * 43, "Bearer " + "x" * 50_000,
        b"Bearer \xff\xfe\xe9", "Bearer {upper}", "Bearer {other}",
    ],
    ids=lambda value: repr(value)[:24],
)  # fmt: skip
def test_without_a_valid_key_there_is_no_answer(lasting_holder: TestedHolder, value: str | bytes | None) -> None:
    key = lasting_holder.auditor_key
    if isinstance(value, str):
        value = value.format(key=key, upper=key.upper(), other=key[:-1] + ("B" if key[-1] == "A" else "A"))
    headers = [] if value is None else [("Authorization", value)]

    for path in ("/v1/datasets", "/v1/admin/ledger", "/v1/nowhere"):
        answer = call(lasting_holder, "GET", path, *headers)
        refused(answer, "unauthenticated", holder=lasting_holder)
        assert answer.headers["www-authenticate"] == "Bearer"


def test_two_keys_are_none_and_one_in_the_wrong_header_is_none(lasting_holder: TestedHolder) -> None:
    key, path = lasting_holder.auditor_key, "/v1/datasets"
    two = [("Authorization", f"Bearer {one}") for one in (key, lasting_holder.admin_key)]

    refused(call(lasting_holder, "GET", path, *two), "unauthenticated", holder=lasting_holder)
    refused(call(lasting_holder, "GET", f"{path}?key={key}", ("Cookie", key)), "unauthenticated", holder=lasting_holder)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        *(("unauthenticated", f"/{path}") for path in (
            "v1", "v1/", "v1x", "%76%31/datasets", "v1/keys/", "v1/keys;x", "v1//keys",
        )),
        *(("not-found", f"/{path}") for path in (
            "nope", "V1/datasets", "/v1/datasets", "healthz/", "static/../../etc/passwd",
        )),
    ],
)  # fmt: skip
def test_no_spelling_of_a_path_goes_round_the_key_and_what_is_nowhere_is_unknown(
    lasting_holder: TestedHolder, code: str, path: str
) -> None:
    refused(call(lasting_holder, "GET", path), code, holder=lasting_holder)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        *((path, "not-found") for path in ("/nowhere", "/datasets/", "/ledger/entries/999999")),
        *((f"/datasets/{name}", "not-found") for name in (
            "nope", "nope/budget", "nope/releases", "REGISTER", "register/releases/sha256:" + "0" * 64,
            "..%2f..%2fetc%2fpasswd",
        )),
        *((f"/datasets/{name}", "invalid-request") for name in (
            "%2e%2e", "a" * 65, "a" * 50_000, "register%00", "register%0a", "register%00/releases", "%ff%fe/budget",
            "%ed%a0%80", "register/releases/x", "register/releases/sha256:" + "g" * 64, "register/releases/%00",
        )),
        *((f"/datasets/register/releases?{query}", "invalid-request") for query in (
            "limit=0", "limit=1001", "limit=", "limit=NaN", "after=-1", "after=1.5", "after=%D9%A1",
            "after=" + "9" * 5000,
        )),
        *((f"/ledger/entries/{number}", "invalid-request") for number in ("0", "-1", "9007199254740993", "head")),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_a_path_or_query_that_is_not_of_its_form_is_refused(
    lasting_holders: TestedHolder, path: str, code: str
) -> None:
    answer = call(lasting_holders, "GET", f"/v1{path}", ("Authorization", f"Bearer {lasting_holders.auditor_key}"))

    refused(answer, code, holder=lasting_holders)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/admin/ledger?after=-1"), ("GET", "/admin/ledger?limit=0"), ("GET", "/admin/ledger?limit=1001"),
        ("GET", "/admin/ledger?format=xml"), ("GET", "/admin/budgets?auditor=%00"),
        ("GET", "/admin/budgets?population=" + "x" * 65), ("DELETE", "/admin/datasets/%00"),
        ("DELETE", "/admin/auditors/%00/keys/x"), ("DELETE", "/admin/auditors/ADR/keys/%00"),
        ("DELETE", "/admin/datasets/" + "x" * 65), ("DELETE", "/admin/auditors/ADR/keys/..%00"),
    ],
)  # fmt: skip
def test_an_administrators_path_or_query_too(lasting_holders: TestedHolder, method: str, path: str) -> None:
    answer = call(lasting_holders, method, f"/v1{path}", ("Authorization", f"Bearer {lasting_holders.admin_key}"))

    refused(answer, "invalid-request", holder=lasting_holders)


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "POST", "PROPFIND"])
def test_a_method_that_a_path_does_not_take_is_refused(lasting_holder: TestedHolder, method: str) -> None:
    answer = call(lasting_holder, method, "/v1/datasets", ("Authorization", f"Bearer {lasting_holder.auditor_key}"))

    refused(answer, "method-not-allowed", holder=lasting_holder)
    assert answer.headers["allow"] == "GET"


def test_a_head_request_gets_no_body(lasting_holder: TestedHolder) -> None:
    answer = call(lasting_holder, "HEAD", "/v1/datasets", ("Authorization", f"Bearer {lasting_holder.auditor_key}"))

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Forwarded-For", b"\xff\xfe, <script>")],
        [("Accept", "image/png")],
        [("Range", "bytes=5-1")],
        [("If-Match", '"x"'), ("If-None-Match", "*")],
        [("Origin", "https://elsewhere.example")],
        [("Host", "elsewhere.example")],
        [("Upgrade", "h2c"), ("Connection", "Upgrade, HTTP2-Settings"), ("HTTP2-Settings", "AAMAAABkAAQAAP__")],
        [(f"X-{number}", "y") for number in range(5000)],
    ],
    ids=lambda value: str(value[0][0]),
)
def test_headers_that_nobody_asked_for_change_nothing(
    lasting_holder: TestedHolder, headers: list[tuple[str, str | bytes]]
) -> None:
    key = ("Authorization", f"Bearer {lasting_holder.auditor_key}")
    plain = call(lasting_holder, "GET", "/v1/datasets", key)

    answer = call(lasting_holder, "GET", "/v1/datasets", key, *headers)

    assert (answer.status_code, answer.content) == (200, plain.content)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\n\n",
        b"GET\n\n",
        b"GET /v1/datasets HTTP/9.9\n\n",
        b"GET /v1/datasets\xe9 HTTP/1.1\nHost: x\n\n",
        b"GET /v1/datasets HTTP/1.1\nHost: x\nX: a\0b\n\n",
        b"GET /v1/datasets HTTP/1.1\nHost: x\nAuthorization: Bearer\n x\n\n",
        b"POST /v1/datasets/register/releases HTTP/1.1\nHost: x\nContent-Length: -5\n\n",
        b"POST /v1/datasets HTTP/1.1\nHost: x\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\nHost: x\n\n",
    ],
    ids=lambda value: repr(value)[2:30],
)
def test_what_is_no_http_is_refused(lasting_holder: TestedHolder, sent: bytes) -> None:
    answer = raw(lasting_holder, sent)

    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 404")
    assert b"Traceback" not in answer


def test_a_request_cut_short_charges_nothing_and_is_no_failure(
    lasting_holder: TestedHolder, caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        "POST /v1/datasets/register/releases HTTP/1.1\nHost: x\nContent-Type: application/json\n"
        f"Authorization: Bearer {lasting_holder.auditor_key}\nContent-Length: 5000\n\n"
    )

    raw(lasting_holder, head.encode(), then=b'{"sensitive": ["sex"],')
    time.sleep(0.05)

    assert lasting_holder.client.get("/healthz").status_code == 200
    assert "internal error" not in caplog.text


def test_a_load_cut_short_leaves_the_records_and_no_file(
    lasting_holder: TestedHolder, caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        "PUT /v1/admin/datasets/register/records HTTP/1.1\nHost: x\nContent-Type: text/csv\n"
        f"Authorization: Bearer {lasting_holder.admin_key}\nContent-Length: 1000000\n\n"
    )

    raw(lasting_holder, head.encode(), then=register_csv())
    wait_until(lambda: not list(lasting_holder.settings.incoming.iterdir()))
    assert lasting_holder.auditor("GET", "/datasets/register").json()["version"] == 1
    assert "internal error" not in caplog.text


def test_a_refused_body_is_not_kept_however_long_it_is(lasting_holder: TestedHolder) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(400):
            sent += 65_536
            yield b" " * 65_536

    answer = lasting_holder.client.post("/v1/datasets/register/releases", content=endless())

    refused(answer, "unauthenticated", holder=lasting_holder)


def test_a_refusal_repeats_no_long_path(lasting_holder: TestedHolder) -> None:
    answer = call(lasting_holder, "GET", "/" + "%C3%A9" * 10_000)

    assert len(refused(answer, "not-found", holder=lasting_holder)["instance"]) < 5000


def test_neither_log_nor_answer_holds_a_key(lasting_holder: TestedHolder, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    wrong = lasting_holder.auditor_key[:-1] + "_"

    lasting_holder.release(plan(epsilon="11"))
    refused(lasting_holder.release(plan(), key=wrong), "unauthenticated", holder=lasting_holder)
    lasting_holder.auditor("GET", "/datasets", headers={"Accept-Encoding": "gzip"})

    holder_lines = [
        record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    ]
    assert not any(key in line for line in holder_lines for key in (lasting_holder.auditor_key, wrong))


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
def test_compressed_records_are_refused_by_name(lasting_holder: TestedHolder, coding: str) -> None:
    headers = {"Content-Type": "text/csv", "Content-Encoding": coding}

    answer = lasting_holder.admin(
        "PUT", "/datasets/register/records", content=gzip.compress(b"id,sex\n"), headers=headers
    )

    document = refused(answer, "unsupported-media-type", holder=lasting_holder)
    assert "Content-Encoding" in document["detail"]


def test_a_compressed_body_is_not_unpacked(lasting_holder: TestedHolder) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    bomb = gzip.compress(b" " * 50_000_000)

    answer = lasting_holder.auditor("POST", "/datasets/register/releases", content=bomb, headers=headers)

    refused(answer, "invalid-request", holder=lasting_holder)
