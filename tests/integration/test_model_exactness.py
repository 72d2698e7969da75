"""The rule that matches a person is the leaf that scikit-learn reaches, for every person: 0 differences.

Two oracles look at every model: the reference evaluator `Rule.matches`, person by person, and the holder's own
count over loaded records. The suite invents 50 models; `./run statistical` goes on to as many as
`PAFER_EXACTNESS_MODELS` says; the default is 200.
"""

import csv
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from auditor_client.models.sklearn_tree import read_tree
from auditor_client.models.tree import DecisionRule
from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from shared.contract.rules import Cell
from testing.invented.models import SCHEMA, Record, edge_people, invent, people

MODELS = int(os.environ.get("PAFER_EXACTNESS_MODELS", "200"))
IN_SUITE = 50
BATCH = 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        *range(0, IN_SUITE, BATCH),
        *(pytest.param(first, marks=pytest.mark.statistical) for first in range(IN_SUITE, MODELS, BATCH)),
    ],
)
def test_every_person_is_matched_by_the_rule_of_the_leaf_that_scikit_learn_reaches(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + BATCH, MODELS)):
        draw = np.random.default_rng(10_000_000 + seed)
        invented = invent(seed)
        favourable = invented.classes[-1:] if draw.random() < 0.7 else invented.classes[:-1]

        rules = read_tree(invented.model, SCHEMA, favourable=favourable, columns=invented.columns).rules()

        some = people(draw, 60, unseen=True)
        edges = edge_people(draw, some, list({predicate for rule in rules for predicate in rule.rule.all_of}))
        everybody = some + edges[:200]
        matching = [[rule for rule in rules if rule.rule.matches(person)] for person in everybody]
        leaves, decisions = invented.leaves(everybody), invented.decisions(everybody)
        assert [len(found) for found in matching] == [1] * len(everybody), seed
        assert [_leaf(found[0]) for found in matching] == leaves, seed
        assert [found[0].leaf.decision for found in matching] == [str(label) for label in decisions], seed
        assert [found[0].favourable for found in matching] == [label in favourable for label in decisions], seed
        assert _counted(rules, everybody, tmp_path / str(seed)) == Counter(leaves), seed


def _leaf(rule: DecisionRule) -> int:
    """The number that scikit-learn gives to the leaf that a rule, or a copy of it, leads to."""
    return int(rule.leaf.id.split("-")[1])


def _counted(rules: tuple[DecisionRule, ...], everybody: list[Record], folder: Path) -> Counter[int]:
    """How many people the holder counts for each leaf, from a file of records; all rules are one disjoint class."""
    cells = [Cell(id=rule.leaf.id, any_of=(rule.rule,)) for rule in rules]
    classes = disjoint_classes(cells, SCHEMA)
    assert len(classes) == 1
    folder.mkdir()
    _write_csv(folder / "records.csv", everybody)
    load_records(folder / "records.csv", "text/csv", SCHEMA, 10_000, folder / "records.arrow")
    counts = count_cells(Records.open(folder / "records.arrow", SCHEMA), cells, classes, ["sex"]).reveal_to_mechanism()
    counted: Counter[int] = Counter()
    for rule, count in zip(rules, counts.sum(axis=1).tolist(), strict=True):
        counted[_leaf(rule)] += count
    return +counted


def _write_csv(path: Path, everybody: list[Record]) -> None:
    names = [column.name for column in SCHEMA.columns]
    written = {None: "", False: "false", True: "true"}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *names])
        for number, person in enumerate(everybody):
            known = {**person, "sex": "fm"[number % 2], "good": True}
            values = [known[name] for name in names]
            writer.writerow([number, *(written[v] if v is None or isinstance(v, bool) else v for v in values)])
