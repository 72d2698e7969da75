"""Our neutral decision tree, of any arity, and its rules.

Whatever a model came from, the rest of the client sees only this: splits whose branches each carry
one predicate, and leaves that decide. Siblings that decide alike are merged, because a split that
changes no decision only adds noise (1-method §4, *pruning of non-distinguishing rules*).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.rules import Predicate, Record, Rule


@dataclass(frozen=True, slots=True)
class Leaf:
    """A decision, as the model names it, and whether it is a favourable one."""

    id: str
    decision: str
    favourable: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """One way on from a split: people whom the predicates all match go to the child."""

    predicates: tuple[Predicate, ...]
    child: "Node"


@dataclass(frozen=True, slots=True)
class Split:
    """A test of one column; its branches exclude each other and cover every value of that column."""

    id: str
    branches: tuple[Branch, ...]


Node = Leaf | Split


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """A path of the tree: whom it applies to and what it decides."""

    rule: Rule
    leaf: Leaf

    @property
    def favourable(self) -> bool:
        """Whether the rule's decision is a favourable one."""
        return self.leaf.favourable


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree over a dataset's columns."""

    root: Node

    def rules(self) -> tuple[DecisionRule, ...]:
        """All paths, left to right: pairwise disjoint, and together they cover everybody."""
        return tuple(_paths(self.root, ()))

    def merged(self) -> "Tree":
        """The same decisions (favourable or not) with as few leaves as merging siblings gives."""
        return Tree(_merge(self.root))

    def decide(self, record: Record) -> Leaf:
        """The leaf that a person reaches."""
        node = self.root
        while isinstance(node, Split):
            node = next(
                branch.child
                for branch in node.branches
                if all(predicate.matches(record.get(predicate.column)) for predicate in branch.predicates)
            )
        return node


def _paths(node: Node, path: tuple[Predicate, ...]) -> Iterator[DecisionRule]:
    if isinstance(node, Leaf):
        yield DecisionRule(Rule(id=node.id, all_of=path), node)
    else:
        for branch in node.branches:
            yield from _paths(branch.child, (*path, *branch.predicates))


def _merge(node: Node) -> Node:
    if isinstance(node, Leaf):
        return node
    branches = tuple(Branch(branch.predicates, _merge(branch.child)) for branch in node.branches)
    children = [branch.child for branch in branches]
    first = children[0]
    if isinstance(first, Leaf) and all(
        isinstance(child, Leaf) and child.favourable == first.favourable for child in children
    ):
        decisions = dict.fromkeys(child.decision for child in children if isinstance(child, Leaf))
        return Leaf(id=node.id, decision=" or ".join(decisions), favourable=first.favourable)
    return Split(node.id, branches)
