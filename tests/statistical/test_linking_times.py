"""No time that an auditor sees shows whether the register knows the keys that it linked (5-decisions §1).

`python -m checks.columns` measures the same of a holder in a process of its own, at length. Here 200 files whose keys
are all known and 200 of which none is are sent in turn, in random order, and four times are noted of each. If a time
says nothing, the area under the ROC curve is .5 with a standard deviation of .0289, so it is .16 away by chance once
in 10⁷ times, and one of the four once in a million.
"""

import time
from pathlib import Path
from typing import Any, Final

import pytest

from checks.columns import SEEN, distinguished, linked_in_turn
from holder_service.services.columns import columns
from holder_service.storage.columns import StoredColumn
from shared.scores.columns import ColumnDescription
from testing.holders import running_holder

pytestmark = pytest.mark.statistical

FILES: Final = 200
AUC_MAX: Final = 0.66
PEOPLE: Final = 300


def test_no_time_shows_whether_the_keys_are_known(tmp_path: Path) -> None:
    with running_holder(tmp_path, quantum_ms=25, people=PEOPLE) as holder:
        linked_in_turn(holder, links=3, people=PEOPLE)
        found = distinguished(linked_in_turn(holder, links=FILES, people=PEOPLE))

    assert set(found) == set(SEEN)
    assert all(1 - AUC_MAX <= figure <= AUC_MAX for figure in found.values()), found


def test_a_holder_that_lingers_over_known_keys_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the values are accepted later where the register knows the keys."""
    link = columns.link

    def linger(*given: Any, column: StoredColumn, **named: Any) -> ColumnDescription:
        described = link(*given, column=column, **named)
        time.sleep(0 if column.definition.column.name.endswith("-1") else 0.2)
        return described

    monkeypatch.setattr(columns, "link", linger)
    with running_holder(tmp_path, quantum_ms=25, people=PEOPLE) as holder:
        found = distinguished(linked_in_turn(holder, links=FILES, people=PEOPLE))

    assert found["accepted"] > AUC_MAX
