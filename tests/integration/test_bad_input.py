"""Whatever an auditor sends: a clear refusal, in bounded time and size, and nothing is charged (issue: *Bad input*)."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import pytest

from shared.wire import limits
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
    packed = "Content-Encoding" in headers
    body, code = (b"\x1f\x8b", "invalid-request") if packed else (BASE.encode(), "unsupported-media-type")

    document = refused(ask(unmoved_holder, body, headers), code, holder=unmoved_holder)

    assert "JSON" in document["detail"]


@pytest.mark.parametrize("body", [None, [], "x", 1, True, {}, {"plan": plan()}])
def test_json_that_is_no_plan_is_refused(unmoved_holder: TestedHolder, body: Any) -> None:
    document = refused(ask(unmoved_holder, json.dumps(body)), "invalid-plan", holder=unmoved_holder)

    assert not document["detail"].startswith("body: ")


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


MALFORMED: Final[dict[tuple[str | int, ...], tuple[Any, ...]]] = {
    ("sensitive",): (..., [], "sex", ["sex", "sex"], [1], ["age"]),
    ("version",): (0, -1, 1.5, "1", True, 2**53 + 1, 2**64),
    ("draw",): (0, 1001, None, "1", True),
    ("batches",): ([], {}, plan()["batches"] * 2),
    ("batches", 0, "epsilon"): (None,),
    ("batches", 0, "name"): (..., "", "x" * 201, "\u0958" * 200, "a\u0000b", "a\nb"),
    ("batches", 0, "mechanism"): (..., "laplace", {"name": "none"}, {"name": "laplace", "scale": 0}),
    ("batches", 0, "cells"): ([], [plan()["batches"][0]["cells"][0]] * 2),
    ("batches", 0, "cells", 0, "id"): (..., None, 1),
    ("batches", 0, "cells", 0, "all_of"): (..., {}),
    ("batches", 0, "cells", 0, "any_of"): ([],),
    ("batches", 0, "cells", 0): ({"id": "a", "any_of": []}, {"id": "a", "any_of": [[]]}),
    ("seed",): (1,),
    ("batches", 0, "scale"): (0,),
    ("batches", 0, "cells", 0, "weight"): (0,),
    ("batches", 0, "cells", 0, "all_of", 0, "not"): (True,),
}


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        *((path, value, "invalid-plan") for path, values in MALFORMED.items() for value in values),
        (("sensitive",), ["gender"], "unknown-column"),
        (("sensitive",), ["Sex"], "unknown-column"),
        (("sensitive",), ["a"] * 9, "too-large"),
        (("version",), 2, "invalid-request"),
        (("batches",), plan()["batches"] * 17, "too-large"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_field_that_is_not_of_its_form_is_refused(
    unmoved_holder: TestedHolder, path: tuple[str | int, ...], value: Any, code: str
) -> None:
    refused(unmoved_holder.release(changed(path, value)), code, holder=unmoved_holder)


def listed(*values: Any, **column: str) -> dict[str, Any]:
    """A predicate that lists values."""
    return {**column, "op": "in", "value": None, "values": list(values)}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        *(({"column": name}, "unknown-column") for name in ("income", "id", "AGE", "age ", "age; DROP TABLE entries")),
        ({"column": "sex", "op": "eq", "value": "Male"}, "sensitive-column"),
        ({"column": "origin", "op": "is_missing", "value": None}, "sensitive-column"),
        *(({"column": name}, "invalid-plan") for name in ("", None)),
        *(({"op": operator}, "invalid-plan") for operator in ("==", None, ["in"], "is_missing")),
        *(({"value": value}, "invalid-plan") for value in (None, "40", True, [40], 2**53 + 1, 10**400)),
        ({"value": {}}, "invalid-plan"),
        ({"values": ["40"]}, "invalid-plan"),
        ({"op": "eq", "value": 1.5}, "invalid-plan"),
        ({"op": "is_missing", "value": None}, "invalid-plan"),
        *(({"or_missing": value}, "invalid-plan") for value in (True, "yes", 1)),
        ({"column": "citizen", "op": "ne", "value": True}, "invalid-plan"),
        *(({"column": "citizen", "op": "eq", "value": value}, "invalid-plan") for value in ("true", 1)),
        *(({"column": "education", "op": "eq", "value": value}, "invalid-plan") for value in ("none", "Low", 1)),
        ({"column": "education", "op": "lt", "value": "low"}, "invalid-plan"),
        ({"column": "education", "op": "in", "value": "low"}, "invalid-plan"),
        *(
            (listed(*values, column="education"), "invalid-plan")
            for values in ([], ["low", 1], ["low", "none"], ["low", "a\u0000"], ["e\u0301" * 500_000])
        ),
        (listed(*["low"] * 1025, column="education"), "too-large"),
        *((listed(*values, column="hours"), "invalid-plan") for values in (["1"], [1, 2])),
        *((listed(*values), "invalid-plan") for values in (["1"], [1, 2.5], [1, "2"], [1, True], [1, 10**400])),
        (listed(*[1] * 1025), "too-large"),
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
