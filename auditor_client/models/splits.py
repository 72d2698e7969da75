"""The splits of a fitted tree as sets of raw values, the tree that they make, and witnesses that it is the same.

For each raw column the splits' exact turning points cut its domain into atoms; a split is then the set
of atoms that it sends left. Along a path the sets of atoms that can still arrive shrink: a split that
no longer parts anybody is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import Domain
from auditor_client.models.nameable import nameable_column
from auditor_client.models.preprocessing import Preprocessing, quietly
from auditor_client.models.probing import Probe, ThresholdTest, turns
from auditor_client.models.soundness import NODES_MAX
from auditor_client.models.tree import Branch, Leaf, Node, Split, Tree
from shared.contract.schema import Schema, Value

_WITNESSES_PER_LEAF: Final = 4

Reach = Mapping[str, int]
"""By column, the mask of the atoms that can arrive somewhere in the tree."""


class Splits:
    """A fitted tree over the atoms of each column that it splits on; `everybody` is what arrives at the root."""

    def __init__(self, classifier: Any, preprocessing: Preprocessing) -> None:
        """Find the atoms, and which of them each split sends left.

        Raises:
            ModelRefused: The tree does not fit its preprocessing, fails for a declared value, or splits on
                a column that rules may not name.
        """
        self.classifier = classifier
        self.preprocessing = preprocessing
        features = preprocessing.features
        preprocessing.require_works(self.leaves, features, "The tree")
        nodes = classifier.tree_
        if len(features) != nodes.n_features:
            raise ModelRefused("The tree and the steps before it do not fit together: save the model again.")
        self._children = list(zip(nodes.children_left.tolist(), nodes.children_right.tolist(), strict=True))
        self._feature = {
            node: features[nodes.feature[node]] for node in np.flatnonzero(nodes.children_left >= 0).tolist()
        }
        self._of_nan = (nodes.missing_go_to_left != 0).tolist()
        schema = preprocessing.inputs.schema
        for source in dict.fromkeys(feature.source for feature in self._feature.values()):
            nameable_column(source, schema, used="The tree splits on")
        self.domains = self._domains(schema)
        self.everybody: Reach = {name: domain.everything for name, domain in self.domains.items()}
        self._left = self._masks()

    def leaves(self, table: Any) -> NDArray[np.intp]:
        """The leaf that the model itself reaches, for each row of a table."""
        reached: NDArray[np.intp] = self.classifier.apply(self.preprocessing.transform(table))
        return reached

    def tree(self, decisions: Mapping[int, tuple[str, bool]]) -> Tree:
        """The tree over the dataset's columns, by what each leaf that can be reached decides, and if favourably."""
        self._leaves_made = 0
        return Tree(self._node(0, self.everybody, "", decisions))

    def reached(self, node: int, reach: Reach) -> Iterator[tuple[int, Reach]]:
        """The leaves below a node that can be reached, and by which atoms."""
        if node not in self._feature:
            yield node, reach
            return
        source, left = self._feature[node].source, self._left[node]
        for child, admitted in zip(self._children[node], (reach[source] & left, reach[source] & ~left), strict=True):
            if admitted:
                yield from self.reached(child, {**reach, source: admitted})

    def _node(self, node: int, reach: Reach, copy: str, decisions: Mapping[int, tuple[str, bool]]) -> Node:
        """A child that several branches lead to is copied, and its copies numbered, so that ids stay unique."""
        if node not in self._feature:
            self._leaves_made += 1
            if self._leaves_made > NODES_MAX:
                raise ModelRefused(
                    "The tree falls apart into too many rules, because it reads an ordered column value by value: "
                    "bin the column, or let it through."
                )
            return Leaf(f"leaf-{node}{copy}", *decisions[node], f"leaf-{node}" if copy else None)
        source, (left, right) = self._feature[node].source, self._children[node]
        ways = self.domains[source].ways(self._left[node], reach[source])
        branches = []
        for number, way in enumerate(ways, start=1):
            below = {**reach, source: way.admitted}
            child = self._node(
                left if way.left else right, below, f"{copy}-{number}" if len(ways) > 2 else copy, decisions
            )
            branches.append(Branch(way.predicates, child))
        if len(branches) == 1:
            return branches[0].child
        return Split(f"node-{node}{copy}", tuple(branches), f"node-{node}" if copy else None)

    def _domains(self, schema: Schema) -> dict[str, Domain]:
        column, threshold = self.classifier.tree_.feature.tolist(), self.classifier.tree_.threshold.tolist()
        tests = [
            ThresholdTest(feature.source, feature.cuts, column[node], threshold[node], self._of_nan[node])
            for node, feature in self._feature.items()
            if schema.by_name[feature.source].ordered
        ]
        cuts: dict[str, set[int]] = {feature.source: set() for feature in self._feature.values()}
        turning_keys = turns(self.preprocessing.inputs, tests, self.preprocessing.matrix)
        for test, keys in zip(tests, turning_keys, strict=True):
            cuts[test.source] |= keys
        return {name: Domain(schema.by_name[name], tuple(sorted(keys))) for name, keys in cuts.items()}

    def _masks(self) -> dict[int, int]:
        """For each split the mask of the atoms that go left: asked of the model for one value of each atom."""
        probes = [
            Probe(name, domain.examples(atom)[0])
            for name, domain in self.domains.items()
            for atom in range(domain.values_count + domain.column.nullable)
        ]
        rows = {name: [row for row, probe in enumerate(probes) if probe.column == name] for name in self.domains}
        column, threshold = self.classifier.tree_.feature, self.classifier.tree_.threshold
        matrix = self.preprocessing.matrix(self.preprocessing.inputs.rows(probes)) if probes else np.empty((0, 0))
        masks = {}
        for node, feature in self._feature.items():
            values = matrix[rows[feature.source], column[node]]
            left = np.where(np.isnan(values), self._of_nan[node], values <= threshold[node])
            masks[node] = sum(1 << atom for atom in np.flatnonzero(left).tolist())
        return masks


class Witnesses:
    """Invented people for every leaf, those at the edges of the atoms among them."""

    def __init__(self, splits: Splits) -> None:
        draw = np.random.default_rng(0)
        self._splits = splits
        self._leaf: list[int] = []
        self._records: list[dict[str, Value | None]] = []
        for leaf, reach in splits.reached(0, splits.everybody):
            for _ in range(_WITNESSES_PER_LEAF):
                self._leaf.append(leaf)
                self._records.append({name: _example(splits.domains[name], mask, draw) for name, mask in reach.items()})

    def __len__(self) -> int:
        return len(self._records)

    def decisions(self, model: Any) -> dict[int, Any]:
        """The class that the whole model gives to the people of each leaf, by number of the leaf.

        Raises:
            ModelRefused: The model does not send its witnesses to their leaf, or decides differently
                within one.
        """
        every = np.arange(len(self._records))
        columns = {name: (every, [record[name] for record in self._records]) for name in self._splits.domains}
        table = self._splits.preprocessing.inputs.table(len(every), columns)
        _require_same(quietly(self._splits.leaves, table).tolist(), self._leaf)
        labels = quietly(model.predict, table).tolist()
        decisions = dict(zip(self._leaf, labels, strict=True))
        _require_same(labels, [decisions[leaf] for leaf in self._leaf])
        return decisions

    def require_same_leaves(self, tree: Tree) -> None:
        """Refuse a tree that sends a witness to another leaf than the model does."""
        _require_same([int(tree.decide(record).id.split("-")[1]) for record in self._records], self._leaf)


def _example(domain: Domain, mask: int, draw: np.random.Generator) -> Value | None:
    atoms = [atom for atom in range(mask.bit_length()) if mask >> atom & 1]
    examples = domain.examples(atoms[draw.integers(len(atoms))])
    return examples[draw.integers(len(examples))]


def _require_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    if found != expected:
        raise ModelRefused(
            "The model does not follow its own tree on invented records, so its rules cannot be read exactly. If it is "
            "made of unchanged scikit-learn parts, please report this."
        )
