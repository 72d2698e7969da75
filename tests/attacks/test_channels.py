"""Beside the noisy counts nothing that a caller sees depends on the records: two holders answer alike (2-privacy §7).

The same good and bad requests, until the budget ends, go to holders whose records differ by one person,
and by nearly all. Times are another matter: docs/attacks.md says where they are measured.
"""

from pathlib import Path

import pytest

from checks.attacks.channels import requests, seen
from testing.holders import TestedHolder, running_holder


@pytest.mark.parametrize("people", [299, 3])
def test_holders_that_differ_in_their_records_look_alike(
    sqlite_holder: TestedHolder, tmp_path: Path, people: int
) -> None:
    with running_holder(tmp_path / "neighbour", people=people) as neighbour:
        first, second = seen(sqlite_holder), seen(neighbour)

    for request, one, other in zip(requests(), first, second, strict=True):
        assert one == other, request
    assert {200, 201, 403, 404, 422} <= {status for status, *_ in first}, "the requests get all kinds of answers"


def test_a_difference_in_the_budget_is_seen(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """So the comparison is one."""
    with running_holder(tmp_path / "neighbour", epsilon="9") as neighbour:
        assert seen(sqlite_holder) != seen(neighbour)
