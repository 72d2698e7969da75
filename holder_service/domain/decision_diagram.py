"""The tree that rules are paths of, rebuilt from the rules in the order they are in.

Where the rules are a tree's paths, each predicate in turn is a split: the first rule's first predicate
is the root's, and every other rule lies wholly on one side of it. Nothing depends on that, though. A
rule that lies on both sides goes both ways, so any rules make a diagram, only maybe a large one; and
in any diagram the way down leads to the *first* rule that matches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from holder_service.domain.admitted import Partition, Path

VISITS_MAX: Final = 1024
VISITS_PER_PREDICATE_MAX: Final = 2
"""How many nodes rules may pass all together: so many, or so many for each predicate. In a tree it is one at most."""


@dataclass(frozen=True, slots=True)
class Node:
    """A test of one column.

    Attributes:
        atoms: The atoms that go the way of `children[1]`, as an integer: bit a for atom a.
        children: The way on for other atoms, and for these: the place of a node; or ~r, below 0, if rule
            r is the first that matches, where r is the number of rules if none does.
    """

    column: str
    atoms: int
    children: tuple[int, int]


@dataclass(frozen=True, slots=True)
class DecisionDiagram:
    """A binary decision diagram.

    Attributes:
        root: Where the way down begins, as in `Node.children`.
        depth: The largest number of tests on a way.
    """

    root: int
    nodes: Sequence[Node]
    depth: int

    @classmethod
    def rebuilt(cls, partitions: Mapping[str, Partition], paths: Sequence[Path]) -> Self | None:
        """Rebuild the diagram of rules as `admitted_paths` gives them; `None` if they pass more nodes than they may."""
        everything = {name: (1 << partition.atoms) - 1 for name, partition in partitions.items()}
        sets = [_sets(path) for path in paths]
        root = [0]
        splits: list[tuple[str, int]] = []
        ways: list[list[int]] = []
        depth = visits = 0
        visits_max = max(VISITS_MAX, VISITS_PER_PREDICATE_MAX * sum(map(len, paths)))
        open_ends = [(root, 0, list(range(len(paths))), everything, 0)]
        while open_ends:
            children, way, rules, box, tests = open_ends.pop()
            split = _first_split(paths[rules[0]], box) if rules else None
            if split is None:
                children[way] = ~(rules[0] if rules else len(paths))
                continue
            visits += len(rules)
            if visits > visits_max:
                return None
            children[way] = len(splits)
            splits.append(split)
            ways.append([0, 0])
            depth = max(depth, tests + 1)
            column, inside = split
            for side, atoms in enumerate((box[column] & ~inside, inside)):
                alive = [rule for rule in rules if sets[rule].get(column, -1) & atoms]
                open_ends.append((ways[-1], side, alive, {**box, column: atoms}, tests + 1))
        nodes = [Node(*split, (no, yes)) for split, (no, yes) in zip(splits, ways, strict=True)]
        return cls(root[0], nodes, depth)


def _sets(path: Path) -> dict[str, int]:
    """Return what all predicates of a rule admit together, by column."""
    sets: dict[str, int] = {}
    for column, atoms in path:
        sets[column] = sets.get(column, -1) & atoms
    return sets


def _first_split(path: Path, box: Mapping[str, int]) -> tuple[str, int] | None:
    """The first of a rule's predicates that divides a box, and the atoms of the box that it admits."""
    for column, atoms in path:
        if box[column] & ~atoms:
            return column, box[column] & atoms
    return None
