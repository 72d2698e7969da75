"""The document of a derived column, read apart: what is imported here, the child that reads imports anew."""

from typing import Any

from pydantic import ValidationError

from holder_service.records.person_keys import PersonSecret
from holder_service.services.columns.asked_columns import AskedColumn
from holder_service.web.edge.documents import strict_document
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn
from shared.wire import limits


def read_column(
    body: bytes, auditor: str, dataset: str, schema: Schema, secret: PersonSecret
) -> AskedColumn | list[dict[str, Any]]:
    """Read a request for a derived column; done apart.

    Returns:
        The column; or what of the request is not of its form, as the validator says it, without what was sent.

    Raises:
        InvalidRequest, TooManyParts, PlanRefused: It cannot be read, or does not fit the declared columns.
    """
    document = strict_document(body, parts_max=limits.LISTS_AND_OBJECTS_PER_COLUMN_MAX)
    try:
        asked = DerivedColumn.model_validate(document)
    except ValidationError as error:
        return [
            {**one, "loc": ("body", *one["loc"]), "input": bool(one["input"])}
            for one in error.errors(include_url=False)
        ]
    return AskedColumn.of(asked, auditor=auditor, dataset=dataset, schema=schema, secret=secret)
