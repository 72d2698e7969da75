"""XGBoost's own document, JSON or UBJSON, taken apart within bounds.

Read are documents of XGBoost 1.6 to 3.x with the boosters gbtree and dart. A member that is not known is refused: it
might change what the model predicts.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.boosters.ubjson import parsed_ubjson
from auditor_client.models.readers.parsing import DocumentPart, parsed_json, require_tree, texts
from shared.wire import limits

FIRST, LAST_MAJOR = (1, 6), 3
FEATURES_MAX: Final = 65_536
USED: Final = "used"
VOCABULARY: Final[Mapping[str, Mapping[str, str]]] = {
    "document": {
        "learner": USED, "version": USED, "Config": "how it was trained; predictions do not read it",
    },
    "learner": {
        "attributes": USED, "feature_names": USED, "feature_types": USED, "gradient_booster": USED,
        "learner_model_param": USED, "objective": USED,
    },
    "gbtree": {"name": USED, "model": USED},
    "dart": {"name": USED, "gbtree": USED, "weight_drop": USED},
    "model": {
        "cats": USED, "iteration_indptr": USED, "tree_info": USED, "trees": USED,
        "gbtree_model_param": "counts of what is there",
    },
    "gbtree_model_param": {
        "num_trees": "the length of a list", "num_parallel_tree": USED, "size_leaf_vector": USED,
        "num_feature": "said in learner_model_param", "num_roots": "obsolete", "pad_32bit": "obsolete",
    },
    "learner_model_param": {
        "base_score": USED, "num_class": USED, "num_feature": USED, "num_target": USED,
        "boost_from_average": "whether the base score was estimated: it is written",
    },
    "tree": {
        "categories": USED, "categories_nodes": USED, "categories_segments": USED, "categories_sizes": USED,
        "default_left": USED, "left_children": USED, "right_children": USED, "split_conditions": USED,
        "split_indices": USED, "split_type": USED, "tree_param": USED, "id": "its place in the list",
        "base_weights": "what a node would be worth as a leaf", "loss_changes": "of training",
        "parents": "the children say it", "sum_hessian": "of training",
    },
    "tree_param": {
        "num_nodes": USED, "size_leaf_vector": USED, "num_deleted": "nodes that nothing leads to",
        "num_feature": "said in learner_model_param", "num_roots": "obsolete", "max_depth": "obsolete",
    },
    "objective": {
        "name": USED, "reg_loss_param": "weights of training", "softmax_multiclass_param": "said in num_class",
        "poisson_regression_param": "steps of training", "tweedie_regression_param": "a loss of training",
        "pseudo_huber_param": "a loss of training", "lambda_rank_param": "pairs of training",
        "lambdarank_param": "pairs of training", "ndcg_param": "of training", "map_param": "of training",
        "lambdarank_unbiased": "of training", "ti+": "of training", "tj-": "of training",
    },
}  # fmt: skip
"""The members of each object that may stand in a document: used, or why they change no prediction. Others are refused.

`attributes` are the user's own; of them `best_iteration` and `scikit_learn` change what an estimator predicts.
"""


@dataclass(frozen=True, slots=True)
class XGBoostTree:
    """One tree as XGBoost keeps it; −1 is no child.

    Attributes:
        feature: Of each node, the index of the input that it tests.
        condition: Of each node, a float32: what a number is compared with, or the leaf's value.
        default_left: Where missing goes.
        left: The child of smaller numbers, and of categories that are not listed.
        right: The other.
        categories: Of each categorical node, the codes that go right.
    """

    feature: list[int]
    condition: list[float]
    default_left: list[bool]
    left: list[int]
    right: list[int]
    categories: dict[int, frozenset[float]]


@dataclass(frozen=True, slots=True)
class XGBoostModel:
    """An XGBoost model as its document says it.

    Attributes:
        version: Of the XGBoost that wrote it: (3, 2, 0).
        objective: Its name: "binary:logistic".
        base: The base score as it is written, for each class.
        names: Of the inputs.
        trees: In order.
        class_of: Of each tree, whose class's number it adds to.
        classes: How many numbers there are.
        categories: Of each categorical input, pandas' categories in order; None where the document does not say them.
        weights: Of each tree of dart, what its leaves are multiplied with, a float32; None: they are added as they are.
        by_estimator: Whether an estimator predicts with it (XGBClassifier), which adds dart's trees by another way.
        document: The whole document again, of those members that were checked: XGBoost may be given it.
    """

    version: tuple[int, ...]
    objective: str
    base: list[float]
    names: list[str]
    trees: list[XGBoostTree]
    class_of: list[int]
    classes: int
    categories: dict[int, list[Any] | None]
    weights: list[float] | None
    by_estimator: bool
    document: dict[str, Any]


def parsed(content: bytes, name: str, *, stopped_early: bool = False) -> XGBoostModel:
    """Take a document apart.

    Args:
        content: JSON or UBJSON.
        name: The file's name, for errors.
        stopped_early: Whether predictions end at the best iteration, as those of XGBClassifier do; a file says it.

    Raises:
        ModelRefused: It is damaged, of another version, or of another booster.
    """
    document = (parsed_ubjson if content[:2] == b"{L" else parsed_json)(content, name)
    if isinstance(document, dict) and document.keys() == {"Config", "Model"}:
        document = document["Model"]  # as a Booster's state has it, beside how it was trained
    whole = DocumentPart(document, name).known(*VOCABULARY["document"])
    version = tuple(whole["version"].integers(0, 1000, 3))
    if not (version[:2] >= FIRST and version[0] <= LAST_MAJOR):
        raise ModelRefused(
            f"{name} was written by XGBoost {'.'.join(map(str, version))}. Read are documents of 1.6 to 3: load it in "
            "one of these and save it again."
        )
    learner = whole["learner"].known(*VOCABULARY["learner"])
    booster = learner["gradient_booster"]
    dart = booster["name"].text() == "dart"
    if not dart and booster["name"].text() != "gbtree":
        raise ModelRefused(
            f"{name} has the booster {booster['name'].text()[:40]!r}. Read are gbtree and dart, not gblinear: train "
            "with booster='gbtree'."
        )
    if not dart and booster.get("weight_drop") is not None:
        raise ModelRefused(
            f"{name} is a dart booster as XGBoost 3.3 and later write it, which is not read. Train with "
            "booster='gbtree', or save it with XGBoost 1.6 to 3.2."
        )
    if dart:
        dropped = booster.known(*VOCABULARY["dart"])["weight_drop"]
        booster = booster["gbtree"]
    booster.known(*VOCABULARY["gbtree"])
    model = booster["model"].known(*VOCABULARY["model"])
    parameters = learner["learner_model_param"].known(*VOCABULARY["learner_model_param"])
    features = parameters["num_feature"].integer(0, FEATURES_MAX)
    target = parameters.get("num_target")
    if target is not None and target.integer(0, 1000) > 1:
        raise ModelRefused(f"{name} predicts several targets at once: train one model for each.")
    classes = max(parameters["num_class"].integer(0, limits.SCORE_CLASSES_MAX), 1)
    names = _list(learner, "feature_names") or [f"f{index}" for index in range(features)]
    types = _list(learner, "feature_types") or ["float"] * features
    parts = model["trees"].items(limits.SCORE_TREES_MAX)
    class_of = model["tree_info"].integers(0, classes - 1, len(parts))
    if not (len(names) == len(types) == features) or not parts:
        raise ModelRefused(f"{name}: its names, types and trees do not fit together: save it again.")
    count = _trees_used(learner, model, len(parts), classes, stopped_early=stopped_early)
    trees = [_tree(part, features) for part in parts[:count]]
    if version[0] < 2 and any(tree.categories for tree in trees):
        raise ModelRefused(f"{name} has categories as XGBoost {version[0]} writes them: they are read since 2.0.")
    weights = [float(np.float32(weight)) for weight in dropped.numbers(len(parts))[:count]] if dart else None
    if weights is not None and not np.isfinite(weights).all():
        raise ModelRefused(f"{name}: a weight of a tree is not finite.")
    attributes = learner.get("attributes")
    _require_no_sentinel(attributes, name)
    by_estimator = stopped_early or (attributes is not None and attributes.get("scikit_learn") is not None)
    base = _base(parameters["base_score"], classes)
    objective = learner["objective"].known(*VOCABULARY["objective"])["name"].text()
    model["gbtree_model_param"].known(*VOCABULARY["gbtree_model_param"])
    read = XGBoostModel(
        version, objective, base, names, trees, class_of[:count], classes, _categories(model, types), weights,
        by_estimator, document={},
    )  # fmt: skip
    return replace(read, document=_again(read, whole, model))


def _list(learner: DocumentPart, name: str) -> list[str]:
    part = learner.get(name)
    return [] if part is None else texts(part)


def _base(part: DocumentPart, classes: int) -> list[float]:
    """A text: one number, or, since 3.1, a list."""
    text = part.text()
    try:
        content = json.loads(text if text.startswith("[") else f"[{text}]")
    except ValueError:
        part.refuse("a number or a list of numbers, as a text")
    numbers = [float(np.float32(number)) for number in DocumentPart(content, part.path).numbers()]
    if len(numbers) not in (1, classes) or not np.isfinite(numbers).all():
        part.refuse("one finite number, or one for each class")
    return numbers * classes if len(numbers) == 1 else numbers


def _trees_used(learner: DocumentPart, model: DocumentPart, count: int, classes: int, *, stopped_early: bool) -> int:
    """A model that was saved from XGBClassifier predicts up to its best iteration, which before XGBoost 2 each has."""
    attributes = learner.get("attributes")
    best = None if attributes is None else attributes.get("best_iteration")
    if attributes is None or best is None or not (stopped_early or attributes.get("scikit_learn")):
        return count
    ends = model.get("iteration_indptr")
    if ends is None:
        a_round = classes * model["gbtree_model_param"]["num_parallel_tree"].integer(1, count)
        return a_round * (best.integer(0, count // a_round - 1) + 1)
    listed = ends.integers(0, count)
    return listed[best.integer(0, len(listed) - 2) + 1]


def _require_no_sentinel(attributes: DocumentPart | None, name: str) -> None:
    """Refuse a number that an estimator takes for missing: files of XGBoost before 2 have the parameters."""
    estimator = None if attributes is None else attributes.get("scikit_learn")
    if estimator is None:
        return
    parameters = parsed_json(estimator.text().encode(), estimator.path)
    missing = parameters.get("missing") if isinstance(parameters, dict) else None
    if missing is not None and not (isinstance(missing, float) and math.isnan(missing)):
        raise ModelRefused(f"{name} takes {missing!r} for missing: train the model with missing values as NaN.")


def _tree(part: DocumentPart, features: int) -> XGBoostTree:
    part.known(*VOCABULARY["tree"])
    parameters = part["tree_param"].known(*VOCABULARY["tree_param"])
    nodes = parameters["num_nodes"].integer(1, limits.SCORE_NODES_MAX)
    vector = parameters.get("size_leaf_vector")
    if vector is not None and vector.integer(0, 1000) > 1:
        raise ModelRefused(
            f'{part.path} has several values in a leaf: train with multi_strategy="one_output_per_tree".'
        )
    left, right = (part[name].integers(-1, nodes - 1, nodes) for name in ("left_children", "right_children"))
    require_tree(left, right, what=part.path)
    condition = part["split_conditions"].numbers(nodes)
    split_type = part.get("split_type")
    kinds = [0] * nodes if split_type is None else split_type.integers(0, 1, nodes)
    of_categories = (np.array(kinds) == 1) & (np.array(left) != -1)
    condition = np.where(of_categories & np.isnan(condition), 0.0, condition)  # as XGBoost before 3.1 writes it
    if not np.isfinite(condition[np.array(left) == -1]).all() or np.isnan(condition).any():
        raise ModelRefused(f"{part.path}: a leaf's value or a threshold is not finite.")
    return XGBoostTree(
        part["split_indices"].integers(0, max(features - 1, 0), nodes), condition.astype(np.float32).tolist(),
        [bool(one) for one in part["default_left"].integers(0, 1, nodes)], left, right,
        _sets(part, kinds, left),
    )  # fmt: skip


def _sets(part: DocumentPart, kinds: list[int], left: list[int]) -> dict[int, frozenset[float]]:
    categorical = [node for node, kind in enumerate(kinds) if kind == 1 and left[node] != -1]
    if not categorical:
        return {}
    listed = part["categories"].integers(0, 2**24)
    nodes = part["categories_nodes"].integers(0, len(kinds) - 1)
    starts = part["categories_segments"].integers(0, len(listed), len(nodes))
    sizes = part["categories_sizes"].integers(0, len(listed), len(nodes))
    if (
        sum(sizes) > len(listed)
        or sorted(nodes) != categorical
        or any(start + size > len(listed) for start, size in zip(starts, sizes, strict=True))
    ):
        raise ModelRefused(f"{part.path}: its categories do not fit its nodes.")
    return {
        node: frozenset(map(float, listed[start : start + size]))
        for node, start, size in zip(nodes, starts, sizes, strict=True)
    }


def _categories(model: DocumentPart, types: list[str]) -> dict[int, list[Any] | None]:
    """Pandas' categories, which documents have since XGBoost 3.1."""
    found: dict[int, list[Any] | None] = {index: None for index, kind in enumerate(types) if kind == "c"}
    known = model.get("cats")
    if known is not None:
        _require_sound_categories(known, len(types))
    encodings = [] if known is None or not found else known["enc"].items(FEATURES_MAX)
    for index in found:
        if index < len(encodings):
            found[index] = _encoding(encodings[index])
    return found


def _require_sound_categories(part: DocumentPart, features: int) -> None:
    """Refuse categories that contradict themselves: XGBoost, which is given them, would end the whole process."""
    ends, order = [0], part["sorted_idx"].integers(0, 2**24)
    for encoding in part["enc"].items(FEATURES_MAX):
        values, offsets = encoding["values"].value, encoding.get("offsets")
        listed = [] if offsets is None else offsets.integers(0, len(values))
        count = len(values) if offsets is None else max(len(listed) - 1, 0)
        whole = [*listed[:1], *listed[-1:]] in ([], [0, len(values)]) and listed == sorted(listed)
        if not whole or sorted(order[ends[-1] : ends[-1] + count]) != list(range(count)):
            part.refuse("categories that fit together")
        ends.append(ends[-1] + count)
    segments = part["feature_segments"].integers(0, 2**24)
    if len(order) != ends[-1] or (segments or ends) != ends or len(ends) not in (1, features + 1):
        part.refuse("categories that fit together")


def _encoding(part: DocumentPart) -> list[Any] | None:
    values = part["values"].integers(-(2**31), 2**31)
    ends = part.get("offsets")
    if ends is None:
        return list(values) or None
    listed = ends.integers(0, len(values))
    content = bytes(value % 256 for value in values)
    if any(low > high for low, high in pairwise(listed)):
        part.refuse("texts with ascending offsets")
    try:
        return [content[low:high].decode() for low, high in pairwise(listed)] or None
    except UnicodeDecodeError:
        part.refuse("texts in UTF-8")


def _again(read: XGBoostModel, whole: DocumentPart, around: DocumentPart) -> dict[str, Any]:
    """The document again, with what was checked and nothing else."""
    names, trees = read.names, read.trees
    types = ["c" if index in read.categories else "float" for index in range(len(names))]
    learner, model = whole["learner"].value, around.value
    parts = []
    for index, tree in enumerate(trees):
        nodes = len(tree.left)
        parents = [2**31 - 1] * nodes
        for node in range(nodes):
            for child in (tree.left[node], tree.right[node]):
                if child != -1:
                    parents[child] = node
        sets = sorted(tree.categories.items())
        sizes = [len(one) for _, one in sets]
        parts.append({
            "base_weights": [0.0] * nodes, "loss_changes": [0.0] * nodes, "sum_hessian": [0.0] * nodes,
            "categories": [int(code) for _, one in sets for code in sorted(one)],
            "categories_nodes": [node for node, _ in sets],
            "categories_segments": list(accumulate(sizes, initial=0))[:-1], "categories_sizes": sizes,
            "default_left": [int(one) for one in tree.default_left], "id": index, "left_children": tree.left,
            "parents": parents, "right_children": tree.right, "split_conditions": tree.condition,
            "split_indices": tree.feature, "split_type": [int(node in tree.categories) for node in range(nodes)],
            "tree_param": {
                "num_deleted": "0", "num_feature": str(len(names)), "num_nodes": str(nodes), "size_leaf_vector": "1",
            },
        })  # fmt: skip
    of_model = {"gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(parts))}}
    again = (
        of_model | {"tree_info": read.class_of, "trees": parts} | ({"cats": model["cats"]} if "cats" in model else {})
    )
    objective = {name: value for name, value in learner["objective"].items() if isinstance(value, dict | str)}
    kept = {"attributes": {}, "feature_names": names, "feature_types": types, "objective": objective}
    booster: dict[str, Any] = {"name": "gbtree", "model": again}
    if read.weights is not None:
        booster = {"name": "dart", "gbtree": booster, "weight_drop": read.weights}
    kept |= {"learner_model_param": learner["learner_model_param"], "gradient_booster": booster}
    return {"learner": kept, "version": whole.value["version"]}
