"""The interface as an OpenAPI 3.1 document: what each call takes and answers, with an example, and how it refuses.

A call says which refusals are its own (`refusals`); those that follow from its form are added here: a key, a role, a
body and a parameter can each be refused. So a call documents the statuses that occur, and no others.
"""

import json
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from holder_service.web.edge.problems import STATUS_BY_CODE
from holder_service.web.edge.roles import ROLES, needs_key
from holder_service.web.edge.uploads import MEDIA_TYPES
from holder_service.web.rest.problem_help import HELP
from shared.scores.columns import DerivedColumn
from shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEM_TYPE_BASE, TITLES, Problem

REF: Final = "#/components/schemas/"
REFUSALS: Final = "x-refusals"
DESCRIPTION: Final = f"""\
Ask a holder of sensitive attributes for noisy counts, and administer it.

**Who calls.** Send your key with every call: `Authorization: Bearer <key>`. Keys come from the holder's administrator,
who opens an account in the console or by `POST /v1/admin/auditors`. An auditor's key asks; an administrator's key
does everything else, and the keys of viewers, data stewards and budget officers a part of it: `x-roles` lists the roles
that may make a call. Calls of the tag *public* need no key. Where the holder has an
identity provider, its tokens stand for keys.

**Amounts** of ε and δ are decimal strings such as "0.1": a JSON number is refused, because 0.1 is none exactly.
**Times** are ISO 8601 with their zone. **Counts** and scales of noise are in people.

**Refusals** are problem documents (RFC 9457). The last part of `type` is a stable code, and
[a page explains each]({PROBLEM_TYPE_BASE}). After 429 and 503 wait as long as `Retry-After` says, then ask the same
again: the same plan is never charged twice.

`HEAD` is answered wherever `GET` is. Every answer has an `X-Request-Id`, by which an administrator finds it in the log.
"""
TAGS: Final = (
    {"name": "auditor", "description": "Ask about datasets within a budget, with an auditor's key."},
    {
        "name": "everybody",
        "description": "Look at what there is to ask about, with a key of any role but metrics.",
    },
    {
        "name": "administrator",
        "description": "Accounts, datasets, records, budgets and the ledger, with a key of a role in `x-roles`.",
    },
    {"name": "public", "description": "Without a key."},
)
KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "The key that the holder's administrator gave you: `Authorization: Bearer <key>`.",
}
TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "A token of the holder's identity provider, where it has one: `Authorization: Bearer <token>`.",
}
CSV, PARQUET = MEDIA_TYPES
FILE_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "description": f"The file: CSV with a header. Parquet is taken too, with the content type `{PARQUET}`.",
        "required": True,
        "content": {CSV: {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""What a call documents that takes a file as its body: one form of it, since generated clients send but one."""
COLUMN_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": f"{REF}{DerivedColumn.__name__}"}}},
    }
}
"""What the call documents that takes a derived column; the framework does not see it, for it is read apart."""
LOCATION: Final = {"description": "The path of what was made.", "schema": {"type": "string"}}
EXAMPLES: Final = Path(__file__).with_name("examples.json")
"""A request and an answer of each call, by its operation id, as a running holder took and gave them; and `waiting`, the
answer where an approval is needed first."""
REFINING: Final = ".refining"
"""How the name of a further example ends: of a call whose plan refines a release."""


def refusals(*codes: str) -> dict[str, Any]:
    """Return what a call documents whose own refusals these are."""
    return {REFUSALS: codes}


def contract(app: FastAPI) -> dict[str, Any]:
    """The document; made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _document(app)
    return app.openapi_schema


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=DESCRIPTION, routes=app.routes,
        openapi_version="3.1.0", tags=[dict(tag) for tag in TAGS], separate_input_output_schemas=False,
        servers=[{"url": "/", "description": "This holder"}], contact={"name": "The maintainers of PAFER"},
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
    )  # fmt: skip
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):  # the framework's own, which nobody is answered
        schemas.pop(name, None)
    _, read_apart = models_json_schema(
        [(DerivedColumn, "validation"), (Problem, "validation")], ref_template=REF + "{model}"
    )
    document["components"]["schemas"] = dict(sorted({**read_apart["$defs"], **schemas}.items()))
    document["components"]["securitySchemes"] = {"key": KEY, "token": TOKEN}
    examples = json.loads(EXAMPLES.read_bytes())
    for path, operations in document["paths"].items():
        for operation in operations.values():
            name = operation["operationId"]
            _complete(path, operation, examples.get(name, {}))
            if name + REFINING in examples:
                _exemplify_further(operation, examples[name + REFINING])
            for answer in operation["responses"].values():
                if answer["description"] == "Successful Response":  # what the framework says of every one
                    answer["description"] = _described(answer, document["components"]["schemas"])
    return document


def _complete(path: str, operation: dict[str, Any], example: dict[str, Any]) -> None:
    """Add what the framework does not know to an operation."""
    operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
    if needs_key(path):
        if not operation.get(ROLES):
            raise ValueError(f"{path} names no role that may call it: give it a route that knows its roles.")
        operation["security"] = [{"key": []}, {"token": []}]
    answers = {status: one for status, one in operation["responses"].items() if status.startswith("2")}
    for status, answer in answers.items():
        if status == "201":
            answer["headers"] = {"Location": LOCATION}
        name = "waiting" if status == "202" else "answer"
        if name in example:
            _exemplify(answer, example[name])
    if "request" in example:
        _exemplify(operation["requestBody"], example["request"])
    codes = {*operation.pop(REFUSALS, ()), *_implied(path, operation)}
    operation["responses"] = {**answers, **dict(_refused(codes))}


def _described(answer: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return what an answer is: as its type is described."""
    named = [form["schema"].get("$ref", "").removeprefix(REF) for form in answer.get("content", {}).values()]
    return next((schemas[name]["description"] for name in named if name), "It is done.")


def _exemplify(body: dict[str, Any], example: Any) -> None:
    """Give the first form of a body, the one that a reader sees, its example."""
    form = next(iter(body["content"].values()), None)
    if form is not None:
        form["example"] = example


def _exemplify_further(operation: dict[str, Any], refining: dict[str, Any]) -> None:
    """Give a call that has an example a second one, of a plan that refines a release."""
    answer = operation["responses"]["201" if "201" in operation["responses"] else "200"]
    for body, value in ((operation["requestBody"], refining["request"]), (answer, refining["answer"])):
        form = next(iter(body["content"].values()))
        form["examples"] = {"first": {"value": form.pop("example")}, "refining": {"value": value}}


def _implied(path: str, operation: dict[str, Any]) -> Iterator[str]:
    """The refusals that follow from an operation's form."""
    yield "rate-limited"
    if needs_key(path):
        yield from ("unauthenticated", "forbidden", "unavailable")
    if "requestBody" in operation:
        yield from ("invalid-request", "too-large", "too-slow", "unsupported-media-type")
    forms = [parameter["schema"].keys() for parameter in operation.get("parameters", ())]
    if any(form - {"type", "title", "description", "examples"} for form in forms):
        yield "invalid-request"


def _refused(codes: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The answers that refuse, by status."""
    for status in sorted({STATUS_BY_CODE[code] for code in codes}):
        meant = [code for code in TITLES if code in codes and STATUS_BY_CODE[code] == status]
        example = {
            "type": PROBLEM_TYPE_BASE + meant[0], "title": TITLES[meant[0]], "status": status,
            "detail": HELP[meant[0]].meaning,
        }  # fmt: skip
        form = {"schema": {"$ref": f"{REF}{Problem.__name__}"}, "example": example}
        listed = "\n".join(f"- [{code}]({PROBLEM_TYPE_BASE}{code}): {TITLES[code]}" for code in meant)
        yield str(status), {"description": listed, "content": {PROBLEM_MEDIA_TYPE: form}}


VERSION: Final = version("pafer")
"""The product's; the contract's is in the paths, v1."""
