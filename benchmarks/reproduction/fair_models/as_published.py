"""The learners of the sources with the constants that are published: for the comparison alone.

None of them is in the holder, and none can be asked for there. What is wrong or loose in them, and what the holder does
in its place: docs/training-sources.md.

*PFLR, and PFLR with a star*: Laplace noise on real numbers, Δ_f = d²/4 + d, Δ_g = 2d, for PFLR with α = 1 together
d²/4 + 3d, all for d coordinates whatever a person may have of them. The mean of s is taken from the records as it is.
Noise of the symmetric form is drawn once per pair and the form repaired as the functional mechanism does, as in the
holder.

*The tree*: Laplace noise on entropies. No sensitivity is stated: it is taken to be 1, as that of the counts. A level's
share of ε is spent on each entropy of it, as if there was one; sizes of nodes have no noise. So it is not private at
the ε that it is said to have.
"""

import numpy as np

from benchmarks.trained_models import BoolArray, FloatArray, IntArray, Parts, People
from holder_service.learning.coordinates import GRID, Coordinates
from holder_service.learning.features import binned, numbered_cell
from holder_service.learning.nodes import GrowingNode
from holder_service.learning.pflr import RIDGE_DEVIATIONS
from holder_service.learning.private_fair_tree import similar_bins
from holder_service.learning.quadratic import minimiser, penalised_minimiser
from shared.contract.schema import Schema
from shared.kinds.trainings import Pflr, PrivateFairTree, TrainedLeaf, TrainedTree, Training
from shared.privacy.amounts import NANO_PER_UNIT


def objective_sensitivity(d: int) -> float:
    """Δ_f of the polynomial, as published."""
    return d * d / 4 + d


def fairness_sensitivity(d: int) -> float:
    """Δ_g of the covariance, as published."""
    return 2.0 * d


def vectors(people: People, coordinates: Coordinates) -> FloatArray:
    """Everybody's x, shape (n, d), as the holder's learners have it."""
    x = np.zeros((len(people), coordinates.size))
    x[:, 0] = 1.0
    for bins in coordinates.features:
        for one in bins:
            x[people.matches(one.path), one.coordinate] = one.position / GRID
    return x


def pflr_weights(parts: Parts, training: Training, favoured: int, generator: np.random.Generator) -> FloatArray:
    """The weights of PFLR with α = 1, or of PFLR* with ε divided in halves, shape (d,).

    Args:
        parts: Whom it is learned from.
        training: What would be asked of the holder.
        favoured: The index of the group with s = 1.
        generator: Of the noise.
    """
    coordinates = Coordinates.of(training, parts.schema)
    x, y = vectors(parts.train, coordinates), parts.train.labels(training.label)
    s = (parts.train.groups(training.sensitive) == favoured).astype(np.float64)
    form, linear, covariance = x.T @ x / 8, (0.5 - y) @ x, (s - s.mean()) @ x
    d, epsilon = coordinates.size, training.epsilon / NANO_PER_UNIT
    if isinstance(training.algorithm, Pflr):
        scale = (objective_sensitivity(d) + fairness_sensitivity(d)) / epsilon
        of_fairness = scale
    else:
        scale, of_fairness = objective_sensitivity(d) / (epsilon / 2), fairness_sensitivity(d) / (epsilon / 2)
    noise = np.triu(generator.laplace(scale=scale, size=(d, d)))
    form += noise + np.triu(noise, 1).T
    linear += generator.laplace(scale=scale, size=d)
    covariance += generator.laplace(scale=of_fairness, size=d)
    ridge = RIDGE_DEVIATIONS * 2**0.5 * scale
    if isinstance(training.algorithm, Pflr):
        return penalised_minimiser(form, linear, covariance, ridge=ridge, penalty=1.0, threshold=0.0)
    return minimiser(form, linear + covariance, ridge=ridge)


def tree(people: People, schema: Schema, training: Training, generator: np.random.Generator) -> TrainedTree:
    """The tree whose entropies and leaves have Laplace noise.

    Args:
        people: Whom it is learned from.
        schema: The declared columns.
        training: What would be asked of the holder.
        generator: Of the noise.
    """
    asked, features = training.algorithm_as(PrivateFairTree), binned(training, schema)
    epsilon, part = training.epsilon / NANO_PER_UNIT, asked.splits / NANO_PER_UNIT
    near = [similar_bins(one, asked.similarity) for one in features]
    labels = people.labels(training.label)
    of_bin = [np.select([people.matches(path) for path in one.bins], list(range(len(one.bins)))) for one in features]
    noise_scale = asked.depth / (epsilon * part)
    growing, grown = [GrowingNode.root(features)], []
    for _ in range(asked.depth):
        grown += [node for node in growing if not node.candidates(features)]
        below: list[GrowingNode] = []
        for node in growing:
            inside, candidates, gains = people.matches(node.path), node.candidates(features), []
            for index, number in candidates:
                counts = _by_bin(of_bin[index][inside], labels[inside], len(features[index].bins))
                side = _sides(node, index, features[index].sides[number])
                gains.append(noisy_gain(counts, side, near[index], generator.laplace(scale=noise_scale, size=3)))
            below += node.split(features, candidates[int(np.argmax(gains))]) if candidates else ()
        growing = below
    leaves = [*grown, *growing]
    counts_of = [np.bincount(labels[people.matches(leaf.path)], minlength=2) for leaf in leaves]
    noisy = np.array(counts_of) + generator.laplace(scale=1 / (epsilon * (1 - part)), size=(len(leaves), 2))
    return TrainedTree(
        leaves=tuple(
            TrainedLeaf(cell=numbered_cell(index, leaf.path), favourable=bool(having > without))
            for index, (leaf, (without, having)) in enumerate(zip(leaves, noisy.tolist(), strict=True))
        )
    )


def _by_bin(bins: IntArray, labels: BoolArray, number: int) -> FloatArray:
    """A node's people by bin and label, shape (bins, 2)."""
    return np.bincount(bins * 2 + labels, minlength=2 * number).reshape(number, 2).astype(np.float64)


def _sides(node: GrowingNode, index: int, goes_left: IntArray) -> tuple[IntArray, IntArray]:
    """1 where a bin of a feature that is left in a node goes left, or right, shape (bins,) each."""
    here = np.zeros(len(goes_left), np.int64)
    here[list(node.left[index])] = 1
    return here * goes_left, here * (1 - goes_left)


def noisy_gain(counts: FloatArray, sides: tuple[IntArray, IntArray], near: IntArray, noise: FloatArray) -> float:
    """A split's information gain in bits, with noise on each of its three entropies.

    Args:
        counts: A node's people by bin and label, shape (bins, 2).
        sides: 1 where a bin of the node goes left, and where it goes right, shape (bins,) each.
        near: Which bins are similar, shape (bins, bins).
        noise: On the entropy of the node and of its sides, shape (3,), in bits.
    """
    total = counts.sum()
    gain = _entropy(counts.sum(axis=0)) + noise[0]
    for side, more in zip(sides, noise[1:], strict=True):
        share = (side @ counts).sum() / total if total else 0.0
        gain -= share * (_entropy((near @ side > 0) @ counts) + more)
    return float(gain)


def _entropy(people: FloatArray) -> float:
    """In bits; that of nobody is 0."""
    parts = people[people > 0] / max(people.sum(), 1)
    return float(-(parts * np.log2(parts)).sum())
