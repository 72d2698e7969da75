"""The limits are documented as they are, and refused where they are exceeded."""

import re
from pathlib import Path

import pytest

from holder_service.domain.pricing import price
from shared.limits import PREDICATES_PER_PLAN_MAX, VALUES_PER_PLAN_MAX, VALUES_PER_PREDICATE_MAX, Limits
from shared.plans import Plan
from shared.problems import TooLarge
from tests.hostile_plans import HOSTILE, SCHEMA, parsed, plan

DOCUMENT = Path(__file__).parents[3] / "docs" / "limits.md"


@pytest.mark.parametrize("name", Limits.model_fields)
def test_a_limit_is_documented(name: str) -> None:
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if f"`{name}`" in line]

    assert len(rows) == 1
    assert re.search(rf"(?<![0-9.]){re.escape(str(getattr(Limits(), name)))}(?![0-9.])", rows[0])


def test_a_predicate_too_many_is_refused() -> None:
    rule = [{"column": "x0", "op": "le", "value": 1}] * 256
    rules = PREDICATES_PER_PLAN_MAX // 256

    Plan.model_validate(plan([[rule]] * rules)).check(SCHEMA)
    with pytest.raises(TooLarge, match=f"{PREDICATES_PER_PLAN_MAX} predicates"):
        Plan.model_validate(plan([[rule]] * rules + [[rule[:1]]])).check(SCHEMA)


def test_a_value_too_many_is_refused() -> None:
    listed = {"column": "c0", "op": "in", "values": [f"c{place}" for place in range(VALUES_PER_PREDICATE_MAX)]}
    rules = VALUES_PER_PLAN_MAX // VALUES_PER_PREDICATE_MAX

    Plan.model_validate(plan([[[listed]]] * rules)).check(SCHEMA)
    with pytest.raises(TooLarge, match=f"{VALUES_PER_PLAN_MAX} values"):
        Plan.model_validate(plan([[[listed]]] * rules + [[[{**listed, "values": ["c1", "c2"]}]]])).check(SCHEMA)


@pytest.mark.parametrize("name", ["everybody, 4 096 cells", "chain of 221 decisions", "four lists together"])
def test_a_plan_at_the_limits_has_a_price(name: str) -> None:
    """`python -m benchmarks.pricing` says how long each takes."""
    asked = parsed(HOSTILE[name]())

    assert price(asked, SCHEMA).charge.epsilon > 0
