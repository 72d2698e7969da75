"""The comparison of ways to audit for years pays what it says, and never more than there is."""

import numpy as np
import pytest

from benchmarks.hundred_audits import LOOKS, Account, Said, Version, plan, until_decided
from benchmarks.hundred_audits_page import picture
from holder_service.storage.datasets import Dataset
from shared.privacy.amounts import Loss
from testing.registers import LOANS

DATASET = Dataset(
    name="register", population="register", records_max=10**6, schema=LOANS.table, retired=False,
    version=1, version_last=1, records_file=None, people_file=None,
)  # fmt: skip


def version(accepted: tuple[int, int]) -> Version:
    """A register of 200 000 people of each group."""
    counts = np.array(accepted)
    return Version(1, np.array([counts, 200_000 - counts]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accepted", "verdict", "spent"),
    [((90_000, 100_000), "meets", LOOKS.amounts[0]), ((80_000, 100_000), "undecided", LOOKS.amounts[-1])],
)
def test_an_audit_is_refined_until_it_is_decided_for_the_last_epsilon_alone(
    accepted: tuple[int, int], verdict: str, spent: int
) -> None:
    """At the threshold itself looks decide wrongly in 5 of 100 audits: then these stop before the last ε.

    That all of six do happens once in 6·10⁷ times.
    """
    found = [until_decided(Account(DATASET), version(accepted)) for _ in range(6)]

    assert (verdict, Loss(spent)) in {(one.verdict, one.spent) for one in found}
    assert all(one.spent.epsilon_nano in LOOKS.amounts for one in found)


def test_no_more_is_charged_than_the_cap() -> None:
    account = Account(DATASET, cap=Loss(10**8))
    account.answered(plan(10**8), version((1, 2)))

    with pytest.raises(ValueError, match="More would be spent"):
        account.answered(plan(10**6), version((1, 2)))


def test_the_picture_has_each_month() -> None:
    [said] = [until_decided(Account(DATASET), version((90_000, 100_000)))]
    watched = Said(2, "meets", None, Loss(0))

    drawn = picture({"refining": ([0.9, 0.9], [said, watched])}, 0.8)

    assert drawn.count('class="bars meets" d="M68 ') == 1
    assert 'class="said meets" d="M72 ' in drawn
