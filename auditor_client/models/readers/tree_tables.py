"""Trees of any maker as the tables of a score document, and a single one as a tree of rules."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.inputs import opposite
from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree, examples
from shared.contract.rules import Predicate
from shared.contract.schema import Schema, Value
from shared.scores.documents import ScoreTree
from shared.wire import limits

Made = TypeVar("Made", bound=BaseModel)
Step = float | tuple[Predicate | bool, Hashable, Hashable]
"""What a node of a maker's tree is: a leaf's value, or a test and the nodes behind its two answers."""

RULES_MAX: Final = 1024
"""A single tree with more leaves is asked about as a score: its rules would be a plan that nobody reads."""


def made(part: type[Made], /, **members: Any) -> Made:
    """A part of a score document.

    Raises:
        ModelRefused: It has more, or larger, numbers than a document may have.
    """
    try:
        return part(**members)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise ModelRefused(f"The model does not fit into a score document: {reason}") from error


class TestTable:
    """The tests of a document, each once."""

    def __init__(self) -> None:
        self._indices: dict[Predicate, int] = {}
        self._seen: dict[int, tuple[Predicate, int]] = {}

    def index(self, predicate: Predicate) -> int:
        """The index of a test, which is taken in if it is new."""
        cached = self._seen.get(id(predicate))
        if cached is not None:
            return cached[1]
        if len(self._indices) >= limits.SCORE_TESTS_MAX and predicate not in self._indices:
            raise ModelRefused(f"The model has more than {limits.SCORE_TESTS_MAX} different tests.")
        index = self._indices.setdefault(predicate, len(self._indices))
        self._seen[id(predicate)] = predicate, index
        return index

    @property
    def tests(self) -> tuple[Predicate, ...]:
        """All tests, in order of their index."""
        return tuple(self._indices)


def tree_table(root: Hashable, step: Callable[[Hashable], Step], tests: TestTable) -> ScoreTree:
    """One tree, without tests whose answer is known.

    Args:
        root: Its first node.
        step: What each node is. Two nodes may lead to the same one.
        tests: The document's, which grows.
    """
    inner: dict[Hashable, tuple[int, Hashable, Hashable]] = {}
    leaves: dict[Hashable, int] = {}
    values: list[float] = []
    behind: dict[Hashable, Hashable] = {}

    def resolve(node: Hashable) -> Hashable:
        first, steps = node, 0
        while first not in behind:
            content = step(node)
            if isinstance(content, float):
                leaves[node] = len(values)
                values.append(content)
                behind[node] = node
            elif isinstance(content[0], bool):
                node = content[1] if content[0] else content[2]
                if node not in behind:
                    steps += 1
                    if steps > limits.SCORE_NODES_MAX:
                        raise ModelRefused("A tree's nodes lead round in a circle.")
                    continue
            else:
                inner[node] = (tests.index(content[0]), content[1], content[2])
                behind[node] = node
            behind[first] = behind[node]
        return behind[first]

    order: list[Hashable] = []
    state: dict[Hashable, bool] = {}  # False while a node's children are being walked
    waiting: list[tuple[Hashable, bool]] = [(resolve(root), False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            state[node] = True
            order.append(node)
        elif node in inner and node not in state:
            state[node] = False
            waiting.append((node, True))
            for child in (resolve(way) for way in inner[node][:0:-1]):
                if state.get(child) is False:
                    raise ModelRefused("A tree's nodes lead round in a circle.")
                waiting.append((child, False))
            if len(state) > limits.SCORE_NODES_MAX:
                raise ModelRefused(f"The model has more than {limits.SCORE_NODES_MAX} nodes.")
    order.reverse()
    number = {node: index for index, node in enumerate(order)}
    target = {**number, **{node: ~leaf for node, leaf in leaves.items()}}
    return made(
        ScoreTree,
        tests=tuple(inner[node][0] for node in order),
        yes=tuple(target[resolve(inner[node][1])] for node in order),
        no=tuple(target[resolve(inner[node][2])] for node in order),
        values=tuple(values),
    )


def binary_table(
    yes: Sequence[int],
    no: Sequence[int],
    answers: Sequence[Predicate | bool],
    values: Sequence[float],
    tests: TestTable,
) -> ScoreTree:
    """A binary tree whose nodes are numbered, as `tree_table` makes it of steps.

    Args:
        yes: Of each inner node, the child for yes: another one, or ~l for leaf l. It is a tree, as `require_tree` says.
        no: The other.
        answers: Of each inner node its test, or the answer that is the same for everybody.
        values: Of each leaf.
        tests: The document's, which grows.
    """
    always = {node: yes[node] if answer else no[node] for node, answer in enumerate(answers) if type(answer) is bool}

    def behind(node: int) -> int:
        while node in always:
            node = always[node]
        return node

    if always:
        yes, no = [behind(child) for child in yes], [behind(child) for child in no]
    index = [-1] * len(answers)
    leaves: dict[int, int] = {}
    root = behind(0 if answers else -1)
    waiting = [root]
    if root < 0:
        leaves[root] = 0
        waiting = []
    else:
        index[root] = tests.index(answers[root])  # type: ignore[arg-type]  # no constant is left
    while waiting:
        node = waiting.pop()
        for child in (no[node], yes[node]):
            if child < 0:
                leaves[child] = len(leaves)
            else:
                index[child] = tests.index(answers[child])  # type: ignore[arg-type]
                waiting.append(child)
    number = {leaf: ~position for leaf, position in leaves.items()}
    order: list[int] = []
    waiting = [root] if root >= 0 else []
    while waiting:
        node = waiting.pop()
        number[node] = len(order)
        order.append(node)
        waiting += [child for child in (yes[node], no[node]) if child >= 0]
    if len(order) > limits.SCORE_NODES_MAX:
        raise ModelRefused(f"The model has more than {limits.SCORE_NODES_MAX} nodes.")
    return made(
        ScoreTree,
        tests=tuple([index[node] for node in order]),
        yes=tuple([number[yes[node]] for node in order]),
        no=tuple([number[no[node]] for node in order]),
        values=tuple([values[~leaf] for leaf in leaves]),
    )


def tree_of_rules(
    table: ScoreTree, tests: tuple[Predicate, ...], schema: Schema, decide: Callable[[float], tuple[str, bool]]
) -> Tree | None:
    """A tree over declared columns that decides as a table's leaves do; None if it has very many leaves.

    Args:
        table: The tree.
        tests: What its nodes test.
        schema: The declared columns.
        decide: What a leaf of some value decides, and whether that is favourable.
    """
    if len(table.values) > RULES_MAX or len(table.tests) > RULES_MAX:
        return None
    values = {
        name: examples(schema.by_name[name], [test for test in tests if test.column == name])
        for name in dict.fromkeys(tests[index].column for index in table.tests)
    }
    leaves = 0

    def node(index: int, arriving: Mapping[str, list[Value | None]]) -> Node:
        nonlocal leaves
        if index < 0:
            leaves += 1
            if leaves > RULES_MAX:
                raise _TooManyLeavesError
            return Leaf(f"leaf-{leaves}", *decide(table.values[~index]))
        test = tests[table.tests[index]]
        ways = []
        for predicate, child in (
            (test, table.yes[index]),
            (opposite(test, schema.by_name[test.column]), table.no[index]),
        ):
            admitted = [value for value in arriving[test.column] if predicate.matches(value)]
            if admitted:
                ways.append(Branch((predicate,), node(child, {**arriving, test.column: admitted})))
        if len(ways) == 1:
            return ways[0].child
        return Split(f"node-{index}-{leaves}", tuple(ways))

    try:
        return Tree(node(0 if table.tests else -1, values))
    except _TooManyLeavesError:
        return None


class _TooManyLeavesError(Exception):
    """A tree whose branches join again falls apart into too many rules."""
