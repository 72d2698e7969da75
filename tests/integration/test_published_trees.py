"""The published trees on the open data: the nine true values of the paper's Table 4, counted twice (1-method §5)."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from auditor_client.asking.inquiry import EVERYBODY
from benchmarks.published_trees import PUBLISHED_TREES, PublishedTree
from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from pafer_demo.open_data import LOADERS, OpenData
from shared.contract.rules import Cell


@pytest.fixture(scope="module", params=PUBLISHED_TREES, ids=lambda published: published.dataset)
def published(request: pytest.FixtureRequest) -> PublishedTree:
    """One of the three trees."""
    tree: PublishedTree = request.param
    return tree


@pytest.fixture(scope="module")
def data(published: PublishedTree, open_data: Path) -> OpenData:
    """The people that the tree decides on."""
    return LOADERS[published.dataset](open_data)


def test_the_tree_fits_the_declaration_and_decides_on_everybody_as_published(
    published: PublishedTree, data: OpenData
) -> None:
    published.tree.check(data.declaration.table)

    rules = published.tree.merged().rules()

    assert sum(rule.favourable for rule in rules) == 3
    assert len(disjoint_classes([Cell(id=str(n), any_of=(rule.rule,)) for n, rule in enumerate(rules)],
                                data.declaration.table)) == 1  # fmt: skip


def test_the_true_ratios_are_those_of_table_4_by_the_reference_evaluator_and_by_the_holder(
    published: PublishedTree, data: OpenData, tmp_path: Path
) -> None:
    schema = data.declaration.table
    accepting = [rule.rule for rule in published.tree.merged().rules() if rule.favourable]
    people = data.test.to_pylist()
    accepted = [any(rule.matches(person) for rule in accepting) for person in people]
    data.write_csv(tmp_path / "people.csv")
    load_records(tmp_path / "people.csv", "text/csv", schema, data.declaration.records_max, tmp_path / "records")
    records = Records.open(tmp_path / "records", schema)
    cells = [EVERYBODY, Cell(id="favourable", any_of=tuple(accepting))]

    for sensitive, ratio in published.parity.items():
        sizes = Counter(tuple(person[name] for name in sensitive) for person in people)
        favoured = Counter(
            tuple(person[name] for name in sensitive) for person, yes in zip(people, accepted, strict=True) if yes
        )
        rates = [favoured[group] / sizes[group] for group in schema.groups(sensitive)]
        counts = count_cells(records, cells, disjoint_classes(cells, schema), sensitive).reveal_to_mechanism()

        assert min(rates) / max(rates) == pytest.approx(ratio, abs=5e-5)
        np.testing.assert_array_equal(
            counts, [[where[group] for group in schema.groups(sensitive)] for where in (sizes, favoured)]
        )
