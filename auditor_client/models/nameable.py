"""Which of a dataset's columns a model may look at, so that it can be asked about (4-interface, *Rules*)."""

from typing import Final

from auditor_client.errors import ModelRefused
from auditor_client.text import no_such
from shared.contract.schema import Column, Schema

OTHER_NAMES: Final = (
    "If the model takes the dataset's own values under other names, give the dataset's names in the model's order as "
    "`columns`. Do not if a scaler, an encoder or an imputer stands before the model: it is not in what was given, "
    "and the audit would be about another model. Then give the whole pipeline (docs/model-files.md)."
)


def nameable_column(name: str, schema: Schema, *, used: str = "The model uses") -> Column:
    """The column that a model looks at, if rules may name it.

    Args:
        name: As the model has it.
        schema: The dataset's declared columns.
        used: How the model uses the column, as the beginning of a sentence: "The tree splits on".

    Raises:
        ModelRefused: It is not declared, or the label, or sensitive where the declaration does not let rules name it;
            the text says what to do, or what to ask the holder for.
    """
    column = schema.by_name.get(name)
    if column is None:
        raise ModelRefused(
            f"{used} a column that the dataset does not declare. {no_such('column', name[:80], schema.by_name)} "
            f"{OTHER_NAMES}"
        )
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
    return column
