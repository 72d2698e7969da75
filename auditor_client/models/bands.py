"""Rules over bands of numbers, of which those that lie behind each other and decide alike become one."""

from collections.abc import Sequence

from shared.contract.rules import Predicate, Rule

Decided = tuple[Rule, bool]
Path = tuple[Predicate, ...]


def joined_rules(rules: Sequence[Decided]) -> list[Decided]:
    """Rules that match the same people with the same decisions, in the order of the first of each.

    Two are joined if they decide alike and say the same but for one column, of which one ends where the other begins:
    "x < 3" and "x ≥ 3" are everybody, "2 ≤ x < 3" and "3 ≤ x < 5" are "2 ≤ x < 5". So rules that exclude each other and
    cover everybody still do.

    Args:
        rules: Of each whom it matches, and whether it is favourable.
    """
    left = list(rules)
    while (pair := _pair(left)) is not None:
        first, second, path = pair
        left[first] = (left[first][0].model_copy(update={"all_of": path}), left[first][1])
        del left[second]
    return left


def _pair(rules: Sequence[Decided]) -> tuple[int, int, Path] | None:
    """The first two that can be joined, and whom they match together."""
    for first, (rule, favourable) in enumerate(rules):
        for second in range(first + 1, len(rules)):
            if rules[second][1] == favourable and (path := _joined(rule.all_of, rules[second][0].all_of)) is not None:
                return first, second, path
    return None


def _joined(first: Path, second: Path) -> Path | None:
    """Return whom two rules match together, if they lie behind each other on one column and are alike on all others."""
    columns = {test.column for test in (*first, *second) if _on(first, test.column) != _on(second, test.column)}
    if len(columns) != 1:
        return None
    (column,) = columns
    for low, high in ((_on(first, column), _on(second, column)), (_on(second, column), _on(first, column))):
        ends, starts = [test for test in low if test.op == "lt"], [test for test in high if test.op == "ge"]
        bounds = all(test.op in ("lt", "ge") and not test.or_missing for test in (*low, *high))
        if bounds and len(ends) == len(starts) == 1 and ends[0].value == starts[0].value:
            outer = {test for test in low if test.op == "ge"} | {test for test in high if test.op == "lt"}
            tests = dict.fromkeys((*first, *second))
            return tuple(test for test in tests if test.column != column or test in outer)
    return None


def _on(path: Path, column: str) -> Path:
    """Return what a rule says of one column."""
    return tuple(test for test in path if test.column == column)
