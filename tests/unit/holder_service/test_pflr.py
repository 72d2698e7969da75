"""PFLR and PFLR*: coefficients are those of the people, change as announced, and the minimum is the minimum."""

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holder_service.learning import pflr
from holder_service.learning.coordinates import GRID, Coordinates
from holder_service.learning.measuring import LearningStep
from holder_service.learning.overspent import Overspent
from holder_service.learning.quadratic import penalised_minimiser
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.rules import Record
from shared.contract.schema import Column
from shared.kinds.trainings import TrainedScore, Training
from shared.privacy.amounts import NANO_PER_UNIT
from shared.scores.documents import Document, check_document
from shared.scores.values import score_value
from shared.wire.problems import InvalidPlan, TooLarge
from testing.invented.trainings import FEATURES, SCHEMA, exact, invented_people, measuring, training

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace")
PEOPLE = invented_people(400, seed=1)
ALGORITHMS: list[dict[str, Any]] = [
    {"name": "pflr"}, {"name": "pflr", "penalty": "0.001"}, {"name": "pflr", "penalty": "2.5", "threshold": "3"},
    {"name": "pflr", "penalty": "0"}, {"name": "pflr_star"}, {"name": "pflr_star", "lowered": 0},
]  # fmt: skip
FloatArray = npt.NDArray[np.float64]


def vector(person: Record) -> list[float]:
    """A person's x, written out: 1, age, hours, missing hours, South, East, citizen."""
    age, hours, region = person["age"], person["hours"], person["region"]
    assert isinstance(age, int)
    assert hours is None or isinstance(hours, float)
    position = round(sum(age >= cut for cut in (30, 45, 60)) * GRID / 3) / GRID
    return [
        1, position, float(hours is not None and hours >= 20.5), float(hours is None), float(region == "South"),
        float(region == "East"), float(person["citizen"] is True),
    ]  # fmt: skip


def columns(people: Sequence[Record]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The people's x, shape (people, d), y and s."""
    return (
        np.array([vector(one) for one in people]), np.array([float(one["repaid"] is True) for one in people]),
        np.array([float(one["sex"] == "Male") for one in people]),
    )  # fmt: skip


def measured(folder: Path, asked: Training, people: Sequence[Record]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The linear and quadratic coefficients and the vector of covariances, as the holder measures them."""
    steps = pflr.steps(asked, SCHEMA)
    taken = measuring(folder, people, steps)
    coordinates = Coordinates.of(asked, SCHEMA)
    noisy = pflr._objective(coordinates, asked.label).measured(pflr.OBJECTIVE, taken, ())
    quadratic = pflr._matrix(noisy, coordinates.size) / pflr.OBJECTIVE_UNIT
    half = pflr._fairness(coordinates, lowered=1).measured(pflr.FAIRNESS, taken, asked.sensitive)
    covariance = pflr._around_mean(pflr._vector(half, coordinates.size) / pflr.FAIRNESS_UNIT, 8 * quadratic[0])
    return pflr._vector(noisy, coordinates.size) / pflr.OBJECTIVE_UNIT, quadratic, covariance


def test_without_noise_the_coefficients_are_those_of_the_people(tmp_path: Path) -> None:
    """The linear ones, the second-order ones with every pair once, and the covariance around the true mean of s."""
    x, y, s = columns(PEOPLE)

    linear, quadratic, covariance = measured(tmp_path / "home", exact(training({"name": "pflr"})), PEOPLE)

    assert np.allclose(linear, (0.5 - y) @ x, rtol=1e-12)
    assert np.allclose(quadratic, x.T @ x / 8, rtol=1e-12)
    assert np.allclose(covariance, (s - s.mean()) @ x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_noise_the_model_minimises_the_objective(algorithm: dict[str, Any], tmp_path: Path) -> None:
    """No step away from it is better, in any of 200 directions; the score document says the same score."""
    asked = exact(training(algorithm))
    x, y, s = columns(PEOPLE)
    if algorithm.get("lowered") == 0:
        s = 1 - s

    def objective(weights: FloatArray) -> float:
        covariance = float((s - s.mean()) @ x @ weights)
        fairness = covariance
        if asked.algorithm.name == "pflr":
            fairness = asked.algorithm.penalty / 1e9 * abs(covariance - asked.algorithm.threshold / 1e9)
        return float(((x @ weights) ** 2).sum() / 8 + (0.5 - y) @ x @ weights) + fairness

    model, counts = pflr.learn(asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, pflr.steps(asked, SCHEMA)))

    assert counts is None
    weights = weights_of(model)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1):
        for direction in rng.normal(size=(100, len(weights))):
            assert objective(weights + size * direction) > objective(weights)
    check_document(model.document, SCHEMA)
    for person, row in zip(PEOPLE, x, strict=True):
        assert number(model.document, person) == pytest.approx(row @ weights, abs=1e-9)


def number(document: Document, person: Record) -> float:
    """A person's score, by the reference."""
    value = score_value(document, person)
    assert isinstance(value, float)
    return value


def weights_of(model: TrainedScore) -> FloatArray:
    """The weights that the score of seven people shows."""
    person: Record = {"age": 0, "hours": 0.0, "region": "North", "citizen": False}
    changes: tuple[Record, ...] = (
        {"age": 99}, {"hours": 40.0}, {"hours": None}, {"region": "South"}, {"region": "East"}, {"citizen": True},
    )  # fmt: skip
    base = number(model.document, person)
    return np.array([base, *(number(model.document, {**person, **change}) - base for change in changes)])


def kinds_of_people() -> list[Record]:
    """One of every kind that the bins, the label and the sex distinguish."""
    return [
        {"age": age, "hours": hours, "region": region, "citizen": citizen, "sex": sex, "origin": None, "repaid": repaid}
        for age, hours, region, citizen, sex, repaid in itertools.product(
            (10, 35, 50, 70), (None, 0.0, 40.0), ("North", "South", "East"), (False, True), ("Female", "Male"),
            (False, True),
        )
    ]  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_changes_the_sums_by_more_than_is_announced(relation: Relation) -> None:
    """All kinds of people who come, and all pairs of whom one takes the other's position; some come up to the bound."""
    asked = training({"name": "pflr"})
    objective, fairness = pflr.steps(asked, SCHEMA)
    x, y, s = columns(kinds_of_people())
    upper = np.triu_indices(x.shape[1])
    pairs = np.array([np.outer(row, row)[upper] / 8 for row in x])
    own = (
        (objective, np.hstack([(0.5 - y)[:, None] * x, pairs]) * pflr.OBJECTIVE_UNIT),
        (fairness, (s - 0.5)[:, None] * x * pflr.FAIRNESS_UNIT),
    )

    for step, sums in own:
        announced = step.sensitivity * (1 if relation == "add_remove" else 2)
        come = np.abs(sums).sum(axis=1).max()
        position = max(np.abs(sums - one).sum(axis=1).max() for one in sums)
        largest = come if relation == "add_remove" else position
        assert largest <= announced + 1e-6
        if relation == "add_remove" or step is fairness:
            assert largest == pytest.approx(announced)
        assert step.noise(NeighbouringRelation(relation)).sensitivity == announced


def test_the_bounds_are_those_of_the_page() -> None:
    """With m features: (m + 1)/2 + (m + 1)(m + 2)/16, and (m + 1)/2; half of what was published, or less."""
    for m in (1, 2, 3, 4):
        asked = training({"name": "pflr"}, features=FEATURES[:m])
        objective, fairness = pflr.steps(asked, SCHEMA)
        d = Coordinates.of(asked, SCHEMA).size

        assert objective.sensitivity / pflr.OBJECTIVE_UNIT == (m + 1) / 2 + (m + 1) * (m + 2) / 16
        assert fairness.sensitivity / pflr.FAIRNESS_UNIT == (m + 1) / 2
        assert 2 * objective.sensitivity / pflr.OBJECTIVE_UNIT <= d**2 / 4 + d
        assert 2 * fairness.sensitivity / pflr.FAIRNESS_UNIT <= d


@pytest.mark.parametrize("short", [0, 1])
def test_a_step_that_announces_too_little_ends_the_training(short: int, tmp_path: Path) -> None:
    asked = training({"name": "pflr"})
    steps = list(pflr.steps(asked, SCHEMA))
    step = steps[short]
    steps[short] = LearningStep(
        step.name, step.measures, step.epsilon_nano, step.classes, step.size, step.sensitivity - 1
    )

    with pytest.raises(Overspent):
        pflr.learn(asked, SCHEMA, measuring(tmp_path / "home", PEOPLE, steps))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_steps_cost_what_was_asked(algorithm: dict[str, Any]) -> None:
    for epsilon in ("0.001", "0.123456789", "10"):
        asked = training(algorithm, epsilon=epsilon)
        steps = pflr.steps(asked, SCHEMA)

        assert sum(step.epsilon_nano for step in steps) == asked.epsilon
        assert all(step.epsilon_nano > 0 for step in steps)
        for relation in RELATIONS:
            for step in steps:
                assert step.noise(NeighbouringRelation(relation)).loss.epsilon_nano == step.epsilon_nano


def test_noise_is_alike_on_the_polynomial_and_on_the_weighted_covariance() -> None:
    """One scale for all coefficients, as published: that of αg, per unit, is that of b and M."""
    for penalty in ("0.01", "1", "25"):
        asked = training({"name": "pflr", "penalty": penalty})
        steps = pflr.steps(asked, SCHEMA)
        objective, fairness = (step.noise(NeighbouringRelation("replace")).scale for step in steps)
        weighted = float(penalty) * fairness / pflr.FAIRNESS_UNIT

        assert weighted == pytest.approx(objective / pflr.OBJECTIVE_UNIT, rel=1e-4)


def test_noisy_models_are_documents(tmp_path: Path) -> None:
    """Ten draws with the least ε, of four people: M is indefinite in nearly all of them."""
    for number, algorithm in itertools.product(range(3), ALGORITHMS):
        asked = training(algorithm, epsilon="0.001")
        folder = tmp_path / f"home {number} {ALGORITHMS.index(algorithm)}"
        model, _ = pflr.learn(asked, SCHEMA, measuring(folder, PEOPLE[:4], pflr.steps(asked, SCHEMA)))

        check_document(model.document, SCHEMA)


def test_an_indefinite_form_is_trimmed() -> None:
    """Along an eigenvector whose eigenvalue is not positive w is 0, and minimal in the others."""
    weights = penalised_minimiser(
        np.diag([2.0, -1.0, 0.0]), np.array([4.0, 5.0, 6.0]), np.zeros(3), ridge=0.0, penalty=1.0, threshold=0.0
    )

    assert weights.tolist() == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize("sensitive", [["origin"], ["sex", "origin"]])
def test_more_than_two_groups_are_refused(sensitive: list[str]) -> None:
    for name in ("pflr", "pflr_star"):
        with pytest.raises(InvalidPlan, match="two groups"):
            pflr.steps(training({"name": name}, sensitive=sensitive), SCHEMA)


def test_too_many_pairs_of_bins_are_refused() -> None:
    features = [{"column": name, "cuts": list(range(1, 65))} for name in ("age", "hours", "income")]
    assert pflr.steps(training({"name": "pflr"}, features=features[:2]), SCHEMA)
    with pytest.raises(TooLarge):
        pflr.steps(training({"name": "pflr"}, features=features), SCHEMA)


def test_too_many_coordinates_are_refused() -> None:
    """One column of 256 categories with the coordinate of everybody is as much as is minimised over."""
    for categories, fits in ((256, True), (257, False)):
        names = tuple(f"c{number}" for number in range(categories))
        columns = [Column(name="job", type="category", categories=names), *SCHEMA.columns]
        asked = training({"name": "pflr"}, features=[{"column": "job"}])
        with nullcontext() if fits else pytest.raises(TooLarge, match="coordinates"):
            pflr.steps(asked, SCHEMA.model_copy(update={"columns": tuple(columns)}))


def test_nano_units_of_the_parameters() -> None:
    """What a request leaves out: α = 1, τ = 0, half of ε."""
    assert training({"name": "pflr"}).algorithm.model_dump() == {
        "name": "pflr", "penalty": NANO_PER_UNIT, "threshold": 0,
    }  # fmt: skip
    assert training({"name": "pflr_star"}).algorithm.model_dump() == {
        "name": "pflr_star", "fairness": NANO_PER_UNIT // 2, "lowered": 1,
    }  # fmt: skip
