"""The arithmetic of the comparison of learners: figures, parity steps, equal parity, and which runs are kept."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from benchmarks.judged_decisions import FIGURES, Judged
from benchmarks.reproduction.chunks import run_chunks
from benchmarks.reproduction.fair_models.as_published import fairness_sensitivity, noisy_gain, objective_sensitivity
from benchmarks.reproduction.fair_models.parity import bands, by_lot, group_thresholds, parity_step
from benchmarks.reproduction.fair_models.rivals import AS_IT_IS, PARITY_STEP, STEPS, WANTED
from benchmarks.reproduction.fair_models.runs import (
    DATASETS,
    EPSILONS,
    OURS,
    QUICK_EPSILONS,
    RIVALS,
    SEEDS,
    WITHOUT_PRIVACY,
    FairModelRuns,
    chunks,
    seeds_of,
)
from benchmarks.reproduction.fair_models.section import training_section
from benchmarks.reproduction.fair_models.summaries import (
    ALIKE,
    BETTER,
    WORSE,
    at_equal_parity,
    equal_parity,
    means,
    of_the_better,
    own_curve,
)
from benchmarks.reproduction.fair_models.without_privacy import CONSTANT, LOGISTIC, TWO_SCORES
from benchmarks.reproduction.published import SENSITIVE
from benchmarks.reproduction.sections import Output
from benchmarks.trained_models import BoolArray, IntArray
from holder_service.learning.coordinates import Coordinates
from holder_service.learning.pflr import FAIRNESS_UNIT, OBJECTIVE_UNIT, steps
from testing.invented.trainings import SCHEMA, training

LABEL = np.array([True, True, True, False, False, False, False, False])
GROUPS = np.array([0, 0, 2, 0, 2, 2, 2, 2])


def test_figures_of_decisions_are_shares_of_people_and_rates_of_groups_that_have_somebody() -> None:
    decided = np.array([True, False, True, True, False, False, False, False])

    judged = Judged.of(decided, LABEL, GROUPS)

    assert judged.accuracy == 6 / 8
    assert judged.balanced == judged.auc == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert judged.ratio == pytest.approx((1 / 5) / (2 / 3))
    assert judged.difference == pytest.approx(2 / 3 - 1 / 5)


def test_one_decision_for_all_is_fair_and_worth_nothing_but_in_accuracy() -> None:
    nobody = Judged.of(np.zeros(8, np.bool_), LABEL, GROUPS, np.zeros(8))

    assert nobody == Judged(accuracy=5 / 8, balanced=0.5, auc=0.5, ratio=1.0, difference=0.0)


def test_the_auc_is_of_the_scores_where_there_are_some() -> None:
    judged = Judged.of(LABEL, LABEL, GROUPS, -LABEL.astype(float))

    assert (judged.accuracy, judged.auc) == (1.0, 0.0)


def test_thresholds_by_group_are_the_best_of_all_that_meet_the_ratio() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        groups = generator.integers(0, 2, 24)
        labels = generator.random(24) < 0.3 + 0.3 * groups
        scores = generator.random(24) + 0.3 * labels

        found = group_thresholds(scores, labels, groups, 0.8)

        decided = scores >= found[groups]
        best = max(
            (tried == labels).mean()
            for first, second in product([*scores, np.inf], repeat=2)
            if ratio_of(tried := scores >= np.where(groups == 0, first, second), groups) >= 0.8
        )
        assert ratio_of(decided, groups) >= 0.8 - 1e-9
        # The highest rates that are tried lie a four-hundredth apart, and rates of twelve people much further.
        assert (decided == labels).mean() == pytest.approx(best)


def ratio_of(decided: BoolArray, groups: IntArray) -> float:
    rates = decided[groups == 0].mean(), decided[groups == 1].mean()
    return float(min(rates) / max(rates)) if max(rates) > 0 else 1.0


def test_lots_part_equal_scores_alone() -> None:
    train, test = by_lot(np.array([0.5, 0.5, 0.1]), np.array([0.5, 0.3]))

    together = np.concatenate([train, test])
    assert len(set(together.tolist())) == 5
    assert max(train[2], test[1]) < min(train[0], train[1], test[0])
    assert train[2] < test[1]


def test_bands_keep_the_order_and_every_value_of_few() -> None:
    few = np.array([0.2, 0.9, 0.2, 0.5])
    many = np.random.default_rng(0).random(1000)

    of_few, of_new = bands(few, np.array([0.0, 0.6, 1.0]))
    of_many, _ = bands(many, many)

    assert of_few.tolist() == [0, 2, 0, 1]
    assert of_new.tolist() == [0, 1, 2]
    assert len(np.unique(of_many)) == 35
    assert (np.diff(of_many[np.argsort(many)]) >= 0).all()


def test_a_parity_step_meets_the_ratio_on_its_people_by_bands_alone() -> None:
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 2, 4000)
    of_band = np.clip(generator.integers(0, 8, 4000) + 2 * groups, 0, 8)
    labels = generator.random(4000) < of_band / 10

    decided = parity_step(of_band, labels, groups, 0.8)

    assert ratio_of(decided[of_band], groups) >= 0.8
    assert ratio_of(of_band >= 5, groups) < 0.8
    assert (decided[of_band] == labels).mean() > max(labels.mean(), 1 - labels.mean())


def test_where_a_parity_step_finds_nothing_everybody_is_decided_as_most_are() -> None:
    groups = np.repeat([0, 1], 100)

    decided = parity_step(groups, groups == 1, groups, 0.8)

    assert decided.tolist() == [False, False]


@pytest.mark.parametrize(("relation", "times"), [("add_remove", 1), ("replace", 2)])
def test_published_sensitivities_are_at_least_twice_what_the_holder_announces(relation: str, times: int) -> None:
    asked = training({"name": "pflr"})
    objective, fairness = steps(asked, SCHEMA)
    d = Coordinates.of(asked, SCHEMA).size

    assert objective_sensitivity(d) >= 2 * times * objective.sensitivity / OBJECTIVE_UNIT, relation
    assert fairness_sensitivity(d) >= 2 * times * fairness.sensitivity / FAIRNESS_UNIT, relation
    # As printed, for α = 1: d²/4 + 3d.
    assert objective_sensitivity(d) + fairness_sensitivity(d) == d * d / 4 + 3 * d


def test_noise_of_a_published_split_is_on_its_entropies_in_bits() -> None:
    counts = np.array([[3.0, 1.0], [1.0, 3.0]])
    sides, near = (np.array([1, 0]), np.array([0, 1])), np.eye(2, dtype=np.int64)

    without = noisy_gain(counts, sides, near, np.zeros(3))
    noisy = noisy_gain(counts, sides, near, np.array([1.0, 0.5, 0.25]))

    assert without == pytest.approx(1 - 0.8112781)
    assert noisy - without == pytest.approx(1 - (0.5 + 0.25) / 2)


def test_ours_is_the_first_whose_mean_ratio_is_the_rivals_whatever_its_accuracy() -> None:
    curve = [(0.0, runs_of([0.9, 0.9], [0.4, 0.4])), (0.4, runs_of([0.70, 0.72], [0.5, 0.7])),
             (0.8, runs_of([0.95, 0.95], [0.9, 0.9])), (1.0, runs_of([0.6, 0.6], [1.0, 1.0]))]  # fmt: skip
    rival = runs_of([0.80, 0.80], [0.53, 0.65]).reset_index()

    found = equal_parity(curve, rival)

    assert (found["wanted"], found["ratio"]) == (0.4, pytest.approx(0.6))
    assert found["difference"] == pytest.approx(-0.09)
    assert found["se"] == pytest.approx(0.01)
    assert found["verdict"] == ALIKE  # 9 standard errors of two runs are less than Student's 12.7


def test_a_rival_fairer_than_any_model_of_ours_is_held_against_one_decision_for_all() -> None:
    curve = [(0.0, runs_of([0.9] * 3, [0.4] * 3)), (1.0, runs_of([0.75] * 3, [1.0] * 3))]

    above = equal_parity(curve, runs_of([0.80, 0.81, 0.82], [0.99] * 3).reset_index())
    below = equal_parity(curve, runs_of([0.70, 0.69, 0.68], [0.99] * 3).reset_index())

    assert (above["wanted"], above["verdict"], below["verdict"]) == (1, WORSE, BETTER)


def test_accuracies_are_compared_run_by_run() -> None:
    curve = [(0.0, runs_of([0.5, 0.6, 0.7], [0.9] * 3)), (1.0, runs_of([0.5] * 3, [1.0] * 3))]

    found = equal_parity(curve, runs_of([0.49, 0.59, 0.69], [0.8] * 3).reset_index())

    assert found["verdict"] == BETTER
    assert found["se"] < 1e-9


def test_the_constant_that_was_judged_once_stands_in_every_run() -> None:
    rows = invented_rows(seeds=3)
    part = rows[(rows["dataset"] == "adult") & (rows["sensitive"] == "sex") & (rows["epsilon"] == "1")]
    once = rows[
        (rows["learner"] == "one decision for all") & (rows["dataset"] == "adult") & (rows["sensitive"] == "sex")
    ]

    curve = own_curve(part[part["learner"] == "fair_tree"], once.head(1))

    assert [wanted for wanted, _ in curve] == [0.0, *WANTED, 1.0]
    assert all(one.index.tolist() == [1, 2, 3] for _, one in curve)


def test_means_have_the_standard_error_of_the_mean_and_the_share_that_meets_four_fifths() -> None:
    rows = invented_rows(seeds=4)
    one = (rows["dataset"] == "german") & (rows["sensitive"] == "sex") & (rows["epsilon"] == "1")
    part = rows[one & (rows["learner"] == "DP-EBM") & (rows["step"] == AS_IT_IS)]

    found = means(rows)

    line = found[
        (found["dataset"] == "german") & (found["sensitive"] == "sex") & (found["epsilon"] == "1")
        & (found["learner"] == "DP-EBM") & (found["step"] == AS_IT_IS)
    ].iloc[0]  # fmt: skip
    assert line["accuracy"] == pytest.approx(part["accuracy"].mean())
    assert line["accuracy_se"] == pytest.approx(part["accuracy"].std(ddof=1) / 2)
    assert line["enough"] == (part["ratio"] >= 0.8).mean()
    assert line["runs"] == 4


@pytest.mark.slow
def test_each_rival_is_compared_once_and_the_better_of_ours_is_the_one_with_the_larger_difference() -> None:
    compared = at_equal_parity(invented_rows(seeds=3))

    best = of_the_better(compared)

    key = ["dataset", "sensitive", "epsilon", "rival", "step"]
    assert not best.duplicated(key).any()
    assert len(compared) == 2 * len(best)
    largest = compared.groupby(key)["difference"].max()
    assert best.set_index(key)["difference"].sort_index().tolist() == largest.sort_index().tolist()


def test_fewer_seeds_are_a_part_of_more_and_the_default_is_fifty() -> None:
    names = {seeds: [chunk.name for chunk in chunks(seeds=seeds, quick=False)] for seeds in (10, 50)}

    assert set(names[10]) < set(names[50])
    assert len(set(names[50])) == len(names[50])
    assert seeds_of(quick=False) == SEEDS == 50
    assert len(EPSILONS) == 5
    runs = sum(
        chunk.runs for chunk in chunks(seeds=50, quick=False) if chunk.dataset == "adult" and chunk.epsilon == "1"
    )
    assert runs == 50


def test_a_finished_chunk_is_not_run_again(tmp_path: Path) -> None:
    chunk = FairModelRuns("german", "0.1", 1, 2)
    (tmp_path / f"{chunk.name}.csv").write_text("kept")

    progressed = run_chunks([chunk], tmp_path, what="training", workers=1, console=Console(quiet=True))

    assert progressed.estimates == 0
    assert (tmp_path / f"{chunk.name}.csv").read_text() == "kept"


@pytest.mark.slow
def test_the_section_has_every_table_and_picture_and_says_where_a_rival_is_better(tmp_path: Path) -> None:
    rows = invented_rows(seeds=3)
    better = (rows["learner"] == "DP-EBM") & (rows["step"] == PARITY_STEP)
    rows.loc[better, ["accuracy", "ratio"]] = [9.9, 0.9]

    # As they are read again: ε is a number in every file that has no other word in its place.
    kept = rows.assign(epsilon=rows["epsilon"].map(lambda one: one if one == WITHOUT_PRIVACY else float(one)))

    section = training_section(Output(tmp_path), kept)

    tables = {table.name: table for table in section.tables}
    of_ebm = [row for row in tables["training-where-not"].rows if row[2:4] == ("DP-EBM", PARITY_STEP)]
    assert len(of_ebm) == 3 * 3 * 2
    assert all(float(row[-1].split(" ")[0]) < 0 for row in of_ebm)
    summary = pd.DataFrame(tables["training-at-equal-parity"].rows)
    assert (summary[[3, 4, 5]].astype(int).sum(axis=1) == summary[6].astype(int)).all()
    assert {"training", "training-adult-sex", "training-german-sex-ethnicity"} <= set(tables)
    for name in tables:
        assert (tmp_path / "tables" / f"{name}.csv").is_file()
    for picture in section.pictures:
        assert (tmp_path / "figures" / f"{picture.name}.png").is_file()
        assert (tmp_path / "figures" / f"{picture.name}.svg").is_file()
    assert [picture.name for picture in section.pictures][-1] == "training-accuracy"


def invented_rows(*, seeds: int) -> pd.DataFrame:
    """Every learner on every data set at two ε; the figures mean nothing."""
    generator = np.random.default_rng(0)
    learned = [(name, AS_IT_IS, np.nan) for name in OURS]
    decided = [(name, PARITY_STEP, wanted) for name in OURS for wanted in WANTED]
    others = [(name, step, np.nan) for name in RIVALS for step in STEPS]
    without = [(CONSTANT, AS_IT_IS, np.nan), (LOGISTIC, AS_IT_IS, np.nan), (TWO_SCORES, PARITY_STEP, np.nan)]
    keys = [
        (dataset, "-".join(sensitive), epsilon, *row, run)
        for dataset in DATASETS
        for sensitive in SENSITIVE
        for epsilon in (*QUICK_EPSILONS, WITHOUT_PRIVACY)
        for row in (without if epsilon == WITHOUT_PRIVACY else [*learned, *decided, *others])
        for run in range(1, seeds + 1)
    ]
    rows = pd.DataFrame(keys, columns=["dataset", "sensitive", "epsilon", "learner", "step", "wanted", "run"])
    figures = {name: generator.uniform(0.5, 0.9, len(rows)) for name in FIGURES}
    return rows.assign(**figures, none=rows["wanted"].notna().map({True: 0.0, False: np.nan}))


def runs_of(accuracies: Sequence[float], ratios: Sequence[float]) -> pd.DataFrame:
    """Accuracy and ratio by run, from 1 on."""
    runs = pd.Index(range(1, len(accuracies) + 1), name="run")
    return pd.DataFrame({"accuracy": accuracies, "ratio": ratios}, index=runs)
