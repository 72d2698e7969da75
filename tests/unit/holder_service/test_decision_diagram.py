"""A rebuilt diagram leads to the first rule that matches, whatever the rules are; of a tree it is the tree."""

import random

from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.admitted import admitted_paths
from holder_service.domain.decision_diagram import DecisionDiagram
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column, Schema
from testing.invented import plans as invented_plans

NAMES = [f"x{index}" for index in range(30)]
NUMBERS = Schema(person_key="person", columns=tuple(Column(name=name, type="number") for name in NAMES))


@given(st.data())
def test_the_way_down_leads_to_the_first_rule_that_matches(data: st.DataObject) -> None:
    """Rules may overlap, contradict themselves, leave people out."""
    schema = data.draw(invented_plans.schemas())
    asked = data.draw(st.lists(invented_plans.rules(schema), max_size=6))
    person = data.draw(invented_plans.records(schema))
    partitions, paths = admitted_paths(asked, schema)

    diagram = DecisionDiagram.rebuilt(partitions, paths)

    assert diagram is not None
    way, tests = diagram.root, 0
    while way >= 0:
        node = diagram.nodes[way]
        index = invented_plans.atom(partitions[node.column], person[node.column])
        way, tests = node.children[node.atoms >> index & 1], tests + 1
    assert ~way == next((n for n, rule in enumerate(asked) if rule.matches(person)), len(asked))
    assert tests <= diagram.depth


def test_a_tree_is_rebuilt_as_it_was() -> None:
    """As many nodes as there were splits, as deep as its longest path; the order of its leaves does not matter."""
    rng = random.Random(2)
    leaves: list[tuple[list[Predicate], dict[str, tuple[float, float]]]] = [([], {})]
    while len(leaves) < 500:
        path, box = leaves.pop(rng.randrange(len(leaves)))
        name = rng.choice(NAMES)
        low, high = box.get(name, (0.0, 1.0))
        value = rng.uniform(low, high)
        for op, side in (("le", (low, value)), ("gt", (value, high))):
            leaves.append(
                ([*path, Predicate.model_validate({"column": name, "op": op, "value": value})], {**box, name: side})
            )

    for some_order in (leaves, rng.sample(leaves, len(leaves))):
        rules = [Rule(all_of=tuple(path)) for path, _ in some_order]
        diagram = DecisionDiagram.rebuilt(*admitted_paths(rules, NUMBERS))

        assert diagram is not None
        assert len(diagram.nodes) == 499
        assert diagram.depth == max(len(path) for path, _ in leaves)


def test_a_diagram_that_grows_too_large_is_given_up() -> None:
    """Each rule fails in two ways, and the rest of the rules would follow either."""
    asked = [
        Rule(all_of=tuple(Predicate(column=name, op="le", value=0.5) for name in NAMES[index : index + 2]))
        for index in range(0, 30, 2)
    ]

    assert DecisionDiagram.rebuilt(*admitted_paths(asked, NUMBERS)) is None
