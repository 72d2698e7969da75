"""The picture of a small tree: its splits, its decisions, and who comes to each leaf."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.estimation.cell_shares import noise_reach
from auditor_client.findings.insight import leaf_shares
from auditor_client.models.tree import Branch, DecisionRule, Leaf, Node, Split, Tree
from auditor_client.report.rule_tree import NODES_MAX, TreeNode, rule_tree
from shared.contract.rules import Predicate
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise, Noise
from testing.exact_audits import audited
from testing.invented.audits import decision_rules, invented_audit
from testing.invented.people import PEOPLE


def outline(nodes: tuple[TreeNode, ...], depth: int = 0) -> list[str]:
    """The picture as indented lines."""
    lines = []
    for node in nodes:
        said = " and ".join(map(str, node.conditions)) + (f": {node.decision}" if node.decision else "")
        lines += ["  " * depth + said, *outline(node.children, depth + 1)]
    return lines


def test_a_tree_is_drawn_with_each_split_once() -> None:
    assert outline(rule_tree(invented_audit())) == [
        "marital status is not Married-civ-spouse",
        "  capital gain is above 7073.5: > 50K",
        "  capital gain is at most 7073.5: ≤ 50K",
        "marital status is Married-civ-spouse",
        "  years of education is at most 12.5",
        "    capital gain is above 5095.5: > 50K",
        "    capital gain is at most 5095.5: ≤ 50K",
        "  years of education is above 12.5: > 50K",
    ]


def test_rules_that_are_no_tree_are_not_drawn_as_one() -> None:
    age, hours = {"column": "age", "op": "le", "value": 20}, {"column": "hours", "op": "gt", "value": 5}
    lists: list[list[list[dict[str, Any]]]] = [[[age], [hours], [age, hours]], [[age], [], [hours]]]

    for rules in lists:
        made = decision_rules([(index == 0, predicates) for index, predicates in enumerate(rules)])
        assert rule_tree(invented_audit(rules=made)) == ()


def chain(splits: int) -> tuple[DecisionRule, ...]:
    """A tree that asks for one number after another."""
    node: Node = Leaf("last", "granted", favourable=True)
    for number in range(splits):
        branches = [
            Branch((Predicate.model_validate({"column": "age", "op": op, "value": number}),), child)
            for op, child in (("le", Leaf(f"leaf-{number}", "refused", favourable=number % 2 == 0)), ("gt", node))
        ]
        node = Split(f"split-{number}", tuple(branches))
    return Tree(node).rules()


@pytest.mark.parametrize(("splits", "drawn"), [(NODES_MAX // 2, True), (NODES_MAX // 2 + 1, False)])
def test_a_tree_of_more_nodes_than_can_be_looked_at_is_not_drawn(splits: int, drawn: bool) -> None:
    assert bool(rule_tree(invented_audit(rules=chain(splits)))) == drawn


def test_each_leaf_has_the_share_of_each_group_that_comes_to_it() -> None:
    """The counts are exact here; the intervals are as wide as the noise could have been."""
    result = audited(epsilon="0.5")
    sizes = {sex: sum(person["sex"] == sex for person in PEOPLE) for sex in ("Female", "Male")}

    shares = leaf_shares(result)

    assert len(shares) == 4
    leaves = {rule.leaf.id: rule.rule for rule in result.rules}
    for leaf, of_leaf in shares.items():
        for group, share in zip(result.parity.groups, of_leaf, strict=True):
            sex = str(group.group[0])
            people = sum(person["sex"] == sex and leaves[leaf].matches(person) for person in PEOPLE)
            assert share.value == pytest.approx(people / sizes[sex], abs=0.02)
            assert 0 <= share.low <= share.value <= share.high <= 1
            assert share.low < share.high


def test_no_shares_are_shown_where_rules_were_not_counted() -> None:
    assert leaf_shares(audited(strategy="verdict")) == {}
    assert all(not node.bars for node in rule_tree(audited(strategy="verdict")))


@given(st.floats(0.05, 30), st.sampled_from([0.8, 0.95, 0.99]), st.booleans())
def test_the_reach_of_noise_is_the_smallest_that_holds(scale: float, level: float, gaussian: bool) -> None:
    noise = DiscreteGaussianNoise(scale=scale) if gaussian else DiscreteLaplaceNoise(scale=scale)

    reach = noise_reach(noise, level)

    assert reach is not None
    within = [sum(math.exp(noise.log_mass(k)) for k in range(-end, end + 1)) for end in (reach - 1, reach)]
    assert within[1] >= level - 1e-9
    assert reach == 0 or within[0] < level + 1e-9


@pytest.mark.parametrize("noise", [DiscreteLaplaceNoise(scale=3.0), DiscreteGaussianNoise(scale=3.0)])
def test_the_reach_ends_where_a_level_is_above_every_rounded_sum(noise: Noise) -> None:
    assert noise_reach(noise, math.nextafter(1, 0)) is not None


def test_a_mechanism_whose_error_depends_on_the_count_has_no_reach() -> None:
    assert noise_reach(ExponentialNoise(scale=2.0, upper=100), 0.95) is None
