"""The learners of the comparison on German, the smallest data set: published constants, rows, and splits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reproduction.fair_models import as_published
from benchmarks.reproduction.fair_models.peers import ENVIRONMENT, NAMES, PeersMissing, require_peers
from benchmarks.reproduction.fair_models.rivals import STEPS, WANTED
from benchmarks.reproduction.fair_models.runs import (
    AS_PUBLISHED,
    CORRECTED,
    OURS,
    RIVALS,
    WITHOUT_PRIVACY,
    FairModelRuns,
    parts_of_runs,
)
from benchmarks.reproduction.fair_models.splits import bounds, codes, one_hot, split
from benchmarks.trained_models import FIVE, Parts, train
from holder_service.learning.coordinates import Coordinates
from pafer_demo.open_data import LOADERS
from shared.kinds.trainings import TrainedScore, TrainedTree
from testing.invented.trainings import exact

pytestmark = pytest.mark.usefixtures("open_data")


@pytest.fixture(scope="module")
def german(open_data: Path) -> Iterator[Parts]:
    """Its first run."""
    with parts_of_runs("german", [1]) as parts:
        yield parts[1]


class Scales:
    """A generator that draws nothing, and keeps what scales it was asked for."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def laplace(self, *, scale: float, size: object) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        self.scales.append(scale)
        return np.zeros(size)  # type: ignore[call-overload,no-any-return]  # a size


@pytest.mark.parametrize("algorithm", [{"name": "pflr"}, {"name": "pflr_star", "lowered": 0}], ids=str)
def test_without_noise_published_and_corrected_regressions_are_one(german: Parts, algorithm: dict[str, object]) -> None:
    asked = exact(german.training(algorithm, FIVE["german"], "1", ["sex"]))

    weights = as_published.pflr_weights(german, asked, 0, np.random.default_rng(0))
    model, _ = train(german, asked)

    assert isinstance(model, TrainedScore)
    scores = as_published.vectors(german.test, Coordinates.of(asked, german.schema)) @ weights
    np.testing.assert_allclose(scores, german.test.scores(model), atol=1e-6)
    assert np.ptp(scores) > 0.1


def test_published_noise_has_the_published_scales(german: Parts) -> None:
    d = Coordinates.of(german.training({"name": "pflr"}, FIVE["german"], "1", ["sex"]), german.schema).size
    found = {}
    for name in ("pflr", "pflr_star"):
        scales = Scales()
        asked = german.training({"name": name}, FIVE["german"], "0.5", ["sex"])
        as_published.pflr_weights(german, asked, 0, scales)  # type: ignore[arg-type]  # it draws alike
        found[name] = scales.scales

    assert found["pflr"] == [(d * d / 4 + 3 * d) / 0.5] * 3
    assert found["pflr_star"] == [(d * d / 4 + d) / 0.25, (d * d / 4 + d) / 0.25, 2 * d / 0.25]


def test_without_noise_published_and_corrected_trees_are_one(german: Parts) -> None:
    asked, scales = german.training({"name": "private_fair_tree"}, FIVE["german"], "0.5", ["sex"]), Scales()

    published = as_published.tree(german.train, german.schema, asked, scales)  # type: ignore[arg-type]  # it draws alike
    corrected, _ = train(german, exact(asked))

    assert corrected == published
    assert set(scales.scales[:-1]) == {4 / 0.25}  # bits, on each entropy of four levels
    assert scales.scales[-1] == 1 / 0.25  # people, in the leaves


def test_noise_on_entropies_parts_by_chance_even_at_a_large_epsilon(german: Parts) -> None:
    asked = german.training({"name": "private_fair_tree"}, FIVE["german"], "10", ["sex"])

    noisy = [as_published.tree(german.train, german.schema, asked, np.random.default_rng(seed)) for seed in range(5)]

    assert len({tree.leaves[0].cell.any_of[0].all_of[0] for tree in noisy}) > 1


def test_a_run_without_privacy_has_every_row_and_the_constant_is_worth_nothing(open_data: Path) -> None:
    rows = FairModelRuns("german", WITHOUT_PRIVACY, 1, 2).rows()

    constant = rows[rows["learner"] == "one decision for all"]
    assert len(constant) == 3 * 2
    assert (constant[["balanced", "auc"]] == 0.5).all(axis=None)
    assert (constant["ratio"] == 1).all()
    regression = rows[(rows["learner"] == "logistic regression") & (rows["sensitive"] == "sex")]
    assert regression["step"].tolist() == [*STEPS] * 2
    assert (regression["auc"][regression["step"] == "as it is"] > 0.7).all()
    assert constant.groupby("run")["accuracy"].first().nunique() == 2  # another split, other people


def test_splits_are_seeded_by_the_run_and_adult_keeps_its_own_test_file() -> None:
    first, again, second = (split("german", run) for run in (1, 1, 2))

    assert first.test.equals(again.test)
    assert not first.test.equals(second.test)
    people = {*first.train["person"].to_pylist(), *first.test["person"].to_pylist()}
    assert len(people) == len(first.train) + len(first.test) == 1000
    assert split("adult", 2).test.equals(LOADERS["adult"](None).test)


def test_what_others_are_given_is_within_its_public_bounds(german: Parts) -> None:
    names = FIVE["german"]

    spread, coded, ends = one_hot(german.train, names), codes(german.train, names), bounds(german.train, names)

    assert ((spread >= 0) & (spread <= 1)).all()
    assert ((coded >= ends[:, 0]) & (coded <= ends[:, 1])).all()
    # What logistic regression is told: of each feature's columns the squares add up to 1 at most.
    assert (np.linalg.norm(spread, axis=1) <= len(names) ** 0.5).all()
    assert (spread.sum(axis=1) >= 4).all()  # four of the five are categories, each of which has one value


@pytest.mark.skipif(not ENVIRONMENT.exists(), reason="`./run reproduce training` has not made .venv-peers")
def test_a_private_run_has_every_learner_at_every_step(open_data: Path) -> None:
    runs = FairModelRuns("german", "1", 1, 1)

    rows = runs.rows()

    assert set(rows["learner"]) == {*OURS, *RIVALS}
    for sensitive, part in rows.groupby("sensitive"):
        refused = {"pflr", "pflr_star"} if sensitive == "sex-ethnicity" else set()
        rivals = [one for one in RIVALS if one.removesuffix(AS_PUBLISHED).removesuffix(CORRECTED) not in refused]
        others = part[~part["learner"].isin(OURS)]
        assert sorted(zip(others["learner"], others["step"], strict=True)) == sorted(
            (one, step) for one in rivals for step in STEPS
        )
        for name in OURS:
            assert part[part["learner"] == name]["wanted"].dropna().tolist() == [*WANTED]
    models = rows[["learner", "sensitive"]].drop_duplicates()
    of_groups = models[~models["learner"].isin(NAMES) & ~models["learner"].str.startswith("private_fair_tree")]
    assert runs.estimates == len(of_groups) + 2 + len(NAMES)


def test_without_their_environment_the_command_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.reproduction.fair_models.peers.ENVIRONMENT", tmp_path)

    with pytest.raises(PeersMissing, match="run reproduce training"):
        require_peers()


def test_a_published_tree_has_every_leaf_in_the_form_of_the_holder(german: Parts) -> None:
    asked = german.training({"name": "private_fair_tree"}, FIVE["german"], "1", ["sex"])

    model = as_published.tree(german.train, german.schema, asked, np.random.default_rng(0))

    assert isinstance(model, TrainedTree)
    assert len(model.leaves) <= 2**4
    assert set(german.test.leaves(model).tolist()) <= set(range(len(model.leaves)))
