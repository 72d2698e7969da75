"""What each strategy asks, and how its answer is read."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.errors import EstimationRefused, HolderLied, QuestionRefused
from auditor_client.models.tree import Branch, DecisionRule, Leaf, Node, Split, Tree
from auditor_client.strategies import STRATEGIES, build_plan, measurement
from shared.amounts import PrivacyLoss
from shared.noise import DiscreteLaplaceNoise
from shared.plans import Plan
from shared.releases import LedgerPosition, Release, ReleasedBatch, ReleasedCell
from shared.rules import Predicate, Rule

GROUPS = (("female",), ("male",))


def split(name: str, low: Node, high: Node) -> Split:
    """A split of column x."""
    return Split(
        name,
        (
            Branch((Predicate(column="x", op="le", value=1),), low),
            Branch((Predicate(column="x", op="gt", value=1),), high),
        ),
    )


@st.composite
def binary_nodes(draw: st.DrawFn, height: int = 5, name: str = "n") -> Node:
    """A random binary tree; its thresholds mean nothing, only its shape does."""
    if height == 0 or draw(st.booleans()):
        return Leaf(name, "decision", draw(st.booleans()))
    return split(name, draw(binary_nodes(height - 1, f"{name}0")), draw(binary_nodes(height - 1, f"{name}1")))


def height_of(node: Node) -> int:
    """The number of splits on the longest path."""
    return 0 if isinstance(node, Leaf) else 1 + max(height_of(branch.child) for branch in node.branches)


RULES = Tree(
    split(
        "root",
        split("left", Leaf("a", "yes", True), Leaf("b", "no", False)),
        split("right", Leaf("c", "no", False), Leaf("d", "yes", True)),
    )
).rules()


def plan_of(rules: tuple[DecisionRule, ...] = RULES, **changes: Any) -> Plan:
    """A plan about sex, with something changed."""
    arguments: dict[str, Any] = {"strategy": "verdict", "sensitive": ["sex"], "epsilon": "0.1", "version": 3, **changes}
    return build_plan(rules, **arguments)


def answered(plan: Plan, **changes: Any) -> Release:
    """A release that answers a plan: cell by cell 10, 20, 30, … people, one more in the second group."""
    batches = []
    for batch in plan.batches:
        cells = tuple(
            ReleasedCell(id=cell.id, counts=(10 * place, 10 * place + 1))
            for place, cell in enumerate(batch.cells, start=1)
        )
        batches.append(
            ReleasedBatch(
                name=batch.name,
                epsilon="0.1",
                delta="0",
                composition={"classes": 1},
                groups=GROUPS,
                noise=DiscreteLaplaceNoise(scale=1e9 / batch.epsilon),
                cells=cells,
            )
        )
    release = Release(
        id="sha256:0",
        dataset="adult",
        version=3,
        auditor="ADR",
        created=datetime(2026, 1, 1, tzinfo=UTC),
        relation="add_remove",
        plan=plan,
        charge=PrivacyLoss.of_nano(10**8),
        remaining=PrivacyLoss.of_nano(0),
        batches=tuple(batches),
        ledger=LedgerPosition(sequence=1, hash="sha256:0"),
        key="k",
        signature="ed25519:",
    )
    return release.model_copy(update=changes)


def test_verdict_asks_for_two_unions_at_the_full_epsilon() -> None:
    plan = plan_of()

    (batch,) = plan.batches
    assert (batch.name, batch.epsilon) == ("verdict", 10**8)
    assert [(cell.id, [rule.id for rule in cell.any_of]) for cell in batch.cells] == [
        ("favourable", ["a", "d"]),
        ("unfavourable", ["b", "c"]),
    ]


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


def test_version_draw_and_columns_reach_the_plan() -> None:
    plan = plan_of(sensitive=("sex", "ethnicity"), version=7, draw=2)

    assert (plan.sensitive, plan.version, plan.draw) == (("sex", "ethnicity"), 7, 2)


@settings(deadline=None)
@given(root=binary_nodes())
def test_the_number_of_histograms_is_within_the_papers_theorem(root: Node) -> None:
    """A merged binary tree of height h takes between 2 and 2^(h−1) + 1 histogram queries (1-method §4)."""
    tree = Tree(root).merged()
    rules = tree.rules()

    if len({rule.favourable for rule in rules}) == 1:
        with pytest.raises(EstimationRefused, match="nothing"):
            plan_of(rules, strategy="pafer")
    else:
        queries = sum(len(batch.cells) for batch in plan_of(rules, strategy="pafer").batches)
        assert 2 <= queries <= 2 ** (height_of(tree.root) - 1) + 1


@settings(deadline=None)
@given(root=binary_nodes(), nano=st.integers(2 * 10**6, 10**10))
def test_the_batches_of_every_strategy_cost_exactly_epsilon(root: Node, nano: int) -> None:
    rules = Tree(root).rules()
    if len({rule.favourable for rule in rules}) == 1:
        return

    for strategy in STRATEGIES:
        plan = plan_of(rules, strategy=strategy, epsilon=f"{nano // 10**9}.{nano % 10**9:09d}")

        assert sum(batch.epsilon for batch in plan.batches) == nano


def test_rules_without_an_id_get_one_each() -> None:
    nameless = tuple(DecisionRule(Rule(all_of=rule.rule.all_of), rule.leaf) for rule in RULES)

    plan = plan_of(nameless, strategy="pafer")

    assert [cell.id for cell in plan.batches[1].cells] == ["rule-0", "rule-3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "auto"}, "no strategy 'auto'"),
        ({"epsilon": "0"}, "between 0.001 and 10"),
        ({"epsilon": "10.5"}, "between 0.001 and 10"),
        ({"epsilon": "1e-1"}, "decimal string"),
        ({"epsilon": "nan"}, "decimal string"),
        ({"epsilon": "0.0015", "strategy": "pafer"}, "at least 0.002"),
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


def test_a_verdict_release_is_read_as_accepted_and_refused() -> None:
    measured = measurement(answered(plan_of()), RULES, "verdict")

    assert measured.groups == GROUPS
    assert measured.complement_is == "unfavourable"
    assert measured.favourable.counts.tolist() == [[10, 11]]
    assert measured.complement.counts.tolist() == [[20, 21]]
    assert measured.favourable.noise.scale == 10


def test_a_pafer_release_is_read_as_accepted_rule_by_rule_and_everybody() -> None:
    measured = measurement(answered(plan_of(strategy="pafer")), RULES, "pafer")

    assert measured.complement_is == "everybody"
    assert measured.favourable.counts.tolist() == [[10, 11], [20, 21]]
    assert measured.favourable.totals.tolist() == [30, 32]
    assert measured.complement.counts.tolist() == [[10, 11]]
    assert measured.complement.noise.scale == 20


@pytest.mark.parametrize("strategy", ["pafer", "verdict"])
def test_a_release_of_another_plan_is_refused(strategy: str) -> None:
    fewer = Tree(split("root", Leaf("a", "yes", True), Leaf("b", "no", False))).rules()
    other = answered(plan_of(fewer, strategy=strategy))

    with pytest.raises(EstimationRefused, match="another plan"):
        measurement(other, RULES, strategy)


def test_a_release_of_the_other_strategy_is_refused() -> None:
    with pytest.raises(EstimationRefused, match="another plan"):
        measurement(answered(plan_of(strategy="pafer")), RULES, "verdict")


Change = Callable[[ReleasedBatch], ReleasedBatch]


@pytest.mark.parametrize(
    "change",
    [
        lambda batch: batch.model_copy(update={"cells": batch.cells[::-1]}),
        lambda batch: batch.model_copy(update={"cells": batch.cells[:1]}),
        lambda batch: batch.model_copy(update={"name": "other"}),
    ],
)
def test_an_answer_that_does_not_fit_its_plan_is_not_used(change: Change) -> None:
    release = answered(plan_of())

    with pytest.raises(HolderLied):
        measurement(release.model_copy(update={"batches": (change(release.batches[0]),)}), RULES, "verdict")


def test_batches_about_different_groups_are_not_used() -> None:
    release = answered(plan_of(strategy="pafer"))
    first, second = release.batches

    with pytest.raises(HolderLied):
        measurement(
            release.model_copy(update={"batches": (first, second.model_copy(update={"groups": GROUPS[::-1]}))}),
            RULES,
            "pafer",
        )


def test_counts_of_the_first_group_alone_are_refused_for_now() -> None:
    release = answered(plan_of())
    counted = release.batches[0].model_copy(update={"counted_groups": GROUPS[:1]})

    with pytest.raises(EstimationRefused, match="supports"):
        measurement(release.model_copy(update={"batches": (counted,)}), RULES, "verdict")


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3), (10**15, 2)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, ...]) -> None:
    release = answered(plan_of())
    cells = tuple(cell.model_copy(update={"counts": counts}) for cell in release.batches[0].cells)
    batch = release.batches[0].model_copy(update={"cells": cells})

    with pytest.raises(EstimationRefused, match="do not use it"):
        measurement(release.model_copy(update={"batches": (batch,)}), RULES, "verdict")
