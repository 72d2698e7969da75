"""Figures by fewer columns add up the draws of the figures by all of them."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.hulls import hull_of_figures
from auditor_client.estimation.measurements import Measurement, NoisyCounts, SizeBounds, Supports
from auditor_client.estimation.posterior import Posterior, estimate_parity
from auditor_client.findings.coarser import members_of
from shared.contract.schema import Column, Schema
from shared.privacy.noise import DiscreteLaplaceNoise, KeptValue, RandomisedResponseNoise

SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
        Column(name="origin", type="category", categories=("a", "b", "c"), sensitive=True),
    ),
)
BOTH: Final = ("sex", "origin")
GROUPS: Final = SCHEMA.groups(BOTH)
NOISE: Final = DiscreteLaplaceNoise(scale=4)
ACCEPTED: Final = [[300, 210, 44, 310, 180, 3], [20, 11, 9, 14, 30, -2]]
REFUSED: Final = [[410, 160, 80, 240, 140, -4]]
DRAWING: Final = Drawing(512)


def measured(noise: DiscreteLaplaceNoise | RandomisedResponseNoise = NOISE) -> Measurement:
    accepted = ACCEPTED if noise is NOISE else np.maximum(ACCEPTED, 0).tolist()
    refused = REFUSED if noise is NOISE else np.maximum(REFUSED, 0).tolist()
    return Measurement(GROUPS, NoisyCounts.of(accepted, noise), NoisyCounts.of(refused, noise), "unfavourable")


def table(joint: Measurement, column: str) -> Measurement:
    return joint.added_up(SCHEMA.groups((column,)), members_of(SCHEMA, BOTH, (column,)), (column,))


@pytest.mark.parametrize("column", BOTH)
@pytest.mark.parametrize("kind", ["noise", "reports", "supports"])
def test_a_table_s_shares_are_the_sums_of_the_joint_draws(column: str, kind: str) -> None:
    joint = measured()
    if kind == "reports":
        kept = tuple(KeptValue(column=name, probability="0.8") for name in BOTH)
        joint = measured(RandomisedResponseNoise(kept=kept))
    if kind == "supports":
        joint = replace(joint, supports=Supports((1045, 85), (1030,)))
    index = BOTH.index(column)

    whole, part = (Posterior.of(one, 0.95, DRAWING) for one in (joint, table(joint, column)))

    for of_all, of_column in zip(whole.draws_by_prior, part.draws_by_prior, strict=True):
        for name in ("accepted", "size"):
            for number, (value,) in enumerate(part.groups):
                members = [k for k, group in enumerate(GROUPS) if group[index] == value]
                expected = getattr(of_all.draws, name)[0, members].sum(axis=0)
                assert np.array_equal(getattr(of_column.draws, name)[0, number], expected)
        assert np.allclose(of_all.draws.overall(), of_column.draws.overall())


def test_the_counts_of_a_table_are_the_sums_over_the_other_column() -> None:
    by_sex = table(measured(), "sex")

    assert by_sex.favourable.counts.shape == (2 * 3, 2)
    assert by_sex.favourable.totals.tolist() == [594, 535]
    assert by_sex.complement.totals.tolist() == [650, 376]


def test_an_interval_of_a_table_holds_what_the_added_counts_say_alone() -> None:
    """A prior on each of many empty groups is none on their sum, whose draws are too many people."""
    joint = Measurement(
        GROUPS, NoisyCounts.of([[0] * 6], NOISE), NoisyCounts.of([[0, 0, 0, 900, -6, -6]], NOISE), "unfavourable"
    )
    by_sex = table(joint, "sex")
    of_draws, of_counts = (estimate_parity(one, drawing=DRAWING) for one in (by_sex, replace(by_sex, finer=None)))

    both = hull_of_figures(of_draws, of_counts)

    assert of_draws.groups[1].size.low > of_counts.groups[1].size.low == both.groups[1].size.low
    for one, draws, counts in zip(both.groups, of_draws.groups, of_counts.groups, strict=True):
        assert one.rate.value == draws.rate.value
        assert one.rate.low == min(draws.rate.low, counts.rate.low)
        assert one.rate.high == max(draws.rate.high, counts.rate.high)


def test_what_is_known_of_sizes_is_given_anew() -> None:
    joint = replace(measured(), bounds=SizeBounds((0,) * 6, (5000,) * 6))

    assert table(joint, "sex").bounds is None


def test_one_counted_group_of_two_has_no_coarser_groups() -> None:
    one = Measurement(
        (("f",), ("m",)), NoisyCounts.of([[3]], NOISE), NoisyCounts.of([[4]], NOISE), "unfavourable",
        supports=Supports((9,), (9,)),
    )  # fmt: skip

    with pytest.raises(EstimationRefused, match="one of two groups"):
        one.added_up((("f",),), ((0, 1),), ())
