"""What the deadline supposes of a learner's steps: bounds from public facts, whatever was chosen before (2-privacy §7).

A count reads each record once for each class of disjoint cells. Cells of one class lie behind each other in words of
`WORD_RULES` rules, so that classes together have less than one word each more than their cells fill.
"""

from dataclasses import replace

from holder_service.domain.deadlines import WORD_RULES, PlanSize
from shared.contract.schema import Column, Schema
from shared.kinds.trainings import Training
from shared.wire import limits
from shared.wire.problems import TooLarge


def choice_size(training: Training, schema: Schema, *, level: int) -> PlanSize:
    """As many cells as a level counts at most; a cell's rule has its node's splits, its bin, the label and a group.

    Raises:
        TooLarge: There are too many.
    """
    nodes, features = 2**level, len(training.features)
    cells = nodes * _bins(training, schema) * 2
    if cells > limits.CELLS_PER_STEP_MAX:
        raise TooLarge(
            what=f"cells on level {level + 1} (nodes times bins times both labels)", limit=limits.CELLS_PER_STEP_MAX,
            path="features", asked="training", remedy="name fewer features or cuts, or a smaller depth",
        )  # fmt: skip
    grouped = len(training.sensitive)
    words, columns = cells // WORD_RULES + features, features + 1 + grouped
    return PlanSize(
        rules=cells + nodes, predicates=cells * (level + 3 + 2 * grouped) + nodes * level, values=0,
        cuts=_cuts(training) + 5 * grouped, columns=columns, counts={"choice": cells + 8 * nodes}, gaussians=0,
        classes=features, words=words, word_columns=words * columns, starts=1,
    )  # fmt: skip


def count_size(training: Training, schema: Schema, *, cells: int, tests: int) -> PlanSize:
    """As many counts as some disjoint cells have by label and group.

    Args:
        training: Of the label and the groups.
        schema: The declared columns.
        cells: How many.
        tests: Of how many comparisons with features each consists at most.

    Raises:
        TooLarge: There are too many.
    """
    return _counted(training, schema, cells=cells * 2, tests=tests, classes=1)


def band_size(training: Training, schema: Schema, *, cells: int, score_steps: int) -> PlanSize:
    """The same where cells are bands of two scores, each between two numbers; scores are worked out while counting.

    Raises:
        TooLarge: There are too many.
    """
    size = count_size(training, schema, cells=cells, tests=4)
    return replace(
        size, cuts=size.cuts + 4 * cells, columns=size.columns + 2, word_columns=size.word_columns + 2 * size.words,
        score_steps=score_steps,
    )  # fmt: skip


def table_size(training: Training, schema: Schema, *, added: int) -> PlanSize:
    """As many counts as all features' bins have by label and group.

    Args:
        training: Of the features.
        schema: The declared columns.
        added: How many numbers are added up of what is counted.

    Raises:
        TooLarge: There are too many.
    """
    cells = _bins(training, schema) * 2
    return replace(_counted(training, schema, cells=cells, tests=2, classes=len(training.features)), added=added)


def _counted(training: Training, schema: Schema, *, cells: int, tests: int, classes: int) -> PlanSize:
    counts = cells * schema.group_count(training.sensitive)
    if counts > limits.COUNTS_PER_PLAN_MAX:
        raise TooLarge(
            what="counts (cells times both labels times groups)", limit=limits.COUNTS_PER_PLAN_MAX, path="sensitive",
            asked="training", remedy="name fewer sensitive columns, features or cuts, or a simpler algorithm",
        )  # fmt: skip
    bands = [len(column.bands_from) + 1 for column in _sensitive(training, schema) if column.bands_from is not None]
    words, columns = cells // WORD_RULES + classes, (len(training.features) if tests else 0) + 1
    return PlanSize(
        rules=cells, predicates=cells * (tests + 1), values=0, cuts=_cuts(training) + sum(bands),
        columns=columns + len(bands), counts={"laplace": counts}, gaussians=0, classes=classes,
        words=words, word_columns=words * columns, starts=1,
    )  # fmt: skip


def _bins(training: Training, schema: Schema) -> int:
    """Return how many bins all features have together."""
    return sum(feature.bins(schema.by_name[feature.column]) for feature in training.features)


def _cuts(training: Training) -> int:
    """Return how often columns are cut at most: numbers twice at each cut, and once more each, as the label is."""
    return 1 + sum(2 * len(feature.cuts or ()) + 1 for feature in training.features)


def _sensitive(training: Training, schema: Schema) -> list[Column]:
    return [schema.by_name[name] for name in training.sensitive]
