"""Losses in ρ: exact, rounded up, apart from losses in ε and δ, and read as an ε that holds (8-time §1)."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.combinators import make_zCDP_to_approxDP
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from shared.contract.datasets import BudgetGrant
from shared.kinds.plans import Batch
from shared.privacy.amounts import NANO_PER_UNIT, NO_LOSS, RHO_NANO_SUM_MAX, Loss, MixedAccounts
from shared.privacy.charges import SUM, AccountTerms, Charge, NoSuchLoss, step_rho_nano
from shared.privacy.zero_concentrated import bounded_range_rho_nano, epsilon_nano_at, pure_rho_nano
from shared.wire.request_model import ContractModel

enable_features("contrib")

TERMS = AccountTerms("zcdp", 1000)
EPSILONS = st.integers(10**6, 10 * NANO_PER_UNIT)


class Shown(ContractModel):
    loss: Loss


@given(EPSILONS)
def test_a_rho_is_the_exact_fraction_rounded_up(epsilon_nano: int) -> None:
    epsilon = Fraction(epsilon_nano, NANO_PER_UNIT)
    for rho_nano, exact in (
        (pure_rho_nano(epsilon_nano), epsilon**2 / 2),
        (bounded_range_rho_nano(epsilon_nano), epsilon**2 / 8),
    ):
        assert 0 <= rho_nano - exact * NANO_PER_UNIT < 1


@pytest.mark.parametrize("delta_nano", [1, 1000, 10**6])
@pytest.mark.parametrize("rho_nano", [1000, 123_457, 5_000_000, 10**9, 10**10, RHO_NANO_SUM_MAX])
def test_a_reading_is_opendps_and_never_below_it(rho_nano: int, delta_nano: int) -> None:
    scale = 1 / math.sqrt(2 * rho_nano / NANO_PER_UNIT)
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    converted: Any = make_zCDP_to_approxDP(make_gaussian(*space, scale=scale))

    theirs, ours = converted.map(1.0).epsilon(delta_nano / NANO_PER_UNIT), epsilon_nano_at(rho_nano, delta_nano)

    assert theirs * (1 - 1e-9) <= ours / NANO_PER_UNIT <= theirs * (1 + 1e-6) + 1e-6


def test_the_largest_that_can_be_said_is_read_as_an_amount() -> None:
    assert Loss.of_rho(RHO_NANO_SUM_MAX, 1).can_be_said
    assert epsilon_nano_at(RHO_NANO_SUM_MAX, 1) < 1000 * NANO_PER_UNIT
    assert not Loss.of_rho(RHO_NANO_SUM_MAX + 1).can_be_said


def test_what_is_sent_of_a_reading_is_worked_out_anew() -> None:
    document = {"loss": {"epsilon": "0.000001", "delta": "0.000001", "rho": "0.005"}}

    read = Shown.model_validate(document).loss

    assert read == Loss.of_rho(5_000_000)
    assert json.loads(Shown(loss=read).model_dump_json()) == {
        "loss": {"epsilon": "0.429942", "delta": "0.000001", "rho": "0.005"}
    }
    assert str(read) == "rho 0.005 (epsilon 0.429942 at delta 0.000001)"


def test_a_loss_in_epsilon_is_written_as_ever() -> None:
    assert Shown(loss=Loss(10**8)).model_dump_json() == '{"loss":{"epsilon":"0.1","delta":"0"}}'
    assert Loss(10**8, 5).document() == {"epsilon": "0.1", "delta": "0.000000005"}


@pytest.mark.parametrize("document", [{}, {"delta": "0"}, {"rho": "0.1"}, {"rho": "0.1", "delta": "0"}])
def test_a_loss_of_nothing_or_without_a_delta_to_read_it_at_is_none(document: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        Shown.model_validate({"loss": document})


def test_losses_of_two_kinds_never_meet() -> None:
    in_epsilon, in_rho = Loss(10**9), Loss.of_rho(10**9)

    with pytest.raises(MixedAccounts):
        in_epsilon + in_rho
    with pytest.raises(MixedAccounts):
        in_rho + in_epsilon
    with pytest.raises(MixedAccounts):
        in_rho.left_after(in_epsilon)
    with pytest.raises(MixedAccounts):
        in_epsilon.left_after(in_rho)
    with pytest.raises(MixedAccounts):
        in_epsilon.larger(in_rho)
    assert not in_epsilon.fits_in(Loss.of_rho(RHO_NANO_SUM_MAX))
    assert not Loss.of_rho(1).fits_in(Loss(999 * NANO_PER_UNIT, 10**6))
    assert in_epsilon.within(in_rho) == NO_LOSS
    assert in_rho.within(in_epsilon).is_nothing
    assert NO_LOSS + in_rho == in_rho == in_rho + NO_LOSS


def test_a_sum_in_rho_is_exact_and_read_by_itself() -> None:
    tenth = Loss.of_rho(5_000_000)

    assert tenth * 10 == sum([tenth] * 10, NO_LOSS) == Loss.of_rho(50_000_000)
    assert (tenth * 10).epsilon_nano < 10 * tenth.epsilon_nano
    assert tenth.fits_in(tenth)
    assert not (tenth + Loss.of_rho(1)).fits_in(tenth)


def test_a_charge_is_entered_in_the_terms_of_the_account() -> None:
    charge = Charge.pure(10**8) * 3

    assert charge.entered(SUM) == Loss(3 * 10**8)
    assert charge.entered(TERMS) == Loss.of_rho(15_000_000, 1000)
    with pytest.raises(NoSuchLoss):
        (charge + Charge(None, 7)).entered(SUM)
    with pytest.raises(NoSuchLoss):
        SUM.of(7)


def test_the_classes_of_a_step_share_its_epsilon() -> None:
    assert step_rho_nano("counts", 10**9, 4) == 4 * pure_rho_nano(10**9 // 4)
    assert step_rho_nano("choices", 10**9, 4) == step_rho_nano("sums", 10**9, 4) == pure_rho_nano(10**9)


GAUSSIAN = {"name": "gaussian"}
CELLS = [{"id": "everybody", "all_of": []}]


def batch(mechanism: dict[str, str], **fields: str) -> Batch:
    return Batch.model_validate({"name": "b", "mechanism": mechanism, "cells": CELLS, **fields})


def test_noise_is_asked_for_in_rho_or_in_epsilon_and_delta() -> None:
    asked = batch(GAUSSIAN, rho="0.005")

    assert asked.loss == Loss.of_rho(5_000_000)
    assert asked.model_dump(mode="json", exclude={"cells"}, exclude_none=True) == {
        "name": "b", "mechanism": GAUSSIAN, "rho": "0.005"
    }  # fmt: skip
    assert "rho" not in batch({**GAUSSIAN, "delta": "0.000001"}, epsilon="0.1").model_dump()


@pytest.mark.parametrize(
    ("mechanism", "fields"),
    [
        (GAUSSIAN, {}),
        (GAUSSIAN, {"epsilon": "0.1"}),
        (GAUSSIAN, {"epsilon": "0.1", "rho": "0.1"}),
        ({**GAUSSIAN, "delta": "0.000001"}, {"rho": "0.1"}),
        ({**GAUSSIAN, "delta": "0.000001"}, {}),
        ({"name": "laplace"}, {"rho": "0.1"}),
        ({"name": "laplace"}, {"epsilon": "0.1", "rho": "0.1"}),
        ({"name": "randomised_response"}, {"rho": "0.1"}),
        (GAUSSIAN, {"rho": "0.0000009"}),
        (GAUSSIAN, {"rho": "10.1"}),
        (GAUSSIAN, {"rho": "0"}),
    ],
)
def test_half_a_way_of_asking_is_refused(mechanism: dict[str, str], fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"rho|epsilon"):
        batch(mechanism, **fields)


@pytest.mark.parametrize(
    ("grant", "terms", "limit"),
    [
        ({"epsilon": "1"}, SUM, Loss(10**9)),
        ({"epsilon": "1", "delta": "0.001"}, SUM, Loss(10**9, 10**6)),
        ({"rho": "0.01"}, TERMS, Loss.of_rho(10**7)),
        ({"epsilon": "0"}, TERMS, Loss.of_rho(0)),
        ({"rho": "0"}, SUM, NO_LOSS),
    ],
)
def test_a_grant_is_in_the_terms_of_the_account(grant: dict[str, str], terms: AccountTerms, limit: Loss) -> None:
    assert BudgetGrant.model_validate(grant).limit(terms) == limit


@pytest.mark.parametrize(("grant", "terms"), [({"epsilon": "1"}, TERMS), ({"rho": "1"}, SUM)])
def test_a_grant_in_other_terms_is_none(grant: dict[str, str], terms: AccountTerms) -> None:
    with pytest.raises(NoSuchLoss):
        BudgetGrant.model_validate(grant).limit(terms)


@pytest.mark.parametrize("grant", [{}, {"epsilon": "1", "rho": "1"}, {"rho": "1", "delta": "0.1"}])
def test_a_grant_of_both_or_neither_is_refused(grant: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="rho"):
        BudgetGrant.model_validate(grant)
