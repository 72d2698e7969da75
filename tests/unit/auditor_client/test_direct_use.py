"""How many people the rules that name a sensitive column decide about, from exact answers."""

from typing import Any

import pytest

from auditor_client.findings.direct_use import direct_use
from auditor_client.models.tree import Branch, Split, Tree
from shared.contract.rules import Predicate
from testing.exact_audits import audited
from testing.invented.people import PEOPLE
from testing.invented.questions import leaf, split
from testing.registers import LOANS

OPEN = LOANS.model_copy(update={"sensitive_in_rules": True})
BY_SEX = [Predicate(column="sex", op=op, value="Female") for op in ("eq", "ne")]
YOUNG_BY_SEX = Split("sex", tuple(Branch((one,), leaf(one.op, favourable=one.op == "eq")) for one in BY_SEX))
"""Of those up to 40 women are accepted, and men are not."""
MODEL = Tree(split("age", 40, YOUNG_BY_SEX, leaf("old", favourable=True)))


def test_shares_are_of_people_about_whom_a_rule_that_names_the_column_decides() -> None:
    """Accepted by such a rule or refused, they are those up to 40: of 191 women 61, and of 209 men 66."""
    use = direct_use(audited(MODEL, dataset=OPEN))

    assert use is not None
    assert (use.columns, use.compared, use.rules, use.of) == (("sex",), ("sex",), 2, 3)
    assert [group.group for group in use.shares] == [("Female",), ("Male",)]
    for group in use.shares:
        ages: list[Any] = [person["age"] for person in PEOPLE if person["sex"] == group.group[0]]
        assert group.rate.value == pytest.approx(sum(age <= 40 for age in ages) / len(ages))


def test_cells_with_rules_of_both_kinds_have_no_shares() -> None:
    """Counted by decision alone: the favourable cell has a rule that names the column and one that does not."""
    use = direct_use(audited(MODEL, dataset=OPEN, strategy="verdict"))

    assert use is not None
    assert (use.rules, use.shares) == (2, ())
