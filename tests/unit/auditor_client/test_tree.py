"""The neutral tree: rules, merging, and refusing what is no tree over the dataset."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.errors import ModelRefused
from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=9),
        Column(name="income", type="number", nullable=True),
        Column(name="city", type="category", categories=("a", "b", "c"), nullable=True),
        Column(name="owner", type="boolean"),
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
    ),
)
YES, NO, MAYBE = Leaf("yes", "yes", True), Leaf("no", "no", False), Leaf("maybe", "maybe", True)


def p(column: str, op: str, value: object = None, **more: object) -> Predicate:
    return Predicate.model_validate({"column": column, "op": op, "value": value, **more})


def split(*branches: tuple[tuple[Predicate, ...], Node], name: str = "split") -> Split:
    return Split(name, tuple(Branch(predicates, child) for predicates, child in branches))


def test_a_k_ary_tree_gives_a_rule_for_each_path_and_decides_by_it() -> None:
    cities = split(
        ((p("city", "eq", "a"),), YES),
        ((p("city", "eq", "b"),), MAYBE),
        ((p("city", "eq", "c", or_missing=True),), NO),
        name="cities",
    )
    tree = Tree(split(((p("age", "le", 4),), cities), ((p("age", "gt", 4),), Leaf("old", "no", False))))

    tree.check(SCHEMA)
    rules = tree.rules()

    assert [rule.leaf.id for rule in rules] == ["yes", "maybe", "no", "old"]
    assert [len(rule.rule.all_of) for rule in rules] == [2, 2, 2, 1]
    assert tree.decide({"age": 3, "city": None}) == NO
    assert tree.decide({"age": 5, "city": "a"}).id == "old"


def test_siblings_that_decide_alike_are_merged() -> None:
    inner = split(((p("owner", "eq", True),), YES), ((p("owner", "eq", False),), MAYBE), name="inner")
    tree = Tree(split(((p("age", "le", 4),), inner), ((p("age", "gt", 4),), NO)))

    merged = tree.merged()

    assert [rule.leaf for rule in merged.rules()] == [Leaf("inner", "yes or maybe", True), NO]


def test_a_split_need_only_cover_what_can_arrive() -> None:
    middle = split(((p("income", "le", 5),), YES), ((p("income", "gt", 5),), MAYBE), name="middle")
    tree = Tree(split(((p("income", "not_missing"),), middle), ((p("income", "is_missing"),), NO)))

    tree.check(SCHEMA)

    assert tree.decide({"income": 7.5}) == MAYBE


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (split(((p("age", "le", 4),), YES), ((p("age", "ge", 4),), NO)), "age = 4 takes 2"),
        (split(((p("age", "lt", 4),), YES), ((p("age", "gt", 4),), NO)), "age = 4 takes 0"),
        (split(((p("income", "le", 0.1),), YES), ((p("income", "gt", 0.1),), NO)), "income = missing takes 0"),
        (split(((p("income", "le", 1, or_missing=True),), YES), ((p("income", "ge", 1),), NO)), "income = 1 takes 2"),
        (split(((p("city", "eq", "a"),), YES), ((p("city", "eq", "b", or_missing=True),), NO)), "city = c takes 0"),
        (split(((p("owner", "eq", True),), YES)), "owner = False takes 0"),
        (split(((p("age", "le", 4),), YES), ((p("owner", "eq", True),), NO)), "2 columns"),
        (split(((), YES)), "0 columns"),
        (split(((p("height", "le", 4),), YES), ((p("height", "gt", 4),), NO)), "height"),
        (split(((p("sex", "eq", "f"),), YES), ((p("sex", "eq", "m"),), NO)), "sex"),
        (split(((p("city", "eq", "x"),), YES), ((p("city", "ne", "x"),), NO)), "declared"),
        (split(((p("age", "le", 4),), YES), ((p("age", "gt", 4),), YES)), "share an id"),
        (split(((p("age", "le", 4),), Leaf("", "", True)), ((p("age", "gt", 4),), NO)), "fit the dataset"),
        (split(((p("age", "le", 4),) * 300, YES), ((p("age", "gt", 4),), NO)), "fit the dataset"),
    ],
)
def test_what_is_no_tree_over_the_dataset_is_refused(root: Node, said: str) -> None:
    with pytest.raises(ModelRefused, match=said):
        Tree(root).check(SCHEMA)


_AGE = st.builds(
    lambda op, value: p("age", op, value),
    st.sampled_from(["lt", "le", "gt", "ge"]),
    st.integers(-2, 22).map(lambda half: half / 2),
) | st.builds(lambda op, value: p("age", op, value), st.sampled_from(["eq", "ne"]), st.integers(-1, 10))


@given(above=_AGE, branches=st.lists(st.lists(_AGE, min_size=1, max_size=2), min_size=1, max_size=3))
def test_a_split_is_accepted_exactly_if_each_arriving_age_takes_one_branch(
    above: Predicate, branches: list[list[Predicate]]
) -> None:
    leaves = (Leaf(f"leaf-{number}", "yes", True) for number in itertools.count())
    below = split(*((tuple(predicates), next(leaves)) for predicates in branches), name="below")
    ages = range(10)
    opposite = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}[above.op]
    tree = Tree(split(((above,), below), ((p("age", opposite, above.value),), next(leaves))))
    taken = [sum(all(q.matches(age) for q in some) for some in branches) for age in ages if above.matches(age)]

    if all(count == 1 for count in taken):
        tree.check(SCHEMA)
    else:
        with pytest.raises(ModelRefused):
            tree.check(SCHEMA)
