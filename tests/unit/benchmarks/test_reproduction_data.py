"""Binning as the paper has it, data sets of one's own, and the plain procedure in pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.published_trees import PUBLISHED_TREES
from benchmarks.reproduction.binning import bin_edges, binned
from benchmarks.reproduction.data_sets import declared, further_names, load, sensitive_choices
from benchmarks.reproduction.pandas_procedure import as_query, estimate
from pafer_demo.open_data import LOADERS, OpenData, OpenDataMissing
from pafer_demo.register import register
from shared.contract.datasets import DatasetDeclaration
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column

DECLARATION = DatasetDeclaration(
    person_key="ID",
    columns=(
        Column(name="limit", type="integer", minimum=0, maximum=1000),
        Column(name="late", type="boolean"),
        Column(name="sex", type="category", categories=("male", "female"), sensitive=True),
        Column(name="paid", type="boolean", label=True),
    ),
)


def own_data(folder: Path, *, people: int = 90) -> None:
    """Write a data set of one's own, with a column that is not declared."""
    number = np.arange(people)
    table = pd.DataFrame(
        {
            "ID": number, "limit": number % 50, "late": number % 3 == 0, "note": "x", "paid": number % 2 == 0,
            "sex": np.where(number % 4 == 0, "male", "female"),
        }
    )  # fmt: skip
    table.to_csv(folder / "own.csv", index=False)
    (folder / "own.declaration.json").write_text(DECLARATION.model_dump_json(exclude_none=True))


def test_a_data_set_of_ones_own_is_read_as_declared_and_split_as_the_papers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_data(tmp_path)
    monkeypatch.setenv("PAFER_DATA", str(tmp_path))
    load.cache_clear()

    data = load("own")

    assert further_names() == ("own",)
    assert (len(data.train), len(data.test)) == (60, 30)
    assert (data.features, data.label) == (("limit", "late"), "paid")
    assert data.test.column_names == ["ID", "limit", "late", "sex", "paid"]
    assert set(data.test["ID"].to_pylist()).isdisjoint(data.train["ID"].to_pylist())
    assert sensitive_choices("own") == (("sex",),)


def test_a_declaration_without_records_or_label_is_refused(tmp_path: Path) -> None:
    own_data(tmp_path)
    unlabelled = DECLARATION.model_copy(update={"columns": DECLARATION.columns[:-1]})
    (tmp_path / "own.declaration.json").write_text(unlabelled.model_dump_json(exclude_none=True))

    with pytest.raises(ValueError, match="no label"):
        declared("own", tmp_path)
    (tmp_path / "own.csv").unlink()
    with pytest.raises(OpenDataMissing, match=r"no own\.csv"):
        declared("own", tmp_path)


def test_no_feature_has_more_than_seven_bins_and_the_same_seed_gives_the_same_edges() -> None:
    data = register()

    edges = bin_edges(data, seed=7)

    assert edges == bin_edges(data, seed=7)
    assert all(len(bounds) <= 6 and list(bounds) == sorted(set(bounds)) for bounds in edges.values())
    assert any(edges.values())
    cut = binned(data, edges)
    for name, bounds in edges.items():
        column = cut.declaration.table.by_name[name]
        assert set(cut.test[name].to_pylist()) <= set(range(len(bounds) + 1))
        assert (column.minimum, column.maximum) == (0, max(len(bounds), 1))


@settings(max_examples=50)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30), st.sets(st.integers(0, 1000), max_size=6))
def test_a_bin_holds_those_above_its_lower_edge_up_to_its_upper_one(values: list[int], edges: set[int]) -> None:
    bounds = tuple(sorted(edges))
    table = pa.table({"limit": pa.array(values, pa.int64())})

    bins = binned(OpenData("own", DECLARATION, table, table), {"limit": bounds}).test["limit"].to_pylist()

    assert bins == [sum(value > bound for bound in bounds) for value in values]


def test_a_rule_as_a_pandas_query_selects_whom_it_matches() -> None:
    people = pd.DataFrame({"marital-status": ["single", "married", "married"], "gain": [5, 5, 8]})
    rule = Rule(
        all_of=(
            Predicate(column="marital-status", op="ne", value="single"),
            Predicate(column="gain", op="le", value=5.5),
        )
    )

    assert people.query(as_query(rule)).index.tolist() == [1]


def test_the_plain_procedure_finds_the_published_parity_where_there_is_hardly_any_noise(open_data: Path) -> None:
    published = next(tree for tree in PUBLISHED_TREES if tree.dataset == "compas")
    people = LOADERS["compas"](open_data).test.to_pandas()
    rules = [as_query(rule.rule) for rule in published.tree.merged().rules() if rule.favourable]

    for sensitive, parity in published.parity.items():
        found = estimate(people, rules, sensitive, 1e6, np.random.default_rng(0))

        assert found == pytest.approx(parity, abs=1e-4)
