"""Beside the noisy counts nothing that a caller sees depends on the records: two holders answer alike (2-privacy §7).

The same course of good and bad requests, until the budget ends, is asked of holders whose records differ by one person,
and by nearly all. Times are another matter: docs/attacks.md says where they are measured.
"""

from pathlib import Path

import pytest

from checks.attacks.channels import course, seen
from testing.holders import TestedHolder, running_holder


@pytest.mark.parametrize("people", [299, 3])
def test_holders_that_differ_in_their_records_look_alike(
    sqlite_holder: TestedHolder, tmp_path: Path, people: int
) -> None:
    with running_holder(tmp_path / "twin", f"sqlite:///{tmp_path / 'twin.sqlite'}", people=people) as twin:
        first, second = seen(sqlite_holder), seen(twin)

    for request, one, other in zip(course(), first, second, strict=True):
        assert one == other, request
    assert {200, 201, 403, 404, 422} <= {status for status, *_ in first}, "the course comes by all kinds of answers"


def test_a_difference_in_the_budget_is_seen(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """So the comparison is one."""
    with running_holder(tmp_path / "twin", f"sqlite:///{tmp_path / 'twin.sqlite'}", epsilon="9") as twin:
        assert seen(sqlite_holder) != seen(twin)
