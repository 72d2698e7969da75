"""The loss, bounded from outside: releases on neighbouring records never lose more than their charge.

The engine is that of `holder audit-privacy`, which draws more. Registers that differ by one person go through the real
loader, proof, count and mechanism, and through a running holder. False alarms: at most 10⁻⁶ in all tests of this file
together, by Clopper and Pearson's limits. The negative controls draw with half the noise, with the sensitivity of
another relation and with an ε that is 10 % too large, and are caught: over 250 examinations of simulated draws the
signal is at least nine standard deviations above what is needed, and bounds that may not be near zero at least six.

Source: 2-privacy §9; Ding, Wang, Wang, Zhang, Kifer (2018), Detecting violations of differential privacy.
"""

from pathlib import Path

import pytest

from holder_service.privacy_audit.audit import WARM_UP
from holder_service.privacy_audit.core import draw, true_counts
from holder_service.privacy_audit.faults import FAULTS, count_large_registers_slowly
from holder_service.privacy_audit.loss_bounds import LossBound, examine, examine_values
from holder_service.privacy_audit.neighbours import EVERY_PAIR, Neighbours
from holder_service.privacy_audit.over_http import draw_all, holder_under_audit
from holder_service.privacy_audit.refined import CHAINED_PAIRS, ChainedPair
from holder_service.privacy_audit.refined import FAULTS as CHAIN_FAULTS
from holder_service.privacy_audit.timing import ASKED, EPSILON, EVERYTHING, OBSERVED, Observer, values_of
from holder_service.privacy_audit.trained import EVERY_TRAINED_PAIR, TrainedPair
from holder_service.privacy_audit.trained import FAULTS as TRAINING_FAULTS
from shared.contract.relations import Relation

RUNS = 50_000
RUNS_FOR_A_TENTH = 100_000
RUNS_OVER_HTTP = 1000
RUNS_OBSERVED = 100
RUNS_WITHOUT_QUANTUM = 300
RUNS_OF_TRAININGS = 4000
RUNS_OF_FAULTY_TRAININGS = 8000
RUNS_WHERE_LITTLE_SHOWS = 24_000
"""Of trainings whose fault shows in few of the answers. Of the first, 8000 runs gave bounds from 1.46 to 1.99 where
more than 1.52 is needed, and 24 000 give 2.2 to 2.3."""
LITTLE_SHOWS = {("pflr", "half the noise"), ("pflr_star", "noise of one person")}
RUNS_OF_CHAINS = 25_000
ALPHA = 1e-6 / (4 * len(EVERY_PAIR) + 3 + 7 + len(EVERY_TRAINED_PAIR) + len(CHAINED_PAIRS))
MECHANISMS = ("laplace", "gaussian", "exponential", "gaussian by rho")

every_pair = pytest.mark.parametrize("pair", EVERY_PAIR, ids=lambda pair: pair.label)
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)

pytestmark = pytest.mark.statistical


@every_mechanism
@every_pair
def test_the_loss_seen_from_outside_is_at_most_the_charge(tmp_path: Path, pair: Neighbours, mechanism: str) -> None:
    [batch] = (batch for batch in pair.batches if batch.name == mechanism)

    found = examine(draw(pair, batch, true_counts(pair, tmp_path), runs=RUNS), alpha=ALPHA)

    assert found.bound <= found.epsilon
    assert found.excess <= 0
    assert found.bound > 0.3 * found.stated, "a bound near zero would show nothing"


@every_mechanism
@pytest.mark.parametrize(
    ("relation", "fault"),
    [
        ("add_remove", "half the noise"),
        ("add_remove", "epsilon 10 % too large"),
        ("replace", "half the noise"),
        ("replace", "sensitivity 1"),
    ],
)
def test_too_little_noise_is_caught(tmp_path: Path, relation: str, mechanism: str, fault: str) -> None:
    [pair] = (pair for pair in EVERY_PAIR if pair.relation == relation)
    [batch] = (batch for batch in pair.batches if batch.name == mechanism)
    runs = RUNS_FOR_A_TENTH if "10 %" in fault else RUNS // 2

    drawn = draw(pair, batch, true_counts(pair, tmp_path), runs=runs, calibration=FAULTS[fault])

    assert not examine(drawn, alpha=ALPHA).holds


@every_mechanism
def test_the_noise_of_one_count_where_rules_name_a_sensitive_column_is_caught(tmp_path: Path, mechanism: str) -> None:
    """A person who is moved between cells changes two counts, also of two groups."""
    [pair] = (pair for pair in EVERY_PAIR if pair.named)
    [batch] = (batch for batch in pair.batches if batch.name == mechanism)

    drawn = draw(pair, batch, true_counts(pair, tmp_path), runs=RUNS // 2, calibration=FAULTS["sensitivity 1"])

    assert not examine(drawn, alpha=ALPHA).holds


every_chain = pytest.mark.parametrize("chained", CHAINED_PAIRS, ids=lambda one: f"{one.label}, {one.what}")


@every_chain
def test_a_chain_loses_at_most_what_its_last_answer_costs(tmp_path: Path, chained: ChainedPair) -> None:
    """Of all answers together, also where it stops by what was seen; a bound near zero would show nothing."""
    found = chained.drawn(true_counts(chained.pair, tmp_path), runs=RUNS_OF_CHAINS, alpha=ALPHA)

    assert found.holds
    assert found.bound > 0.3 * found.stated


@every_chain
def test_a_chain_of_independent_answers_is_caught(tmp_path: Path, chained: ChainedPair) -> None:
    """They lose 3.5 together, and 2 is charged."""
    faulty = CHAIN_FAULTS["independent noise"]
    counts = true_counts(chained.pair, tmp_path)

    assert not chained.drawn(counts, runs=RUNS_OF_CHAINS, alpha=ALPHA, refining=faulty).holds


@pytest.mark.parametrize("pair", EVERY_TRAINED_PAIR, ids=lambda pair: f"{pair.algorithm}, {pair.relation}")
def test_a_training_loses_at_most_its_charge(tmp_path: Path, pair: TrainedPair) -> None:
    """All that its steps give and the model, seen together; a bound near zero would show nothing."""
    found = pair.drawn(tmp_path, runs=RUNS_OF_TRAININGS, alpha=ALPHA)

    assert found.holds
    assert found.bound > 0.1 * found.stated


@pytest.mark.parametrize(
    ("algorithm", "relation", "fault"),
    [
        ("fair_tree", "add_remove", "half the noise"),
        ("fair_tree", "replace", "a split without noise"),
        ("private_fair_tree", "add_remove", "half the noise"),
        ("pflr", "replace", "half the noise"),
        ("pflr", "add_remove", "a mean not paid for"),
        ("pflr_star", "replace", "a mean not paid for"),
        ("pflr_star", "replace", "noise of one person"),
        ("fair_linear", "add_remove", "half the noise"),
        ("sums", "add_remove", "half the noise"),
        ("sums", "replace", "noise of one person"),
    ],
)
def test_a_training_with_too_little_noise_is_caught(
    tmp_path: Path, algorithm: str, relation: Relation, fault: str
) -> None:
    pair = TrainedPair(algorithm, relation)
    runs = RUNS_WHERE_LITTLE_SHOWS if (algorithm, fault) in LITTLE_SHOWS else RUNS_OF_FAULTY_TRAININGS

    assert not pair.drawn(tmp_path, runs=runs, alpha=ALPHA, fault=TRAINING_FAULTS[fault]).holds


def test_a_running_holder_keeps_to_its_charges(tmp_path: Path) -> None:
    """In an account of ε and δ."""
    [pair] = (pair for pair in EVERY_PAIR if pair.relation == "replace")
    counts = true_counts(pair, tmp_path)

    with holder_under_audit() as holder:
        drawn = draw_all(holder, pair, counts, runs=RUNS_OVER_HTTP)

    found = {name: examine(answers, alpha=ALPHA) for name, answers in drawn.items()}
    assert [name for name, one in found.items() if not one.holds] == []
    assert all(one.bound > 0.1 for one in found.values()), "a bound near zero would show nothing"
    assert {name: (one.epsilon, one.delta) for name, one in found.items()} == {
        batch.name: (batch.loss.epsilon_nano / 1e9, batch.loss.delta_nano / 1e9) for batch in pair.plan().batches
    }


def observed(quantum_ms: int, *, runs: int) -> dict[str, LossBound]:
    """What times and texts show of two registers of which the holder counts one 150 ms longer than the other."""
    with holder_under_audit(quantum_ms=quantum_ms, fault=count_large_registers_slowly) as holder:
        observer = Observer(holder, EVERYTHING)
        observer.observe(runs=WARM_UP, observed=False)
        seen = observer.observe(runs=runs, observed=True, first=WARM_UP)
    return {
        what: examine_values(values_of(what, seen), epsilon=EPSILON, delta=0, alpha=ALPHA) for what in ASKED + OBSERVED
    }


def test_no_time_and_no_text_shows_how_long_a_count_took() -> None:
    """A pause of the machine shows if it is longer than 350 ms in every second release of the one register alone."""
    found = observed(quantum_ms=500, runs=RUNS_OBSERVED)

    assert {what: one.holds for what, one in found.items()} == dict.fromkeys(ASKED + OBSERVED, True)


def test_without_a_quantum_times_show_it() -> None:
    """The negative control: of 150 pairs of times three quarters have to be apart."""
    found = observed(quantum_ms=0, runs=RUNS_WITHOUT_QUANTUM)

    assert not found["latency"].holds
    assert not found["created"].holds
    assert found["text"].holds
