"""What the OpenAPI document says of problems, and the page that each problem's `type` leads to."""

from typing import Any, Final

from fastapi import APIRouter

from holder_service.domain.errors import NotFound
from holder_service.web.problems import STATUS_BY_CODE
from shared.problems import PROBLEM_MEDIA_TYPE, TITLES, Problem

PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {
        "description": "; ".join(TITLES[code] for code, number in STATUS_BY_CODE.items() if number == status),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in sorted({*STATUS_BY_CODE.values()} - {500})
}
PROBLEM_RESPONSES[400] = {
    "description": "The request could not be read",
    "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

router = APIRouter()


@router.get("/problems/{code}", tags=["public"], responses={404: PROBLEM_RESPONSES[404]})
async def explain_problem(code: str) -> dict[str, Any]:
    """What a problem's code means."""
    if code not in TITLES:
        raise NotFound("There is no such problem code.")
    return {"code": code, "title": TITLES[code], "status": STATUS_BY_CODE[code]}


def with_problem_schema(document: dict[str, Any]) -> dict[str, Any]:
    """Add the problem document's schema to an OpenAPI document."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    return document
