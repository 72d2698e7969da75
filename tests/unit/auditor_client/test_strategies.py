"""What each strategy asks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.choice import choose_strategy, counted, rules_from
from auditor_client.asking.inquiry import Inquiry, ModelDigest
from auditor_client.asking.mechanisms import settled
from auditor_client.asking.request import OF_DECISIONS, STRATEGIES, AuditRequest
from auditor_client.asking.strategies import build_plan
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.models.tree import Branch, DecisionRule, Leaf, Node, Split, Tree
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Predicate, Rule
from shared.contract.shares import Shares
from shared.kinds.plans import Plan
from shared.privacy.amounts import Loss, format_nano
from testing.invented.questions import FOUR_LEAVES, leaf, measured_by, split
from testing.registers import LOANS

RULES = FOUR_LEAVES.rules()


@st.composite
def binary_nodes(draw: st.DrawFn, height: int = 5, name: str = "n") -> Node:
    """A random binary tree; its thresholds mean nothing, only its shape does."""
    if height == 0 or draw(st.booleans()):
        return Leaf(name, "decision", draw(st.booleans()))
    return split("age", 1, draw(binary_nodes(height - 1, f"{name}0")), draw(binary_nodes(height - 1, f"{name}1")), name)


def height_of(node: Node) -> int:
    """The number of splits on the longest path."""
    return 0 if isinstance(node, Leaf) else 1 + max(height_of(branch.child) for branch in node.branches)


def with_nullable_label() -> DatasetDescription:
    columns = tuple(column.model_copy(update={"nullable": column.nullable or column.label}) for column in LOANS.columns)
    return LOANS.model_copy(update={"columns": columns})


def inquiry(rules: tuple[DecisionRule, ...], request: AuditRequest, dataset: DatasetDescription = LOANS) -> Inquiry:
    """About the invented dataset."""
    return Inquiry(dataset, settled(request, dataset), rules, ModelDigest("sha256:", None))


def plan_of(rules: tuple[DecisionRule, ...] = RULES, **changes: Any) -> Plan:
    """A plan about sex, with something changed."""
    dataset = with_nullable_label() if changes.pop("label_nullable", False) else LOANS
    request = AuditRequest(**{"sensitive": ["sex"], "epsilon": "0.1", "strategy": "verdict", **changes})
    return build_plan(inquiry(rules, request, dataset))


def ids(plan: Plan) -> list[list[str]]:
    return [[cell.id for cell in batch.cells] for batch in plan.batches]


def test_verdict_asks_for_two_unions_at_the_full_epsilon() -> None:
    plan = plan_of()

    (batch,) = plan.batches
    assert (batch.name, batch.epsilon) == ("verdict", 10**8)
    assert [(cell.id, [rule.id for rule in cell.any_of]) for cell in batch.cells] == [
        ("favourable", ["a", "d"]),
        ("unfavourable", ["b", "c"]),
    ]


def test_rules_asks_for_every_leaf_at_the_full_epsilon_and_for_no_root() -> None:
    plan = plan_of(strategy="rules")

    (batch,) = plan.batches
    assert (batch.name, batch.epsilon) == ("rules", 10**8)
    assert ids(plan) == [["a", "d", "b", "c"]]


def test_pafer_asks_for_everybody_and_for_each_favourable_rule_at_half_epsilon_each() -> None:
    plan = plan_of(strategy="pafer")

    everybody, favourable = plan.batches
    assert (everybody.name, everybody.epsilon) == ("everybody", 5 * 10**7)
    assert [[rule.all_of for rule in cell.any_of] for cell in everybody.cells] == [[()]]
    assert (favourable.name, favourable.epsilon) == ("favourable", 5 * 10**7)
    assert [cell.id for cell in favourable.cells] == ["a", "d"]


def test_an_odd_nano_goes_to_the_second_half() -> None:
    plan = plan_of(strategy="pafer", epsilon="0.100000001")

    assert [batch.epsilon for batch in plan.batches] == [50_000_000, 50_000_001]


def test_both_halves_of_a_gaussian_plan_share_its_delta() -> None:
    plan = plan_of(strategy="pafer", mechanism="gaussian", delta="0.000000101")

    assert [batch.loss for batch in plan.batches] == [Loss(50_000_000, 50), Loss(50_000_000, 51)]


def test_version_draw_and_columns_reach_the_plan() -> None:
    plan = plan_of(sensitive=("sex", "origin"), version=7, draw=2)

    assert (plan.sensitive, plan.version, plan.draw) == (("sex", "origin"), 7, 2)


@pytest.mark.parametrize(
    ("metrics", "strategy", "cells"),
    [
        (("equal-opportunity",), "verdict", [["favourable, y = 1", "unfavourable, y = 1"]]),
        (("predictive-parity",), "verdict", [["favourable, y = 1", "favourable, y = 0"]]),
        (("predictive-parity",), "pafer", [["a, y = 1", "d, y = 1", "a, y = 0", "d, y = 0"]]),
        (
            ("equalized-odds",),
            "verdict",
            [["favourable, y = 1", "favourable, y = 0", "unfavourable, y = 1", "unfavourable, y = 0"]],
        ),
        (
            ("equal-opportunity", "predictive-parity"),
            "verdict",
            [["favourable, y = 1", "favourable, y = 0", "unfavourable, y = 1"]],
        ),
        (("equal-opportunity",), "pafer", [["everybody, y = 1"], ["a, y = 1", "d, y = 1"]]),
        (
            ("statistical-parity", "equal-opportunity"),
            "verdict",
            [["favourable, y = 1", "favourable, y = 0", "unfavourable, y = 1", "unfavourable, y = 0"]],
        ),
    ],
)
def test_labelled_figures_split_the_cells_that_they_need(
    metrics: tuple[str, ...], strategy: str, cells: list[list[str]]
) -> None:
    assert ids(plan_of(metrics=metrics, strategy=strategy)) == cells


def test_people_without_a_label_are_counted_only_where_everybody_is() -> None:
    parity = plan_of(metrics=("statistical-parity", "equal-opportunity"), label_nullable=True)
    odds = plan_of(metrics=("equalized-odds",), label_nullable=True)

    assert "favourable, y missing" in ids(parity)[0]
    assert "favourable, y missing" not in ids(odds)[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_scope_restricts_every_rule_of_every_cell(strategy: str) -> None:
    adult = Predicate(column="age", op="ge", value=18)

    plan = plan_of(strategy=strategy, where="age >= 18", metrics=("equalized-odds",))

    assert all(adult in rule.all_of for batch in plan.batches for cell in batch.cells for rule in cell.any_of)


def test_a_leaf_that_takes_several_rules_is_one_cell() -> None:
    """An ordered column with a gap: the model's leaf 3 is reached from below and from above."""
    in_three = Split(
        "gap",
        (
            Branch((Predicate(column="age", op="le", value=10),), leaf("leaf-3-1", True, "leaf-3")),
            Branch(
                (Predicate(column="age", op="gt", value=10), Predicate(column="age", op="le", value=20)),
                leaf("leaf-4-2", False, "leaf-4"),
            ),
            Branch((Predicate(column="age", op="gt", value=20),), leaf("leaf-3-3", True, "leaf-3")),
        ),
    )

    plan = plan_of(Tree(in_three).rules(), strategy="rules")

    assert [(cell.id, len(cell.any_of)) for cell in plan.batches[0].cells] == [("leaf-3", 2), ("leaf-4", 1)]


def test_copies_of_one_node_that_decide_otherwise_stay_apart() -> None:
    copies = split("age", 10, leaf("node-3-1", True, "node-3"), leaf("node-3-2", False, "node-3"))

    assert ids(plan_of(Tree(copies).rules(), strategy="rules")) == [["node-3-1", "node-3-2"]]


@settings(deadline=None)
@given(root=binary_nodes())
def test_the_number_of_histograms_is_within_the_papers_theorem(root: Node) -> None:
    """A merged binary tree of height h takes between 2 and 2^(h−1) + 1 histogram queries (1-method §4)."""
    tree = Tree(root).merged()
    rules = tree.rules()

    if len({rule.favourable for rule in rules}) == 1:
        with pytest.raises(EstimationRefused, match="ratio is"):
            plan_of(rules, strategy="pafer")
    else:
        queries = sum(len(batch.cells) for batch in plan_of(rules, strategy="pafer").batches)
        assert 2 <= queries <= 2 ** (height_of(tree.root) - 1) + 1


@settings(deadline=None)
@given(
    root=binary_nodes(), nano=st.integers(2 * 10**6, 10**10), metrics=st.sets(st.sampled_from(OF_DECISIONS), min_size=1)
)
def test_the_batches_of_every_strategy_cost_exactly_epsilon(root: Node, nano: int, metrics: set[str]) -> None:
    rules = Tree(root).rules()
    if len({rule.favourable for rule in rules}) == 1:
        return

    for strategy in STRATEGIES:
        measured = tuple(sorted(metrics.intersection(measured_by(strategy))))
        plan = plan_of(rules, strategy=strategy, epsilon=format_nano(nano), metrics=measured or ("statistical-parity",))

        assert sum(batch.loss.epsilon_nano for batch in plan.batches) == nano


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "guess"}, "'guess' is no strategy"),
        ({"epsilon": "0"}, "between 0.001 and 10"),
        ({"epsilon": "10.5"}, "between 0.001 and 10"),
        ({"epsilon": "1e-1"}, "decimal string"),
        ({"epsilon": "nan"}, "decimal string"),
        ({"epsilon": "0.0015", "strategy": "pafer"}, "at least 0.002"),
        ({"mechanism": "gaussian", "delta": "0.000000001", "strategy": "pafer"}, "at least 0.000000002"),
    ],
)
def test_an_impossible_question_is_refused_in_words(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(QuestionRefused, match=message):
        plan_of(**changes)


@pytest.mark.parametrize(("favourable", "message"), [(True, "Every leaf"), (False, "No leaf")])
def test_a_tree_that_decides_alike_for_all_needs_no_question(favourable: bool, message: str) -> None:
    rules = tuple(DecisionRule(rule.rule, Leaf(rule.leaf.id, "", favourable)) for rule in RULES)

    with pytest.raises(EstimationRefused, match=message):
        plan_of(rules)


def asked(
    people: int | None, epsilon: str, leaves: int = 4, mechanism: str = "laplace", dataset: DatasetDescription = LOANS
) -> Inquiry:
    """About a tree whose leaves take turns in deciding."""
    rules = tuple(
        DecisionRule(Rule(id=str(index), all_of=()), leaf(str(index), index % 2 == 0)) for index in range(leaves)
    )
    request = AuditRequest(
        sensitive=("sex",), epsilon=epsilon, mechanism=mechanism, assumption=Assumption(people=people)
    )
    return inquiry(rules, request, dataset)


def chosen(people: int | None, epsilon: str, leaves: int = 4, mechanism: str = "laplace") -> str:
    """What `auto` does."""
    return choose_strategy(asked(people, epsilon, leaves, mechanism))


def test_auto_asks_rule_by_rule_only_where_that_costs_hardly_any_accuracy() -> None:
    assert chosen(1_000_000, "0.5") == "rules"
    assert chosen(2_000, "0.05") == "verdict"
    assert chosen(2_000, "0.05", leaves=2) == "rules"


def test_auto_never_asks_the_exponential_mechanism_rule_by_rule() -> None:
    """Its answers give no shares of single rules, so asking for rules would buy nothing."""
    assert chosen(1_000_000, "0.5", mechanism="exponential") == "verdict"
    assert chosen(2_000, "0.05", leaves=2, mechanism="exponential") == "verdict"


def test_without_the_number_of_people_auto_asks_as_is_right_for_any() -> None:
    assert chosen(None, "0.1") == chosen(None, "0.001") == chosen(100, "0.001") == "verdict"
    assert chosen(None, "0.1", leaves=2) == "rules"
    assert rules_from(asked(None, "0.1", leaves=2)) is None, "rule by rule is as exact, however few there are"
    assert rules_from(asked(None, "0.5", mechanism="exponential")) is None, "never chosen"


def test_the_number_is_named_from_which_auto_would_ask_rule_by_rule() -> None:
    found = rules_from(asked(None, "0.1"))

    assert found is not None
    assert (chosen(found, "0.1"), chosen(found * 97 // 100, "0.1")) == ("rules", "verdict")
    assert rules_from(asked(found, "0.1")) is None


def test_auto_counts_the_noise_of_both_holders_of_a_shared_register() -> None:
    """Twice the variance is the same error among √2 times as many people; the search is exact to one in a hundred."""
    alone = LOANS.model_copy(update={"relation": "sensitive_attribute"})
    shared = alone.model_copy(update={"shares": Shares(party=1)})
    numbers = [rules_from(asked(None, "0.1", dataset=dataset)) for dataset in (alone, shared)]

    assert numbers[0] is not None
    assert numbers[1] == pytest.approx(numbers[0] * 2**0.5, rel=0.03)


def test_own_data_say_how_many_people_there_are_and_how_many_are_accepted() -> None:
    put = inquiry(RULES, AuditRequest(sensitive=("sex",), epsilon="0.1", where=("age > 20",)))

    found = counted(put, lambda cell: 900 if len(cell.any_of) == 1 else 300)

    assert found.people == 900
    assert found.accepted == pytest.approx(1 / 3)
    assert counted(put, lambda _: 0) == Assumption()


def test_auto_decides_alike_whenever_the_same_is_asked() -> None:
    assert len({chosen(10_000, "0.1") for _ in range(5)}) == 1
