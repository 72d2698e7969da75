"""JSON documents with something else in them."""

import copy
from typing import Any


def put(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy of a document with another value at a path; `...` takes out what is there."""
    changed = copy.deepcopy(document)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed
