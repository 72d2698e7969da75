"""The columns of a training where a request names none, and the features that it names as texts (7-training §1).

All of it follows from the declaration: where bins begin is public, and never read off records.
"""

import math
from typing import Any, Final

from auditor_client.asking.strata import column_and_bands
from auditor_client.errors import QuestionRefused
from auditor_client.text import no_such
from shared.contract.schema import Column, Schema
from shared.wire import limits

BINS: Final = 16
"""Into so many bins of one width the declared range of an ordered column is cut, unless cuts are given."""


def label_of(named: str | None, schema: Schema) -> str:
    """The label that is named, or the declared one.

    Raises:
        QuestionRefused: The dataset declares none.
    """
    declared = [column.name for column in schema.columns if column.label]
    if named is not None or declared:
        return named or declared[0]
    raise QuestionRefused(
        "The dataset does not declare a label, so a model does not have a target to learn. Ask the holder's "
        "administrator to declare one."
    )


def sensitive_of(schema: Schema) -> tuple[str, ...]:
    """All columns that make groups, and not of perturbed reports."""
    found = [schema.by_name[name] for name in schema.sensitive]
    return tuple(column.name for column in found if column.group_values and column.randomised_response is None)


def nameable(schema: Schema) -> tuple[str, ...]:
    """All columns that a model may use and that part people; sensitive ones only if they are named.

    Raises:
        QuestionRefused: They are more than a training may have.
    """
    found = [
        column.name
        for column in schema.columns
        if schema.may_be_named(column.name)
        and not (column.label or column.sensitive)
        and (column.ordered or len(column.values) + column.nullable > 1)
    ]
    if len(found) > limits.FEATURES_PER_TRAINING_MAX:
        raise QuestionRefused(
            f"The dataset has {len(found)} columns that a model may use, and the maximum is "
            f"{limits.FEATURES_PER_TRAINING_MAX}. Name the columns to use (`features`)."
        )
    return tuple(found)


def feature_of(text: str, schema: Schema) -> dict[str, Any]:
    """A feature as the contract has it, of a text such as "education" or "age=25,35,45".

    Raises:
        QuestionRefused: It names no column, or no numbers.
    """
    name, given = column_and_bands(text, schema.by_name)
    column = schema.by_name.get(name)
    if column is None:
        raise QuestionRefused(f"`features`: {no_such('column', name, nameable(schema))}")
    if not given:
        return {"column": name, "cuts": even_cuts(column)} if column.ordered else {"column": name}
    try:
        return {"column": name, "cuts": [float(cut) for cut in given.split(",")]}
    except ValueError:
        raise QuestionRefused(
            f"`features`: {text!r} is not a column with the numbers at which its bins begin. Write it as age=25,35,45."
        ) from None


def even_cuts(column: Column) -> tuple[float, ...]:
    """Where `BINS` bins of one width begin in an ordered column's declared range; of an integer at whole numbers.

    Raises:
        QuestionRefused: It declares no finite range, or one value.
    """
    low, high = column.minimum, column.maximum
    if low is None or high is None or not math.isfinite(float(high) - float(low)):
        raise QuestionRefused(
            f"Column {column.name!r} does not declare a range to derive bins from. State where its bins begin "
            f"(`features`), such as {column.name}=10,20,30, or leave the column out."
        )
    cuts = [low + (high - low) * part / BINS for part in range(1, BINS)]
    if column.type == "integer":
        cuts = [math.ceil(cut) for cut in cuts]
    found = tuple(dict.fromkeys(cut for cut in cuts if low < cut <= high))
    if not found:
        raise QuestionRefused(
            f"Column {column.name!r} has a single value and cannot split anyone. Remove it (`features`)."
        )
    return found
