"""Errors become problem documents: in one module, bounded, and nothing of the inside in them."""

import asyncio
import json
import logging
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holder_service.domain.errors import BudgetExhausted, NotFound
from holder_service.web.edge.problems import (
    STATUS_BY_CODE,
    LastResort,
    holder_problem,
    http_problem,
    install,
    problem_response,
    validation_problem,
)
from shared.privacy.amounts import Amount, Loss
from shared.wire.problems import PROBLEM_MEDIA_TYPE, TITLES, UnknownColumn


def request(path: str = "/v1/datasets/d/releases") -> Request:
    """A request to a path."""
    return Request({"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""})


def document(response: Any) -> dict[str, Any]:
    """The body of an answer."""
    assert response.media_type == PROBLEM_MEDIA_TYPE
    return dict(json.loads(response.body))


@pytest.mark.parametrize(("code", "status"), STATUS_BY_CODE.items())
def test_a_code_has_title_status_and_the_headers_of_its_status(code: str, status: int) -> None:
    response = problem_response(code, "What to do.", instance="/x")

    assert document(response) == {
        "type": f"/problems/{code}", "title": TITLES[code], "status": status, "detail": "What to do.", "instance": "/x",
    }  # fmt: skip
    assert response.status_code == status
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert ("retry-after" in response.headers) == (status in (429, 503) or code == "column-not-ready")


def test_neither_detail_nor_path_is_repeated_at_any_length() -> None:
    response = problem_response("not-found", "x" * 10**6, instance="/" + "é" * 10**6)

    assert len(response.body) < 5000
    assert document(response)["instance"].isascii()


def test_an_error_keeps_its_fields() -> None:
    loss = Loss(10**8)

    found = document(holder_problem(request(), BudgetExhausted(requested=loss, remaining=loss)))

    assert found["requested"] == found["remaining"] == {"epsilon": "0.1", "delta": "0"}


def test_no_field_of_an_error_replaces_what_every_problem_has() -> None:
    found = document(holder_problem(request(), NotFound("Nothing there.", status=200, type="/problems/fine")))

    assert (found["status"], found["type"], found["detail"]) == (404, "/problems/not-found", "Nothing there.")


def test_a_refused_plan_names_the_path() -> None:
    found = document(holder_problem(request(), UnknownColumn(column="income", path="batches[0].cells[2]")))

    assert (found["field"], found["column"]) == ("batches[0].cells[2]", "income")


class Body(BaseModel, extra="forbid"):
    """Something with fields that can be wrong."""

    amount: Amount = 0
    items: list[int] = Field(default=[1], min_length=1, max_length=2)


def invalid(path: str, part: str = "body", **fields: Any) -> dict[str, Any]:
    """The problem of a body whose fields are wrong."""
    with pytest.raises(ValidationError) as raised:
        Body(**fields)
    found = [{**one, "loc": (part, *one["loc"])} for one in raised.value.errors()]
    return document(validation_problem(request(path), RequestValidationError(found)))


@pytest.mark.parametrize(
    ("path", "part", "fields", "code"),
    [
        ("/v1/datasets/d/releases", "body", {"items": 1}, "invalid-plan"),
        ("/v1/datasets/d/quotes", "body", {"items": [], "x": 1}, "invalid-plan"),
        ("/v1/datasets/d/releases", "query", {"items": 1}, "invalid-request"),
        ("/v1/admin/datasets/quotes", "body", {"items": 1}, "invalid-request"),
        ("/v1/admin/auditors", "body", {"amount": "1e400"}, "invalid-amount"),
        ("/v1/datasets/d/releases", "body", {"amount": 1, "items": [1, 2, 3]}, "invalid-amount"),
        ("/v1/datasets/d/releases", "body", {"items": [1, 2, 3], "x": 1}, "too-large"),
    ],
)
def test_the_first_thing_that_is_wrong_gives_the_code(path: str, part: str, fields: dict[str, Any], code: str) -> None:
    found = invalid(path, part, **fields)

    assert found["type"] == f"/problems/{code}"
    assert found["detail"].startswith(found["errors"][0]["field"])


def test_a_value_that_was_sent_is_not_repeated() -> None:
    found = invalid("/v1/admin/auditors", amount="pafer_secret", items=["secret"], extra="secret")

    assert "secret" not in json.dumps(found)
    assert [one["field"] for one in found["errors"]] == ["amount", "items[0]", "extra"]


def test_not_every_error_is_shown() -> None:
    found = invalid("/v1/admin/auditors", "body", **{f"{number:0700}": number for number in range(500)})

    assert len(found["errors"]) == 20
    assert len(json.dumps(found)) < 20_000


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid-request"), (404, "not-found"), (405, "method-not-allowed")]
)
def test_what_the_framework_refuses_is_a_problem_too(status: int, code: str) -> None:
    response = http_problem(request(), HTTPException(status, "inside", headers={"allow": "GET"}))

    assert document(response)["type"] == f"/problems/{code}"
    assert response.status_code == status
    assert response.headers["allow"] == "GET"
    assert "inside" not in document(response)["detail"]


def run(app: ASGIApp) -> list[Message]:
    """What an application sends."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "query_string": b"", "state": {}}

    async def serve() -> None:
        await app(scope, receive, send)

    asyncio.run(serve())
    return sent


def failing(error: Exception, *, begun: bool = False) -> ASGIApp:
    """An application that fails, before or after its answer began."""

    async def app(_: Scope, __: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    return LastResort(app)


def test_what_nobody_expected_is_one_bare_problem(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    start, body = run(failing(RuntimeError("a secret count: 17")))

    assert start["status"] == 500
    assert json.loads(body["body"])["type"] == "/problems/internal"
    assert "secret" not in body["body"].decode() + caplog.text
    assert "internal error" in caplog.text


def test_an_answer_that_began_is_not_begun_again() -> None:
    assert [message["type"] for message in run(failing(RuntimeError(), begun=True))] == ["http.response.start"]


def test_who_is_gone_gets_no_answer_and_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    assert run(failing(ClientDisconnect())) == []
    assert caplog.text == ""


def test_an_application_answers_with_problems_alone() -> None:
    app = FastAPI()
    install(app)

    start, body = run(app)

    assert start["status"] == 404
    assert json.loads(body["body"])["type"] == "/problems/not-found"
