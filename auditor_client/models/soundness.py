"""What must hold of a model's parts before scikit-learn is let loose on them.

A file can name allowed types only and still hold parts that contradict each other, and scikit-learn's
compiled code follows indices without looking. So what it would follow is checked first.
"""

from collections.abc import Sequence
from typing import Any, Final

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from auditor_client.errors import ModelRefused
from shared.wire.limits import PREDICATES_PER_RULE_MAX

NODES_MAX: Final = 65_536
_AGAIN: Final = "save the model again from its source."


def require_fitted(step: Any) -> None:
    """Refuse a step that is not fitted, or that is no step at all; "drop" and "passthrough" need no fit."""
    if step is None or isinstance(step, str):
        return
    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError) as error:
        raise ModelRefused(f"{type(step).__name__} is not fitted: fit the model first.") from error


def require_sound_tree(classifier: Any) -> None:
    """Refuse a tree whose nodes make no tree, that is too large to be read, or that decides several things.

    Children come behind their parent, as scikit-learn writes them, so a walk ends.
    """
    if classifier.n_outputs_ != 1:
        raise ModelRefused("The tree decides several things at once: train one tree for each output.")
    tree = classifier.tree_
    if not 1 <= tree.node_count <= min(tree.capacity, NODES_MAX):
        raise ModelRefused(f"The tree has {tree.node_count} nodes, and {NODES_MAX} can be read: set max_leaf_nodes.")
    depth = [0] * tree.node_count
    inner = 0
    nodes = zip(tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist(), strict=True)
    for node, (left, right, feature) in enumerate(nodes):
        if left == right == -1:
            continue
        if not (node < left < len(depth) and node < right < len(depth) and 0 <= feature < tree.n_features):
            raise ModelRefused(f"The tree's nodes do not make a tree: {_AGAIN}")
        depth[left] = depth[right] = depth[node] + 1
        inner += 1
    if len(depth) != 2 * inner + 1 or tree.n_features != classifier.n_features_in_:
        raise ModelRefused(f"The tree's nodes do not make a tree: {_AGAIN}")
    if max(depth) > PREDICATES_PER_RULE_MAX:
        raise ModelRefused(f"The tree is {max(depth)} splits deep: set max_depth to at most {PREDICATES_PER_RULE_MAX}.")


def require_sound_encoder(encoder: Any, counts: Sequence[int]) -> None:
    """Refuse a fitted one-hot encoder that would write outside of its output, because its parts disagree.

    `counts` is how many features each of its columns must make, by its public attributes.
    """
    state, none = vars(encoder), [None] * len(counts)
    drops = none if state["_drop_idx_after_grouping"] is None else state["_drop_idx_after_grouping"]
    rare = state["_infrequent_indices"] if state["_infrequent_enabled"] else none
    grouping = state["_default_to_infrequent_mappings"] if state["_infrequent_enabled"] else none
    columns = zip(encoder.categories_, counts, state["_n_features_outs"], drops, rare, grouping, strict=True)
    for categories, count, outputs, drop, together, groups in columns:
        last = count - (drop is None)
        sound = (
            outputs == count
            and (drop is None or 0 <= drop <= last)
            and (groups is None) == (together is None)
            and (groups is None or (len(groups) == len(categories) and 0 <= min(groups) <= max(groups) <= last))
        )
        if not sound:
            raise ModelRefused(f"A one-hot encoder in the model contradicts itself: {_AGAIN}")
