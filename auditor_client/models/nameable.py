"""Which of a dataset's columns a model may look at, so that it can be asked about (4-interface, *Rules*)."""

from auditor_client.errors import ModelRefused
from shared.schema import Column, Schema


def require_nameable(column: Column, schema: Schema, *, used: str) -> None:
    """Refuse a model that looks at a column that no rule may name.

    Args:
        column: Of the schema.
        schema: The dataset's declared columns.
        used: How the model uses the column, as the beginning of a sentence: "The tree splits on".

    Raises:
        ModelRefused: It is the label, or sensitive where the declaration does not let rules name it; the text says what
            to ask the holder for.
    """
    if column.label:
        raise ModelRefused(
            f"{used} {column.name!r}, which is the label: no rule may name it. Train the model without it."
        )
    if column.randomised_response is not None:
        raise ModelRefused(
            f"{used} {column.name!r}, which was perturbed at its source: the holder has reports of it, and the model "
            "decides by true values. Only a holder of those can audit it."
        )
    if not schema.may_be_named(column.name):
        raise ModelRefused(
            f"{used} {column.name!r}, which is sensitive, and the dataset's declaration lets no rule name it. The "
            "model can be audited as it is once it does: ask the holder's administrator to declare the dataset with "
            '"sensitive_in_rules": true.'
        )
