"""All that is wrong with a declaration, in every column and of the whole: people write it by hand and mend it once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from shared.contract.schema import Column
from shared.wire import limits

FAULTS_MAX: Final = 20
NO_SENSITIVE: Final = "Declare at least one sensitive column: nothing else is counted by."
_COLUMN: Final[TypeAdapter[Column]] = TypeAdapter(Column)


class UnfitDeclaration(ValueError):
    """A declaration that does not fit.

    Attributes:
        errors: What is wrong, as the validator lists errors, at most `FAULTS_MAX`.
    """

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(str(errors[0]["msg"]).removeprefix("Value error, "))
        self.errors = tuple(errors[:FAULTS_MAX])


def unfit_declaration(document: Any, error: ValidationError) -> UnfitDeclaration:
    """All that is wrong with a document that a validator refused, which stops at the first column that does not fit."""
    found: list[Mapping[str, Any]] = list(error.errors(include_url=False))
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, list) or len(columns) > limits.COLUMNS_PER_DATASET_MAX:
        return UnfitDeclaration(found)
    of_columns: list[Mapping[str, Any]] = []
    for index, column in enumerate(columns):
        if len(of_columns) >= FAULTS_MAX:
            break
        try:
            _COLUMN.validate_python(column)
        except ValidationError as unfit:
            of_columns += [{**one, "loc": ("columns", index, *one["loc"])} for one in unfit.errors(include_url=False)]
    if of_columns:
        found = [one for one in found if len(one["loc"]) < 2 or one["loc"][0] != "columns"] + of_columns
    named = any(NO_SENSITIVE in one["msg"] for one in found)
    if not named and not any(isinstance(column, dict) and column.get("sensitive") for column in columns):
        found.append({"type": "value_error", "loc": (), "msg": NO_SENSITIVE, "input": None})
    return UnfitDeclaration(found)
