"""Whose decision changes within reach: against a search of every record near, on integers and categories."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.asking.request import AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.models.robustness import stability_tree
from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema, Value

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=9),
        Column(name="hours", type="integer", minimum=0, maximum=7, nullable=True),
        Column(name="region", type="category", categories=("n", "s", "w")),
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
    ),
)
DOMAIN: dict[str, list[Value | None]] = {"age": [*range(10)], "hours": [*range(8), None], "region": ["n", "s", "w"]}
RECORDS = [dict(zip(DOMAIN, values, strict=True)) for values in itertools.product(*DOMAIN.values())]


def predicate(column: str, op: str, value: Value, *, or_missing: bool = False) -> Predicate:
    return Predicate.model_validate({"column": column, "op": op, "value": value, "or_missing": or_missing})


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Trees of up to three levels that split each column where it is drawn."""
    numbers = itertools.count()

    def node(depth: int) -> Node:
        name = f"node-{next(numbers)}"
        if depth == 0 or draw(st.booleans()):
            return Leaf(name, "decision", favourable=draw(st.booleans()))
        column = draw(st.sampled_from(["age", "hours", "region"]))
        if column == "region":
            value = draw(st.sampled_from(["n", "s", "w"]))
            tests = predicate(column, "eq", value), predicate(column, "ne", value)
        else:
            cut, left = draw(st.integers(0, 8)), draw(st.booleans())
            nullable = column == "hours"
            tests = (
                predicate(column, "le", cut, or_missing=nullable and left),
                predicate(column, "gt", cut, or_missing=nullable and not left),
            )
        return Split(name, tuple(Branch((test,), node(depth - 1)) for test in tests))

    return Tree(node(3))


def near(record: dict[str, Value | None], reach: dict[str, int], free: set[str]) -> list[dict[str, Value | None]]:
    """Every record within reach, by looking at all of them."""

    def close(column: str, one: Value | None, other: Value | None) -> bool:
        if column in free or one == other:
            return True
        distance = reach.get(column, 0)
        return isinstance(one, int) and isinstance(other, int) and abs(one - other) <= distance

    return [other for other in RECORDS if all(close(column, record[column], other[column]) for column in DOMAIN)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(trees(), st.sampled_from([({"age": 2}, set()), ({"age": 1, "hours": 1}, set()), ({"hours": 2}, {"region"})]))
def test_the_tree_says_exactly_whose_decision_changes_within_reach(
    tree: Tree, given_reach: tuple[dict[str, int], set[str]]
) -> None:
    reach, free = given_reach
    stable = stability_tree(tree, SCHEMA, reach, free)

    stable.check(SCHEMA)
    for record in RECORDS[::3]:
        decision = tree.decide(record).favourable
        changes = any(tree.decide(other).favourable != decision for other in near(record, reach, free))
        assert stable.decide(record).favourable != changes


def test_a_leaf_of_missing_values_alone_is_near_nobody_who_has_one() -> None:
    few, many = predicate("hours", "le", 7), predicate("hours", "gt", 7, or_missing=True)
    tree = Tree(Split("root", (Branch((few,), Leaf("a", "yes", True)), Branch((many,), Leaf("b", "no", False)))))

    stable = stability_tree(tree, SCHEMA, {"hours": 2})

    assert all(stable.decide(record).favourable for record in RECORDS)


@pytest.mark.parametrize(
    ("reach", "free", "words"),
    [
        ({"sex": 1}, [], "cannot be named in rules"),
        ({"height": 1}, [], "cannot be named in rules"),
        ({"region": 1}, [], "does not have distances"),
        ({"age": 0}, [], "above 0"),
        ({"age": float("nan")}, [], "above 0"),
        ({"age": 1}, ["age"], "cannot have a distance"),
    ],
)
def test_what_cannot_be_moved_is_refused(reach: dict[str, float], free: list[str], words: str) -> None:
    with pytest.raises(QuestionRefused, match=words):
        stability_tree(Tree(Leaf("all", "yes", favourable=True)), SCHEMA, reach, free)


def test_a_list_of_numbers_has_no_reach() -> None:
    listed = Predicate.model_validate({"column": "age", "op": "in", "values": [1, 3]})
    others = Predicate.model_validate({"column": "age", "op": "not_in", "values": [1, 3]})
    tree = Tree(Split("root", (Branch((listed,), Leaf("a", "y", True)), Branch((others,), Leaf("b", "n", False)))))

    with pytest.raises(QuestionRefused, match="single values"):
        stability_tree(tree, SCHEMA, {"age": 1})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metrics": ["stability"]}, "needs a distance"),
        ({"within": ["age=2"]}, "needs a distance"),
        ({"metrics": ["stability", "statistical-parity"], "within": ["age=2"]}, "Request it alone"),
    ],
)
def test_stability_and_its_distance_go_together(values: dict[str, list[str]], words: str) -> None:
    with pytest.raises(QuestionRefused, match=words):
        AuditRequest.model_validate({"sensitive": ("sex",), "epsilon": "1", **values})


@pytest.mark.parametrize("text", ["age", "age=", "age=two", ""])
def test_a_distance_is_a_column_and_a_number(text: str) -> None:
    request = AuditRequest(sensitive=("sex",), epsilon="1", metrics=("stability",), within=(text,))

    with pytest.raises(QuestionRefused, match="not a distance"):
        _ = request.reach
