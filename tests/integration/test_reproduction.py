"""The experiments on a real holder in process: small runs of each part, the page, and the command."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduction import experiment_1, experiment_2
from benchmarks.reproduction.data_sets import further_names, load
from benchmarks.reproduction.experiment_1 import Analysis, MethodRuns
from benchmarks.reproduction.experiment_2 import BUDGETS, LeafRuns, Training
from benchmarks.reproduction.in_process import AUDITOR, in_process_holder
from benchmarks.reproduction.methods import LAPLACE, METHODS, Method
from benchmarks.reproduction.page import write_page
from benchmarks.reproduction.sections import (
    Output,
    data_sections,
    experiment_1_sections,
    experiment_2_1_sections,
    experiment_2_sections,
    table_5_section,
)
from shared.privacy.amounts import parse_nano

pytestmark = pytest.mark.usefixtures("open_data")


@pytest.fixture(scope="module")
def analyses(open_data: Path) -> list[Analysis]:
    """The nine, counted by the holder's code."""
    return experiment_1.analyses()


@pytest.fixture(scope="module")
def german(analyses: list[Analysis]) -> Analysis:
    """The smallest data set, by sex."""
    return next(found for found in analyses if found.name == "german-sex")


def test_the_nine_values_of_table_4_are_found_to_four_decimals(analyses: list[Analysis], tmp_path: Path) -> None:
    tables = data_sections(Output(tmp_path), analyses)[0].tables

    of_table_4 = next(table for table in tables if table.name == "table-4")

    assert [row[-1] for row in of_table_4.rows] == ["yes"] * 9


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_estimates_each_run_once(german: Analysis, method: Method) -> None:
    runs = MethodRuns(german, method, (parse_nano("0.05"), parse_nano("0.5")), 3)

    rows = runs.rows()

    assert len(rows) == runs.estimates == 6
    assert rows.groupby("epsilon")["run"].apply(list).tolist() == [[1, 2, 3]] * 2
    assert (rows["truth"] == german.case.ratio).all()
    assert rows["estimate"].dropna().between(0, 1).all()
    assert rows["estimate"].nunique() > 3
    assert (rows["low"].notna() == method.posterior).all()


def test_a_release_in_process_is_charged_like_any_other_and_answers_near_the_truth(german: Analysis) -> None:
    data = load("german")
    with in_process_holder(data) as holder:
        runs = MethodRuns(german, LAPLACE, (parse_nano("10"),), 2)

        releases = list(runs._releases(holder, parse_nano("10")))

        assert holder.client.budget("german").spent.epsilon_nano == parse_nano("20")
        assert [release.auditor for release in releases] == [AUDITOR] * 2
        assert releases[0].id != releases[1].id
        true = holder.truth(releases[0].plan)
    np.testing.assert_array_equal(true.favourable, german.case.favourable)
    np.testing.assert_array_equal(true.sizes, german.case.sizes)
    # Noise of scale 1/5 stays within 10 but for a chance of e^-50 in each of eight counts.
    favourable = np.array([cell.counts for cell in releases[0].batches[1].cells])
    assert np.abs(favourable - true.favourable).max() <= 10


def test_the_trees_of_experiment_2_are_read_asked_and_estimated_and_come_again_alike() -> None:
    runs = LeafRuns("compas", 0.1, 2)

    rows, again = runs.rows(), runs.rows()

    assert len(rows) == runs.estimates == 2 * 3 * len(BUDGETS)
    ratios = rows[["estimate", "product", "truth", "baseline"]].to_numpy()
    assert ((ratios >= 0) & (ratios <= 1)).all()
    assert rows["truth"].nunique() >= 3
    known = ["sensitive", "epsilon", "tree", "rules", "truth", "baseline"]
    pd.testing.assert_frame_equal(rows[known], again[known])
    assert not rows["estimate"].equals(again["estimate"])


def test_trees_that_came_out_alike_are_asked_anew() -> None:
    rows = LeafRuns("compas", 0.2, 4).rows()

    # Two answers may give the same estimate at one ε, but hardly at five.
    of_trees = rows.groupby(["sensitive", "truth", "tree"])["estimate"].apply(tuple)
    alike = of_trees.groupby(["sensitive", "truth"])

    assert alike.size().max() > 1
    assert (alike.nunique() == alike.size()).all()


def test_the_truth_of_a_tree_is_what_its_model_decides_on_the_records() -> None:
    training = Training.of("compas")
    model = experiment_2.fitted_tree(training, leaf=0.05, number=3)
    people = training.data.test.to_pandas()
    rates = people.assign(yes=model.predict(people[list(training.data.features)])).groupby("sex")["yes"].mean()

    rows = LeafRuns("compas", 0.05, 4).rows()

    of_tree = rows[(rows["tree"] == 3) & (rows["sensitive"] == "sex")]
    assert of_tree["truth"].tolist() == pytest.approx([rates.min() / rates.max()] * len(BUDGETS))


def test_the_documented_example_of_another_data_set_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With invented people in the columns of the real file, which is not among the data."""
    example = (
        (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text().split("```python\n")[1].split("```")[0]
    )
    invented_credit_clients(300).to_csv(tmp_path / "UCI_Credit_Card.csv", index=False)
    subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True, timeout=60)
    monkeypatch.setenv("PAFER_DATA", str(tmp_path))

    rows = LeafRuns(further_names()[0], 0.2, 2).rows()

    assert further_names() == ("credit-default",)
    assert set(rows["sensitive"]) == {"sex"}
    assert len(rows) == 2 * len(BUDGETS)


@pytest.mark.slow
def test_the_page_has_every_table_and_figure_and_needs_no_network(analyses: list[Analysis], tmp_path: Path) -> None:
    output = Output(tmp_path)
    of_5 = invented_experiment_1(analyses[:1], experiment_1.TABLE_5_BUDGETS)
    of_1 = invented_experiment_1(analyses, (10**7, 10**8))
    of_2 = invented_experiment_2()

    write_page(
        tmp_path / "index.html",
        sections=[
            *data_sections(output, analyses),
            table_5_section(output, of_5, analyses[0]),
            *experiment_1_sections(output, of_1),
            *experiment_2_sections(output, of_2),
            *experiment_2_1_sections(output, of_2),
        ],
        subtitle="invented",
    )

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    for number in range(3, 13):
        assert f'id="table-{number}"' in page
        assert (tmp_path / "tables" / f"table-{number}.csv").is_file()
    for name in ("figure-1", "figure-1-calibrated", "experiment-2", *(f"figure-A{n}" for n in range(4, 10))):
        assert f'id="{name}"' in page
        assert (tmp_path / "figures" / f"{name}.png").is_file()
        assert (tmp_path / "figures" / f"{name}.svg").is_file()
    assert "src=" not in page
    assert "<script" not in page


@pytest.mark.slow
def test_without_data_the_command_says_where_it_looks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.reproduction", "tables", "--quick", "--output", str(tmp_path)]

    ended = subprocess.run(
        command, capture_output=True, text=True, env={"PAFER_DATA": str(tmp_path)}, timeout=60, check=False
    )

    assert ended.returncode == 2
    assert "PAFER_DATA" in ended.stdout
    assert not list(tmp_path.iterdir())


def invented_credit_clients(people: int) -> pd.DataFrame:
    """A few columns of the UCI file; who owes much defaults more often."""
    generator = np.random.default_rng(0)
    limit = generator.integers(1, 80, people) * 10_000
    return pd.DataFrame(
        {
            "ID": range(1, people + 1), "LIMIT_BAL": limit, "SEX": generator.integers(1, 3, people),
            "AGE": generator.integers(21, 80, people), "PAY_0": generator.integers(-2, 9, people),
            "BILL_AMT1": generator.normal(50_000, 20_000, people).round(2),
            "default.payment.next.month": (generator.uniform(size=people) * 800_000 > limit).astype(int),
        }
    )  # fmt: skip


def invented_experiment_1(analyses: list[Analysis], budgets: tuple[int, ...]) -> pd.DataFrame:
    """Results as the experiment gives them, from the slipped exponential for every method: a table is a table."""
    drawn = next(method for method in METHODS if method.slipped is not None)
    tables = []
    for analysis in analyses:
        rows = MethodRuns(analysis, drawn, budgets, 3).rows()
        rows = rows.assign(low=rows["estimate"] * 0.9, high=rows["estimate"] * 1.1)
        tables += [rows.assign(method=method.name) for method in METHODS]
    return pd.concat(tables, ignore_index=True)


def invented_experiment_2() -> pd.DataFrame:
    """Results as the experiment gives them, out of a seeded generator."""
    generator = np.random.default_rng(0)
    keys = [
        (dataset, sensitive, leaf, epsilon / 1e9, tree)
        for dataset in experiment_2.DATASETS
        for sensitive in ("ethnicity", "sex", "sex-ethnicity")
        for leaf in experiment_2.TABLED_LEAVES
        for epsilon in BUDGETS
        for tree in range(3)
    ]
    rows = pd.DataFrame(keys, columns=["dataset", "sensitive", "leaf", "epsilon", "tree"])
    figures = {name: generator.uniform(size=len(rows)) for name in ("truth", "estimate", "product", "baseline", "low")}
    return rows.assign(**figures, high=1.0, invalid=0.0, rules=2, seconds=0.1, cpu_seconds=0.1)


def test_a_method_of_the_experiments_own_is_never_asked_of_the_holder(german: Analysis) -> None:
    slipped = next(method for method in METHODS if method.slipped is not None)

    with pytest.raises(ValueError, match="not a mechanism of the holder"):
        slipped.request(["sex"], parse_nano("0.1"), people=334)
    with pytest.raises(ValueError, match="the holder's to draw"):
        replace(MethodRuns(german, LAPLACE, (parse_nano("0.1"),), 1))._drawn(parse_nano("0.1"))
