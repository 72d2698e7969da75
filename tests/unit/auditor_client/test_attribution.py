"""Rules' shares in a disparity: they add up, they are unbiased where it matters, and they can be reversed."""

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.attribution import attribute, flipped
from auditor_client.estimation.measurements import ComplementKind
from auditor_client.estimation.rule_counts import rule_counts
from shared.privacy.noise import Noise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

RULES = [[132, 1_000], [50, 1_000], [50, 227]]
REFUSED = [[1_000, 10_000], [858, 743]]
SUPPORTS = (1_132, 1_050, 277), (11_000, 1_601)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("supports", [None, SUPPORTS])
def test_shares_add_up_to_the_disparity(noise: Noise, supports: tuple[tuple[int, ...], tuple[int, ...]] | None) -> None:
    found = attribute(measured(RULES, REFUSED, noise, supports=supports))

    assert (found.first, found.second) == (("group 0",), ("group 1",))
    assert sum(share.share.value for share in found.shares) == pytest.approx(found.difference.value)
    assert 1 + sum(share.ratio_share.value for share in found.shares) == pytest.approx(found.ratio.value)
    truths = 100 * (np.array(RULES)[:, 0] / 2_090 - np.array(RULES)[:, 1] / 12_970)
    assert [share.share.value for share in found.shares] == pytest.approx(truths, abs=0.3)
    assert all(share.share.low < truth < share.share.high for share, truth in zip(found.shares, truths, strict=True))


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
@pytest.mark.parametrize("counted", [1, 2])
def test_each_group_gets_the_total_that_it_is_given_though_the_other_leaves_less(
    pair: tuple[int, int], counted: int
) -> None:
    """For an upper end the second group may have all 2 459 accepted people, while 232 are drawn for the first."""
    asked = measured([row[:counted] for row in RULES], [row[:counted] for row in REFUSED], LAPLACE, supports=SUPPORTS)
    totals = np.tile([[232.0], [2_459.0]], 64)[list(pair)]

    counts = rule_counts(asked, pair, draws=64, seed=1).split(totals)

    np.testing.assert_allclose(counts.sum(axis=0), totals)


def test_the_ranking_begins_with_the_largest_share_of_either_sign() -> None:
    found = attribute(measured([*RULES, [400, 100]], REFUSED))

    assert [share.rule for share in found.ranking] == [3, 1, 0, 2]
    assert found.first == ("group 1",)
    assert found.shares[3].share.value < 0 < found.shares[1].share.value


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_the_first_group_alone_and_supports_give_the_shares_of_both(noise: Noise) -> None:
    only = [[first] for first, _ in RULES], [[first] for first, _ in REFUSED]
    pair = ("group 1",), ("group 0",)

    found = attribute(measured(*only, noise, supports=SUPPORTS))
    turned = attribute(measured(*only, noise, supports=SUPPORTS), pair=pair)

    assert found.shares[1].share.value == pytest.approx(100 * (50 / 2_090 - 1_000 / 12_970), abs=0.3)
    assert turned.shares[1].share.value == pytest.approx(-found.shares[1].share.value, abs=0.01)
    assert turned.shares[1].share.low == pytest.approx(-found.shares[1].share.high, abs=0.01)


def test_shares_follow_from_reports_too() -> None:
    """The mean reports of the rules' people, each kept with .8."""
    reports = [[round(0.8 * i + 0.2 * j), round(0.2 * i + 0.8 * j)] for i, j in RULES]
    refused = [[round(0.8 * i + 0.2 * j), round(0.2 * i + 0.8 * j)] for i, j in REFUSED]

    found = attribute(measured(reports, refused, REPORTS))

    assert found.shares[1].share.value == pytest.approx(100 * (50 / 2_090 - 1_000 / 12_970), abs=0.4)
    assert sum(share.share.value for share in found.shares) == pytest.approx(found.difference.value)


@pytest.mark.parametrize("kind", ["unfavourable", "everybody"])
def test_the_exponential_mechanisms_answers_give_no_shares_and_no_flips(kind: ComplementKind) -> None:
    answered = measured(RULES, [[2_090, 12_970]], EXPONENTIAL, kind)

    with pytest.raises(EstimationRefused, match="laplace or gaussian"):
        attribute(answered)
    with pytest.raises(EstimationRefused, match="laplace or gaussian"):
        flipped(answered, 0)


def test_all_the_accepted_of_a_group_that_noise_may_have_made_up_may_be_of_one_rule() -> None:
    """Truth: all 8 people of the second group accepted by the second rule, and noise of scale 40."""
    noise = LAPLACE.model_copy(update={"scale": 40})

    found = attribute(measured([[300, 30], [200, -20]], [[400, 10]], noise), pair=(("group 0",), ("group 1",)))

    assert found.shares[1].share.low < 100 * (200 / 900 - 1)
    assert found.difference.low < 100 * (500 / 900 - 1)


def test_a_reference_is_compared_with_the_group_farthest_from_it() -> None:
    found = attribute(measured([[500, 300, 900]], [[500, 700, 100]]), reference=("group 1",))

    assert (found.first, found.second) == (("group 2",), ("group 1",))
    assert found.difference.value == pytest.approx(60, abs=2)
    assert found.ratio.value == pytest.approx(3, abs=0.1)


def test_no_share_is_beyond_what_is_possible_and_noise_alone_is_said_to_be_noise() -> None:
    """Groups of a dozen people under noise of scale 50: a rule's own count means nothing."""
    noise = LAPLACE.model_copy(update={"scale": 50})

    found = attribute(measured([[70, -40], [-90, 60], [5, 8]], [[12, 9], [30, -20]], noise))

    for share in found.shares:
        assert -100 <= share.share.low <= share.share.value <= share.share.high <= 100
    assert any("No rule's share" in warning for warning in found.warnings)


def test_hundreds_of_rules_add_up() -> None:
    rng = np.random.default_rng(1)
    favourable, unfavourable = rng.integers(0, 60, (2, 400, 3)).tolist()

    found = attribute(measured(favourable, unfavourable))

    assert len(found.shares) == 400
    assert sum(share.share.value for share in found.shares) == pytest.approx(found.difference.value)


@pytest.mark.parametrize("rule", [1, 4])
def test_a_reversed_rule_is_estimated_as_if_the_model_had_decided_so(rule: int) -> None:
    measurement = measured(RULES, REFUSED, supports=SUPPORTS)
    accepted = [*RULES, *REFUSED]
    sides = [index < len(RULES) for index in range(len(accepted))]
    sides[rule] = not sides[rule]
    expected = measured(
        [cell for cell, side in zip(accepted, sides, strict=True) if side],
        [cell for cell, side in zip(accepted, sides, strict=True) if not side],
    )

    found = flipped(measurement, rule)

    assert found.favourable.counts.tolist() == expected.favourable.counts.tolist()
    assert found.complement.counts.tolist() == expected.complement.counts.tolist()
    assert found.supports is not None
    assert sum(found.supports.favourable) == expected.favourable.counts.sum()


def test_against_everybody_a_reversed_rule_only_leaves_the_accepted() -> None:
    found = flipped(measured(RULES, [[2_090, 12_970]], kind="everybody"), 0)

    assert found.favourable.counts.tolist() == RULES[1:]
    assert found.complement.counts.tolist() == [[2_090, 12_970]]


@pytest.mark.parametrize(("rule", "rows"), [(5, RULES), (-1, RULES), (0, RULES[:1])])
def test_a_rule_that_cannot_be_reversed_is_refused(rule: int, rows: list[list[int]]) -> None:
    with pytest.raises(EstimationRefused):
        flipped(measured(rows, REFUSED), rule)


def test_what_cannot_be_shared_out_is_refused() -> None:
    with pytest.raises(EstimationRefused, match="two different groups"):
        attribute(measured(RULES, REFUSED), pair=(("group 0",), ("group 0",)))
    with pytest.raises(EstimationRefused, match="does not have the group"):
        attribute(measured(RULES, REFUSED), reference=("nobody",))
