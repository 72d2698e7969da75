"""Requests made by hand to break a holder: huge, deep, odd, cut, doubled, wrongly encoded ones."""

import gzip
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.wire import limits
from testing.hostile_plans import HOSTILE
from testing.huge_bodies import HUGE, with_json
from testing.registers import plan, training

DATASET: Final = "/v1/datasets/register"
HOSTILE_DATASET: Final = "/v1/datasets/hostile"
LEARNABLE_DATASET: Final = "/v1/datasets/loans"
TRAINING_PATHS: Final = ("/trainings/x", "/trainings?after=-1", "/trainings?limit=" + "9" * 5000, "/trainings/quotes")
JSON: Final = "application/json"

NUMBERS: Final = (
    "0", "-0", "-0.0", "-1", "1e400", "-1e400", "1e-400", "5e-324", "1.7976931348623157e308", "9007199254740993",
    "123456789012345678901234567890", "1" + "0" * 5000, "0." + "1" * 5000, "NaN", "Infinity", "01", "1.", ".5", "+1",
    "0x10", "1_000", "null", "true", "[]", "{}", '""', '"1"', '"١"', '"1e400"', '"0.1 "', '"NaN"', '"-0.1"', '"0.10"',
)  # fmt: skip
TEXTS: Final = (
    "", " ", "\\u0000", "\\ud800", "\\udfff\\ud800", "\\u202e", "\\n", "\\r\\n", "a\\u0301" * 150, "x" * 201,
    "x" * 100_000, "'; DROP TABLE ledger; --", "<script>alert(1)</script>", "../../etc/passwd", "${jndi:ldap://x}",
    "{{7*7}}", "%s%n%x", "\\uffff", "𝕏" * 200, "age\\u0000", "AGE", "age ", "__class__", "__proto__", "null",
)  # fmt: skip
MEDIA: Final = (
    "", "text/plain", "application/xml", "application/json; charset=utf-16", "application/json;charset=\xff",
    "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/JSON", "*/*", "json" * 1000,
)  # fmt: skip
PATHS: Final = (
    "/", "//", "/v1", "/v1/", "/v1//datasets", "/v1/datasets/", "/v1/datasets/%00", "/v1/datasets/..%2f..", "/v1/%ff",
    "/v1/datasets/register%0d%0aX:%20y", "/v1/datasets/" + "a" * 20_000, "/v1/datasets/register/releases/x",
    "/v1/datasets/register/releases?limit=" + "9" * 5000,
    "/v1/datasets/register/releases?after=-1", "/v1/datasets/register/releases?" + "limit=1&" * 2000,
    "/v1/datasets/register/releases/sha256:" + "f" * 64, "/v1/ledger/entries/0", "/v1/ledger/entries/" + "9" * 30,
    "/v1/admin/ledger?limit=0", "/v1/admin/auditors/%2e%2e/keys", "/problems/%00", "/static/../../etc/passwd",
    "/docs/..", "/console/", "/console/datasets/%00", "/openapi.json?" + "x" * 30_000,
)  # fmt: skip
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "X" * 60)


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """What is sent.

    Attributes:
        method: The HTTP method.
        path: Path and query, as they go over the wire.
        content: The body.
        headers: Beside the key.
        as_administrator: With whose key.
    """

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": JSON})
    as_administrator: bool = False


def hostile_requests() -> Iterator[HostileRequest]:
    """All of them, in turn."""
    yield from _hostile_plans()
    yield from (_quote(body) for body in itertools.chain(_deep(), _large(), _broken()))
    for path, text in itertools.product(_paths(), (*NUMBERS, *(f'"{text}"' for text in TEXTS))):
        yield _quote(with_json(path, text))
    for media in MEDIA:
        yield HostileRequest("POST", f"{DATASET}/quotes", json.dumps(plan()).encode(), {"Content-Type": media})
    yield from _trainings()
    yield from (HostileRequest("GET", path, headers={}) for path in PATHS)
    yield from (HostileRequest(method, "/v1/datasets", headers={}) for method in METHODS)
    yield from _administration()


def _hostile_plans() -> Iterator[HostileRequest]:
    """Each as a quote and as a release."""
    for make in HOSTILE.values():
        body = json.dumps(make()).encode()
        for call in ("quotes", "releases"):
            yield HostileRequest("POST", f"{HOSTILE_DATASET}/{call}", body)


def _trainings() -> Iterator[HostileRequest]:
    """As large and as odd as a training can be, and what is wrong with a plan: each as a quote and to be learned."""
    many = [{"column": f"x{index}", "cuts": list(range(64))} for index in range(64)]
    sound = training(epsilon="0.001")
    bodies = [
        *({**sound, "algorithm": {"name": "fair_tree", "depth": depth}, "features": many} for depth in (1, 8)),
        {**sound, "algorithm": {"name": "fair_linear", "points": 10**9}},
        {**sound, "algorithm": {"name": "pflr", "penalty": "1" + "0" * 300}},
        {**sound, "features": [{"column": "age", "cuts": [1e308, -1e308]}]},
        {**sound, "features": [{"column": "age", "cuts": list(range(100_000))}]},
        {**sound, "features": [{"column": "citizen"}] * 10_000},
        {**sound, "sensitive": ["sex"] * 10_000},
        {**sound, "label": "\u0000" * 1000},
    ]
    odd = [json.dumps(sound).replace('"0.001"', number) for number in NUMBERS]
    odd += [json.dumps(sound).replace('"repaid"', f'"{text}"') for text in TEXTS]
    for content in (*map(json.dumps, bodies), *odd):
        for call in ("trainings/quotes", "trainings"):
            yield HostileRequest("POST", f"{LEARNABLE_DATASET}/{call}", content.encode())
    yield from (HostileRequest("GET", f"{LEARNABLE_DATASET}{path}", headers={}) for path in TRAINING_PATHS)


def _quote(body: bytes) -> HostileRequest:
    return HostileRequest("POST", f"{DATASET}/quotes", body)


def _deep() -> Iterator[bytes]:
    for depth in (100, 1000, 100_000, 3_000_000):
        yield b"[" * depth
        yield b'{"a":' * min(depth, 1_000_000)
        yield b"[" * min(depth, 100_000) + b"]" * min(depth, 100_000)


def _large() -> Iterator[bytes]:
    yield from (make() for make, _ in HUGE.values())
    yield with_json(("sensitive",), "[" + ",".join(['"sex"'] * 1_000_000) + "]")
    yield with_json(("batches", 0, "name"), '"' + "\\u0061" * 1_300_000 + '"')
    yield b'"' + b"\\" * 4_000_000
    yield b" " * limits.BODY_BYTES_MAX
    yield b"1" * 4_000_000


def _broken() -> Iterator[bytes]:
    whole = json.dumps(plan()).encode()
    yield from (whole[:end] for end in range(0, len(whole), len(whole) // 20))
    yield from (whole + end for end in (b"x", b"{}", b"\x00", whole))
    yield from (whole.decode().encode(name) for name in ("utf-16", "utf-32", "utf-8-sig", "cp037"))
    yield whole.replace(b'"draw"', b'"sensitive":["sex"],"draw"').replace(b"{", b'{"sensitive":["sex"],', 1)
    yield from (
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'"\xc3\x28"',
        b"\x00" * 1000,
        gzip.compress(whole),
        b"--x\r\n\r\n",
        b"a=1&b=2",
    )


def _paths() -> tuple[tuple[str | int, ...], ...]:
    predicate = ("batches", 0, "cells", 0, "all_of", 0)
    return (
        ("sensitive", 0), ("version",), ("draw",), ("batches", 0, "name"), ("batches", 0, "epsilon"),
        ("batches", 0, "mechanism"), (*predicate, "column"), (*predicate, "value"),
    )  # fmt: skip


def _administration() -> Iterator[HostileRequest]:
    """What an administrator's client might send by mistake, or somebody with a stolen key."""
    for body in (b"", b"{}", b"[]", b"null", b'{"name":"\\u0000"}', b'{"name":"' + b"a" * 1_000_000 + b'"}'):
        yield HostileRequest("POST", "/v1/admin/auditors", body, as_administrator=True)
        yield HostileRequest("PUT", "/v1/admin/datasets/odd", body, as_administrator=True)
        yield HostileRequest("POST", "/v1/admin/ledger/restore", body, as_administrator=True)
    columns = [{"name": f"x{number}", "type": "number"} for number in range(limits.COLUMNS_PER_DATASET_MAX + 1)]
    declaration = {"person_key": "id", "columns": columns}
    yield HostileRequest("PUT", "/v1/admin/datasets/odd", json.dumps(declaration).encode(), as_administrator=True)
    for content in (
        b"",
        b"\xff" * 100_000,
        b'"' * 1_000_001,
        b"id,age\n" + b"1,2\n" * 100_000,
        b",\n" * 500_000,
        b"PAR1" * 9,
    ):
        for media in ("text/csv", "application/vnd.apache.parquet"):
            path = "/v1/admin/datasets/register/records"
            yield HostileRequest("PUT", path, content, {"Content-Type": media}, as_administrator=True)
