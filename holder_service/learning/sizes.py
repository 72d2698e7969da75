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
    predicates = [predicate for cell in cells for rule in cell.any_of for predicate in rule.all_of]
    names = {predicate.column for predicate in predicates}
    ordered = [predicate for predicate in predicates if schema.by_name[predicate.column].ordered]
    cuts = {(predicate.column, value) for predicate in ordered for value in predicate.operands}
    bands = [schema.by_name[name] for name in sensitive]
    band_cuts = [len(column.bands_from) + 1 for column in bands if column.bands_from is not None]
    words = -(-len(cells) // WORD_RULES) + classes
    return PlanSize(
        rules=len(cells), predicates=len(predicates), values=sum(len(each.values or ()) for each in predicates),
        cuts=len(names) + 2 * len(cuts) + sum(band_cuts), columns=len(names) + len(band_cuts),
        counts={"laplace": max(noisy, len(cells) * schema.group_count(sensitive))}, gaussians=0, classes=classes,
        words=words, word_columns=words * len(names), starts=1,
    )  # fmt: skip
