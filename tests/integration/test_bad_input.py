"""Whatever an auditor sends: a clear refusal, in bounded time and size, and nothing is charged (issue: *Bad input*)."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import pytest

from shared import limits
from testing.documents import put
from testing.holders import TestedHolder
from testing.huge_bodies import HUGE, cells, many
from testing.refusals import refused
from testing.registers import plan

JSON: Final = {"Content-Type": "application/json"}
BASE: Final = json.dumps(plan())


def ask(holder: TestedHolder, body: bytes | str | Iterator[bytes], headers: Mapping[str, str] = JSON) -> httpx.Response:
    """Ask a plan, given as it goes over the wire."""
    return holder.auditor("POST", "/datasets/register/releases", content=body, headers=dict(headers))


def predicate(**fields: Any) -> dict[str, Any]:
    """A plan whose first cell has one predicate, with some fields changed."""
    body = plan()
    body["batches"][0]["cells"][0]["all_of"][0] |= fields
    return body


def changed(path: tuple[str | int, ...], value: Any) -> Any:
    """The small plan with something else at a path; `...` takes out what is there."""
    return put(plan(version=1, draw=1), path, value)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"   ", id="blanks"),
        pytest.param(b"{", id="cut short"),
        pytest.param(BASE.encode() + b"{}", id="two documents"),
        pytest.param(BASE.replace("40", "NaN").encode(), id="NaN"),
        pytest.param(BASE.replace("40", "Infinity").encode(), id="infinity"),
        pytest.param(BASE.replace('"0.1"', "-Infinity").encode(), id="minus infinity"),
        pytest.param(BASE.replace("40", "9" * 5000).encode(), id="five thousand digits"),
        pytest.param(BASE.replace('"young"', "'young'").encode(), id="apostrophes"),
        pytest.param(BASE.encode("utf-16"), id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf" + BASE.encode(), id="byte order mark"),
        pytest.param(BASE.replace("young", "x").encode().replace(b'"x"', b'"\xff"'), id="no UTF-8"),
        pytest.param(BASE.replace("young", "\\ud800").encode(), id="lone surrogate"),
        pytest.param((BASE[:-1] + ', "\\udfff": 1}').encode(), id="lone surrogate in a field's name"),
        pytest.param((BASE[:-1] + ', "draw": 1, "draw": 2}').encode(), id="duplicate field"),
        pytest.param(BASE.replace('"op"', '"column": "age", "op"').encode(), id="duplicate field deep down"),
        pytest.param((BASE[:-1] + ', "draw": 1, "dr\\u0061w": 2}').encode(), id="duplicate field written otherwise"),
        pytest.param(b"[" * 100_000, id="deep lists"),
        pytest.param(b'{"a":' * 100_000, id="deep objects"),
    ],
)
def test_what_is_no_admissible_json_is_refused_before_it_is_a_plan(unmoved_holder: TestedHolder, body: bytes) -> None:
    refused(ask(unmoved_holder, body), "invalid-request", holder=unmoved_holder)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json-seq"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_plan_of_another_content_type_is_refused(unmoved_holder: TestedHolder, headers: dict[str, str]) -> None:
    body = b"\x1f\x8b" if "Content-Encoding" in headers else BASE.encode()

    document = refused(ask(unmoved_holder, body, headers), "invalid-request", holder=unmoved_holder)

    assert "JSON" in document["detail"]


@pytest.mark.parametrize("body", [None, [], "x", 1, True, {}, {"plan": plan()}])
def test_json_that_is_no_plan_is_refused(unmoved_holder: TestedHolder, body: Any) -> None:
    refused(ask(unmoved_holder, json.dumps(body)), "invalid-plan", holder=unmoved_holder)


@pytest.mark.parametrize(
    "epsilon",
    [
        "NaN", "Infinity", "-Infinity", "1e400", "1e-1", "1_0", "-1", "-0.1", "0", "0.0", "+1", "0x1", "", " 0.1",
        "0.1 ", "0.1\n", "0.1\u0000", "٠.١", "０.１", ".5", "1.", "1,5", "01", "0.0000000001", "0.0009",
        "10.000000001", "999", "1000", "9" * 100_000, 0.1, 1, 1e400, -1, True, [], {}, ["0.1"],
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_no_other_way_to_write_an_epsilon_is_taken(unmoved_holder: TestedHolder, epsilon: Any) -> None:
    body = json.dumps(changed(("batches", 0, "epsilon"), epsilon)).replace(": Infinity", ": 1e400")

    document = refused(ask(unmoved_holder, body), "invalid-amount", holder=unmoved_holder)

    assert document["errors"][0]["field"] == "batches[0].epsilon"


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("batches", 0, "epsilon"), None, "invalid-plan"),
        (("sensitive",), ..., "invalid-plan"),
        (("sensitive",), [], "invalid-plan"),
        (("sensitive",), "sex", "invalid-plan"),
        (("sensitive",), ["sex", "sex"], "invalid-plan"),
        (("sensitive",), [1], "invalid-plan"),
        (("sensitive",), ["gender"], "unknown-column"),
        (("sensitive",), ["Sex"], "unknown-column"),
        (("sensitive",), ["age"], "invalid-plan"),
        (("sensitive",), ["a"] * 9, "too-large"),
        (("version",), 0, "invalid-plan"),
        (("version",), -1, "invalid-plan"),
        (("version",), 1.5, "invalid-plan"),
        (("version",), "1", "invalid-plan"),
        (("version",), True, "invalid-plan"),
        (("version",), 2**53 + 1, "invalid-plan"),
        (("version",), 2**64, "invalid-plan"),
        (("version",), 2, "invalid-request"),
        (("draw",), 0, "invalid-plan"),
        (("draw",), 1001, "invalid-plan"),
        (("draw",), None, "invalid-plan"),
        (("draw",), "1", "invalid-plan"),
        (("draw",), True, "invalid-plan"),
        (("batches",), [], "invalid-plan"),
        (("batches",), {}, "invalid-plan"),
        (("batches",), plan()["batches"] * 2, "invalid-plan"),
        (("batches",), plan()["batches"] * 17, "too-large"),
        (("batches", 0, "name"), ..., "invalid-plan"),
        (("batches", 0, "name"), "", "invalid-plan"),
        (("batches", 0, "name"), "x" * 201, "invalid-plan"),
        (("batches", 0, "name"), "\u0958" * 200, "invalid-plan"),
        (("batches", 0, "name"), "a\u0000b", "invalid-plan"),
        (("batches", 0, "name"), "a\nb", "invalid-plan"),
        (("batches", 0, "mechanism"), ..., "invalid-plan"),
        (("batches", 0, "mechanism"), "laplace", "invalid-plan"),
        (("batches", 0, "mechanism"), {"name": "none"}, "invalid-plan"),
        (("batches", 0, "mechanism"), {"name": "laplace", "scale": 0}, "invalid-plan"),
        (("batches", 0, "cells"), [], "invalid-plan"),
        (("batches", 0, "cells"), [plan()["batches"][0]["cells"][0]] * 2, "invalid-plan"),
        (("batches", 0, "cells", 0, "id"), ..., "invalid-plan"),
        (("batches", 0, "cells", 0, "id"), None, "invalid-plan"),
        (("batches", 0, "cells", 0, "id"), 1, "invalid-plan"),
        (("batches", 0, "cells", 0, "all_of"), ..., "invalid-plan"),
        (("batches", 0, "cells", 0, "all_of"), {}, "invalid-plan"),
        (("batches", 0, "cells", 0, "any_of"), [], "invalid-plan"),
        (("batches", 0, "cells", 0), {"id": "a", "any_of": []}, "invalid-plan"),
        (("batches", 0, "cells", 0), {"id": "a", "any_of": [[]]}, "invalid-plan"),
        (("seed",), 1, "invalid-plan"),
        (("batches", 0, "scale"), 0, "invalid-plan"),
        (("batches", 0, "cells", 0, "weight"), 0, "invalid-plan"),
        (("batches", 0, "cells", 0, "all_of", 0, "not"), True, "invalid-plan"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_field_that_is_not_of_its_form_is_refused(
    unmoved_holder: TestedHolder, path: tuple[str | int, ...], value: Any, code: str
) -> None:
    refused(unmoved_holder.release(changed(path, value)), code, holder=unmoved_holder)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"column": "income"}, "unknown-column"),
        ({"column": "id"}, "unknown-column"),
        ({"column": "AGE"}, "unknown-column"),
        ({"column": "age "}, "unknown-column"),
        ({"column": "age; DROP TABLE entries"}, "unknown-column"),
        ({"column": "sex", "op": "eq", "value": "Male"}, "sensitive-column"),
        ({"column": "origin", "op": "is_missing", "value": None}, "sensitive-column"),
        ({"column": ""}, "invalid-plan"),
        ({"column": None}, "invalid-plan"),
        ({"op": "=="}, "invalid-plan"),
        ({"op": None}, "invalid-plan"),
        ({"op": ["in"]}, "invalid-plan"),
        ({"value": None}, "invalid-plan"),
        ({"value": "40"}, "invalid-plan"),
        ({"value": True}, "invalid-plan"),
        ({"value": [40]}, "invalid-plan"),
        ({"value": {}}, "invalid-plan"),
        ({"value": 2**53 + 1}, "invalid-plan"),
        ({"value": 10**400}, "invalid-plan"),
        ({"values": ["40"]}, "invalid-plan"),
        ({"op": "eq", "value": 1.5}, "invalid-plan"),
        ({"op": "in", "value": None, "values": ["1"]}, "invalid-plan"),
        ({"op": "is_missing", "value": None}, "invalid-plan"),
        ({"op": "is_missing"}, "invalid-plan"),
        ({"or_missing": True}, "invalid-plan"),
        ({"or_missing": "yes"}, "invalid-plan"),
        ({"or_missing": 1}, "invalid-plan"),
        ({"column": "citizen", "op": "ne", "value": True}, "invalid-plan"),
        ({"column": "citizen", "op": "eq", "value": "true"}, "invalid-plan"),
        ({"column": "citizen", "op": "eq", "value": 1}, "invalid-plan"),
        ({"column": "education", "op": "eq", "value": "none"}, "invalid-plan"),
        ({"column": "education", "op": "eq", "value": "Low"}, "invalid-plan"),
        ({"column": "education", "op": "eq", "value": 1}, "invalid-plan"),
        ({"column": "education", "op": "lt", "value": "low"}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": "low"}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": None, "values": []}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": None, "values": ["low", 1]}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": None, "values": ["low", "none"]}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": None, "values": ["low", "a\u0000"]}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": None, "values": ["low"] * 1025}, "too-large"),
        ({"column": "education", "op": "in", "value": None, "values": ["e\u0301" * 500_000]}, "invalid-plan"),
        ({"column": "hours", "op": "in", "value": None, "values": ["1"]}, "invalid-plan"),
        ({"column": "hours", "op": "in", "value": None, "values": [1, 2]}, "invalid-plan"),
        ({"op": "in", "value": None, "values": [1, 2.5]}, "invalid-plan"),
        ({"op": "in", "value": None, "values": [1, "2"]}, "invalid-plan"),
        ({"op": "in", "value": None, "values": [1, True]}, "invalid-plan"),
        ({"op": "in", "value": None, "values": [1, 10**400]}, "invalid-plan"),
        ({"op": "in", "value": None, "values": [1] * 1025}, "too-large"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_predicate_that_does_not_fit_the_schema_is_refused(
    unmoved_holder: TestedHolder, fields: dict[str, Any], code: str
) -> None:
    refused(unmoved_holder.release(predicate(**fields)), code, holder=unmoved_holder)


def test_a_threshold_beyond_a_double_is_refused(unmoved_holder: TestedHolder) -> None:
    body = BASE.replace('"value": 40', '"value": 1e400')

    refused(ask(unmoved_holder, body), "invalid-plan", holder=unmoved_holder)


def test_a_rule_that_contradicts_itself_gets_a_normal_answer(lasting_holder: TestedHolder) -> None:
    body = plan(epsilon="0.01")
    body["batches"][0]["cells"][0]["all_of"].append({"column": "age", "op": "gt", "value": 200})

    assert lasting_holder.release(body).status_code == 201


WRONG: Final[tuple[Any, ...]] = (None, True, -1, 1.5, 10**30, "", "x", "\u0000", [], [[]], {}, {"x": 1}, [None])


def test_no_wrong_value_at_any_path_is_a_failure(unmoved_holder: TestedHolder) -> None:
    """Every value of every object and list in a plan is replaced by a wrong one: a quote, or a refusal."""

    def paths(node: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
        children: list[tuple[str | int, Any]] = []
        if isinstance(node, dict):
            children = list(node.items())
        elif isinstance(node, list):
            children = list(enumerate(node))
        return [found for key, child in children for found in [(*path, key), *paths(child, (*path, key))]]

    for path in paths(plan(version=1, draw=1)):
        for value in WRONG:
            answer = unmoved_holder.auditor(
                "POST", "/datasets/register/quotes", json=changed(path, copy.deepcopy(value))
            )
            if answer.status_code != 200:
                refused(answer, answer.json()["type"].rsplit("/", 1)[-1], holder=unmoved_holder)
                assert answer.status_code in (413, 422)


@pytest.mark.parametrize("name", HUGE)
def test_what_is_huge_is_refused_in_bounded_time_and_size(unmoved_holder: TestedHolder, name: str) -> None:
    make, code = HUGE[name]

    refused(ask(unmoved_holder, make()), code, holder=unmoved_holder)


def test_a_body_over_the_limit_that_does_not_say_its_length_is_refused(unmoved_holder: TestedHolder) -> None:
    chunks = (b" " * 65_536 for _ in range(200))

    document = refused(ask(unmoved_holder, chunks), "too-large", holder=unmoved_holder)

    assert document["limit_bytes"] == limits.BODY_BYTES_MAX


def test_more_counts_than_the_limit_are_refused(unmoved_holder: TestedHolder) -> None:
    body = cells(many(limits.CELLS_PER_PLAN_MAX)).replace(b'["sex"]', b'["sex", "origin"]')

    document = refused(ask(unmoved_holder, body), "too-large", holder=unmoved_holder)

    assert document["limit"] == limits.COUNTS_PER_PLAN_MAX


def test_a_plan_that_costs_more_than_an_amount_can_say_is_refused(unmoved_holder: TestedHolder) -> None:
    body = cells(many(200)).replace(b'"0.1"', b'"10"')

    refused(ask(unmoved_holder, body), "invalid-plan", holder=unmoved_holder)


@pytest.mark.parametrize("timestamp", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2030-01-31T12:00:00"])
def test_a_time_that_utc_cannot_name_is_refused(unmoved_holder: TestedHolder, timestamp: str) -> None:
    answers = [
        unmoved_holder.admin("GET", "/ledger", params={"since": timestamp}),
        unmoved_holder.admin("GET", "/ledger", params={"until": timestamp}),
        unmoved_holder.admin("POST", "/auditors", json={"name": "late", "expires": timestamp}),
        unmoved_holder.admin("POST", "/auditors/ADR/keys", json={"expires": timestamp}),
        unmoved_holder.admin("PUT", "/datasets/register/budgets/ADR", json={"epsilon": "1", "expires": timestamp}),
    ]

    for answer in answers:
        refused(answer, "invalid-request", holder=unmoved_holder)
