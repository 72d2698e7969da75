"""The contract to read in a browser, offline: Swagger UI on a page that can reach nothing.

A script on the holder's own origin could use an administrator's session in the console. So the page is sandboxed: it
has an origin of its own and no way to call anybody, the contract is in the page itself, and nothing can be tried out
from there. Its files come from the package `fastapi-swagger`, which carries Swagger UI as its makers publish it.
"""

import json
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from holder_service.domain.errors import NotFound
from holder_service.web.rest.contract import contract

POLICY: Final = (
    "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
VIEWER: Final = files("fastapi_swagger") / "resources"
MEDIA_TYPES: Final = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
START: Final = """\
SwaggerUIBundle({
  spec: JSON.parse(document.getElementById("contract").textContent),
  dom_id: "#viewer",
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  supportedSubmitMethods: [],
  syntaxHighlight: false,
  validatorUrl: null,
});
"""
PAGE: Final = """<!DOCTYPE html>
<html lang="en-GB"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>PAFER holder: the interface</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>
.scheme-container, .authorization__btn {{ display: none }} /* nothing can be called from here */
body > p {{ margin: 1rem; font: 1rem sans-serif }}
</style>
<p>For machines: <a href="/openapi.json">/openapi.json</a>. For administrators: <a href="/console">the console</a>.
<noscript>This page needs a script to be read; it loads nothing from elsewhere and calls nobody.</noscript>
<div id="viewer"></div>
<script type="application/json" id="contract">{contract}</script>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script></html>
"""

router = APIRouter(include_in_schema=False)


@router.get("/")
async def front_page() -> RedirectResponse:
    """Leads to the contract."""
    return RedirectResponse("/docs")


@router.get("/docs")
async def contract_page(request: Request) -> HTMLResponse:
    """The contract to read."""
    document = json.dumps(contract(request.app), ensure_ascii=False).replace("<", "\\u003c")
    return HTMLResponse(PAGE.format(contract=document), headers={"Content-Security-Policy": POLICY})


@router.get("/docs/{name}")
def viewer_file(name: str) -> Response:
    """A file of the viewer."""
    headers = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}
    if name == "start.js":
        return Response(START, media_type="text/javascript", headers=headers)
    if name not in MEDIA_TYPES:
        raise NotFound("This file does not exist. Open /docs.")
    return Response(VIEWER.joinpath(name).read_bytes(), media_type=MEDIA_TYPES[name], headers=headers)
