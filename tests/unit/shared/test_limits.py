"""The limits are documented as they are, and refused where they are exceeded."""

import re
from pathlib import Path

import pytest

from holder_service.app import COLUMN_CALLS
from holder_service.domain.pricing import price
from holder_service.settings.holder import CONCURRENT_RELEASES_DEFAULT, REQUESTS_PER_S_DEFAULT
from holder_service.web.edge.connections import CONNECTIONS_MAX
from shared.contract.datasets import ColumnLimits, Limits
from shared.kinds.plans import Plan
from shared.wire import limits
from shared.wire.limits import PREDICATES_PER_PLAN_MAX, VALUES_PER_PLAN_MAX, VALUES_PER_PREDICATE_MAX
from shared.wire.problems import TooLarge
from testing.hostile_plans import HOSTILE, SCHEMA, parsed, plan, tree

DOCUMENT = Path(__file__).parents[3] / "docs" / "limits.md"


PUBLISHED = {
    **Limits().model_dump(),
    **{f"derived_columns.{name}": limit for name, limit in ColumnLimits().model_dump().items()},
    **{
        name: getattr(limits, name)
        for name in ("TEXT_CHARACTERS_MAX", "PARAGRAPH_CHARACTERS_MAX", "METADATA_VALUES_MAX", "METADATA_BYTES_MAX")
    },
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_limit_is_documented(name: str) -> None:
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if f"`{name}`" in line]

    assert len(rows) == 1
    assert re.search(rf"(?<![0-9.]){re.escape(str(PUBLISHED[name]))}(?![0-9.])", rows[0])


@pytest.mark.parametrize(
    "sentence",
    [
        f"head has at most {limits.HEAD_BYTES_MAX // 1024} KiB",
        f"its body {limits.BODY_READ_S:.0f} seconds",
        f"takes {REQUESTS_PER_S_DEFAULT} requests a second",
        f"serves {CONNECTIONS_MAX // 1000} 000 connections",
        f"answers {CONCURRENT_RELEASES_DEFAULT} plans at once",
        f"wait to be drawn take more than {limits.RELEASE_QUEUE_S_MAX} seconds",
        f"may take {limits.RELEASE_QUEUE_S_MAX} seconds together",
        f"gets {limits.FREE_ENTRIES_PER_DAY_MAX // 1000} 000 free answers",
        f"have {('no', 'one', 'two', 'three', 'four')[COLUMN_CALLS]} slots of their own in each process",
        f"would take {('no', 'one', 'two')[limits.COLUMN_QUEUE_S_MAX // 3600]} hours",
    ],
)
def test_the_page_says_what_the_holder_is_set_to(sentence: str) -> None:
    assert sentence in " ".join(DOCUMENT.read_text(encoding="utf-8").split())


def test_a_real_audit_fits_by_far() -> None:
    """Every leaf of a tree of 1 024, counted by eight groups, each leaf at the end of 24 tests."""
    asked = parsed(tree(1024))

    assert len(asked.batches[0].cells) == 1024
    assert limits.COUNTS_PER_PLAN_MAX >= 2 * 1024 * 8
    assert limits.PREDICATES_PER_PLAN_MAX >= 1024 * 24


def test_no_plan_within_the_limits_has_more_lists_and_objects_than_a_body_may() -> None:
    """Each predicate, rule and cell is an object that holds one list; the rest is a handful for each batch."""
    most = 2 * (limits.PREDICATES_PER_PLAN_MAX + limits.RULES_PER_PLAN_MAX + limits.CELLS_PER_PLAN_MAX)

    assert most + 3 * limits.BATCHES_PER_PLAN_MAX + 3 <= limits.LISTS_AND_OBJECTS_PER_BODY_MAX


def test_a_predicate_too_many_is_refused() -> None:
    rule = [{"column": "x0", "op": "le", "value": 1}] * 256
    rules = PREDICATES_PER_PLAN_MAX // 256

    Plan.model_validate(plan([[rule]] * rules)).require_small()
    with pytest.raises(TooLarge, match=f"{PREDICATES_PER_PLAN_MAX} predicates"):
        Plan.model_validate(plan([[rule]] * rules + [[rule[:1]]])).require_small()


def test_a_value_too_many_is_refused() -> None:
    listed = {"column": "c0", "op": "in", "values": [f"c{index}" for index in range(VALUES_PER_PREDICATE_MAX)]}
    rules = VALUES_PER_PLAN_MAX // VALUES_PER_PREDICATE_MAX

    Plan.model_validate(plan([[[listed]]] * rules)).require_small()
    with pytest.raises(TooLarge, match=f"{VALUES_PER_PLAN_MAX} values"):
        Plan.model_validate(plan([[[listed]]] * rules + [[[{**listed, "values": ["c1", "c2"]}]]])).require_small()


@pytest.mark.parametrize("name", ["everybody, 4 096 cells", "chain of 221 decisions", "four lists together"])
def test_a_plan_at_the_limits_has_a_price(name: str) -> None:
    """`python -m benchmarks.pricing` says how long each takes."""
    asked = parsed(HOSTILE[name]())

    assert price(asked, SCHEMA).charge.epsilon_nano > 0
