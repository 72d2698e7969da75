"""What the deadline supposes of a step, from the cells that it counts (2-privacy §7)."""

from collections.abc import Sequence

from holder_service.domain.deadlines import WORD_RULES, PlanSize
from shared.contract.rules import Cell
from shared.contract.schema import Schema


def size_of_cells(
    cells: Sequence[Cell], schema: Schema, *, classes: int, noisy: int, sensitive: Sequence[str] = ()
) -> PlanSize:
    """The size of a step whose cells are known beforehand.

    Args:
        cells: All of them.
        schema: The declared columns.
        classes: Into how many classes the cells fall.
        noisy: How many numbers get noise.
        sensitive: The columns that the cells are counted by.
    """
    predicates = [one for cell in cells for rule in cell.any_of for one in rule.all_of]
    named = {one.column for one in predicates}
    cuts = {(one.column, value) for one in predicates for value in one.operands if schema.by_name[one.column].ordered}
    bands = [schema.by_name[name] for name in sensitive]
    band_cuts = [len(column.bands_from) + 1 for column in bands if column.bands_from is not None]
    words = -(-len(cells) // WORD_RULES) + classes
    return PlanSize(
        rules=len(cells), predicates=len(predicates), values=sum(len(one.values or ()) for one in predicates),
        cuts=len(named) + 2 * len(cuts) + sum(band_cuts), columns=len(named) + len(band_cuts),
        counts={"laplace": max(noisy, len(cells) * schema.group_count(sensitive))}, gaussians=0, classes=classes,
        words=words, word_columns=words * len(named), starts=1,
    )  # fmt: skip
