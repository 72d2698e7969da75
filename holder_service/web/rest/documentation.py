"""The contract for readers: problems in the OpenAPI document, a page for each, and one of all calls."""

from collections.abc import Iterator
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from holder_service.domain.errors import NotFound
from holder_service.web.edge.problems import STATUS_BY_CODE
from holder_service.web.edge.uploads import MEDIA_TYPES
from shared.columns import DerivedColumn
from shared.problems import PROBLEM_MEDIA_TYPE, TITLES

_TITLES: Final = [
    *((status, TITLES[code]) for code, status in STATUS_BY_CODE.items()),
    (400, "The request could not be read"),
]
PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {
        "description": "; ".join(title for number, title in _TITLES if number == status),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in sorted({status for status, _ in _TITLES} - {500})
}

FILE_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {media: {"schema": {"type": "string", "format": "binary"}} for media in MEDIA_TYPES},
    }
}
"""What a call documents that takes a file as its body."""
_COLUMN: Final = DerivedColumn.model_json_schema(ref_template="#/components/schemas/{model}")
COLUMN_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {name: _COLUMN[name] for name in _COLUMN if name != "$defs"}}},
    }
}
"""What the call documents that takes a derived column; the framework does not see it, for it is read apart."""
COLUMN_PARTS: Final[dict[str, Any]] = _COLUMN["$defs"]
"""The schemas that it refers to, by name."""
PAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
PAGE: Final = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>PAFER holder: the contract</title>
<style>body {{ font: 16px/1.5 sans-serif; margin: 2em }} td {{ padding: .2em 1em .2em 0; vertical-align: top }}</style>
<h1>PAFER holder: the contract</h1>
<p>For machines: <a href="/openapi.json">/openapi.json</a>. For administrators: <a href="/console">the console</a>.
<table><tr><th>Who<th>Call<th>What{rows}</table>
<h2>Problems</h2><ul>{codes}</ul></html>
"""

router = APIRouter()


@router.get("/problems/{code}", tags=["public"], responses={404: PROBLEM_RESPONSES[404]})
async def explain_problem(code: str) -> dict[str, Any]:
    """What a problem's code means."""
    if code not in TITLES:
        raise NotFound("There is no such problem code.")
    return {"code": code, "title": TITLES[code], "status": STATUS_BY_CODE[code]}


@router.get("/", include_in_schema=False)
async def front_page() -> RedirectResponse:
    """Leads to the contract."""
    return RedirectResponse("/docs")


@router.get("/docs", include_in_schema=False)
async def contract_page(request: Request) -> HTMLResponse:
    """The contract to read in a browser. It loads and runs nothing: a script here could see an administrator's key."""
    rows = "".join(_rows(request.app.openapi()))
    codes = "".join(f'<li><a href="/problems/{code}">{code}</a>: {escape(title)}' for code, title in TITLES.items())
    return HTMLResponse(PAGE.format(rows=rows, codes=codes), headers={"Content-Security-Policy": PAGE_POLICY})


def _rows(document: dict[str, Any]) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            cells = (", ".join(operation.get("tags", ())), f"{method.upper()} {path}", operation.get("description", ""))
            yield "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells)
