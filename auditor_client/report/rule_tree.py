"""A small tree as a picture: its splits in few words, and at each leaf the share of each group's people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.dataset_words import DatasetWords
from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import leaf_shares
from auditor_client.models.tree import DecisionRule
from auditor_client.report.axes import LinearAxis, Mark, interval_text
from auditor_client.report.formats import group_words, known, percent
from auditor_client.rule_words import Condition
from shared.contract.rules import Predicate, Rule
from shared.wire.wording import joined

NODES_MAX: Final = 31
LEAVES_MIN: Final = 3
GROUPS_MAX: Final = 4
"""Of more groups a leaf shows the two of the lowest and the highest rate."""
_SHARES: Final = LinearAxis(0.0, 1.0, 2)

Path = tuple[tuple[Predicate, ...], DecisionRule]
"""What is left of a rule's way to its leaf."""


@dataclass(frozen=True, slots=True)
class LeafBar:
    """The share of a group's people in a leaf."""

    group: str
    share: str
    interval: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One branch: the people whom it takes, and either where they go on or what is decided about them."""

    conditions: tuple[Condition, ...]
    children: tuple["TreeNode", ...] = ()
    decision: str = ""
    favourable: bool = False
    bars: tuple[LeafBar, ...] = ()


def rule_tree(finding: Finding) -> tuple[TreeNode, ...]:
    """The branches of the root; empty if the rules are no tree, or one too small or too large to be drawn."""
    rules = finding.rules
    if finding.scores is not None or finding.chain is not None or not LEAVES_MIN <= len(rules) <= (NODES_MAX + 1) // 2:
        return ()
    bars = _bars(finding)
    nodes = _branches([(rule.rule.all_of, rule) for rule in rules], finding.question.words, bars)
    return nodes if sum(1 for node in nodes or () for _ in _all(node)) < NODES_MAX and nodes else ()


def _branches(
    paths: Sequence[Path], words: DatasetWords, bars: Mapping[str, tuple[LeafBar, ...]]
) -> tuple[TreeNode, ...] | None:
    """The branches of one node; None if its paths do not all go on with a test of one column."""
    if len({left[0].column if left else "" for left, _ in paths}) != 1 or not paths[0][0]:
        return None
    taken: dict[Predicate, list[Path]] = {}
    for left, rule in paths:
        taken.setdefault(left[0], []).append((left, rule))
    nodes = [_node(ways, words, bars) for ways in taken.values()]
    present = [node for node in nodes if node is not None]
    return tuple(present) if len(present) == len(nodes) else None


def _node(ways: Sequence[Path], words: DatasetWords, bars: Mapping[str, tuple[LeafBar, ...]]) -> TreeNode | None:
    """A branch: all tests of its column that its ways have in common, and what comes after them."""
    first, length = ways[0][0], 1
    while all(left[: length + 1] == first[: length + 1] for left, _ in ways) and length < len(first):
        if first[length].column != first[0].column:
            break
        length += 1
    conditions = words.rule(Rule(all_of=first[:length]))
    remainder = [(left[length:], rule) for left, rule in ways]
    if len(remainder) == 1 and not remainder[0][0]:
        leaf = remainder[0][1].leaf
        return TreeNode(conditions, (), leaf.decision, leaf.favourable, bars.get(leaf.id, ()))
    children = _branches(remainder, words, bars)
    return None if children is None else TreeNode(conditions, children)


def _all(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _bars(finding: Finding) -> dict[str, tuple[LeafBar, ...]]:
    shares = leaf_shares(finding)
    if not shares:
        return {}
    groups = finding.parity.groups
    chosen = list(range(len(groups)))
    if len(groups) > GROUPS_MAX:
        chosen = [index for index, group in enumerate(groups) if group in (finding.parity.extremes or ())]
    return {
        leaf: tuple(
            _bar(joined(group_words(finding.question, groups[index].group), ", "), of_group[index]) for index in chosen
        )
        for leaf, of_group in shares.items()
    }


def _bar(group: str, share: Estimate) -> LeafBar:
    return LeafBar(group, known(share, percent), interval_text(share, percent), _SHARES.mark(share))
