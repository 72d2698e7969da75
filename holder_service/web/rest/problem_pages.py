"""The pages that a problem's `type` leads to: for people a page, for machines a document."""

import re
from html import escape
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from holder_service.domain.errors import NotFound
from holder_service.web.edge.problems import STATUS_BY_CODE
from holder_service.web.rest.answers import ProblemKind, ProblemKinds
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.problem_help import HELP
from shared.wire.problems import PROBLEM_TYPE_BASE, TITLES

PAGE: Final = """<!DOCTYPE html>
<html lang="en-GB"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem }}
dt {{ font-weight: bold; margin-top: 1rem }} dd {{ margin: 0 }}
</style>
<main><h1>{title}</h1>{content}</main>
<footer><p><a href="/problems">All problems</a> · <a href="/docs">The interface</a></p></footer></html>
"""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_BOTH: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}

router = APIRouter(prefix=PROBLEM_TYPE_BASE.removesuffix("/"), tags=["public"])


@router.get("", response_model=ProblemKinds, responses=_BOTH)
async def list_problems(request: Request) -> Response:
    """All problem codes: a page for whoever accepts HTML, else a document."""
    kinds = [_kind(code) for code in TITLES]
    items = "".join(f'<li><a href="/problems/{kind.code}">{kind.code}</a>: {escape(kind.title)}' for kind in kinds)
    return _shown(request, ProblemKinds(problems=tuple(kinds)), "Problems", f"<ul>{items}</ul>")


@router.get("/{code}", response_model=ProblemKind, responses=_BOTH, openapi_extra=refusals("not-found"))
async def explain_problem(
    request: Request, code: Annotated[str, Path(description="The code.", examples=["budget-exhausted"])]
) -> Response:
    """What a problem's code means and what to do: a page for whoever accepts HTML, else a document."""
    if code not in TITLES:
        raise NotFound("This problem code does not exist. GET /problems lists the codes.")
    kind = _kind(code)
    facts = {
        "What happened": kind.meaning, "What to do": kind.remedy,
        "For machines": f"Code `{kind.code}`, answered with status {kind.status}.",
    }  # fmt: skip
    content = "".join(f"<dt>{what}</dt><dd>{_with_code(text)}</dd>" for what, text in facts.items())
    return _shown(request, kind, kind.title, f"<dl>{content}</dl>")


def _kind(code: str) -> ProblemKind:
    return ProblemKind(code=code, title=TITLES[code], status=STATUS_BY_CODE[code], **HELP[code]._asdict())


def _shown(request: Request, document: ProblemKind | ProblemKinds, title: str, content: str) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        page = PAGE.format(title=escape(title), content=content)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "Vary": "Accept"})
    return JSONResponse(document.model_dump(), headers={"Vary": "Accept"})


def _with_code(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
