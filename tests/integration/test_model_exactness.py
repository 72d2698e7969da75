"""The rule that matches a person is the leaf that scikit-learn reaches, for every person: 0 differences.

`PAFER_EXACTNESS_MODELS` sets how many models are invented; the default is 200.
"""

import os
import warnings

import numpy as np
import pytest

from auditor_client.models.sklearn_tree import read_tree
from tests.invented_models import SCHEMA, edge_people, invent, people

MODELS = int(os.environ.get("PAFER_EXACTNESS_MODELS", "200"))
BATCH = 10


@pytest.mark.parametrize("first", range(0, MODELS, BATCH))
@pytest.mark.filterwarnings("ignore")
def test_every_person_is_matched_by_the_rule_of_the_leaf_that_scikit_learn_reaches(first: int) -> None:
    for seed in range(first, min(first + BATCH, MODELS)):
        draw = np.random.default_rng(10_000_000 + seed)
        invented = invent(seed)
        favourable = invented.classes[-1:] if draw.random() < 0.7 else invented.classes[:-1]

        tree = read_tree(invented.model, SCHEMA, favourable=favourable, columns=invented.columns)

        rules = tree.rules()
        some = people(draw, 60, unseen=True)
        edges = edge_people(draw, some, list({p for rule in rules for p in rule.rule.all_of}))
        everybody = some + edges[:200]
        matching = [[rule for rule in rules if rule.rule.matches(person)] for person in everybody]
        decisions = invented.model.predict(invented.table(everybody))
        assert [len(found) for found in matching] == [1] * len(everybody), seed
        assert [int(found[0].leaf.id.split("-")[1]) for found in matching] == invented.leaves(everybody), seed
        assert [found[0].leaf.decision for found in matching] == [str(label) for label in decisions], seed
        assert [found[0].favourable for found in matching] == [label in favourable for label in decisions], seed
