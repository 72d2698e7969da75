"""LightGBM's own text, taken apart within bounds: a head, trees as blocks of lines, parameters, pandas' categories.

Read are the versions v3 and v4 of the text (LightGBM 2.3 to 4.x), which are what `save_model` and `model_to_string`
write. A line that is not known is refused: it might change what the model predicts.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.parsing import VALUES_MAX, DocumentPart, parsed_json, require_tree
from shared.wire import limits

VERSIONS: Final = ("v3", "v4")
FEATURES_MAX: Final = 65_536
WORDS_MAX: Final = 2_048
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_SHIFT = 1, 2, 2
USED: Final = "used"
_HEAD: Final[Mapping[str, str]] = {
    "version": USED, "num_class": "said in num_tree_per_iteration", "num_tree_per_iteration": USED,
    "label_index": "of the file of training", "max_feature_idx": USED, "objective": USED, "average_output": USED,
    "feature_names": USED, "monotone_constraints": "of training", "feature_infos": "ranges of training",
    "tree_sizes": "lengths of what follows",
}  # fmt: skip
_OF_TREE: Final[Mapping[str, str]] = {
    "num_leaves": USED, "num_cat": USED, "split_feature": USED, "threshold": USED, "decision_type": USED,
    "left_child": USED, "right_child": USED, "leaf_value": USED, "cat_boundaries": USED, "cat_threshold": USED,
    "is_linear": USED, "split_gain": "of training", "leaf_weight": "of training", "leaf_count": "of training",
    "internal_value": "what a node would be worth as a leaf", "internal_weight": "of training",
    "internal_count": "of training", "shrinkage": "the leaves have it already",
    "leaf_const": "of linear trees, which are refused", "num_features": "of linear trees, which are refused",
    "leaf_features": "of linear trees, which are refused", "leaf_coeff": "of linear trees, which are refused",
}  # fmt: skip
VOCABULARY: Final[Mapping[str, Mapping[str, str]]] = {"head": _HEAD, "tree": _OF_TREE}
"""The lines of the head and of a tree that may stand in a text: used, or why they change no prediction.

Others are refused. What follows the trees (importances, the parameters of training) changes none; of that,
`categorical_feature` and `pandas_categorical` are used.
"""
_WHOLE_SIGNS: Final = re.compile(r"[-0-9 ]*")
_NUMBER_SIGNS: Final = re.compile(r"[-+0-9.eE infa]*")
_CHECKED: Final = tuple(name for name, why in _OF_TREE.items() if why == USED)


@dataclass(frozen=True, slots=True)
class LightGBMTree:
    """One tree as LightGBM keeps it; a child below 0 is leaf ~child.

    Attributes:
        feature: Of each inner node, the index of the input that it tests.
        threshold: With what a number is compared.
        categories: Of each categorical node, the codes that go left.
        missing: Of each node: 0 none, 1 zero is missing, 2 NaN is missing.
        default_left: Where missing goes.
        left: The child for yes.
        right: The other.
        values: Of each leaf.
    """

    feature: list[int]
    threshold: list[float]
    categories: dict[int, frozenset[float]]
    missing: list[int]
    default_left: list[bool]
    left: list[int]
    right: list[int]
    values: list[float]


@dataclass(frozen=True, slots=True)
class LightGBMModel:
    """A LightGBM model as its text says it.

    Attributes:
        text: Its head and trees again, of those lines that were checked: LightGBM may be given it.
        version: Of the text.
        objective: Its words: "binary sigmoid:1".
        names: Of the inputs.
        trees: Iteration by iteration, each class in turn.
        classes: How many trees an iteration has.
        average: Whether the sum is divided by the number of iterations.
        categories: Of each categorical input, pandas' categories in order.
    """

    text: str
    version: str
    objective: list[str]
    names: list[str]
    trees: list[LightGBMTree]
    classes: int
    average: bool
    categories: dict[int, list[Any]]


def parsed(content: bytes, name: str) -> LightGBMModel:
    """Take a text apart.

    Raises:
        ModelRefused: It is damaged, of another version, or has linear trees.
    """
    if content.count(b" ") > VALUES_MAX:
        raise ModelRefused(f"{name} has more than {VALUES_MAX} values: a model that large is not read.")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ModelRefused(f"{name} is no text of LightGBM's: it is not UTF-8.") from error
    head_text, *blocks = text.split("\nTree=")
    head = _lines(head_text.split("\n"), (*_HEAD, "tree"), f"{name}: head")
    if head.get("version") not in VERSIONS:
        raise ModelRefused(
            f"{name} is of version {head.get('version', 'none')[:20]!r} of LightGBM's text. Read are "
            f"{', '.join(VERSIONS)}: load it in LightGBM 3 or 4 and save it again."
        )
    if not 1 <= len(blocks) <= limits.SCORE_TREES_MAX:
        raise ModelRefused(f"{name} has {len(blocks)} trees, and 1 to {limits.SCORE_TREES_MAX} can be read.")
    names = _words(head, "feature_names", f"{name}: head")
    features = _whole(head, "max_feature_idx", f"{name}: head", 0, FEATURES_MAX) + 1
    classes = _whole(head, "num_tree_per_iteration", f"{name}: head", 1, limits.SCORE_CLASSES_MAX)
    if len(names) != features or len(blocks) % classes:
        raise ModelRefused(f"{name}: its head does not fit the trees: save it again.")
    infos = _words(head, "feature_infos", f"{name}: head")
    if len(infos) != features or any("=" in word for word in (*infos, *names)):
        raise ModelRefused(f"{name}: its feature_infos do not fit: save it again.")
    last, _, tail = blocks[-1].partition("end of trees")
    if not tail:
        raise ModelRefused(f'{name} ends early: there is no line "end of trees". Copy the file again.')
    blocks[-1] = last
    return LightGBMModel(
        _again(head, blocks), head["version"], head.get("objective", "").split(), names,
        [_tree(block, f"{name}: tree {index}", features) for index, block in enumerate(blocks)],
        classes, "average_output" in head, _categories(tail, head, name, features),
    )  # fmt: skip


def _again(head: dict[str, str], blocks: list[str]) -> str:
    trees = []
    for number, block in enumerate(blocks):
        members = _lines(block.split("\n")[1:], _OF_TREE, "tree")
        lines = [f"Tree={number}", *(f"{key}={members[key]}" for key in _CHECKED if key in members)]
        trees.append("\n".join(lines) + "\n\n\n")
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    again = head | {"tree_sizes": sizes}
    lines = ["tree", *(f"{key}={again[key]}" if again[key] else key for key in _HEAD if key in again)]
    return "\n".join([*lines, "", "".join(trees) + "end of trees", ""])


def _lines(lines: list[str], vocabulary: Collection[str], where: str) -> dict[str, str]:
    members: dict[str, str] = {}
    for line in lines:
        key, _, value = line.strip().partition("=")
        if not key:
            continue
        if key not in vocabulary or key in members:
            raise ModelRefused(f"{where} has a line {key[:60]!r}, which is not known here.")
        members[key] = value
    return members


def _words(members: dict[str, str], key: str, where: str) -> list[str]:
    if key not in members:
        raise ModelRefused(f"{where} has no line {key!r}.")
    return members[key].split()


def _whole(members: dict[str, str], key: str, where: str, low: int, high: int) -> int:
    _require_signs(_WHOLE_SIGNS, members, key, where)
    return DocumentPart(" ".join(_words(members, key, where)), f"{where}.{key}").integer(low, high)


def _numbers(members: dict[str, str], key: str, where: str, length: int) -> NDArray[np.float64]:
    _require_signs(_NUMBER_SIGNS, members, key, where)
    words = _words(members, key, where)
    try:
        numbers = np.array([float(word) for word in words], np.float64)
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) != length:
        raise ModelRefused(f"{where}: {key} has to be {length} numbers.")
    return numbers


def _integers(members: dict[str, str], key: str, where: str, length: int, *, high: int, low: int = 0) -> list[int]:
    _require_signs(_WHOLE_SIGNS, members, key, where)
    return DocumentPart(_numbers(members, key, where, length), f"{where}.{key}").integers(low, high)


def _require_signs(signs: re.Pattern[str], members: dict[str, str], key: str, where: str) -> None:
    """Refuse numbers that LightGBM would read otherwise than Python does: it takes `4.0` for two whole numbers."""
    if not signs.fullmatch(members.get(key, "")):
        raise ModelRefused(f"{where}: {key} has signs that LightGBM does not write there: save the model again.")


def _tree(block: str, where: str, features: int) -> LightGBMTree:
    _, *lines = block.split("\n")  # the tree's number
    members = _lines(lines, _OF_TREE, where)
    if _whole(members, "is_linear", where, 0, 1) if "is_linear" in members else 0:
        raise ModelRefused(f"{where} is linear in its leaves: train with linear_tree=False.")
    leaves = _whole(members, "num_leaves", where, 1, limits.SCORE_NODES_MAX)
    values = _numbers(members, "leaf_value", where, leaves)
    if not np.isfinite(values).all():
        raise ModelRefused(f"{where}: a leaf's value is not finite.")
    nodes, lists = leaves - 1, _whole(members, "num_cat", where, 0, limits.SCORE_NODES_MAX)
    if nodes == 0:
        return LightGBMTree([], [], {}, [], [], [], [], values.tolist())
    left, right = (
        _integers(members, key, where, nodes, high=nodes - 1, low=-leaves) for key in ("left_child", "right_child")
    )
    ends = [-1] * leaves
    behind = ([child if child >= 0 else nodes + ~child for child in side] + ends for side in (left, right))
    require_tree(*behind, what=where)
    kinds = _integers(members, "decision_type", where, nodes, high=15)
    threshold = _numbers(members, "threshold", where, nodes)
    missing = [kind >> _MISSING_SHIFT for kind in kinds]
    if 3 in missing or np.isnan(threshold).any():
        raise ModelRefused(f"{where}: a decision of a kind that LightGBM does not have.")
    return LightGBMTree(
        _integers(members, "split_feature", where, nodes, high=features - 1), threshold.tolist(),
        _bitsets(members, where, lists, [node for node, kind in enumerate(kinds) if kind & _CATEGORICAL], threshold),
        missing, [bool(kind & _DEFAULT_LEFT) for kind in kinds], left, right, values.tolist(),
    )  # fmt: skip


def _bitsets(
    members: dict[str, str], where: str, count: int, nodes: list[int], threshold: NDArray[np.float64]
) -> dict[int, frozenset[float]]:
    """Return of each categorical node the codes that go left: its threshold is the index of its bits.

    Lists that no node uses are checked as well: LightGBM ends the process where they are damaged.
    """
    if not count and not nodes:
        return {}
    bounds = _integers(members, "cat_boundaries", where, count + 1, high=limits.SCORE_NODES_MAX)
    words = _integers(members, "cat_threshold", where, bounds[-1], high=2**32 - 1)
    if bounds != sorted(bounds):
        raise ModelRefused(f"{where}: its cat_boundaries do not ascend.")
    if len({float(threshold[node]) for node in nodes}) != len(nodes):
        raise ModelRefused(f"{where}: two nodes have the same categories.")
    codes = {}
    for node in nodes:
        number = DocumentPart(float(threshold[node]), f"{where}.threshold[{node}]").number()
        if not (0 <= number < count and number == int(number)):
            raise ModelRefused(f"{where}: node {node} has no categories.")
        if bounds[int(number) + 1] - bounds[int(number)] > WORDS_MAX:
            raise ModelRefused(f"{where}: node {node} has more than {32 * WORDS_MAX} categories.")
        own = words[bounds[int(number)] : bounds[int(number) + 1]]
        codes[node] = frozenset(
            float(32 * number + bit) for number, word in enumerate(own) for bit in range(32) if word >> bit & 1
        )
    return codes


def _categories(tail: str, head: dict[str, str], name: str, features: int) -> dict[int, list[Any]]:
    """Pandas' categories of each categorical input; which inputs those are, the parameters say."""
    lines = tail.split("\n")
    listed = [line for line in lines if line.startswith("pandas_categorical:")]
    if not listed or listed[0] in ("pandas_categorical:null", "pandas_categorical:[]"):
        return {}
    part = DocumentPart(parsed_json(listed[0].partition(":")[2].encode(), name), f"{name}: pandas_categorical")
    categories = [[item.value for item in values.items(limits.CATEGORIES_PER_COLUMN_MAX)] for values in part.items()]
    if not all(type(value) in (str, bool, int, float) for values in categories for value in values):
        part.refuse("lists of texts, numbers or truth values")
    prefix = "[categorical_feature: "
    parameters = [line[len(prefix) : -1] for line in lines if line.startswith(prefix)]
    words = parameters[0].split(",") if parameters and parameters[0] else []
    if not all(word.isdecimal() and len(word) < 8 and int(word) < features for word in words):
        raise ModelRefused(f"{name}: its parameter categorical_feature does not name inputs by their index.")
    indices = sorted({int(word) for word in words})
    if len(indices) != len(categories):
        raise ModelRefused(
            f"{name} has {len(categories)} lists of categories and {len(indices)} categorical inputs: which is which "
            'cannot be known. Train on a DataFrame, with categorical_feature left at "auto".'
        )
    return dict(zip(indices, categories, strict=True))
