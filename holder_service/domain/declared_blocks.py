"""Rules for the declared blocks of a population: one column for all, and no number for two values (spec 10 §4).

The blocks belong to the population, as its relation does. Once records are loaded or losses charged they can only grow:
people stay in the blocks that they were in, and sums stay with their numbers.
"""

from collections.abc import Mapping
from typing import Any

from holder_service.domain.errors import Conflict
from shared.contract.blocks import BlockDomain
from shared.contract.schema import Schema
from shared.privacy.amounts import Loss


def require_one_block_column(present: Mapping[str, Schema], name: str, after: Schema, *, fixed: bool) -> None:
    """Refuse a declaration whose blocks contradict the population's.

    Args:
        present: The population's datasets as they are declared, retired ones included, by name.
        name: Of the dataset that is declared.
        after: As it would be.
        fixed: Whether records were ever loaded into a dataset of the population, or losses charged.

    Raises:
        Conflict: It would have other blocks.
    """
    declared = after.block_domain
    for other, schema in present.items():
        if other == name and not fixed:
            continue
        before = schema.block_domain
        if before is None or declared is None:
            fits = before is declared
        else:
            fits = declared.extends(before) if other == name else declared.agrees(before)
        if not fits:
            raise Conflict(
                f"The blocks of dataset {name!r} do not fit those of dataset {other!r}: every dataset of a population "
                "declares the same `blocks` (column, per_person_max) or none. Once records are loaded or losses "
                "charged, new values may only be added behind the others, and the maximum raised. Declare it so, or "
                "in another population."
            )


def require_no_blocks(*populations: Mapping[str, Schema]) -> None:
    """Refuse what charges or joins whole populations where losses are added up by block.

    Raises:
        Conflict: A dataset of one of them has blocks.
    """
    for schemas in populations:
        for name, schema in schemas.items():
            if schema.blocks is not None:
                raise Conflict(
                    f"Dataset {name!r} adds up losses by block of people, and populations with blocks can neither be "
                    "merged nor compared by a charged look. Run `holder overlaps` on the holder's machine instead."
                )


def require_promise(cap: Loss, schemas: Mapping[str, Schema]) -> None:
    """Refuse a cap of which one person may lose more than an amount can say.

    Raises:
        Conflict: The cap, times the number of blocks that a person may be in, is too large.
    """
    for schema in schemas.values():
        if schema.blocks is not None and not (cap * schema.blocks.per_person_max).can_be_said:
            raise Conflict(
                f"One person may be in {schema.blocks.per_person_max} blocks, and so lose that many times the cap of "
                f"{cap}, which is more than any amount that can be stated. Lower the cap or per_person_max."
            )


def entered_blocks(domain: BlockDomain | None) -> dict[str, Any]:
    """Return what the entry of a dataset says of its blocks; nothing without them."""
    if domain is None:
        return {}
    return {
        "blocks": {
            "column": domain.column, "per_person_max": domain.per_person_max,
            "first": domain.first, "last": domain.last,
        }
    }  # fmt: skip
